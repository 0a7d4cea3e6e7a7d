"""Where points lie: arrays, memory maps, files and frames as dask arrays whose blocks can be read again at any time."""

import mmap
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from gramian import _checks

BLOCK_BYTES = 32 << 20
"""Size of a block, as it lies on disk, where nobody else has cut the rows into blocks."""
LABEL = 8
"""Entries of a row that a label counts for: what a task makes of one is larger than itself."""
OWNER = "dask.fit"


def as_array(X: Any, name: str = "X", rows: int | None = None, ndim: int = 2) -> Any:
    """A dask array (n, d), or (n,), of anything that :func:`.fit` takes; all columns of a row lie in one block.

    ``rows`` is the most that a block of an array or file holds.
    """
    da = arrays()
    if hasattr(X, "to_dask_array"):  # a dask frame
        X = X.to_dask_array(lengths=True)
    if not hasattr(X, "to_delayed"):
        parts = [part for item in listed(X, name) for part in parts_of(item, name, rows, ndim)]
        if not parts:
            raise ValueError(f"{OWNER}: {name} must hold at least one block of rows, got none.")
        widths = sorted({str(part.shape[1:]) for part in parts})
        if len(widths) > 1:
            raise ValueError(f"{OWNER}: blocks of {name} must have the same number of features, got {widths}.")
        X = da.concatenate(parts) if len(parts) > 1 else parts[0]
    if X.ndim != ndim:
        raise ValueError(f"{OWNER}: {name} must have {ndim} dimension(s), got shape {X.shape}.")
    if any(np.isnan(size) for size in X.chunks[0]):
        X = X.compute_chunk_sizes()
    if ndim == 2 and X.shape[1] == 0:
        raise ValueError(f"{OWNER}: {name} must have at least one feature, got shape {X.shape}.")
    return X.rechunk({1: -1}) if ndim == 2 and len(X.chunks[1]) > 1 else X


def arrays() -> Any:
    """``dask.array``, or an error that says how to get it."""
    try:
        import dask.array as da
    except ImportError as error:
        raise ImportError("gramian.dask: needs dask and distributed; pip install 'gramian[dask]'.") from error
    return da


def listed(X: Any, name: str) -> list[Any]:
    """Arrays and paths of files, in order."""
    _checks.unmasked(X, OWNER, name)
    X = X.to_numpy() if hasattr(X, "iloc") else X
    if isinstance(X, np.ndarray | str | os.PathLike):
        return [X]
    if isinstance(X, list | tuple) and all(
        isinstance(item, str | os.PathLike | np.ndarray) or hasattr(item, "to_delayed") for item in X
    ):
        return list(X)
    raise TypeError(
        f"{OWNER}: {name} must be an array, a dask array, paths of parts or, to fit, an iterator of blocks, "
        f"got {_checks.shown(X)}."
    )


@contextmanager
def spooled(X: Any, name: str) -> Iterator[Any]:
    """X as it is, or the paths of the blocks of an iterator, which are gone once they were seen: meanwhile they lie in
    a temporary folder.
    """
    X = X() if callable(X) else X
    if not isinstance(X, Iterator):
        yield X
        return
    with tempfile.TemporaryDirectory(prefix="gramian-") as folder:
        paths: list[Any] = []
        for number, block in enumerate(X):
            rows = _checks.plain(block, OWNER, f"a block of {name}")
            if rows.dtype == object:
                wanted = "arrays of numbers or text"
                raise TypeError(f"{OWNER}: blocks of {name} must be {wanted}, got {_checks.shown(block)}.")
            paths.append(os.path.join(folder, f"{number}.npy"))
            np.save(paths[-1], rows)
        yield paths


def parts_of(item: Any, name: str, rows: int | None, ndim: int) -> Iterator[Any]:
    """Dask arrays of one array, file or folder of files."""
    if hasattr(item, "to_delayed"):
        yield item
    elif isinstance(item, np.ndarray):
        yield of_memory(item, name, rows, ndim)
    else:
        yield from of_path(Path(item), name, rows, ndim)


