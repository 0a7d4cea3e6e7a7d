"""What is near, by name: graphs, locally linear embedding, Isomap, kernels and matrices as penalties P'."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from gramian import _validate, linalg
from gramian._settings import shown
from gramian.features import KernelFeatures
from gramian.kernels import Kernel
from gramian.manifold.eigen import Search, smallest_eigenvectors
from gramian.manifold.extension import AlongGraph, ByGeodesics, ByWeights, edge_lengths, rebuilding_weights
from gramian.manifold.graph import Graph, NeighborGraph, laplacian, n_connected_components
from gramian.manifold.metric import graph_metric, kernel_map
from gramian.manifold.penalties import KernelPenalty, MatrixPenalty, Penalty, SmoothPenalty, Spectrum
from gramian.metrics import Metric

PAIRS_PER_SECOND = 2e10
"""Features of pairs that an exact search compares in a second."""
LONG_S = 30
"""Seconds from which on the search is announced."""
Named = Literal["laplacian", "normalized", "lle", "isomap"]


class Built(NamedTuple):
    """A penalty on points, and the graph behind it: adjacency matrix (None where there is none), and its components."""

    penalty: Penalty
    adjacency: Any
    n_components: int


class Connected(NamedTuple):
    """Adjacency matrix of the points, the rule that links new ones, and the number of connected components."""

    adjacency: Any
    rule: Graph
    n_components: int


def connect(graph: Any, n_neighbors: int, X: Any, owner: str) -> Connected:
    """Connect the points by a Graph, an adjacency matrix, or their nearest neighbors when None.

    A graph in several components is told of, as it is hardly ever meant.
    """
    rule = graph if isinstance(graph, Graph) else NeighborGraph(n_neighbors)
    if graph is None:
        announce_cost(X, owner)
    A = rule.adjacency_of(X) if graph is None or isinstance(graph, Graph) else _adjacency(graph, X.shape[0], owner)
    pieces = n_connected_components(A)
    if pieces > 1:
        _validate.warn(
            f"{owner}: the graph has {pieces} connected components, so the first dimensions tell the components "
            "apart; raise n_neighbors to connect them."
        )
    return Connected(A, rule, pieces)


def announce_cost(X: Any, owner: str) -> None:
    """Say what the exact graph of many points costs, before it is made."""
    n, d = X.shape
    seconds = n * n * (d + 10) / PAIRS_PER_SECOND  # an estimate
    if seconds > LONG_S:
        _validate.warn(
            f"{owner}: compares all pairs of {n:,} points for the graph, about {seconds:.0f} s on one core; "
            f"give graph=NeighborGraph(index=…), or fit on a part of them and transform the rest."
        )


def _adjacency(graph: Any, n: int, owner: str) -> Any:
    if not hasattr(graph, "shape") or graph.shape != (n, n):
        raise ValueError(f"{owner}: graph must be a Graph or an adjacency matrix ({n}, {n}), got {shown(graph)}.")
    A = _validate.csr(graph, float) if sparse.issparse(graph) else np.asarray(graph, dtype=float)
    if abs(A - A.T).max() > 1e-10 * abs(A).max() or A.min() < 0:
        raise ValueError(f"{owner}: graph must be symmetric with nonnegative weights.")
    return A


@dataclass(frozen=True, eq=False)
class Geometry:
    """How a penalty P' is made of points.

    Parameters
    ----------
    kind : {"laplacian", "normalized", "lle", "isomap"}, Kernel, or matrix (n, n)
    n_neighbors, graph
        Of the graph; "lle" and "isomap" have their own, of ``n_neighbors``.
    rank : int, optional
        Of a Laplacian: the number of its smoothest eigenvectors to stay in.
    features : KernelFeatures, optional
        Of a kernel: the coordinates to work in.
    smoothness : float or matrix (n, n)
        Of a kernel: M of Theorem 4 in Li, Yang and Wang (2007), or its multiple of D − A.
    """

    kind: Any
    n_neighbors: int
    graph: Any
    rank: int | None = None
    features: KernelFeatures | None = None
    smoothness: Any = 0.0

    def penalty(self, X: Any, search: Search, owner: str) -> Built:
        """P' on the points X."""
        if isinstance(self.kind, Kernel):
            return self._of_kernel(X, owner)
        connected = connect(self.graph, self.n_neighbors, X, owner)
        if not isinstance(self.kind, str):
            P = symmetric(self.kind, X.shape[0], owner, "penalty")
            penalty: Penalty = MatrixPenalty(P, _constant(X), along(X, connected.rule))
        elif self.kind in OF_NEIGHBORS:
            penalty = OF_NEIGHBORS[self.kind](X, self.n_neighbors)
        else:
            penalty = self._of_graph(X, connected, search, owner)
        return Built(penalty, connected.adjacency, connected.n_components)

    def _of_graph(self, X: Any, connected: Connected, search: Search, owner: str) -> Penalty:
        """The Laplacian, or its part on the smoothest eigenvectors."""
        normalized = self.kind == "normalized"
        L, trivial = laplacian(connected.adjacency, normalized)
        degree = np.asarray(connected.adjacency.sum(axis=1)).ravel() if normalized else None
        place = along(X, connected.rule, degree)
        if self.rank is None:
            return MatrixPenalty(L, trivial, place)
        return SmoothPenalty(smallest_eigenvectors(L, int(self.rank), trivial, search), place)

    def _of_kernel(self, X: Any, owner: str) -> Built:
        """K⁺ + HMH in the coordinates of the features; objects that are no vectors are near by these coordinates."""
        features = self.features
        assert features is not None
        Z = features.fit_transform(X)
        M = None
        connected = Connected(None, NeighborGraph(self.n_neighbors), 1)
        if np.ndim(self.smoothness) == 2 or sparse.issparse(self.smoothness):
            M = symmetric(self.smoothness, len(Z), owner, "smoothness")
        elif self.smoothness > 0:
            connected = connect(self.graph, self.n_neighbors, X if self.kind.on_vectors else Z, owner)
            M = self.smoothness * laplacian(connected.adjacency)[0]
        penalty = KernelPenalty(Z, M, lambda spectrum: kernel_map(features, spectrum.coefficients))
        return Built(penalty, connected.adjacency, connected.n_components)


