"""Transductive distance learning: labels and the geometry of all points in one sparse eigenproblem."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from gramian import _checks, linalg
from gramian.features import KernelFeatures
from gramian.kernels import Kernel
from gramian.manifold.cost import cost_matrix, on_gram
from gramian.manifold.eigen import smallest_eigenvectors
from gramian.manifold.extension import GraphMetric
from gramian.manifold.graph import laplacian
from gramian.manifold.penalties import (
    KernelPenalty,
    MatrixPenalty,
    SpectralPenalty,
    edge_lengths,
    isomap_coordinates,
    lle_matrix,
)
from gramian.manifold.transductive import Transductive
from gramian.metrics import KernelMetric

PENALTIES = ("laplacian", "normalized", "lle", "isomap")


class TDL(Transductive):
    """min tr(Xᵀ(C' + λP')X) over orthonormal X orthogonal to the constant (Li, Yang and Wang 2007, (3)).

    C' = 2(diag(Ce) − C) with C the symmetrized cost (6): every labeled point wants its k nearest labeled points of
    the same class near and the k nearest of other classes far. P' keeps what is near in the geometry of all points,
    labeled or not, near. The rows of X are the new coordinates; the learned distance is Euclidean in them.

    Followed as printed, but for two readings: (6) is symmetrized, and the constant vector is removed by deflation
    (C' + λP' may be indefinite). With ``penalty="normalized"`` the trivial vector is D^{1/2}e. New points, which the
    paper leaves to problem (7), are placed by (7) when the penalty is a Kernel, otherwise along the graph
    (:class:`~gramian.manifold.GraphMetric`).

    Parameters
    ----------
    n_components : int
        Number of eigenvectors, at most n − 1.
    lam : float or sequence of float
        λ. Of several, the one with the best cross-validated accuracy on the labeled points; ties go to the largest.
    n_neighbors : int
        Neighbors in the default graph, and k of the cost unless ``cost_neighbors`` is given.
    penalty : {"laplacian", "normalized", "lle", "isomap"}, Kernel, or matrix (n, n)
        P': L = D − A, the normalized Laplacian, (I − W)ᵀ(I − W) of locally linear embedding, K⁺ of Isomap's kernel,
        K⁺ of a kernel, or any symmetric matrix.
    cost_neighbors : int, optional
        k of the cost (6).
    graph : Graph or adjacency matrix, optional
        NeighborGraph(n_neighbors) when None. Its distance is used for the cost as well.
    smoothness : float
        With a Kernel: P' = K⁺ + smoothness · HLH, the manifold term of Theorem 4.
    rank : int, optional
        With a Kernel: number of landmark coordinates; all of them when None. With "laplacian" or "normalized": X is
        sought in the span of that many smoothest eigenvectors (two or three times ``n_components``), so that labeled
        points stay with their neighbors however small λ is, and a grid of λ costs one eigenproblem in all.
    n_votes : int
        Labeled neighbors that vote in ``predict``.
    tol, max_iter, random_state
        Of the Lanczos iteration for more than 1,000 points; random_state also draws the folds for λ.

    Attributes
    ----------
    embedding_ : array (n, n_components)
    eigenvalues_ : array (n_components,)
        Ascending; some may be negative.
    classes_ : array
    metric_ : GraphMetric or KernelMetric
        The learned distance, on training and new points.
    lam_ : float
        λ used.
    n_iter_ : int
        Matrix-vector products of the eigensolver; 1 when it was dense.
    n_pieces_ : int
        Connected components of the graph.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> moons = gm.datasets.moons(120, noise=0.05, random_state=0)
    >>> y = np.where(np.arange(120) < 12, moons.y, -1)  # a tenth of the labels
    >>> labels = gm.TDL(2, lam=10.0, n_neighbors=10).fit(moons.X, y).predict()
    >>> bool(np.mean(labels == moons.y) > 0.95)
    True
    """

    def __init__(
        self,
        n_components=2,
        lam=1.0,
        n_neighbors=20,
        penalty="laplacian",
        cost_neighbors=None,
        graph=None,
        smoothness=0.0,
        rank=None,
        n_votes=1,
        tol=1e-4,
        max_iter=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.lam = lam
        self.n_neighbors = n_neighbors
        self.penalty = penalty
        self.cost_neighbors = cost_neighbors
        self.graph = graph
        self.smoothness = smoothness
        self.rank = rank
        self.n_votes = n_votes
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> "TDL":
        """Embed all points; y holds labels of any type, −1 where unknown."""
        X, _ = self._door(X, y)
        k = _checks.number(self.n_components, "TDL", "n_components", low=1, integer=True)
        self._penalty = self._build(X)
        self.lam_ = self._choose_lam(X, k)
        solution, self.coefficients_ = self._solve(self._cost(X, self.codes_), self.lam_, k)
        self.eigenvalues_, self.embedding_, self.n_iter_ = solution
        self.metric_ = self._metric(X)
        del self._penalty
        return self

    def _build(self, X: Any) -> Any:
        """The penalty P' on the points X."""
        self._degree: np.ndarray | None = None
        self._rule = self.features_ = A = None
        if not isinstance(self.penalty, Kernel) or self.smoothness:
            A, self._rule = self._connect(X)
        if isinstance(self.penalty, Kernel):
            self.features_ = KernelFeatures(self.penalty, rank=self.rank, center=True, random_state=self.random_state)
            Z = self.features_.fit_transform(X)
            return KernelPenalty(Z, self.smoothness * laplacian(A)[0] if self.smoothness else None)
        constant = np.full(X.shape[0], X.shape[0] ** -0.5)
        if not isinstance(self.penalty, str):
            return MatrixPenalty(_symmetric(self.penalty, X.shape[0]), constant)
        _checks.one_of(self.penalty, "TDL", "penalty", PENALTIES)
        if self.penalty == "lle":
            return MatrixPenalty(lle_matrix(linalg.dense(X), self.n_neighbors), constant)
        if self.penalty == "isomap":
            return KernelPenalty(isomap_coordinates(edge_lengths(X, self.n_neighbors)))
        return self._graph_penalty(A)

    def _graph_penalty(self, A: Any) -> Any:
        """The Laplacian of the graph, or its part on the smoothest eigenvectors."""
        L, trivial = laplacian(A, self.penalty == "normalized")
        self._degree = np.asarray(A.sum(axis=1)).ravel() if self.penalty == "normalized" else None
        if self.rank is None:
            return MatrixPenalty(L, trivial)
        rank = max(_checks.number(self.rank, "TDL", "rank", low=1, integer=True), self.n_components)
        rng = _checks.random(self.random_state, "TDL")
        return SpectralPenalty(smallest_eigenvectors(L, rank, trivial, self.tol, self.max_iter, rng))

    def _cost(self, X: Any, codes: np.ndarray) -> Any:
        """C' of (6) for the given labels."""
        near = self.n_neighbors if self.cost_neighbors is None else self.cost_neighbors
        near = _checks.number(near, "TDL", "cost_neighbors", low=1, integer=True)
        search = {name: getattr(self._rule, name, None) for name in ("distance", "shortlist")}
        return on_gram(cost_matrix(X, codes, near, **search))

    def _solve(self, C: Any, lam: float, k: int) -> tuple[Any, Any]:
        """Smallest eigenvectors of C' + λP'."""
        rng = _checks.random(self.random_state, "TDL")
        return self._penalty.solve(C, lam, k, tol=self.tol, max_iter=self.max_iter, rng=rng)

    def _choose_lam(self, X: Any, k: int) -> float:
        return self._choose(self._grid("lam")[::-1], lambda codes, grid: self._embeddings(X, codes, grid, k))

    def _embeddings(self, X: Any, codes: np.ndarray, grid: list[float], k: int) -> Iterator[np.ndarray]:
        """The embedding from given labels for each λ."""
        C = self._cost(X, codes)
        return (self._solve(C, lam, k)[0].vectors for lam in grid)

    def _metric(self, X: Any) -> Any:
        if self.features_ is not None:
            return KernelMetric(self.features_, self.coefficients_ @ self.coefficients_.T)
        shift = np.zeros(len(self.eigenvalues_))
        if isinstance(self._penalty, SpectralPenalty):
            shift = self._penalty.basis.values @ self.coefficients_**2  # the Rayleigh quotients of L
        elif isinstance(self.penalty, str) and self.penalty in ("laplacian", "normalized"):
            shift = self.eigenvalues_ / self.lam_
        return GraphMetric(X.copy(), self.embedding_.copy(), self._rule, shift, self._degree)

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of points, (n, k): by (7) with a Kernel penalty, otherwise along the graph."""
        check_is_fitted(self, "embedding_")
        X = self._points(X, reset=False)
        return self.metric_.transform(X) if self.features_ is None else self.features_.transform(X) @ self.coefficients_

    @property
    def positions_(self) -> np.ndarray:
        """The embedding, for votes."""
        return self.embedding_


def _symmetric(P: Any, n: int) -> Any:
    if not hasattr(P, "shape") or P.shape != (n, n):
        listed = ", ".join(map(repr, PENALTIES))
        raise ValueError(
            f"TDL: penalty must be one of {listed}, a Kernel or a matrix ({n}, {n}), got {_checks.shown(P)}."
        )
    P = sparse.csr_array(P, dtype=float) if sparse.issparse(P) else np.asarray(P, dtype=float)
    if abs(P - P.T).max() > 1e-8 * abs(P).max():
        raise ValueError("TDL: penalty must be symmetric.")
    return (P + P.T) / 2
