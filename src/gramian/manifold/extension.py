"""Rules that carry coordinates of training points to new ones."""

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from gramian import linalg
from gramian.manifold.graph import neighbors
from gramian.persist import Stored


class Extension(ABC, Stored):
    """A rule that gives new points coordinates, from training points and their coordinates F (n, k)."""

    @abstractmethod
    def __call__(self, points: Any, F: np.ndarray, X: Any) -> np.ndarray:
        """Coordinates (m, k) of the points X, none of which is a training point."""


@dataclass(frozen=True, eq=False)
class AlongGraph(Extension):
    """A new vertex x with edges w_j to the training points meets its own row of the eigenproblem L f = ν f::

        f(x) = Σ_j w_j f_j / (d − ν)                        for L = D − A, with d = Σ_j w_j,
        f(x) = d^{−1/2} Σ_j w_j d_j^{−1/2} f_j / (1 − ν)    for the normalized Laplacian:

    Nyström's formula for Laplacian eigenmaps. ν is held at half of the pole at most; a point without edges has the
    mean.

    Parameters
    ----------
    graph : Graph
        Gives the weights of new points.
    shift : array (k,), optional
        ν, the eigenvalue over λ; zero when None.
    degree : array (n,), optional
        d_j for the normalized Laplacian; None for L = D − A.
    """

    graph: Any
    shift: np.ndarray | None = None
    _: KW_ONLY
    degree: np.ndarray | None = None

    def __post_init__(self) -> None:
        freeze(self, "shift", "degree")

    def __call__(self, points: Any, F: np.ndarray, X: Any) -> np.ndarray:
        """The formulas above."""
        W = self.graph.link(points, X)  # (m, n)
        d = np.asarray(W.sum(axis=1), dtype=float).ravel()  # (m,)
        inverse = np.divide(1.0, d, out=np.zeros_like(d), where=d > 0)[:, None]
        shift = np.zeros(F.shape[1]) if self.shift is None else self.shift
        if self.degree is None:
            f: np.ndarray = inverse * np.asarray(W @ F)
            pole = 1 - inverse * shift  # (d − ν) / d
        else:
            half = np.divide(1.0, np.sqrt(self.degree), out=np.zeros_like(self.degree), where=self.degree > 0)
            f = np.sqrt(inverse) * np.asarray(W @ (half[:, None] * F))
            pole = 1 - shift
        f = f / np.maximum(pole, 0.5)
        f[d == 0] = F.mean(axis=0)
        return f


@dataclass(frozen=True, eq=False)
class ByWeights(Extension):
    """f(x) = Σ_j w_j f_j with the weights, summing to one, that rebuild x from its nearest training points.

    The kernel k_D of locally linear embedding (Epstein and Betke, §9, after Bengio et al. 2004).
    """

    n_neighbors: int

    def __call__(self, points: Any, F: np.ndarray, X: Any) -> np.ndarray:
        """The weighted mean."""
        ids, w = rebuilding_weights(points, self.n_neighbors, X)
        means: np.ndarray = np.einsum("ij,ijk->ik", w, F[ids])
        return means


@dataclass(frozen=True, eq=False)
class ByGeodesics(Extension):
    """f(x) = Σ_j k_D(x, x_j) a_j with Isomap's kernel k_D (Epstein and Betke, §9, after Bengio et al. 2004)::

        k_D(x, x_j) = −½ (D²(x, x_j) − mean_i D²(x, x_i) − mean_i D²(x_i, x_j) + mean D²)

    where D(x, ·) is the length of the shortest path that leaves x by one of its nearest training points. No n × n
    matrix is kept: each new point costs one shortest-path search on the graph.

    Parameters
    ----------
    lengths : sparse (n, n)
        Lengths of the edges between training points, in both directions.
    n_neighbors : int
    means : array (n,)
        mean_i D²(x_i, x_j).
    far : float
        Squared length between points that no path joins.
    coefficients : array (n, k)
        The a_j.
    """

    lengths: Any
    n_neighbors: int
    means: np.ndarray
    far: float
    coefficients: np.ndarray

    def __post_init__(self) -> None:
        freeze(self, "lengths", "means", "coefficients")

    def __call__(self, points: Any, F: np.ndarray, X: Any) -> np.ndarray:
        """The sum above, F is not needed."""
        out = np.empty((X.shape[0], self.coefficients.shape[1]))
        for rows in linalg.blocks(len(out), 8 * points.shape[0]):
            squared = self._paths(points, X[rows]) ** 2  # (rows, n)
            squared[np.isinf(squared)] = self.far
            # −2 k_D(x, x_j)
            centered = squared - squared.mean(axis=1, keepdims=True) - self.means + self.means.mean()
            out[rows] = -0.5 * centered @ self.coefficients
        return out

    def _paths(self, points: Any, X: Any) -> np.ndarray:
        """Lengths (m, n) of the shortest paths from new points, which only have edges out of them."""
        edges = edge_lengths(points, self.n_neighbors, X)
        n, m = edges.shape[1], edges.shape[0]
        graph = sparse.block_array([[self.lengths, None], [edges, sparse.csr_array((m, m))]], format="csr")
        paths: np.ndarray = csgraph.dijkstra(graph, indices=np.arange(n, n + m))[:, :n]
        return paths


def rebuilding_weights(X: Any, k: int, queries: Any = None, ridge: float = 1e-3) -> tuple[np.ndarray, np.ndarray]:
    """Ids and weights (n, k) that rebuild each query, or each point of X, from its k nearest points of X.

    min ‖x − Σ_j w_j x_j‖² + ridge · tr(G) ‖w‖² s.t. Σ w_j = 1, G the Gram matrix of x_j − x (Roweis and Saul 2000).
    """
    ids, _ = neighbors(X, k, queries=queries)
    X = linalg.dense(X)
    Q = X if queries is None else linalg.dense(queries)
    V = X[ids] - Q[:, None, :]  # (n, k, d)
    G = V @ V.transpose(0, 2, 1)  # (n, k, k)
    trace = np.trace(G, axis1=1, axis2=2)  # (n,)
    G = G + (ridge * np.where(trace > 0, trace, 1.0))[:, None, None] * np.eye(ids.shape[1])
    w = np.linalg.solve(G, np.ones((*ids.shape, 1)))[:, :, 0]
    return ids, w / w.sum(axis=1, keepdims=True)


def edge_lengths(X: Any, k: int, queries: Any = None) -> sparse.csr_array:
    """Distances of queries, or of the points of X, to their k nearest points of X as a sparse matrix.

    Copies keep an edge of tiny length, not none.
    """
    ids, D = neighbors(X, k, queries=queries)
    lengths = np.maximum(np.sqrt(D), np.finfo(float).tiny)
    ends = np.arange(0, ids.size + 1, max(ids.shape[1], 1))
    return sparse.csr_array((lengths.ravel(), ids.ravel(), ends), shape=(len(ids), X.shape[0]))


def freeze(value: Any, *names: str) -> None:
    """Replace array fields of a frozen dataclass by read-only copies."""
    for name in names:
        field = getattr(value, name)
        if field is None:
            continue
        if sparse.issparse(field):
            field = sparse.csr_array(field, copy=True)
            arrays = [field.data, field.indices, field.indptr]
        else:
            field = np.array(field, dtype=np.result_type(np.asarray(field).dtype, np.float32))
            arrays = [field]
        for array in arrays:
            array.flags.writeable = False
        object.__setattr__(value, name, field)
