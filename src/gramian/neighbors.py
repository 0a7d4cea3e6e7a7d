"""The k nearest rows, exactly: the one road of indexes, learners and graphs.

A scan in single precision gives every row a lower bound of its squared distance to a query. The rows with the lowest
bounds are looked at again in double precision, and the answer stands once the bound of all others exceeds
the k-th distance found. Where it does not, all rows whose bound allows it are looked at.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _threads, device_scan, linalg
from gramian._arrays import foreign
from gramian.lower_bounds import FEW, DenseScan, Frame, sparse_scan

QUERIES, BLOCK_BYTES = 1024, 64 << 20
"""Queries that share one pass over the rows, fewer where products and lists would not fit into so many bytes."""
LONGER = 16
"""Many queries that a list leaves undecided get one with so many times the spare rows, all others one by one."""
TIE = 1e-12
"""Distances that differ by this share of them are tied: their last digits are not the same on all machines."""
SPARE = 8
"""Entries beyond k that are looked at for ties with the last one."""
SMALL = 1 << 18
"""So few distances in all are found before a limit on threads is set."""


Distances = Callable[[np.ndarray, np.ndarray, np.ndarray, int], np.ndarray]
"""Squared distances of listed pairs of rows; see :func:`search`."""


def nearest(X: Any, k: int, queries: Any = None, *, threads: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Ids (n, k) and squared Euclidean distances of the k nearest rows of X, ascending, ties by id.

    Parameters
    ----------
    X : points (m, d), dense or sparse
    k : int
        At most m, or m − 1 without queries.
    queries : points (n, d), optional
        None: the rows of X, each without itself (by position: a duplicate does count).
    threads : int, optional
        None: one, or as many as ``joblib.parallel_config(n_jobs=…)`` says, which is how learners get more.
    """
    if foreign(X):
        return _on_device(X, k, queries)
    threads = _threads.count(None, "nearest") if threads is None else threads
    Q = X if queries is None else queries
    if threads == 1 and X.shape[0] * Q.shape[0] <= SMALL:
        threads = 0
    skip = np.arange(X.shape[0]) if queries is None else None
    if sparse.issparse(X) or sparse.issparse(Q):
        X, Q = sparse.csr_array(X), sparse.csr_array(Q)
        return search(sparse_scan(X), Q, sparse_distances(Q, X), k, skip=skip, threads=threads)
    frame = Frame.around(X)
    scan = DenseScan.of(X, frame if frame.suits(k, len(X)) else frame.whole())
    return search(scan, Q, dense_distances(Q, X), k, skip=skip, threads=threads)


def _on_device(X: Any, k: int, queries: Any) -> tuple[Any, Any]:
    """:func:`nearest` where X is."""
    skip = linalg.numbers(X.shape[0], X) if queries is None else None
    return device_scan.search(device_scan.DeviceScan.of(X), X, X if queries is None else queries, k, skip)


def dense_distances(Q: np.ndarray, X: np.ndarray) -> Distances:
    """Squared distances of listed pairs of rows, in double precision."""
    from gramian._jit.nearest import listed_sqdist

    Q, X = linalg.sealed(Q), linalg.sealed(X)
    return lambda rows, ids, lower, k: listed_sqdist(linalg.sealed(_chosen(Q, rows)), X, ids, lower, k)


def _chosen(Q: Any, rows: np.ndarray) -> Any:
    """Queries at ascending positions; all of them are not copied."""
    return Q if len(rows) == linalg.count(Q) else linalg.take(Q, rows)


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
    scan : Scan
    Q : points (n, d), in the coordinates of the scan
    distances : function of (rows, ids, lower, k) → squared distances of the queries ``rows`` to their ``ids``; entries
        whose bound ``lower``, ascending in each row, exceeds the k-th of the row may be left at infinity
    k : int
    skip : (n,), optional
        A row that is no neighbor of query i.
    threads : int
    """
    n = linalg.count(Q)
    if threads == 1 and n <= FEW:
        threads = 0
    bytes_per_query = 8 * scan.step + 64 * k
    step = min(QUERIES, max(-(-n // max(threads, 1)), 1), max(BLOCK_BYTES // bytes_per_query, 1))
    answers = _threads.each(lambda rows: _piece(scan, Q, distances, k, skip, rows), pieces(n, step), threads)
    if len(answers) == 1:
        return answers[0]
    return np.concatenate([ids for ids, _ in answers]), np.concatenate([values for _, values in answers])


def pieces(n: int, step: int) -> list[np.ndarray]:
    """The numbers below n in pieces of at most ``step``, at least one."""
    return [np.arange(start, min(start + step, n)) for start in range(0, max(n, 1), step)]


def _piece(
    scan: Any, Q: Any, distances: Distances, k: int, skip: np.ndarray | None, rows: np.ndarray, more: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Neighbors of some of the queries, from lists with ``more`` times the usual number of spare rows."""
    wanted = k if skip is None else k + 1
    length, own_rows = min(wanted + more * scan.spare(wanted), scan.n), None if skip is None else skip[rows]
    everything = length == scan.n
    ids, lower = scan.everything(len(rows)) if everything else scan.shortlist(scan.lift(_chosen(Q, rows)), length)
    D = distances(rows, ids, lower, wanted)
    np.copyto(D, np.inf, where=lower == np.inf)
    names, values = smallest(D, k, ids, own_rows)
    if everything:
        return names, values
    undecided = np.flatnonzero(values[:, -1] * (1 + TIE) >= lower[:, -1])
    if len(undecided) > FEW and more < LONGER:
        names[undecided], values[undecided] = _piece(scan, Q, distances, k, skip, rows[undecided], LONGER * more)
        return names, values
    for i in undecided:
        D, ids = _all_within(scan, Q, distances, rows[[i]], values[i, -1], wanted)
        names[[i]], values[[i]] = smallest(D, k, ids, None if own_rows is None else own_rows[[i]])
    return names, values


