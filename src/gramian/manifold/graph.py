"""Graphs over points as values: call one on X for a symmetric adjacency matrix, zero on the diagonal.

They are made of nearest neighbors, by the Euclidean distance, any other one, or an index (:func:`neighbors`).

A graph also links new points to old ones (:meth:`Graph.link`), which is all that out-of-sample extension needs.
"""

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from gramian import _threads, _validate, linalg
from gramian._settings import Count, Positive, check, checked, shown
from gramian.neighbors import nearest, smallest
from gramian.persist import Stored

LOCAL = 7
"""The neighbor whose distance is the local scale."""


class Graph(ABC, Stored):
    """A rule that connects points. Subclasses give ``_weights(X, queries)``, nonnegative (n, m), from queries to X.

    With ``queries=None`` the rows of X are connected to each other and no point to itself.
    """

    __post_init__ = check

    @abstractmethod
    def _weights(self, X: Any, queries: Any = None) -> Any: ...

    def __call__(self, X: Any) -> Any:
        """Symmetric adjacency matrix A (n, n), sparse unless the graph is complete."""
        return self.adjacency_of(_validate.points(X, type(self).__name__))

    def adjacency_of(self, X: Any) -> Any:
        """The same of points that were checked."""
        return self._symmetric(self._weights(X))

    def _symmetric(self, W: Any) -> Any:
        return W

    def link(self, X: Any, queries: Any) -> Any:
        """Weights (n, m) of edges from new points to the points of X."""
        return self._weights(X, queries)


