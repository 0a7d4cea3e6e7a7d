"""Where points lie: arrays, memory maps, frames and ``.npy`` files as dask arrays whose blocks can be read again."""

import mmap
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gramian import _validate
from gramian.dask.cluster import MISSING

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
    _validate.unmasked(X, OWNER, name)
    items = [array_of(item, name, rows, ndim) for item in (X if isinstance(X, list | tuple) else [X])]
    if not items:
        raise ValueError(f"{OWNER}: {name} must hold at least one block of rows, got none.")
    for array in items:
        if array.ndim != ndim or (ndim == 2 and array.shape[1] == 0):
            wanted = f"{ndim} dimension(s)" if array.ndim != ndim else "at least one feature"
            raise ValueError(f"{OWNER}: {name} must have {wanted}, got shape {array.shape}.")
    widths = sorted({str(array.shape[1:]) for array in items})
    if len(widths) > 1:
        raise ValueError(f"{OWNER}: blocks of {name} must have the same number of features, got {widths}.")
    array = da.concatenate(items) if len(items) > 1 else items[0]
    if any(np.isnan(size) for size in array.chunks[0]):
        array = array.compute_chunk_sizes()
    return array.rechunk({1: -1}) if ndim == 2 and len(array.chunks[1]) > 1 else array


def arrays() -> Any:
    """``dask.array``, or an error that says how to get it."""
    try:
        import dask.array as da
    except ImportError as error:
        raise ImportError(MISSING) from error
    return da


def array_of(item: Any, name: str, rows: int | None, ndim: int) -> Any:
    """A dask array of one array, frame or file."""
    if hasattr(item, "to_dask_array"):
        return item.to_dask_array(lengths=True)
    if hasattr(item, "to_delayed"):
        return item
    item = item.to_numpy() if hasattr(item, "iloc") else item
    item = on_disk(item, name) if isinstance(item, str | os.PathLike) else item
    if not isinstance(item, np.ndarray):
        raise TypeError(
            f"{OWNER}: {name} must be an array, a dask array, paths of .npy files or, to fit, an iterator of blocks, "
            f"got {_validate.shown(item)}."
        )
    if item.ndim > 2:
        raise ValueError(f"{OWNER}: {name} must have {ndim} dimension(s), got shape {item.shape}.")
    step = rows or max(1, BLOCK_BYTES // max(item.itemsize * (item.shape[1] if item.ndim == 2 else LABEL), 1))
    if isinstance(item, np.memmap) and isinstance(item.base, mmap.mmap) and item.flags.c_contiguous and len(item):
        return slices_on_disk(item, step)
    return arrays().from_array(np.asarray(item), chunks=(step, -1)[: item.ndim], name=False)


def on_disk(path: str | os.PathLike[str], name: str) -> np.ndarray:
    """The memory map of a file."""
    if not os.path.exists(path):
        raise FileNotFoundError(f"{OWNER}: {name} has no file at {os.fspath(path)!r}.")
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError) as error:
        remedy = "give other files as dask.array.from_zarr or dask.dataframe.read_parquet have them"
        raise ValueError(f"{OWNER}: {name} must be .npy, got {os.fspath(path)!r}; {remedy}.") from error


def slices_on_disk(X: np.memmap, step: int) -> Any:
    """Slices of a memory map as places in its file, so that they travel as such."""
    import dask

    place = (str(X.filename), X.dtype, X.offset, X.shape)  # all that a worker needs to open it
    spans = [slice(start, min(start + step, len(X))) for start in range(0, len(X), step)]
    lazy = dask.delayed(rows_at, pure=True)
    shapes = [(span.stop - span.start, *X.shape[1:]) for span in spans]
    return arrays().concatenate(
        [arrays().from_delayed(lazy(place, span), shape, X.dtype) for span, shape in zip(spans, shapes)]
    )


def rows_at(place: tuple[Any, ...], rows: slice) -> np.ndarray:
    """Rows of a memory map, still on disk until they are touched."""
    path, dtype, offset, shape = place
    return np.asarray(np.memmap(path, dtype, "r", offset, shape)[rows])


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
        paths: list[str] = []
        for number, block in enumerate(X):
            rows = _validate.plain(block, OWNER, f"a block of {name}")
            if rows.dtype == object:
                wanted = "arrays of numbers or text"
                raise TypeError(f"{OWNER}: blocks of {name} must be {wanted}, got {_validate.shown(block)}.")
            paths.append(os.path.join(folder, f"{number}.npy"))
            np.save(paths[-1], rows)
        yield paths