def along(X: Any, rule: Graph, degree: np.ndarray | None = None) -> Any:
    """New points go along the graph."""
    return lambda spectrum: graph_metric(X, spectrum.vectors, AlongGraph(rule, spectrum.shift, degree=degree))


def lle_penalty(X: Any, k: int) -> MatrixPenalty:
    """(I − W)ᵀ(I − W) with W the weights that rebuild each point from its k nearest neighbors."""
    ids, w = rebuilding_weights(X, k)
    n, k = ids.shape
    ends = np.arange(0, n * k + 1, max(k, 1))
    # I − W
    R = sparse.eye_array(n) - sparse.csr_array((w.ravel(), ids.ravel(), ends), shape=(n, n))
    rule = ByWeights(k)
    P = sparse.csr_array(R.T @ R)
    return MatrixPenalty(P, _constant(X), lambda spectrum: graph_metric(X, spectrum.vectors, rule))


def isomap_penalty(X: Any, k: int) -> KernelPenalty:
    """K⁺ of Isomap's kernel K = [−½ H D² H]₊, D the lengths of shortest paths along the graph of k neighbors.

    Points in different components get the largest finite distance, so that the kernel is always finite; 1 when
    components are copies of one point each.
    """
    lengths = edge_lengths(X, k)
    lengths = sparse.csr_array(lengths.maximum(lengths.T))
    D = csgraph.shortest_path(lengths, directed=False) ** 2  # (n, n)
    apart = np.isinf(D)
    far = float(D[~apart].max(initial=0.0)) or 1.0
    D[apart] = far
    means = D.mean(axis=0)  # (n,)
    # −½ H D² H
    K = -0.5 * (D - means - means[:, None] + means.mean())
    values, vectors = linalg.eigh(linalg.symmetrize(K))
    keep = values > 1e-10 * values.max(initial=0.0)
    root = np.sqrt(values[keep])  # singular values of K^{1/2}

    def place(spectrum: Spectrum) -> Metric:
        # f(x) = k_D(x)ᵀ V diag(1/s) W, because z(x) = diag(1/s) Vᵀ k_D(x).
        rule = ByGeodesics(lengths, k, means, far, (vectors[:, keep] / root) @ spectrum.coefficients)
        return graph_metric(X, spectrum.vectors, rule)

    return KernelPenalty(vectors[:, keep] * root, None, place)


OF_NEIGHBORS: dict[str, Callable[[Any, int], Penalty]] = {"lle": lle_penalty, "isomap": isomap_penalty}
"""Penalties with a graph of their own."""


def symmetric(P: Any, n: int, owner: str, name: str) -> Any:
    """A symmetric matrix (n, n), dense or sparse."""
    if not hasattr(P, "shape") or P.shape != (n, n):
        listed = ", ".join(map(repr, get_args(Named)))
        raise ValueError(f"{owner}: {name} must be one of {listed}, a Kernel or a matrix ({n}, {n}), got {shown(P)}.")
    P = _validate.csr(P, float) if sparse.issparse(P) else np.asarray(P, dtype=float)
    if abs(P - P.T).max() > 1e-8 * abs(P).max():
        raise ValueError(f"{owner}: {name} must be symmetric.")
    return (P + P.T) / 2


def _constant(X: Any) -> np.ndarray:
    return np.full(X.shape[0], X.shape[0] ** -0.5)
