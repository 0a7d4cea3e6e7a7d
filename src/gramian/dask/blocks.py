"""Where points lie: arrays, memory maps, files and dask arrays as blocks of rows that can be read again at any time."""

import itertools
import mmap
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _checks

BLOCK_BYTES = 32 << 20
"""Size of a block, as it lies on disk, where nobody else has cut the rows into blocks."""
LABEL = 8
"""Entries of a row that a label counts for: what a task makes of one is larger than itself."""
OWNER = "dask.fit"


@dataclass(frozen=True)
class NpyRows:
    """Rows of an array in a file: ``.npy``, or raw numbers as :class:`numpy.memmap` maps them."""

    path: str
    start: int
    stop: int
    raw: tuple | None = None
    """Type, offset and shape of raw numbers."""

    def read(self) -> np.ndarray:
        """The rows, still on disk until they are touched."""
        if self.raw is None:
            return np.load(self.path, mmap_mode="r")[self.start : self.stop]
        dtype, offset, shape = self.raw
        return np.memmap(self.path, dtype, "r", offset, shape)[self.start : self.stop]


@dataclass(frozen=True)
class ParquetRows:
    """A group of rows of a Parquet file, every column a feature, or the one named."""

    path: str
    group: int
    column: str | None = None

    def read(self) -> np.ndarray:
        """The rows."""
        table = _parquet().ParquetFile(self.path).read_row_group(self.group)
        if self.column is not None:
            return table.column(self.column).to_numpy(zero_copy_only=False)
        return np.column_stack([column.to_numpy() for column in table.columns])


@dataclass(frozen=True)
class ZarrRows:
    """Rows of a Zarr array."""

    path: str
    start: int
    stop: int

    def read(self) -> np.ndarray:
        """The rows."""
        return np.asarray(_zarr().open(self.path, mode="r")[self.start : self.stop])


def read(part: Any) -> Any:
    """The rows of a part: of a file, or an array that is there already."""
    return part.read() if hasattr(part, "read") else part


@dataclass(frozen=True, eq=False)
class Blocks:
    """Parts with the numbers of their rows; ``edges`` (b + 1,) are the numbers of the first rows, and n."""

    parts: Sequence[Any]
    edges: np.ndarray
    width: int | None
    folder: Any = field(default=None, repr=False)
    """A temporary folder that lives as long as the blocks."""
    held: dict[str, Any] = field(default_factory=dict, repr=False)
    """The few rows that were gathered last: one fit asks for the ends of its pairs several times."""

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.edges[-1])

    @property
    def columns(self) -> int:
        """Number of features."""
        assert self.width is not None
        return self.width

    @classmethod
    def of(cls, X: Any, name: str = "X", rows: int | None = None, ndim: int = 2) -> "Blocks":
        """Blocks of anything that :func:`.fit` takes; ``rows`` is the most that a block of an array or file holds."""
        if isinstance(X, Blocks):
            return X
        if hasattr(X, "to_delayed"):
            return cls._of_dask(X, name, ndim)
        _checks.unmasked(X, OWNER, name)
        if hasattr(X, "iloc"):
            X = X.to_numpy()
        if isinstance(X, str | os.PathLike):
            X = [X]
        if callable(X):
            X = X()
        folder = None
        if not isinstance(X, np.ndarray) and not _is_list_of_parts(X):
            X, folder = _spooled(X, name)
        arrays = [X] if isinstance(X, np.ndarray) else X
        found = [part for item in arrays for part in _parts(item, name, rows, ndim)]
        if not found:
            raise ValueError(f"{OWNER}: {name} must hold at least one block of rows, got none.")
        widths = {width for _, _, width in found}
        if len(widths) > 1:
            raise ValueError(
                f"{OWNER}: blocks of {name} must have the same number of features, got {sorted(map(str, widths))}."
            )
        edges = np.concatenate([[0], np.cumsum([size for _, size, _ in found])])
        return cls([part for part, _, _ in found], edges, widths.pop(), folder)

    @classmethod
    def _of_dask(cls, X: Any, name: str, ndim: int) -> "Blocks":
        if X.ndim != ndim:
            raise ValueError(f"{OWNER}: {name} must have {ndim} dimension(s), got shape {X.shape}.")
        if any(np.isnan(size) for size in X.chunks[0]):
            X = X.compute_chunk_sizes()
        if ndim == 2 and len(X.chunks[1]) > 1:
            X = X.rechunk({1: -1})
        edges = np.concatenate([[0], np.cumsum(X.chunks[0])])
        return cls(list(X.to_delayed().ravel()), edges, X.shape[1] if ndim == 2 else None)

    def cut(self, rows: np.ndarray) -> Iterator[tuple[int, slice]]:
        """Numbers of the blocks in which ascending row numbers lie, with where in ``rows`` they stand."""
        ends = np.searchsorted(rows, self.edges)
        for block, (start, stop) in enumerate(itertools.pairwise(ends)):
            if start < stop:
                yield block, slice(int(start), int(stop))


