"""Laplacian eigenmaps, and what every spectral embedding here shares."""

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gramian import _checks
from gramian.manifold.eigen import smallest_eigenvectors
from gramian.manifold.extension import GraphMetric
from gramian.manifold.graph import Graph, NeighborGraph, laplacian, n_pieces


def resolve_graph(graph: Any, n_neighbors: int, X: Any, owner: str) -> tuple[Any, Graph]:
    """Adjacency matrix of X and the rule that links new points, from a Graph, an adjacency matrix or None."""
    _checks.number(n_neighbors, owner, "n_neighbors", low=1, integer=True)
    if graph is None or isinstance(graph, Graph):
        rule = NeighborGraph(n_neighbors) if graph is None else graph
        return rule(X), rule
    n = X.shape[0]
    if not hasattr(graph, "shape") or graph.shape != (n, n):
        raise ValueError(
            f"{owner}: graph must be a Graph or an adjacency matrix ({n}, {n}), got {_checks.shown(graph)}."
        )
    A = sparse.csr_array(graph, dtype=float) if sparse.issparse(graph) else np.asarray(graph, dtype=float)
    if abs(A - A.T).max() > 1e-10 * abs(A).max() or A.min() < 0:
        raise ValueError(f"{owner}: graph must be symmetric with nonnegative weights.")
    return A, NeighborGraph(n_neighbors)


class SpectralEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base: a fitted ``embedding_`` (n, k) with ``metric_`` that carries it to new points."""

    _sparse = True

    def _points(self, X: Any, reset: bool) -> Any:
        return _checks.estimator_points(self, X, reset=reset, min_points=2 if reset else 1)

    def _connect(self, X: Any) -> tuple[Any, Graph]:
        A, rule = resolve_graph(self.graph, self.n_neighbors, X, type(self).__name__)
        self.n_pieces_ = n_pieces(A)
        if self.n_pieces_ > 1:
            warnings.warn(
                f"{type(self).__name__}: the graph has {self.n_pieces_} connected components, so the first dimensions "
                "tell the components apart; raise n_neighbors to connect them.",
                UserWarning,
                stacklevel=4,
            )
        return A, rule

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of points, (n, k): their row of ``embedding_`` for training points, extended to new ones."""
        check_is_fitted(self, "embedding_")
        return self.metric_.transform(self._points(X, reset=False))

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit and return ``embedding_``."""
        return self.fit(X, y).embedding_.copy()

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._sparse
        return tags


class LaplacianEigenmaps(SpectralEmbedding):
    """min tr(XᵀLX) over orthonormal X orthogonal to the trivial vector: the smoothest coordinates on a graph.

    Belkin and Niyogi (2003); :class:`TDL` without labels, or with its cost set to zero, is exactly this.

    Parameters
    ----------
    n_components : int
        Number of eigenvectors, at most n − 1.
    n_neighbors : int
        Neighbors of each point in the default graph (binary, symmetric by union).
    normalized : bool
        L = I − D^{−1/2}AD^{−1/2} instead of D − A. The trivial vector is then D^{1/2}e.
    graph : Graph or adjacency matrix (n, n), optional
        NeighborGraph(n_neighbors) when None.
    tol, max_iter : float, int
        Of the Lanczos iteration for more than 1,000 points.
    random_state : int or generator, optional
        Start vector of the iteration.

    Attributes
    ----------
    embedding_ : array (n, n_components)
    eigenvalues_ : array (n_components,)
    metric_ : GraphMetric
        Euclidean distance in the embedding, for training and new points.
    n_iter_ : int
        Matrix-vector products of the eigensolver; 1 when it was dense.
    n_pieces_ : int
        Connected components of the graph. Zero eigenvalues beyond the trivial one come first and stay.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> first = gm.LaplacianEigenmaps(1, n_neighbors=2).fit_transform(X)[:, 0]
    >>> bool(np.all(np.diff(first) > 0) or np.all(np.diff(first) < 0))
    True
    """

    def __init__(
        self, n_components=2, n_neighbors=20, normalized=False, graph=None, tol=1e-4, max_iter=None, random_state=None
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.normalized = normalized
        self.graph = graph
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> "LaplacianEigenmaps":
        """Embed the points; y is ignored."""
        X = self._points(X, reset=True)
        k = _checks.number(self.n_components, "LaplacianEigenmaps", "n_components", low=1, integer=True)
        A, rule = self._connect(X)
        L, trivial = laplacian(A, self.normalized)
        rng = _checks.random(self.random_state, "LaplacianEigenmaps")
        solution = smallest_eigenvectors(L, k, trivial, self.tol, self.max_iter, rng)
        self.eigenvalues_, self.embedding_, self.n_iter_ = solution
        degree = np.asarray(A.sum(axis=1)).ravel() if self.normalized else None
        self.metric_ = GraphMetric(X.copy(), self.embedding_.copy(), rule, self.eigenvalues_.copy(), degree)
        return self
