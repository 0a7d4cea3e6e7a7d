"""Points as a stream of blocks, the columns that a table holds of them, and blocks of other tools into our indexes."""

import mmap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from scipy import sparse

from gramian import _validate, linalg
from gramian._arrays import Array
from gramian._settings import Rule, checked

if TYPE_CHECKING:
    from gramian.export.base import Map

BLOCK_BYTES = 16 << 20
"""Memory of the points of one block in double precision."""
FORMS = ("vector", "query")


def _are_points(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | dict | set | frozenset)


Stream = Annotated[Any, Rule("points", _are_points)]
"""Points, or an iterator of blocks of them."""
Pairs = Annotated[Iterable[tuple[np.ndarray, Any]], Rule("pairs (ids, X)")]
"""Blocks (ids, X)."""


@dataclass(frozen=True)
class Rows:
    """Blocks (ids, X) of points; ``total`` is their number where it is known, ``text`` whether ids are words.

    ``named`` says whether the ids are others than 0 … n − 1; ``sample(count)`` are some of the points: spread over
    an array, from the first block of a stream.
    """

    blocks: Iterator[tuple[np.ndarray, Any]]
    total: int | None
    text: bool
    named: bool
    sample: Callable[[int], Any]


def rows(X: Any, ids: Any, owner: str, n_features: int | None, block: int | None = None) -> Rows:
    """Points as a stream.

    ``X`` is an array (a memory map stays on disk), sparse or a sequence of objects, or an iterator of blocks, each
    of them points or a pair (ids, points); it may say how many there will be as ``total``.
    """
    streamed = hasattr(X, "__next__")
    if streamed:
        if ids is not None:
            raise ValueError(f"{owner}: ids must come with the blocks, as pairs (ids, X), when X is an iterator.")
        blocks, total = _numbered(X, owner), getattr(X, "total", None)
    else:
        X = X if hasattr(X, "shape") or n_features is None else _validate.plain(X, owner, "X")
        X = X.to_numpy() if hasattr(X, "iloc") else sparse.csr_array(X) if sparse.issparse(X) else X
        if n_features is not None and len(X.shape) != 2:
            raise ValueError(f"{owner}: X must be points (n, {n_features}), got {_validate.shown(X)}.")
        total = linalg.count(X)
        blocks = _sliced(X, _all_ids(ids, total, owner), block or max(1, BLOCK_BYTES // (8 * (n_features or 1))))
    start = next(blocks, None)
    if start is None or linalg.count(start[1]) == 0:
        raise ValueError(f"{owner}: X must hold at least 1 point(s), got 0.")
    whole = start[1] if streamed else X

    def sample(count: int) -> Any:
        spread = linalg.take(whole, linalg.spread(linalg.count(whole), count))
        return spread if n_features is None else _validate.points(spread, owner, n_features=n_features)

    sound = (_sound(*pair, owner, n_features) for pair in chain([start], blocks))
    return Rows(sound, total, start[0].dtype.kind == "U", ids is not None or streamed, sample)


def _all_ids(ids: Any, n: int, owner: str) -> np.ndarray:
    names = np.arange(n, dtype=np.int64) if ids is None else as_ids(ids, owner)  # (n,)
    if len(names) != n:
        raise ValueError(f"{owner}: ids must have one entry per point ({n}), got {len(names)}.")
    if ids is not None and len(np.unique(names)) < n:
        raise ValueError(f"{owner}: ids must be distinct.")
    return names


def as_ids(ids: Any, owner: str) -> np.ndarray:
    """Ids as int64, or as words."""
    names = _validate.plain(ids, owner, "ids")
    if names.dtype.kind == "O" and names.ndim == 1:
        names = np.array([str(name) for name in names.tolist()])
    if names.ndim != 1 or names.dtype.kind not in "iuUS":
        raise ValueError(
            f"{owner}: ids must be integers or words in one row, got shape {names.shape} of {names.dtype}."
        )
    return names.astype(str) if names.dtype.kind in "US" else names.astype(np.int64)


def _sliced(X: Any, ids: np.ndarray, step: int) -> Iterator[tuple[np.ndarray, Any]]:
    for start in range(0, len(ids), step):
        span = slice(start, start + step)
        yield ids[span], linalg.take(X, span)
        _release(X)


def _release(X: Any) -> None:
    """Let go of the pages of a memory map that have been read: they would count as memory of this process."""
    base = X
    while isinstance(base, np.ndarray):
        base = base.base  # down to what owns the memory
    if isinstance(base, mmap.mmap) and not X.flags.writeable and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)


def _numbered(blocks: Any, owner: str) -> Iterator[tuple[np.ndarray, Any]]:
    start = 0
    for item in blocks:
        ids, X = item if isinstance(item, tuple) and len(item) == 2 else (None, item)
        yield np.arange(start, start + linalg.count(X)) if ids is None else as_ids(ids, owner), X
        start += linalg.count(X)


def _sound(ids: np.ndarray, X: Any, owner: str, n_features: int | None) -> tuple[np.ndarray, Any]:
    if n_features is not None:
        X = _validate.points(X, owner, n_features=n_features, min_points=0)
    if len(ids) != linalg.count(X):
        raise ValueError(f"{owner}: ids must have one entry per point ({linalg.count(X)}), got {len(ids)}.")
    return ids, X


def labels(ids: np.ndarray, owner: str) -> np.ndarray:
    """Ids for an index that takes nonnegative integers alone."""
    if ids.dtype.kind == "U" or (len(ids) and ids.min() < 0):
        shown = _validate.shown(ids[0] if ids.dtype.kind == "U" else int(ids.min()))
        raise ValueError(f"{owner}: ids must be integers from 0 on, got {shown}; number the points.")
    return ids


@dataclass(frozen=True)
class Columns:
    """What a table holds of the points: blocks (ids, {name: float32 array}), and the width of each column.

    The width of a single number, as ``norm``, is 0.
    """

    map: "Map"
    blocks: Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]
    widths: dict[str, int]
    total: int | None
    text: bool

    @property
    def vectors(self) -> dict[str, int]:
        """Widths of the columns of vectors."""
        return {name: width for name, width in self.widths.items() if width}