def _all_within(
    scan: Any, Q: Any, distances: Distances, row: np.ndarray, limit: float, wanted: int
) -> tuple[np.ndarray, np.ndarray]:
    """Distances (1, m) and ids of all rows that bounds cannot tell to lie beyond a limit, for one query."""
    ids = scan.within(scan.lift(linalg.take(Q, row)), limit * (1 + TIE))[None]
    return distances(row, ids, np.full(ids.shape, -np.inf), wanted), ids


def search_radius(
    scan: Any, Q: Any, distances: Distances, limit: float, *, threads: int = 1
) -> list[tuple[np.ndarray, np.ndarray]]:
    """All rows of a scan with a squared distance of at most the limit, for each query, ascending, ties by id."""
    limit = limit * (1 + TIE)

    def one(row: int) -> tuple[np.ndarray, np.ndarray]:
        rows = np.array([row])
        ids = scan.within(scan.lift(linalg.take(Q, rows)), limit)[None]
        D = distances(rows, ids, np.full(ids.shape, -np.inf), max(ids.shape[1], 1))
        names, values = smallest(np.where(limit >= D, D, np.inf), ids.shape[1], ids)
        inside = values[0] < np.inf
        return names[0, inside], values[0, inside]

    return _threads.each(one, range(linalg.count(Q)), threads)


def smallest(
    D: np.ndarray, k: int, columns: np.ndarray | None = None, skip: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Columns (or their given names) and values of the k smallest entries of each row, ascending, ties by name.

    Entries that rounding alone tells apart are tied, and get the value of the first of them. Infinity and NaN are no
    entries: where fewer than k are left, the name −1 and the value infinity fill the row.
    """
    from gramian._jit.selection import level_ties

    more = min(k + SPARE, D.shape[1])
    names, values = least(D, max(more, k), columns, skip)
    cut = np.zeros(len(D), bool)
    level_ties(values, names, k, TIE, cut)
    if more < D.shape[1] and cut.any():
        rows = np.flatnonzero(cut)
        names_of_cut = None if columns is None else columns[rows]
        ids, best = least(D[rows], D.shape[1], names_of_cut, None if skip is None else skip[rows])
        level_ties(best, ids, k, TIE, cut[rows])
        names[rows, :k], values[rows, :k] = ids[:, :k], best[:, :k]
    return names[:, :k], values[:, :k]


def least(
    D: np.ndarray, k: int, columns: np.ndarray | None = None, skip: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """:func:`smallest` as the numbers stand, last digits and all."""
    from gramian._jit import selection

    n, m = D.shape
    names = np.broadcast_to(np.arange(m), (n, m)) if columns is None else columns
    skip = np.repeat(-1, n) if skip is None else skip
    if k <= selection.NEARLY:
        return selection.in_order(D, names, skip, k)
    names, values = selection.gathered(D, names, skip, k)
    names, values = selection.arranged(values, names, np.argsort(values, axis=1))
    return names[:, :k], values[:, :k]


def tally(codes: np.ndarray, n_classes: int, weights: np.ndarray | None = None) -> np.ndarray:
    """Votes (n, n_classes) that the neighbors' codes (n, k) give to each class, one each unless weights say otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.neighbors import tally
    >>> tally(np.array([[0, 2, 2]]), 3).tolist()
    [[1.0, 0.0, 2.0]]
    """
    votes = np.zeros((len(codes), n_classes))  # (n, n_classes)
    rows = np.arange(len(codes))[:, None]
    np.add.at(votes, (rows, codes), 1.0 if weights is None else weights)
    return votes


def winners(codes: np.ndarray, n_classes: int, weights: np.ndarray | None = None) -> np.ndarray:
    """Code (n,) with most votes; of tied classes that of the nearest voter (neighbors come nearest first).

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.neighbors import winners
    >>> winners(np.array([[1, 0, 0], [1, 0, 2]]), 3).tolist()
    [0, 1]
    """
    votes = tally(codes, n_classes, weights)
    tied = np.isclose(votes, votes.max(axis=1, keepdims=True), rtol=1e-9, atol=0.0)
    nearest = np.take_along_axis(tied, codes, axis=1).argmax(axis=1)  # (n,): the place of the first tied voter
    codes_won: np.ndarray = codes[np.arange(len(codes)), nearest]
    return codes_won