@dataclass(frozen=True, eq=False)
class NeighborGraph(Graph):
    """Edges to the k nearest neighbors (a point is not its own), made symmetric by union or intersection.

    Parameters
    ----------
    n_neighbors : int
    scale : float or "local", optional
        Edge weights exp(−d² / (2 scale²)); 1 when None. "local": exp(−d² / s_i s_j) with s_i the distance of point i to
        its seventh neighbor (Zelnik-Manor and Perona, 2005), so that dense and sparse regions are treated alike.
    mutual : bool
        Keep an edge only when both ends chose it, instead of when either did.
    distance : Metric, Kernel, TangentDistance or callable, optional
        Euclidean when None.
    shortlist : int, optional
        Evaluate ``distance`` on this many Euclidean neighbors only.
    index : Index, optional
        An index to search with instead of exact search.

    Examples
    --------
    >>> from gramian.manifold import NeighborGraph
    >>> NeighborGraph(1)([[0.0], [1.0], [3.0]]).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """

    n_neighbors: Count = 20
    scale: Literal["local"] | Positive | None = None
    _: KW_ONLY
    mutual: bool = False
    distance: Any = None
    shortlist: Count | None = None
    index: Any = None

    def _weights(self, X: Any, queries: Any = None) -> sparse.csr_array:
        search = {"distance": self.distance, "index": self.index, "shortlist": self.shortlist}
        ids, D = self._near(X, self.n_neighbors, queries, search)
        if self.scale is None or not D.size:
            return adjacency(ids, None, X.shape[0])
        if not isinstance(self.scale, str):
            return adjacency(ids, _gauss(D, self.scale), X.shape[0])
        scales = D[:, LOCAL - 1] if D.shape[1] >= LOCAL else self._near(X, LOCAL, queries, search)[1][:, -1]
        if queries is None:
            return adjacency(ids, local_weights(D, scales, scales[ids]), X.shape[0])
        used, where = np.unique(ids, return_inverse=True)  # each training point that is linked, once
        far = neighbors_of(X, LOCAL + 1, queries=X[used], **search)[1][:, -1]  # the nearest is the point itself
        return adjacency(ids, local_weights(D, scales, far[where].reshape(ids.shape)), X.shape[0])

    def _near(self, X: Any, k: int, queries: Any, search: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """Ids and squared distances of neighbors."""
        if queries is not None:
            queries = _validate.points(queries, "neighbors", n_features=X.shape[1], name="queries")
        return neighbors_of(X, k, queries=queries, **search)

    def _symmetric(self, W: sparse.csr_array) -> sparse.csr_array:
        return sparse.csr_array(W.minimum(W.T) if self.mutual else W.maximum(W.T))


@dataclass(frozen=True, eq=False)
class BallGraph(Graph):
    """Edges between points nearer than ``radius`` (a distance, not squared); weights as in :class:`.NeighborGraph`."""

    radius: Positive
    scale: Positive | None = None
    _: KW_ONLY
    distance: Any = None

    def _weights(self, X: Any, queries: Any = None) -> sparse.csr_array:
        Q = X if queries is None else queries
        bands = []
        for rows in linalg.blocks(Q.shape[0], 8 * X.shape[0]):
            D = _sqdist(Q[rows], X, self.distance)
            W = np.ones_like(D) if self.scale is None else _gauss(D, self.scale)
            W[self.radius**2 < D] = 0
            if queries is None:
                W[np.arange(len(W)), np.arange(rows.start, rows.stop)] = 0
            bands.append(sparse.csr_array(W))
        return sparse.csr_array(sparse.vstack(bands))


@dataclass(frozen=True, eq=False)
class GaussianGraph(Graph):
    """The complete graph with weights exp(−d² / (2 scale²)): n² memory.

    Li, Yang and Wang (2007, §5.1) have exp(−d² / 0.25), which is a scale of √0.125.
    """

    scale: Positive = 1.0
    distance: Any = None

    def _weights(self, X: Any, queries: Any = None) -> np.ndarray:
        W = _gauss(_sqdist(X if queries is None else queries, X, self.distance), self.scale)  # (n, m)
        if queries is None:
            np.fill_diagonal(W, 0)
            W = linalg.symmetrize(W)
        return W


def _sqdist(Q: Any, X: Any, distance: Any) -> np.ndarray:
    return np.array((linalg.sqdist if distance is None else all_sqdist(distance))(Q, X), dtype=float)


def _gauss(D: np.ndarray, scale: float) -> np.ndarray:
    weights: np.ndarray = np.exp(-D / (2 * scale**2))
    return weights


def local_weights(D: np.ndarray, of_rows: np.ndarray, of_ends: np.ndarray) -> np.ndarray:
    """exp(−d² / s_i s_j) from squared distances D (n, k), squared scales of the rows (n,) and of the ends (n, k)."""
    scale = np.sqrt(of_rows[:, None] * of_ends)  # (n, k): s_i s_j
    ratio = np.divide(D, scale, out=np.where(D > 0, np.inf, 0.0), where=scale > 0)
    weights: np.ndarray = np.exp(-ratio)
    return weights


def adjacency(ids: np.ndarray, weights: np.ndarray | None, m: int) -> sparse.csr_array:
    """Directed edges from row i to ids[i] as a sparse (n, m) matrix."""
    n, k = ids.shape
    data = np.ones(n * k) if weights is None else weights.ravel()
    return sparse.csr_array((data, ids.ravel(), np.arange(0, n * k + 1, k)), shape=(n, m))


@checked
def laplacian(A: Any, normalized: bool = False) -> tuple[Any, np.ndarray]:
    """L = D − A, or I − D^{−1/2} A D^{−1/2}, and its unit trivial vector, e or D^{1/2}e over its norm.

    A vertex without edges has a zero row in both. The trivial vector has eigenvalue 0; further ones, of a graph in
    several pieces, are information and stay.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.manifold import laplacian
    >>> laplacian(np.array([[0.0, 2.0], [2.0, 0.0]]))[0].tolist()
    [[2.0, -2.0], [-2.0, 2.0]]
    """
    A = as_graph(A, "laplacian")
    degree = np.asarray(A.sum(axis=1), dtype=float).ravel()  # (n,)
    L = csgraph.laplacian(A, normed=normalized)
    trivial = np.sqrt(degree) if normalized else np.ones_like(degree)
    length = np.linalg.norm(trivial)  # 0 where there are no points
    return sparse.csr_array(L) if sparse.issparse(A) else L, trivial / (length or 1.0)


def n_connected_components(A: Any) -> int:
    """Number of connected components of a graph."""
    A = sparse.csr_array(as_graph(A, "n_connected_components"))
    return int(csgraph.connected_components(A, directed=False, return_labels=False))


def as_graph(A: Any, owner: str) -> Any:
    """An adjacency matrix: square, symmetric, finite and nonnegative, dense or CSR."""
    A = _validate.csr(A) if sparse.issparse(A) else _validate.array(A, owner, "A")
    values = A.data if sparse.issparse(A) else A
    if A.ndim != 2 or A.shape[0] != A.shape[1] or values.dtype.kind not in "biuf":
        raise ValueError(f"{owner}: A must be an adjacency matrix (n, n) of numbers, got shape {A.shape}.")
    high, low = float(values.max(initial=0)), float(values.min(initial=0))
    if not np.isfinite(high) or low < 0:
        raise ValueError(f"{owner}: A must have finite weights that are not negative, got {low:g} to {high:g}.")
    A = A.astype(np.float64, copy=False)
    if A.shape[0] and abs(A - A.T).max() > 1e-10 * high:
        raise ValueError(f"{owner}: A must be symmetric; take A.maximum(A.T).")
    return A


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
    X = _validate.points(X, "neighbors")
    if queries is not None:
        queries = _validate.points(queries, "neighbors", n_features=X.shape[1], name="queries")
    if index is not None and not (hasattr(index, "add") and hasattr(index, "query")):
        raise TypeError(f"neighbors: index must be an index with add and query, got {shown(index)}.")
    search = {"distance": distance, "index": index, "shortlist": shortlist, "n_jobs": n_jobs}
    return neighbors_of(X, k, queries=queries, **search)


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
    most = X.shape[0] - same  # a point is not its own neighbor
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
    if hasattr(index, "iloc") or not (hasattr(index, "add") and hasattr(index, "query")):
        raise TypeError(f"neighbors: index must be an index without items, got {shown(index)}.")
    ids, D = index.add(X).query(Q, min(k + same, X.shape[0]))
    return smallest(np.asarray(D, dtype=float), k, np.asarray(ids), np.arange(len(ids)) if same else None)


def _by_distance(Q: Any, X: Any, k: int, same: bool, distance: Any) -> tuple[np.ndarray, np.ndarray]:
    full, lists = all_sqdist(distance), []
    for rows in linalg.blocks(Q.shape[0], 8 * X.shape[0]):
        D = np.asarray(full(Q[rows], X), dtype=float)
        lists.append(smallest(D, k, skip=np.arange(rows.start, rows.stop) if same else None))
    ids, values = map(np.concatenate, zip(*lists))
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
        return lambda A, B: np.array([[_number(distance(a, b)) ** 2 for b in B] for a in A])
    raise TypeError(f"neighbors: distance must be a Metric, a Kernel or a callable, got {type(distance).__name__}.")


def _number(value: Any) -> float:
    """A distance that a function of the caller's has given."""
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"neighbors: distance must give a number for two points, got {shown(value)}.") from error


def _listed(distance: Any, Q: Any, X: Any, ids: np.ndarray) -> np.ndarray:
    if hasattr(distance, "listed_sqdist"):
        D: np.ndarray = distance.listed_sqdist(Q, X, ids)
        return D
    full = all_sqdist(distance)
    return np.concatenate([full(Q[i : i + 1], X[ids[i]]) for i in range(len(ids))])
