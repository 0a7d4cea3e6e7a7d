"""Geometry-aware kernel learning: a kernel from constraints and a kernel from the data, drawn to each other."""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from gramian import _checks, linalg
from gramian.constraints import Constraints
from gramian.features import KernelFeatures
from gramian.kernels import Gaussian
from gramian.kernels.basic import median_scale
from gramian.learners.progress import progress
from gramian.manifold.alternation import Alternation, alternate, bounded, pairs_of_labels
from gramian.manifold.eigen import fix_signs, smallest_eigenvectors
from gramian.manifold.extension import GraphMetric
from gramian.manifold.families import FAMILIES, RBF, Inductive, Spectral, spectral_start
from gramian.manifold.graph import laplacian
from gramian.manifold.transductive import Transductive
from gramian.metrics import KernelMetric
from gramian.solvers import BregmanProjections, Solver


class GeometryAwareKernel(Transductive):
    """min D_ld(K, M) + slack over K that meets the constraints and M in 𝓜 (Jain 2009, (6.2), Algorithm 1).

    D_ld is the LogDet divergence; 𝓜, the ``family``, is a set of kernels that follow the geometry of all points.
    Step A, K for fixed M, is the LogDet problem of ITML in the m-dimensional range of M; step B, M for fixed K, is
    isotonic regression for (6.3), a small convex problem for (6.5) and a search in one variable for (6.6). The
    objective never rises. Three differences: the constant eigenvector, which no distance sees, is left out
    of V; the slack is that of ITML with weight ``gamma``; and with similar pairs alone det M is held (``keep_volume``).

    Parameters
    ----------
    family : {"spectral", "inductive", "rbf"}
        𝓜 of (6.3), (6.5) or (6.6).
    n_eigenvectors : int
        r, the smoothest eigenvectors of the graph Laplacian.
    n_neighbors : int
        Of the default graph (binary, symmetric by union).
    gamma : float, sequence of float, or None
        Weight γ of the slack; None makes the constraints hard. Of several, the one with the best cross-validated
        accuracy on the labeled points; ties go to the smallest, and the graph is used once for all.
    normalized : bool
        Use the normalized Laplacian.
    graph : Graph or adjacency matrix, optional
    diffusion : float
        t of the diffusion kernel exp(−tL) that M starts from.
    kernel : Kernel, optional
        S of (6.5), a Gaussian of median width when None; for "rbf" a Gaussian whose width M starts from.
    rank : int
        Landmark coordinates of S for (6.5).
    bounds : (u, l), optional
        Bounds on squared distances for pairs that bring none; percentiles of the starting kernel's when None.
    percentiles : (float, float)
    n_pairs : int, optional
        Pairs drawn from labels; see :meth:`Pairs.from_labels`.
    n_votes : int
        Labeled neighbors that vote in ``predict``.
    n_components : int, optional
        Columns of ``embedding_``; all of the rank of K when None.
    keep_volume : bool, optional
        For "spectral": minimize over M of fixed determinant. Without an upper pull the printed problem (6.4) has a
        trivial solution, K and M both shrunk until every similar pair is near enough; this removes it, and step B stays
        in closed form. None: only when no constraint keeps points apart.
    solver : Solver, optional
        For step A; ``BregmanProjections(tol=1e-6)`` when None.
    max_iter, tol
        Alternations, and the relative decrease of the objective to stop at.
    random_state : int or generator, optional
    callback : callable, optional
        Called as ``callback(iteration, objective, decrease, core)`` after each alternation of the final fit; ``core``
        is B of K = ZBZᵀ.
    verbose : bool
        Show a progress bar (needs rich).

    Attributes
    ----------
    kernel_ : array (n, n)
        K, made when asked for; ``coordinates_`` Z (n, m) and ``core_`` B (m, m) with K = ZBZᵀ are what is stored.
    objective_path_ : list of float
        After each half step; never rising.
    eigenvectors_, eigenvalues_ : arrays (n, r), (r,)
        Of the Laplacian (not for "rbf").
    alphas_ : array
        α of (6.3), θ of (6.5) with θ_{r+1} of all rougher vectors last, or (α, σ) of (6.6).
    embedding_ : array (n, n_components)
        Leading eigenvectors of K times the roots of their eigenvalues.
    metric_ : GraphMetric or KernelMetric
    gamma_ : float or None
        γ used.
    n_iter_, converged_, n_pieces_

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> moons = gm.datasets.moons(120, noise=0.05, random_state=0)
    >>> y = np.where(np.arange(120) < 12, moons.y, -1)  # a tenth of the labels
    >>> model = gm.GeometryAwareKernel(n_eigenvectors=8, n_votes=1).fit(moons.X, y)
    >>> int((model.predict() == moons.y).sum())
    120
    """

    def __init__(
        self,
        family="spectral",
        n_eigenvectors=20,
        n_neighbors=10,
        gamma=1.0,
        normalized=False,
        graph=None,
        diffusion=0.1,
        kernel=None,
        rank=200,
        bounds=None,
        percentiles=(5, 95),
        n_pairs=None,
        n_votes=4,
        n_components=None,
        keep_volume=None,
        solver=None,
        max_iter=50,
        tol=1e-3,
        random_state=None,
        callback=None,
        verbose=False,
    ):
        self.family = family
        self.n_eigenvectors = n_eigenvectors
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.normalized = normalized
        self.graph = graph
        self.diffusion = diffusion
        self.kernel = kernel
        self.rank = rank
        self.bounds = bounds
        self.percentiles = percentiles
        self.n_pairs = n_pairs
        self.n_votes = n_votes
        self.n_components = n_components
        self.keep_volume = keep_volume
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> "GeometryAwareKernel":
        """Learn K; y holds labels, −1 where unknown, or a Constraints object."""
        _checks.one_of(self.family, "GeometryAwareKernel", "family", tuple(FAMILIES))
        if isinstance(y, Constraints):
            X, side = self._points(X, reset=True), y
            self.classes_ = self.codes_ = None
        else:
            X, side = self._door(X, y)[0], None
        family = self._family(X)
        self.gamma_ = self._choose_gamma(family)
        if self.codes_ is not None:
            side = pairs_of_labels(self.codes_, self.n_pairs, self.random_state)
        self._learn(family, side)
        self.metric_ = self._metric(X)
        self.positions_ = self.metric_.coordinates.embedding if self.family == "spectral" else self.metric_.transform(X)
        return self

    def _family(self, X: Any) -> Any:
        """The set 𝓜 on the points X."""
        self.features_ = self._rule = None
        if self.family == "rbf":
            width = median_scale(X) if self.kernel is None else self.kernel.scale
            return RBF(linalg.sqdist(X.astype(np.float64)), np.array([1.0, width]))
        A, self._rule = self._connect(X)
        L, trivial = laplacian(A, self.normalized)
        rng = _checks.random(self.random_state, "GeometryAwareKernel")
        r = _checks.number(self.n_eigenvectors, "GeometryAwareKernel", "n_eigenvectors", low=1, integer=True)
        self.eigenvalues_, self.eigenvectors_, _ = smallest_eigenvectors(L, r, trivial, rng=rng)
        _checks.number(self.diffusion, "GeometryAwareKernel", "diffusion", low=0)
        start = spectral_start(self.eigenvalues_, self.diffusion)
        if self.family == "spectral":
            return Spectral(self.eigenvectors_, start)
        kernel = Gaussian(median_scale(X)) if self.kernel is None else self.kernel
        self.features_ = KernelFeatures(kernel, rank=self.rank, center=True, random_state=self.random_state)
        Z = self.features_.fit_transform(X)
        # All rougher vectors begin at the mean of their eigenvalues, which the trace of L gives.
        rest = (L.trace() - self.eigenvalues_.sum()) / max(X.shape[0] - 1 - r, 1)
        rough = np.minimum(spectral_start(rest, self.diffusion), start[-1])
        return Inductive(Z, self.eigenvectors_.T @ Z, 1 / np.append(start, rough))

    def _choose_gamma(self, family: Any) -> float | None:
        if self.gamma is None:
            return None
        grid = self._grid("gamma")
        if len(grid) == 1:
            return grid[0]
        if self.codes_ is None:
            raise ValueError("GeometryAwareKernel: gamma must be one number with constraints, got several; choose one.")

        def positions(codes: np.ndarray, grid: list[float]) -> Iterator[np.ndarray]:
            side = pairs_of_labels(codes, self.n_pairs, self.random_state)
            return (family.Z @ linalg.psd_sqrt(self._alternate(family, side, g).core) for g in grid)

        return self._choose(grid, positions)

    def _alternate(
        self, family: Any, side: Constraints | None, gamma: float | None, callback: Any = None
    ) -> Alternation:
        """Algorithm 1; with nothing known, K is the M it starts from."""
        if side is None:
            return Alternation(family.start, family.core(family.start), [], 1, 0.0)
        solver = BregmanProjections(max_iter=500, tol=1e-6) if self.solver is None else self.solver
        if not isinstance(solver, Solver):
            raise TypeError(f"GeometryAwareKernel: solver must be a Solver, got {type(solver).__name__}.")
        limit = _checks.number(self.max_iter, "GeometryAwareKernel", "max_iter", low=1, integer=True)
        _checks.number(self.tol, "GeometryAwareKernel", "tol", low=0)
        start = family.Z @ linalg.psd_sqrt(family.core(family.start))
        resolution = getattr(family, "resolution", 1e-14)
        side = bounded(side, start, self.bounds, self.percentiles, gamma, resolution)
        if isinstance(family, Spectral):
            keep = (side.bound > 0).all() if self.keep_volume is None else self.keep_volume
            family = replace(family, keep_volume=bool(keep))
        return alternate(family, side, gamma, solver, limit, self.tol, callback)

    def _learn(self, family: Any, side: Constraints | None) -> None:
        self.coordinates_ = family.Z
        with progress("GeometryAwareKernel", self.verbose, self.max_iter, self.callback) as report:
            result = self._alternate(family, side, self.gamma_, report)
        self.alphas_, self.core_, self.objective_path_, self.n_iter_, change = result
        self.converged_ = bool(change <= self.tol)
        if not self.converged_:
            warnings.warn(
                f"GeometryAwareKernel: stopped after {self.n_iter_} iterations with relative decrease {change:.3g} > "
                f"tol {self.tol:.3g}; raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    @property
    def kernel_(self) -> np.ndarray:
        """K on the training points, (n, n)."""
        check_is_fitted(self, "core_")
        return linalg.symmetrize(self.coordinates_ @ self.core_ @ self.coordinates_.T)

    @property
    def embedding_(self) -> np.ndarray:
        """Leading eigenvectors of K, scaled: rows in which the Euclidean distance is the learned one."""
        values, vectors = linalg.eigh(self._gram)
        k = len(values) if self.n_components is None else min(self.n_components, len(values))
        F = self.coordinates_ @ self._root @ vectors[:, ::-1][:, :k]
        return fix_signs(F)

    @property
    def _root(self) -> np.ndarray:
        check_is_fitted(self, "core_")
        return linalg.psd_sqrt(self.core_)

    @property
    def _gram(self) -> np.ndarray:
        F = self.coordinates_ @ self._root
        return F.T @ F

    def _metric(self, X: Any) -> Any:
        if self.family == "spectral":
            F = self.coordinates_ @ self._root
            return GraphMetric(X.copy(), F, self._rule, np.zeros(F.shape[1]))
        if self.family == "inductive":
            return KernelMetric(self.features_, self.core_)
        alpha, width = self.alphas_
        features = KernelFeatures(float(alpha) * Gaussian(float(width)), basis="all").fit(X)
        # K = ZBZᵀ with the coordinates of M itself; outside of them the learned kernel is M (Jain 2009, Theorem 5).
        inverse = np.linalg.pinv(features.transform(X))
        return KernelMetric(features, linalg.project_psd(inverse @ self.core_ @ inverse.T), 1.0)

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of points in which the Euclidean distance is the learned one."""
        check_is_fitted(self, "core_")
        return self.metric_.transform(self._points(X, reset=False))

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit and return the coordinates of the training points."""
        return self.fit(X, y).transform(X)

    @property
    def _n_features_out(self) -> int:
        return self.transform(np.zeros((1, self.n_features_in_))).shape[1]