def of_path(path: Path, name: str, rows: int | None, ndim: int) -> Iterator[Any]:
    """Dask arrays of a file, or of those of a folder."""
    if not path.exists():
        raise FileNotFoundError(f"{OWNER}: {name} has no file at {str(path)!r}.")
    if path.suffix in (".parquet", ".pq"):
        yield of_parquet(path, ndim)
    elif path.suffix == ".npy":
        yield of_memory(np.load(path, mmap_mode="r"), name, rows, ndim)
    elif path.is_dir() and path.suffix != ".zarr" and not any(path.glob("*zarr*")) and not (path / ".zarray").exists():
        for entry in sorted(path.iterdir()):
            if not entry.name.startswith((".", "_")):
                yield from of_path(entry, name, rows, ndim)
    else:
        whole = of_zarr(path, name)
        yield whole if rows is None else whole.rechunk({0: rows})


def of_memory(X: np.ndarray, name: str, rows: int | None, ndim: int) -> Any:
    """Slices of an array; those of a memory map as places in its file, so that they travel as such."""
    da = arrays()
    if X.ndim != ndim:
        raise ValueError(f"{OWNER}: {name} must have {ndim} dimension(s), got shape {X.shape}.")
    size = max(X.itemsize * (X.shape[1] if ndim == 2 else LABEL), 1)
    step = rows or max(1, BLOCK_BYTES // size)
    if not (isinstance(X, np.memmap) and isinstance(X.base, mmap.mmap) and X.flags.c_contiguous and len(X)):
        return da.from_array(np.asarray(X), chunks=(step, -1)[:ndim], name=False)
    place = (str(X.filename), X.dtype, X.offset, X.shape)
    spans = [slice(start, min(start + step, len(X))) for start in range(0, len(X), step)]
    return stacked([(rows_at, (place, span), span.stop - span.start) for span in spans], X.shape[1:], X.dtype)


def rows_at(place: tuple, rows: slice) -> np.ndarray:
    """Rows of a memory map, still on disk until they are touched."""
    path, dtype, offset, shape = place
    return np.asarray(np.memmap(path, dtype, "r", offset, shape)[rows])


def of_parquet(path: Path, ndim: int) -> Any:
    """Groups of rows of a Parquet file, every column a feature, or the first one."""
    meta = parquet().ParquetFile(path).metadata
    shape = (meta.num_columns,) if ndim == 2 else ()
    sizes = [meta.row_group(group).num_rows for group in range(meta.num_row_groups)]
    if not sizes:
        raise ValueError(f"{OWNER}: a Parquet file must hold rows, got none in {str(path)!r}.")
    return stacked([(group_at, (str(path), g, ndim), size) for g, size in enumerate(sizes)], shape, float)


def group_at(path: str, group: int, ndim: int) -> np.ndarray:
    """One group of rows."""
    table = parquet().ParquetFile(path).read_row_group(group)
    if ndim == 1:
        return table.column(0).to_numpy(zero_copy_only=False)
    return np.column_stack([column.to_numpy() for column in table.columns])


def of_zarr(path: Path, name: str) -> Any:
    """A Zarr array."""
    try:
        import zarr
    except ImportError as error:
        raise ImportError(f"{OWNER}: needs zarr to read such files; pip install zarr.") from error
    try:
        return arrays().from_zarr(zarr.open(str(path), mode="r"))
    except Exception as error:  # of several packages, which differ from version to version
        raise ValueError(
            f"{OWNER}: {name} must be .npy, Parquet or Zarr, got {str(path)!r}, which is none of them."
        ) from error


def stacked(readers: list[tuple[Any, tuple, int]], shape: tuple, dtype: Any) -> Any:
    """A dask array of what functions read, each with its arguments and its number of rows."""
    import dask

    da = arrays()
    parts = [
        da.from_delayed(dask.delayed(function, pure=True)(*args), (rows, *shape), dtype)
        for function, args, rows in readers
    ]
    return da.concatenate(parts) if len(parts) > 1 else parts[0]


def parquet() -> Any:
    """The package that reads Parquet, or an error that says how to get it."""
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(f"{OWNER}: needs pyarrow to read Parquet; pip install pyarrow.") from error
    return parquet
