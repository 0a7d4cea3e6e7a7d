"""Two rows at a time: scatters of listed pairs, nearest rows, and affinities, each over pairs of blocks."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from gramian import linalg, neighbors
from gramian.dask import passes, views
from gramian.dask.engine import added
from gramian.dask.rows import Rows
from gramian.dask.views import View
from gramian.learners import lfda

BATCH_BYTES = 64 << 20
"""Rows that one task compares, in double precision."""
BATCHES = 2
"""Batches for each worker that are under way at once: this bounds the rows that travel."""


def pair_gram(V: Rows, weights: np.ndarray | None = None) -> np.ndarray:
    """Σ_t w_t v_t v_tᵀ of differences of rows."""
    return added(list(_in_rounds(V, batch_gram, weights, added)))


def pair_values(V: Rows, function: Any) -> np.ndarray:
    """A number for each difference of rows, (m,)."""
    if V.minus is not None and passes.few(V, V.numbers):
        return np.concatenate([function(some) for _, some in passes.differences(V)])
    return np.concatenate(list(_in_rounds(V, batch_values, function, np.concatenate)))


def _in_rounds(V: Rows, receive: Any, what: Any, merge: Any) -> Iterator[Any]:
    """Results of one round of batches after the other; no more rows than theirs leave the blocks at a time."""
    size = max(1, BATCH_BYTES // (16 * V.view.width))
    batches = [slice(start, min(start + size, len(V))) for start in range(0, len(V), size)]
    step = BATCHES * V.engine.workers
    for start in range(0, len(batches), step):
        yield _exchanged(V, batches[start : start + step], receive, what, merge)


def _exchanged(V: Rows, batches: list[slice], receive: Any, what: Any, merge: Any) -> Any:
    """Some batches: each block sends the rows that a batch needs to whoever works on it."""
    wanted, args = [], []
    assert V.minus is not None
    for batch in batches:
        names, place = np.unique(np.concatenate([V.numbers[batch], V.minus[batch]]), return_inverse=True)
        wanted.append(names)
        args.append((place.astype(np.int32), V.view, what[batch] if isinstance(what, np.ndarray) else what))
    tasks = passes.sending(replace(V, rows=None, minus=None), wanted)
    return V.engine.exchange(views.pieces_of, tasks, receive, args, merge)


def _differences(pieces: list[np.ndarray], place: np.ndarray, view: View) -> np.ndarray:
    """The pairs of one batch, from the rows that were sent."""
    ends = replace(view, b=None).of(np.concatenate(pieces))
    m = len(place) // 2
    V = ends[place[:m]] - ends[place[m:]]
    return V if view.b is None else V + view.b


def batch_gram(pieces: list[np.ndarray], place: np.ndarray, view: View, weights: np.ndarray | None) -> np.ndarray:
    """Σ w v vᵀ of the pairs of one batch."""
    V = _differences(pieces, place, view)
    return V.T @ (V if weights is None else weights[:, None] * V)


def batch_values(pieces: list[np.ndarray], place: np.ndarray, view: View, function: Any) -> np.ndarray:
    """A number for each pair of one batch."""
    return function(_differences(pieces, place, view))


@linalg.scatter.register
def _(X: Rows, W: Any) -> np.ndarray:
    both = sparse.coo_array(sparse.triu(W + W.T, 1))  # a pair and its mirror image are the same pair
    if both.nnz == 0:
        return np.zeros((X.view.size, X.view.size))
    i, j = both.coords
    return pair_gram(X[i] - X[j], both.data)


@neighbors.nearest.register
def _(X: Rows, k: int, queries: Any = None, *, threads: int = 1) -> tuple[np.ndarray, np.ndarray]:
    Q = X if queries is None else queries
    ids, D = np.empty((Q.shape[0], k), np.intp), np.empty((Q.shape[0], k))
    for places, *asked in _asked(Q):
        own = _numbers(places) if queries is None else None
        tasks = [(*asked, part, chosen, X.view, _numbers(at), k, own) for at, part, chosen in passes.tasks(X)]
        ids[places], D[places] = X.engine.total(near_of, tasks, merge=_nearest_of_all)
    return ids, D


def _numbers(places: Any) -> np.ndarray:
    return np.arange(places.start, places.stop) if isinstance(places, slice) else places


def _asked(Q: Any) -> Iterator[tuple[Any, Any, Any, View]]:
    """Queries, a block at a time."""
    if isinstance(Q, Rows):
        for places, part, chosen in passes.tasks(Q):
            yield places, part, chosen, Q.view
    else:
        yield slice(0, len(Q)), Q, None, View(Q.shape[1])


def near_of(
    asked: Any, asked_rows: Any, seen: View, part: Any, chosen: Any, view: View, names: np.ndarray, k: int, own: Any
) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest rows of a block for the rows of another, by the names of the rows; not a row itself."""
    Q, X = seen.of(asked, asked_rows), view.of(part, chosen)
    m = min(k + (own is not None), len(X))
    ids, D = neighbors.nearest(X, m, Q)
    ids = names[ids]
    if own is not None:
        D = np.where(ids == own[:, None], np.inf, D)
    return _first(ids, D, k)


def _nearest_of_all(results: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    width = max(ids.shape[1] for ids, _ in results)
    return _first(np.hstack([ids for ids, _ in results]), np.hstack([D for _, D in results]), width)


def _first(ids: np.ndarray, D: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k smallest by (distance, name); places without a row hold an infinite distance."""
    if ids.shape[1] < k:
        ids = np.pad(ids, ((0, 0), (0, k - ids.shape[1])))
        D = np.pad(D, ((0, 0), (0, k - D.shape[1])), constant_values=np.inf)
    order = np.lexsort((ids, D), axis=1)[:, :k]
    return np.take_along_axis(ids, order, axis=1), np.take_along_axis(D, order, axis=1)


@lfda.affinity_scatter.register
def _(X: Rows, Y: Rows, k: int) -> np.ndarray:
    n = len(X)
    if n < 2:
        return np.zeros((Y.view.size, Y.view.size))
    X = X - X.mean(axis=0)
    scale = lfda.floored(np.sqrt(neighbors.nearest(X, min(k, n - 1))[1][:, -1]))
    total = np.zeros((Y.view.size, Y.view.size))
    tasks = list(passes.tasks(X))
    for places, part, chosen in tasks:
        pairs = [(part, chosen, scale[places], other, rows, scale[at], X.view, Y.view) for at, other, rows in tasks]
        total += X.engine.total(affinity_of, pairs)
    return total


def affinity_of(
    part: Any, chosen: Any, scale: np.ndarray, other: Any, rows: Any, others: np.ndarray, near: View, view: View
) -> np.ndarray:
    """Σ_i y_i (Σ_j A_ij (y_i − y_j))ᵀ for the rows i of one block and j of another."""
    X, Y, Z = near.of(part, chosen), view.of(part, chosen), view.of(other, rows)
    W = near.of(other, rows)
    total = np.zeros((Y.shape[1], Y.shape[1]))
    for block in linalg.blocks(len(X), 24 * len(W)):
        A = np.exp(-linalg.sqdist(X[block], W) / scale[block, None] / others)
        total += Y[block].T @ (A.sum(axis=1)[:, None] * Y[block] - A @ Z)
    return total
