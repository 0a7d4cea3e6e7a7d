"""Nearest neighbors without n × n memory: exact for vectors, and for any other distance.

For vectors the search is certified. Let P have orthonormal columns and ρ(x) = ‖x − PPᵀx‖. Then

    ‖x − y‖² ≥ ‖Pᵀx − Pᵀy‖² + (ρ(x) − ρ(y))²,

so a short list by the right-hand side holds the k neighbors as soon as its last entry exceeds the k-th true distance
on it. For the few rows where it does not, every point whose bound is below that distance is evaluated.
"""

from typing import Any

import numpy as np
from scipy import sparse

from gramian import _checks, linalg

VARIANCE = 0.95
"""Share of the variance kept by the projection."""
EXTRA = 80
"""Least number of entries of the short list beyond k."""


def neighbors(
    X: Any,
    k: int,
    queries: Any = None,
    distance: Any = None,
    index: Any = None,
    shortlist: int | None = None,
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

    Examples
    --------
    >>> from gramian.manifold import neighbors
    >>> neighbors([[0.0], [1.0], [3.0]], k=1)[0].ravel().tolist()
    [1, 0, 1]
    """
    X = _checks.points(X, "neighbors")
    Q = X if queries is None else _checks.points(queries, "neighbors", n_features=X.shape[1], name="queries")
    same = queries is None
    k = min(_checks.number(k, "neighbors", "k", low=1, integer=True), X.shape[0] - same)
    if k == 0:
        return np.zeros((Q.shape[0], 0), np.intp), np.zeros((Q.shape[0], 0))
    if index is not None:
        return _by_index(Q, X, k, same, index)
    if distance is None:
        return _euclidean(Q, X, k, same)
    if shortlist is not None:
        ids, _ = _euclidean(Q, X, min(max(k, shortlist), X.shape[0] - same), same)
        return _sorted(ids, _listed(distance, Q, X, ids), k)
    return _by_distance(Q, X, k, same, distance)


def _sorted(ids: np.ndarray, D: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.lexsort((ids, D), axis=1)[:, :k]
    return np.take_along_axis(ids, order, 1).astype(np.intp), np.take_along_axis(D, order, 1)


def _by_index(Q: Any, X: Any, k: int, same: bool, index: Any) -> tuple[np.ndarray, np.ndarray]:
    ids, D = index.add(X).query(Q, min(k + same, X.shape[0]))
    ids, D = np.asarray(ids), np.array(D, dtype=float)
    if same:
        D[ids == np.arange(len(ids))[:, None]] = np.inf
    return _sorted(ids, D, k)


def _skip(rows: slice, same: bool) -> np.ndarray:
    return np.arange(rows.start, rows.stop) if same else np.full(rows.stop - rows.start, -1)


def _blockwise(sqdist: Any, n: int, width: int, m: int, same: bool, itemsize: int = 8):
    """The m smallest of each row of a distance matrix given by ``sqdist(rows)``, block by block."""
    from gramian._jit.neighbors import smallest

    parts = [smallest(sqdist(rows), _skip(rows, same), m) for rows in linalg.blocks(n, itemsize * width)]
    ids, values = np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
    if (ids < 0).any():
        raise ValueError(f"neighbors: distance must be finite from each point to {m} others, got NaN or infinity.")
    return ids, values


def _by_distance(Q: Any, X: Any, k: int, same: bool, distance: Any) -> tuple[np.ndarray, np.ndarray]:
    full = all_sqdist(distance)
    return _blockwise(lambda rows: np.asarray(full(Q[rows], X), float), Q.shape[0], X.shape[0], k, same)


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


def _euclidean(Q: Any, X: Any, k: int, same: bool) -> tuple[np.ndarray, np.ndarray]:
    if sparse.issparse(X) or sparse.issparse(Q):
        return _blockwise(lambda rows: linalg.sqdist(Q[rows], X), Q.shape[0], X.shape[0], k, same)
    from gramian._jit.neighbors import listed_sqdist

    m = min(k + max(EXTRA, 2 * k), X.shape[0] - same)
    ZQ, ZX = _coarse(Q, X, same)
    ids, bound = _blockwise(_expansion(ZQ, ZX), len(ZQ), len(ZX), m, same, ZX.itemsize)
    norm = linalg.row_norms(ZQ.astype(float))
    bound = bound[:, -1] + norm
    ids, D = _sorted(ids, listed_sqdist(Q, X, ids), k)
    # Rounding of the expansion |a|² + |b|² − 2aᵀb in the coarse precision.
    slack = 16 * np.finfo(ZX.dtype).eps * max(linalg.row_norms(Z.astype(float)).max(initial=0.0) for Z in (ZQ, ZX))
    open_rows = np.flatnonzero(D[:, -1] > bound - slack) if m < X.shape[0] - same else np.zeros(0, int)
    for rows in linalg.blocks(len(open_rows), ZX.itemsize * len(ZX)):
        block = open_rows[rows]
        for i, lower in zip(block, _expansion(ZQ[block], ZX)(slice(None))):
            within = np.flatnonzero(lower <= D[i, -1] + slack - norm[i])
            within = within[within != i][None] if same else within[None]
            ids[i], D[i] = (row[0] for row in _sorted(within, listed_sqdist(Q[i : i + 1], X, within), k))
    return ids, D


def _expansion(ZQ: np.ndarray, ZX: np.ndarray) -> Any:
    norms = linalg.row_norms(ZX)

    def sqdist(rows: slice) -> np.ndarray:
        D = ZQ[rows] @ ZX.T
        D *= -2
        D += norms
        return D

    return sqdist


def _coarse(Q: np.ndarray, X: np.ndarray, same: bool) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates (Pᵀx, ρ(x)), float32 in units of the data's spread, whose distances bound the true ones below."""
    center = X.mean(axis=0, dtype=np.float64)
    P = _directions(X, center)
    ZX = _coordinates(X, center, P)
    return (ZX if same else _coordinates(Q, center, P)), ZX


def _coordinates(X: np.ndarray, center: np.ndarray, P: np.ndarray | None) -> np.ndarray:
    if P is None:
        return np.asarray(X - center)
    out = np.empty((X.shape[0], P.shape[1] + 1), np.float32)
    for rows in linalg.blocks(X.shape[0], 16 * X.shape[1]):
        V = X[rows] - center.astype(X.dtype)
        out[rows, :-1] = Z = V @ P.astype(X.dtype)
        out[rows, -1] = np.sqrt(np.maximum(linalg.row_norms(V) - linalg.row_norms(Z), 0))
    return out


def _directions(X: np.ndarray, center: np.ndarray) -> np.ndarray | None:
    """Leading principal directions of a sample of the rows; None when they would not save work."""
    n, d = X.shape
    if n < 2000 or d < 32:
        return None
    V = X[:: max(1, n // 4000)] - center
    values, vectors = linalg.eigh(V.T @ V)
    total = np.cumsum(values[::-1])
    p = int(np.searchsorted(total, VARIANCE * total[-1])) + 1
    return vectors[:, ::-1][:, :p] if 2 * p < d else None
