"""The k nearest rows, exactly: the one road of indexes, learners and graphs.

A scan in single precision gives every row a lower bound of its squared distance to a query. The rows with the lowest
bounds are looked at again in double precision, and the answer stands once the bound of all others exceeds
the k-th distance found. Where it does not, all rows whose bound allows it are looked at.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _threads, linalg
from gramian.scans import DenseScan, SparseScan

QUERIES, BLOCK_BYTES = 1024, 64 << 20
"""Queries that share one pass over the rows, fewer where their products would not fit into so many bytes."""


Distances = Callable[[np.ndarray, np.ndarray, np.ndarray, int], np.ndarray]
"""Squared distances of listed pairs of rows; see :func:`search`."""


def nearest(X: Any, k: int, queries: Any = None, *, threads: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Ids (n, k) and squared Euclidean distances of the k nearest rows of X, ascending, ties by id.

    Parameters
    ----------
    X : points (m, d), dense or sparse
    k : int
        At most m, or m − 1 without queries.
    queries : points (n, d), optional
        None: the rows of X, each without itself (by position: a duplicate does count).
    threads : int
    """
    Q = X if queries is None else queries
    skip = np.arange(X.shape[0]) if queries is None else None
    if sparse.issparse(X) or sparse.issparse(Q):
        X, Q = sparse.csr_array(X), sparse.csr_array(Q)
        return search(SparseScan.of(X), Q, sparse_distances(Q, X), k, skip=skip, threads=threads)
    return search(DenseScan.of(X), Q, dense_distances(Q, X), k, skip=skip, threads=threads)


def dense_distances(Q: np.ndarray, X: np.ndarray) -> Distances:
    """Squared distances of listed pairs of rows, in double precision."""
    from gramian._jit.nearest import listed_sqdist

    return lambda rows, ids, lower, k: listed_sqdist(Q[rows], X, ids, lower, k)


def sparse_distances(Q: Any, X: Any) -> Distances:
    """Squared distances of listed pairs of sparse rows."""

    def distances(rows: np.ndarray, ids: np.ndarray, lower: np.ndarray, k: int) -> np.ndarray:
        return linalg.row_norms(X[ids.ravel()] - Q[np.repeat(rows, ids.shape[1])]).reshape(ids.shape)

    return distances


def search(
    scan: Any, Q: Any, distances: Distances, k: int, *, skip: np.ndarray | None = None, threads: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest of the rows of a scan, by distances that the scan bounds from below.

    Parameters
    ----------
    scan : DenseScan or SparseScan
    Q : points (n, d), in the coordinates of the scan
    distances : function of (rows, ids, lower, k) → squared distances of the queries ``rows`` to their ``ids``; entries
        whose bound ``lower``, ascending in each row, exceeds the k-th of the row may be left at infinity
    k : int
    skip : (n,), optional
        A row that is no neighbor of query i.
    threads : int
    """
    n = Q.shape[0]
    skip = np.full(n, -1) if skip is None else skip
    step = min(QUERIES, max(-(-n // threads), 1), max(BLOCK_BYTES // (8 * scan.step), 1))
    pieces = [np.arange(start, min(start + step, n)) for start in range(0, n, step)]
    found = _threads.each(lambda rows: _piece(scan, Q, distances, k, skip, rows), pieces, threads)
    if not found:
        return np.zeros((0, k), np.int64), np.zeros((0, k))
    return np.concatenate([ids for ids, _ in found]), np.concatenate([values for _, values in found])


def _piece(
    scan: Any, Q: Any, distances: Distances, k: int, skip: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Neighbors of some of the queries."""
    wanted = k + int(skip[rows[0]] >= 0)
    Z, own = scan.lift(Q[rows])
    ids, lower = scan.shortlist(Z, own, min(wanted + max(scan.spare, wanted // 4), scan.n))
    D = distances(rows, ids, lower, wanted)
    D[lower == np.inf] = np.inf
    names, values = smallest(D, k, ids, skip[rows])
    undecided = np.flatnonzero(values[:, -1] >= lower[:, -1]) if ids.shape[1] < scan.n else ()
    for i in undecided:
        ids = scan.within(Z[[i]], own[i], values[i, -1])[None]
        D = distances(rows[[i]], ids, np.full(ids.shape, -np.inf), wanted)
        names[[i]], values[[i]] = smallest(D, k, ids, skip[rows[[i]]])
    return names, values


def smallest(
    D: np.ndarray, k: int, columns: np.ndarray | None = None, skip: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Columns (or their given names) and values of the k smallest entries of each row, ascending, ties by name.

    Infinity and NaN are no entries: where fewer than k are left, the name −1 and the value infinity fill the row.
    """
    from gramian._jit.nearest import smallest as select

    n, m = D.shape
    names = np.broadcast_to(np.arange(m), (n, m)) if columns is None else columns
    return select(D, names, np.full(n, -1) if skip is None else skip, k)
