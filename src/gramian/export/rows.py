"""Points as a stream of blocks: arrays, memory maps, and iterators of blocks alike."""

import mmap
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _checks, linalg

BLOCK_BYTES = 16 << 20
"""Memory of the points of one block in double precision."""


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
    if hasattr(X, "__next__"):
        if ids is not None:
            raise ValueError(f"{owner}: ids must come with the blocks, as pairs (ids, X), when X is an iterator.")
        blocks, total, streamed = _numbered(X, owner), getattr(X, "total", None), True
    else:
        streamed = False
        X = X if hasattr(X, "shape") or n_features is None else _checks.plain(X, owner, "X")
        X = X.to_numpy() if hasattr(X, "iloc") else sparse.csr_array(X) if sparse.issparse(X) else X
        if n_features is not None and len(X.shape) != 2:
            raise ValueError(f"{owner}: X must be points (n, {n_features}), got {_checks.shown(X)}.")
        total = linalg.count(X)
        blocks = _sliced(X, _all_ids(ids, total, owner), n_features, block)
    first = next(blocks, None)
    if first is None or linalg.count(first[1]) == 0:
        raise ValueError(f"{owner}: X must hold at least 1 point(s), got 0.")
    checked = (_sound(pair, owner, n_features) for pair in chain([first], blocks))
    whole = first[1] if streamed else X

    def sample(count: int) -> Any:
        some = linalg.take(whole, linalg.spread(linalg.count(whole), count))
        return some if n_features is None else _checks.points(some, owner, n_features=n_features)

    return Rows(checked, total, first[0].dtype.kind == "U", ids is not None or streamed, sample)


def _all_ids(ids: Any, n: int, owner: str) -> np.ndarray:
    found = np.arange(n, dtype=np.int64) if ids is None else as_ids(ids, owner)
    if len(found) != n:
        raise ValueError(f"{owner}: ids must have one entry per point ({n}), got {len(found)}.")
    if ids is not None and len(np.unique(found)) < n:
        raise ValueError(f"{owner}: ids must be distinct.")
    return found


def as_ids(ids: Any, owner: str) -> np.ndarray:
    """Ids as int64, or as words."""
    found = _checks.plain(ids, owner, "ids")
    if found.dtype.kind == "O" and found.ndim == 1:
        found = np.array([str(name) for name in found.tolist()])
    if found.ndim != 1 or found.dtype.kind not in "iuUS":
        raise ValueError(
            f"{owner}: ids must be integers or words in one row, got shape {found.shape} of {found.dtype}."
        )
    return found.astype(str) if found.dtype.kind in "US" else found.astype(np.int64)


def _sliced(X: Any, ids: np.ndarray, n_features: int | None, block: int | None) -> Iterator[tuple[np.ndarray, Any]]:
    wide = n_features or 1
    step = block or max(1, BLOCK_BYTES // (8 * wide))
    for start in range(0, len(ids), step):
        part = slice(start, start + step)
        yield ids[part], linalg.take(X, part)
        _release(X)


def _release(X: Any) -> None:
    """Let go of the pages of a memory map that have been read: they would count as memory of this process."""
    base = X
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap) and not X.flags.writeable and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)


def _numbered(blocks: Any, owner: str) -> Iterator[tuple[np.ndarray, Any]]:
    start = 0
    for item in blocks:
        named = isinstance(item, tuple) and len(item) == 2
        ids, X = item if named else (None, item)
        ids = np.arange(start, start + linalg.count(X), dtype=np.int64) if ids is None else as_ids(ids, owner)
        start += linalg.count(X)
        yield ids, X


def _sound(pair: tuple[np.ndarray, Any], owner: str, n_features: int | None) -> tuple[np.ndarray, Any]:
    ids, X = pair
    if n_features is not None:
        X = _checks.points(X, owner, n_features=n_features, min_points=0)
    if len(ids) != linalg.count(X):
        raise ValueError(f"{owner}: ids must have one entry per point ({linalg.count(X)}), got {len(ids)}.")
    return ids, X


def is_path(value: Any) -> bool:
    """Whether a value names a place on disk: a path, or words with a dot or a slash."""
    return isinstance(value, os.PathLike) or (isinstance(value, str) and any(c in value for c in "./\\"))


def labels(ids: np.ndarray, owner: str) -> np.ndarray:
    """Ids for an index that takes nonnegative integers alone."""
    if ids.dtype.kind == "U" or (len(ids) and ids.min() < 0):
        shown = _checks.shown(ids[0] if ids.dtype.kind == "U" else int(ids.min()))
        raise ValueError(f"{owner}: ids must be integers from 0 on, got {shown}; number the points.")
    return ids