def columns(map: "Map", points: Rows, form: str = "vector", original: bool = False) -> Columns:
    """``learned`` = E(x); or in the form "query" ``original`` = x, ``norm`` = |E(x)|², and by the angle ``size``."""
    owner = map.owner
    _validate.one_of(form, owner, "form", FORMS)
    widths = {"learned": map.width} if form == "vector" else {}
    if form == "query" and map.affine is None:
        raise TypeError(f"{owner}: form='query' needs a linear metric, or one by the angle; use form='vector'.")
    if original or form == "query":
        if map.n_features is None:
            raise ValueError(f"{owner}: original must be False for points that are not vectors.")
        widths["original"] = map.n_features
    if form == "query":
        widths |= {"norm": 0, "size": 0} if by_angle(map) else {"norm": 0}  # 0: a number
    blocks = ((ids, _columns(map, X, widths)) for ids, X in points.blocks)
    return Columns(map, blocks, widths, points.total, points.text)


def by_angle(map: "Map") -> bool:
    """Whether points are compared by their angle."""
    return map.affine is not None and map.affine.by_angle


def _columns(map: "Map", X: Any, widths: dict[str, int]) -> dict[str, np.ndarray]:
    values = {"learned": map(X)} if "learned" in widths else {}
    if "original" in widths:
        values["original"] = linalg.dense(X)
    if "norm" in widths and map.affine is not None:
        values["norm"], values["size"] = map.affine.sizes(X)
    return {name: single(values[name], map.owner) for name in widths}


def single(A: Array, owner: str) -> np.ndarray:
    """An array in single precision, in which every target stores vectors."""
    with np.errstate(over="ignore"):
        B = np.ascontiguousarray(A, dtype=np.float32)
    if not np.isfinite(B).all():
        raise ValueError(f"{owner}: coordinates must fit into float32 (below 3.4e38); rescale X.")
    return B


