"""Geometry-aware kernel learning: a kernel from constraints and a kernel from the data, drawn to each other."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from gramian import _checks, linalg
from gramian.constraints import Constraints, Labels, Pairs
from gramian.divergences import LogDet
from gramian.features import KernelFeatures
from gramian.kernels import Gaussian
from gramian.manifold.eigen import fix_signs, smallest_eigenvectors
from gramian.manifold.eigenmaps import SpectralEmbedding
from gramian.manifold.extension import GraphMetric
from gramian.manifold.families import FAMILIES, RBF, Inductive, Spectral, spectral_start
from gramian.manifold.graph import laplacian
from gramian.manifold.vote import vote
from gramian.metrics import KernelMetric
from gramian.solvers import BregmanProjections, Hard, Problem, Relative, Solver


class GeometryAwareKernel(SpectralEmbedding):
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
    gamma : float or None
        Weight γ of the slack; None makes the constraints hard.
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

    Attributes
    ----------
    kernel_ : array (n, n)
        K, made when asked for; ``coordinates_`` Z (n, m) and ``core_`` B (m, m) with K = ZBZᵀ are what is stored.
    objective_path_ : list of float
        After each half step; never rising.
    eigenvectors_, eigenvalues_ : arrays (n, r), (r,)
        Of the Laplacian (not for "rbf").
    alphas_ : array
        α of (6.3), θ of (6.5), or (α, σ) of (6.6).
    embedding_ : array (n, n_components)
        Leading eigenvectors of K times the roots of their eigenvalues.
    metric_ : GraphMetric or KernelMetric
    n_iter_, converged_, n_pieces_

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> t = np.linspace(0, np.pi, 60)
    >>> X = np.vstack([np.c_[np.cos(t), np.sin(t)], np.c_[1 - np.cos(t), 0.5 - np.sin(t)]])
    >>> y = np.full(120, -1)
    >>> y[[6, 30, 54, 66, 90, 114]] = 0, 0, 0, 1, 1, 1
    >>> model = gm.GeometryAwareKernel(n_eigenvectors=8, n_votes=1).fit(X, y)
    >>> int((model.predict() == np.repeat([0, 1], 60)).sum())
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

    def fit(self, X: Any, y: Any = None) -> "GeometryAwareKernel":
        """Learn K; y holds labels, −1 where unknown, or a Constraints object."""
        _checks.one_of(self.family, "GeometryAwareKernel", "family", tuple(FAMILIES))
        X, labels, pairs = self._door(X, y)
        self.classes_ = None if labels is None else labels.classes
        self.codes_ = None if labels is None else labels.codes
        family = self._family(X)
        side = self._side(family, labels, pairs)
        if isinstance(family, Spectral) and side is not None:
            keep = bool((side.bound > 0).all()) if self.keep_volume is None else bool(self.keep_volume)
            family = replace(family, keep_volume=keep)
        self.coordinates_ = family.Z
        self._alternate(family, side)
        self.metric_ = self._metric(X)
        if labels is not None and (labels.codes >= 0).any():
            self.voters_ = self.metric_.transform(X[labels.codes >= 0])
        return self

    def _door(self, X: Any, y: Any) -> tuple[Any, Labels | None, Constraints | None]:
        if y is None:
            raise ValueError(
                "GeometryAwareKernel: requires y to be passed, but the target y is None; give labels, with -1 for "
                "unlabeled points, or a Constraints object."
            )
        if isinstance(y, Constraints):
            X = self._points(X, reset=True)
            return X, None, y
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2)
        return X, Labels.from_array(y, "GeometryAwareKernel", X.shape[0], unknown=-1), None

    def _family(self, X: Any) -> Any:
        """The set 𝓜 on the points X."""
        self.features_ = self._rule = None
        if self.family == "rbf":
            D = linalg.sqdist(X)
            width = _median_width(X) if self.kernel is None else self.kernel.scale
            return RBF(D, np.array([1.0, width]))
        A, self._rule = self._connect(X)
        L, trivial = laplacian(A, self.normalized)
        rng = check_random_state(self.random_state)
        r = _checks.number(self.n_eigenvectors, "GeometryAwareKernel", "n_eigenvectors", low=1, integer=True)
        self.eigenvalues_, V, _ = smallest_eigenvectors(L, r, trivial, rng=rng)
        self.eigenvectors_ = V
        if self.family == "spectral":
            return Spectral(V, spectral_start(self.eigenvalues_, self.diffusion))
        kernel = Gaussian(_median_width(X)) if self.kernel is None else self.kernel
        self.features_ = KernelFeatures(kernel, rank=self.rank, center=True, random_state=self.random_state)
        Z = self.features_.fit_transform(X)
        return Inductive(Z, V.T @ Z, 1 / spectral_start(self.eigenvalues_, self.diffusion))

    def _side(self, family: Any, labels: Labels | None, pairs: Constraints | None) -> Constraints | None:
        """Constraints with bounds in the units of the starting kernel; None when nothing is known."""
        start = family.Z @ linalg.psd_sqrt(family.core(family.start))
        if pairs is None:
            if (labels.codes >= 0).sum() < 2:
                return None
            rng = check_random_state(self.random_state)
            pairs = Pairs.from_labels(np.where(labels.codes < 0, -1, labels.codes), self.n_pairs, -1, rng)
        if isinstance(pairs, Pairs) and pairs.bounds is None:
            if self.bounds is None:
                pairs = pairs.with_bounds(start, self.percentiles)
            else:
                pairs = Pairs(pairs.left, pairs.right, pairs.similar, self.bounds)
        pairs = pairs.check(start, "GeometryAwareKernel")
        if self.gamma is not None and (pairs.bound == 0).any():
            raise ValueError(
                "GeometryAwareKernel: bounds must not be 0 with slack; drop such constraints or gamma=None."
            )
        return pairs

    def _problem(self, family: Any, side: Constraints, core: np.ndarray) -> Problem:
        terms = side.terms(len(family.Z))
        right = None if terms.symmetric else terms.right @ family.Z
        slack = Hard() if self.gamma is None else Relative(self.gamma)
        return Problem(terms.left @ family.Z, right, terms.weight, side.bound, core, LogDet(), slack)

    def _alternate(self, family: Any, side: Constraints | None) -> None:
        """Algorithm 1: step A, step B, until the objective settles."""
        theta, B = family.start, None
        core = family.core(theta)
        path: list[float] = []
        solver = BregmanProjections(max_iter=500, tol=1e-6) if self.solver is None else self.solver
        if not isinstance(solver, Solver):
            raise TypeError(f"GeometryAwareKernel: solver must be a Solver, got {type(solver).__name__}.")
        limit = _checks.number(self.max_iter, "GeometryAwareKernel", "max_iter", low=1, integer=True)
        change, n_iter = 0.0 if side is None else np.inf, 0
        while side is not None and n_iter < limit and change > self.tol:
            problem = self._problem(family, side, core)
            found = solver.solve(problem).M
            # Step A solved to its tolerance must not undo an earlier K that is as good.
            if B is None or problem.objective(found) <= problem.objective(B):
                B = found
            path.append(problem.objective(B))
            trial = family.nearest(B, theta)
            after = self._problem(family, side, family.core(trial)).objective(B)
            if after <= path[-1]:
                theta, core = trial, family.core(trial)
            path.append(min(after, path[-1]))
            change = (path[-3] - path[-1]) / (1 + abs(path[-1])) if len(path) > 2 else np.inf
            n_iter += 1
        self.core_ = core if B is None else B
        self.alphas_, self.objective_path_ = theta, path
        self.n_iter_, self.converged_ = max(n_iter, 1), bool(change <= self.tol)
        if not self.converged_:
            warnings.warn(
                f"GeometryAwareKernel: stopped after {n_iter} iterations with relative decrease {change:.3g} > tol "
                f"{self.tol:.3g}; raise max_iter or tol.",
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

    def predict(self, X: Any = None) -> np.ndarray:
        """Labels by the vote of the nearest labeled points under K; without X, of the training points."""
        check_is_fitted(self, "core_")
        if self.classes_ is None or not len(self.classes_):
            raise ValueError("GeometryAwareKernel: predict needs labels in fit, got constraints or only -1.")
        codes = self.codes_[self.codes_ >= 0]
        if X is not None:
            return self.classes_[vote(self.voters_, codes, self.transform(X), self.n_votes)]
        F = self.coordinates_ @ self._root
        found = vote(F[self.codes_ >= 0], codes, F, self.n_votes)
        return self.classes_[np.where(self.codes_ >= 0, self.codes_, found)]

    def score(self, X: Any, y: Any) -> float:
        """Share of right predictions."""
        return float(np.mean(self.predict(X) == np.asarray(y)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _median_width(X: Any) -> float:
    rows = np.linspace(0, X.shape[0] - 1, min(X.shape[0], 500)).astype(int)
    D = linalg.sqdist(X[rows])
    D = D[D > 0]
    return float(np.sqrt(np.median(D))) if D.size else 1.0
