"""Nearest neighbors for graphs: by the Euclidean distance, any other distance, or an index."""

from typing import Any

import numpy as np

from gramian import _checks, _device, _threads, linalg
from gramian._settings import Count, checked, shown
from gramian.neighbors import nearest, smallest


@checked
def neighbors(
    X: Any,
    k: Count,
    *,
    queries: Any = None,
    distance: Any = None,
    index: Any = None,
    shortlist: Count | None = None,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Ids (n, k) and squared distances (n, k) of the k nearest rows of X, ascending, ties by id.

    Parameters
    ----------
    X : points (m, d)
    k : int
        Neighbors of each query; fewer columns come back when X is smaller.
    queries : points (n, d), optional
        None: the rows of X, each without itself (by position: a duplicate does count).
    distance : Metric, Kernel, TangentDistance, or callable d(a, b), optional
        Euclidean when None.
    index : Index, optional
        Anything with ``add(X)`` and ``query(X, k) -> (ids, sqdist)``, searched instead of X.
    shortlist : int, optional
        Evaluate ``distance`` only on this many Euclidean neighbors (the coarse step of Simard et al., 1998).
    n_jobs : int, optional
        Threads of the Euclidean search; None is one, −1 all.

    Examples
    --------
    >>> from gramian.manifold import neighbors
    >>> neighbors([[0.0], [1.0], [3.0]], k=1)[0].ravel().tolist()
    [1, 0, 1]
    """
    there = distance is None and index is None  # other searches run on the CPU
    X = _checks.points(X, "neighbors", devices=there)
    if queries is not None:
        queries = _checks.points(queries, "neighbors", n_features=X.shape[1], name="queries", devices=there)
        _device.same_place("neighbors", X, queries)
    if index is not None and not (hasattr(index, "add") and hasattr(index, "query")):
        raise TypeError(f"neighbors: index must be an index with add and query, got {shown(index)}.")
    search = {"distance": distance, "index": index, "shortlist": shortlist, "n_jobs": n_jobs}
    ids, D = neighbors_of(X, k, queries=queries, **search)
    return _device.outside(ids), _device.outside(D)


def neighbors_of(
    X: Any,
    k: int,
    *,
    queries: Any = None,
    distance: Any = None,
    index: Any = None,
    shortlist: int | None = None,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """:func:`neighbors` of points that were checked."""
    same = queries is None
    Q = X if same else queries
    most = X.shape[0] - same
    k = min(k, most)
    if k == 0:
        return np.zeros((Q.shape[0], 0), np.intp), np.zeros((Q.shape[0], 0))
    if index is not None:
        return _by_index(Q, X, k, same, index)
    threads = _threads.count(n_jobs, "neighbors")
    if distance is None:
        return nearest(X, k, queries, threads=threads)
    if shortlist is not None:
        ids, _ = nearest(X, min(max(k, shortlist), most), queries, threads=threads)
        return smallest(_listed(distance, Q, X, ids), k, ids)
    return _by_distance(Q, X, k, same, distance)


def _by_index(Q: Any, X: Any, k: int, same: bool, index: Any) -> tuple[np.ndarray, np.ndarray]:
    ids, D = index.add(X).query(Q, min(k + same, X.shape[0]))
    return smallest(np.asarray(D, dtype=float), k, np.asarray(ids), np.arange(len(ids)) if same else None)


def _by_distance(Q: Any, X: Any, k: int, same: bool, distance: Any) -> tuple[np.ndarray, np.ndarray]:
    full, parts = all_sqdist(distance), []
    for rows in linalg.blocks(Q.shape[0], 8 * X.shape[0]):
        D = np.asarray(full(Q[rows], X), dtype=float)
        parts.append(smallest(D, k, skip=np.arange(rows.start, rows.stop) if same else None))
    ids, values = (np.concatenate(part) for part in zip(*parts))
    if (ids < 0).any():
        raise ValueError(f"neighbors: distance must be finite from each point to {k} others, got NaN or infinity.")
    return ids, values


def all_sqdist(distance: Any) -> Any:
    """Squared distances between two row sets, from whatever the distance offers."""
    if hasattr(distance, "sqdist"):
        return distance.sqdist
    if hasattr(distance, "pairwise"):
        return lambda A, B: np.asarray(distance.pairwise(A, B)) ** 2
    if callable(distance):
        return lambda A, B: np.array([[float(distance(a, b)) ** 2 for b in B] for a in A])
    raise TypeError(f"neighbors: distance must be a Metric, a Kernel or a callable, got {type(distance).__name__}.")


def _listed(distance: Any, Q: Any, X: Any, ids: np.ndarray) -> np.ndarray:
    if hasattr(distance, "listed_sqdist"):
        return distance.listed_sqdist(Q, X, ids)
    full = all_sqdist(distance)
    return np.concatenate([full(Q[i : i + 1], X[ids[i]]) for i in range(len(ids))])