def schema(stored: Columns) -> Any:
    """Arrow fields: ``id`` (int64 or words), vectors as fixed-size lists of float32, numbers as float32."""
    import pyarrow as pa

    fields = [pa.field("id", pa.string() if stored.text else pa.int64())]
    for name, width in stored.widths.items():
        fields.append(pa.field(name, pa.list_(pa.float32(), width) if width else pa.float32()))
    return pa.schema(fields)


def batch(form: Any, ids: np.ndarray, values: dict[str, np.ndarray]) -> Any:
    """A block as an Arrow record batch."""
    import pyarrow as pa

    arrays = [pa.array(ids.tolist() if ids.dtype.kind == "U" else ids, form.field("id").type)]
    for column in values.values():
        flat = pa.array(column.reshape(-1))
        arrays.append(flat if column.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, column.shape[1]))
    return pa.record_batch(arrays, schema=form)


def matrix(column: Any) -> np.ndarray:
    """An Arrow column of vectors, of fixed or free length, as an array (n, r)."""
    values = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    return values.flatten().to_numpy(zero_copy_only=False).reshape(len(values), -1)


def texts(values: np.ndarray) -> list[str]:
    """Rows of float32 as ``0.5,1,…`` with the fewest digits that give the same number back."""
    import pyarrow as pa
    import pyarrow.compute as pc

    n, width = len(values), values.shape[1] if values.ndim == 2 else 1
    numbers = pc.cast(pa.array(values.reshape(-1)), pa.string())  # (n · width,)
    lists = pa.ListArray.from_arrays(np.arange(0, (n + 1) * width, width, dtype=np.int32), numbers)
    return pc.binary_join(lists, ",").to_pylist()


@checked
def fill(index: Any, blocks: Pairs, *, collection: str | None = None) -> Any:
    """Add blocks (ids, X), as ``from_…`` yields them, to an index, or to a collection of a space of the service.

    Integer ids are kept. Words are not ids: points with words are numbered in their order, and ``index.names`` lists
    the words by number; in a space the word is the ``name`` of an item's meta.

    Parameters
    ----------
    index : ExactIndex, HashIndex or another index; or a Space
    blocks : iterable of (ids, points)
    collection : str, optional
        The collection of a space, made when it is not there.

    Returns
    -------
    index

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> blocks = [(np.array([7, 9]), np.eye(2))]
    >>> index = gm.export.fill(gm.ExactIndex(gm.Mahalanobis.euclidean(2)), blocks)
    >>> index.query([[0.9, 0.0]], k=1)[0].tolist()
    [[7]]
    """
    if (
        not hasattr(index, "add")
        or isinstance(index, set)
        or hasattr(index, "iloc")
        or (collection is not None and not hasattr(index, "create"))
    ):
        wanted = "an index" if collection is None else "a space"
        raise TypeError(f"fill: index must be {wanted}, got {_validate.shown(index)}.")
    names: list[Any] = []
    for number, (ids, X) in enumerate(_pairs(blocks)):
        words = None if np.asarray(ids).dtype.kind in "iu" else np.asarray(ids).tolist()
        if collection is None:
            index.add(X, *([ids] if words is None else []))
            names.extend(words or [])
            continue
        if number == 0:
            index.create(collection, X.shape[1])
        meta = {"ids": np.asarray(ids).tolist()} if words is None else {"meta": [{"name": str(word)} for word in words]}
        index.add(collection, X, **meta)
    if names:
        index.names = np.array(names)
    return index


def _pairs(blocks: Any) -> Iterator[tuple[Any, Any]]:
    """Blocks, each of them looked at."""
    for block in blocks:
        if not isinstance(block, tuple | list) or len(block) != 2 or np.ndim(block[0]) != 1:
            raise TypeError(f"fill: blocks must be pairs (ids, X), got {_validate.shown(block)}.")
        yield block[0], block[1]