def _is_list_of_parts(X: Any) -> bool:
    return isinstance(X, list | tuple) and all(isinstance(item, str | os.PathLike | np.ndarray) for item in X)


def _spooled(X: Any, name: str) -> tuple[list[str], Any]:
    """Blocks of an iterator, written to a temporary folder, since they are gone once they were seen."""
    if not hasattr(X, "__iter__") or sparse.issparse(X):
        raise TypeError(
            f"{OWNER}: {name} must be an array, a dask array, paths of parts or an iterator of blocks, "
            f"got {_checks.shown(X)}."
        )
    folder = tempfile.TemporaryDirectory(prefix="gramian-")
    paths = []
    for number, block in enumerate(X):
        rows = _checks.plain(block, OWNER, f"a block of {name}")
        if rows.dtype == object:
            raise TypeError(f"{OWNER}: blocks of {name} must be arrays of numbers or text, got {_checks.shown(block)}.")
        paths.append(os.path.join(folder.name, f"{number}.npy"))
        np.save(paths[-1], rows)
    return paths, folder


def _parts(item: Any, name: str, rows: int | None, ndim: int) -> Iterator[tuple[Any, int, int | None]]:
    """Parts of one array or file, each with its number of rows and its width."""
    if isinstance(item, np.ndarray):
        yield from _array_parts(item, name, rows, ndim)
        return
    path = Path(item)
    if not path.exists():
        raise FileNotFoundError(f"{OWNER}: {name} has no file at {str(path)!r}.")
    if path.suffix in (".parquet", ".pq"):
        yield from _parquet_parts(path, ndim)
    elif path.is_dir() and path.suffix != ".zarr" and not any(path.glob("*zarr*")) and not (path / ".zarray").exists():
        for part in sorted(entry for entry in path.iterdir() if not entry.name.startswith((".", "_"))):
            yield from _parts(part, name, rows, ndim)
    elif path.suffix == ".npy":
        whole = np.load(path, mmap_mode="r")
        yield from _sliced(whole, rows, ndim, name, lambda start, stop: NpyRows(str(path), start, stop))
    else:
        whole = _opened_zarr(path, name)
        yield from _sliced(whole, rows, ndim, name, lambda start, stop: ZarrRows(str(path), start, stop))


def _opened_zarr(path: Path, name: str) -> Any:
    try:
        return _zarr().open(str(path), mode="r")
    except ImportError:
        raise
    except Exception as error:  # of several packages, which differ from version to version
        raise ValueError(
            f"{OWNER}: {name} must be .npy, Parquet or Zarr, got {str(path)!r}, which is none of them."
        ) from error


def _array_parts(X: np.ndarray, name: str, rows: int | None, ndim: int) -> Iterator[tuple[Any, int, int | None]]:
    """Slices of an array; those of a memory map as places in its file, so that they travel as such."""
    if isinstance(X, np.memmap) and isinstance(X.base, mmap.mmap) and X.flags.c_contiguous:
        raw = (X.dtype, X.offset, X.shape)
        yield from _sliced(X, rows, ndim, name, lambda start, stop: NpyRows(str(X.filename), start, stop, raw))
    else:
        yield from _sliced(X, rows, ndim, name, lambda start, stop: X[start:stop])


def _parquet_parts(path: Path, ndim: int) -> Iterator[tuple[Any, int, int | None]]:
    meta = _parquet().ParquetFile(path).metadata
    column = meta.schema.column(0).name if ndim == 1 else None
    for group in range(meta.num_row_groups):
        rows = meta.row_group(group).num_rows
        yield ParquetRows(str(path), group, column), rows, meta.num_columns if ndim == 2 else None


def _sliced(X: Any, rows: int | None, ndim: int, name: str, part: Any) -> Iterator[tuple[Any, int, int | None]]:
    if len(X.shape) != ndim:
        raise ValueError(f"{OWNER}: {name} must have {ndim} dimension(s), got shape {X.shape}.")
    if ndim == 2 and X.shape[1] == 0:
        raise ValueError(f"{OWNER}: {name} must have at least one feature, got shape {X.shape}.")
    row_bytes = X.dtype.itemsize * (X.shape[1] if ndim == 2 else LABEL)
    step = rows or max(1, BLOCK_BYTES // max(row_bytes, 1))
    for start in range(0, X.shape[0], step):
        stop = min(start + step, X.shape[0])
        yield part(start, stop), stop - start, X.shape[1] if ndim == 2 else None


def _parquet() -> Any:
    """The package that reads Parquet, or an error that says how to get it."""
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(f"{OWNER}: needs pyarrow to read Parquet; pip install pyarrow.") from error
    return parquet


def _zarr() -> Any:
    """The package that reads Zarr, or an error that says how to get it."""
    try:
        import zarr
    except ImportError as error:
        raise ImportError(f"{OWNER}: needs zarr to read such files; pip install zarr.") from error
    return zarr
