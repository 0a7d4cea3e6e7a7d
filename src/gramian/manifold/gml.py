"""Geometry-aware kernel learning: a kernel from constraints and a kernel from the data, drawn to each other."""

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from gramian import _validate, linalg
from gramian._settings import Count, Loudness, Percentiles, Seed, Share, Size, whole
from gramian.constraints import Constraints
from gramian.constraints.pairs import in_place
from gramian.divergences import LogDet
from gramian.divergences.base import Divergence
from gramian.learners.progress import progress
from gramian.manifold.alternation import ROUNDING, Alternation, Rules, alternate, bounded, pairs_of_labels
from gramian.manifold.families import FAMILIES, Family
from gramian.manifold.kernel_sets import KernelSet
from gramian.manifold.transductive import Several, Transductive, fit_part, is_partial
from gramian.manifold.voting import Choice
from gramian.solvers import InfeasibleError, Solver

OWNER = "GeometryAwareKernel"
GAMMAS = (0.1, 1.0)
"""Weights of the slack that are tried by default."""


@dataclass(eq=False, repr=False)
class GeometryAwareKernel(Transductive):
    """Learn a kernel from few constraints that also follows the shape of the data.

    min D(K, M) + slack over K that meets the constraints and M in 𝓜 (Jain 2009, (6.2), Algorithm 1).

    D is the LogDet divergence; 𝓜, the ``family``, is a set of kernels that follow the geometry of all points.
    Step A, K for fixed M, is the LogDet problem of ITML in the m-dimensional range of M; step B, M for fixed K, is
    isotonic regression for (6.3), a small convex problem for (6.5) and a search in one variable for (6.6). The
    objective never rises. Three differences: the constant eigenvector, which no distance sees, is left out
    of V; the slack is that of ITML with weight ``gamma``; and with similar pairs alone det M is held
    (:class:`~gramian.manifold.SpectralFamily`).

    Parameters
    ----------
    family : {"spectral", "inductive", "rbf", "isomap", "lle"} or Family
        𝓜 of (6.3), (6.5) or (6.6), or (6.3) on the vectors of Isomap or of locally linear embedding. Their settings
        are those of :class:`~gramian.manifold.SpectralFamily`, :class:`~gramian.manifold.InductiveFamily` and
        :class:`~gramian.manifold.RBFFamily`; a family of your own fulfils :class:`~gramian.manifold.Family`.
    gamma : float, sequence of float, "auto", or None
        Weight γ of the slack; None makes the constraints hard. Of several ("auto": 0.1 and 1; 1 with constraints), the
        one with the best cross-validated accuracy on the labeled points; ties go to the smallest, and the graph is used
        once for all.
    divergence : Divergence, optional
        D of (6.2), :class:`LogDet` when None. Others need a set (6.3), where step B is the same for all of them.
    bounds : (u, l), optional
        Bounds on squared distances for pairs that bring none; percentiles of the starting kernel's when None.
    percentiles : (float, float)
        Which percentiles of the squared distances are (u, l), where no bounds are given.
    n_pairs : int, optional
        Pairs drawn from labels; see :meth:`Pairs.from_labels`.
    anchor : float in [0, 1] or "auto"
        Weight of the plain distance in the votes of ``predict``; 0 is the learned distance alone, as in the thesis.
        "auto": by the labels, together with γ, of 0, 0.5, 0.75, 0.9 and 1; the plain distance (1) stays unless another
        gets clearly more held-out labels right, or as many while its votes cut at most half as many edges of the graph.
        0 where γ is one number. ``metric_`` is not anchored.
    n_votes : int
        Labeled neighbors that vote in ``predict``.
    n_components : int, optional
        Columns of ``embedding_``, and the rank of ``metric_``; all of the rank of K when None.
    solver : Solver, optional
        For step A. None: ``BregmanProjections(tol=1e-6)``, ``DualAscent`` where D is not LogDet, and Newton's method on
        B where there are more constraints than numbers in it.
    max_iter : int
        Most alternations.
    tol : float
        Relative decrease of the objective to stop at.
    verbose : bool
        Show progress: a bar, or lines where rich is not installed.
    callback : callable, optional
        Called as ``callback(iteration, objective, decrease, core)`` after each alternation of the final fit; ``core``
        is B of K = ZBZᵀ.
    random_state : int or generator, optional
        Draws, where there are any: the same number gives the same result.

    Attributes
    ----------
    kernel_ : array (n, n)
        K, made when asked for; ``coordinates_`` Z (n, m) and ``core_`` B (m, m) with K = ZBZᵀ are what is stored.
    objective_path_ : list of float
        After each half step; never rising.
    eigenvectors_, eigenvalues_ : arrays (n, r), (r,)
        The vectors v_i of (6.3) and (6.5), and how rough they are (not for "rbf").
    alphas_ : array
        α of (6.3), θ of (6.5) with θ_{r+1} of all rougher vectors last, or (α, σ) of (6.6).
    dual_ : array (m,)
        Multipliers λ of the constraints in the last step A: K⁻¹ = M⁻¹ + A(λ), (6.7), in the order of the constraints;
        0 where a pair is of identical points.
    embedding_ : array (n, n_components)
        Leading eigenvectors of K times the roots of their eigenvalues ("rbf" in full: the symmetric root).
    metric_ : GraphMetric or KernelMetric
        The learned distance, on training and new points.
    gamma_ : float or None
        γ used.
    anchor_, evidence_, transduction_, voters_
        As in :class:`TDL`.
    classes_, codes_ : arrays
        Labels, and each point's place among them, −1 where unknown; None after constraints.
    part_ : array or None
        Rows that ``coordinates_`` and ``eigenvectors_`` are of, where there are more than 30,000 points and labels: the
        geometry of a part is learned, unless ``family`` is a Family, and all others are placed as new points are.
    n_iter_, converged_, n_connected_components_
        Alternations, whether the tolerance was met, and pieces of the graph.

    See Also
    --------
    gramian.TDL : One eigenproblem, from labels.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> moons = gm.datasets.moons(120, noise=0.05, random_state=0)
    >>> y = np.where(np.arange(120) < 12, moons.y, -1)  # a tenth of the labels
    >>> family = gm.manifold.SpectralFamily(n_eigenvectors=8)
    >>> model = gm.GeometryAwareKernel(family, n_votes=1, random_state=0).fit(moons.X, y)
    >>> int((model.predict() == moons.y).sum())
    120
    """

    family: Literal["spectral", "inductive", "rbf", "isomap", "lle"] | Family = "spectral"
    gamma: Literal["auto"] | Several | None = "auto"
    _: KW_ONLY
    divergence: Divergence | None = None
    bounds: Any = None
    percentiles: Percentiles = (5, 95)
    n_pairs: Count | None = None
    anchor: Literal["auto"] | Share = "auto"
    n_votes: Count = 1
    n_components: Count | None = None
    solver: Solver | None = None
    max_iter: Count = 50
    tol: Size = 1e-3
    verbose: Loudness = False
    callback: Callable[..., Any] | None = None
    random_state: Seed = None

    @whole
    def fit(self, X: Any, y: Any = None) -> "GeometryAwareKernel":
        """Learn K; y holds labels, −1 where unknown, or a Constraints object."""
        X, side = self._door(X, y)
        k = self.n_components
        if is_partial(self, side, self.family):
            fit_part(self, X, self.family, "family=SpectralFamily(…)", family=self._family())
            return self
        kernels = self._family().build(X, self.random_state)
        choice = self._choose_gamma(X, kernels)
        self.gamma_ = None if self.gamma is None else choice.value
        if self.codes_ is not None:
            side = pairs_of_labels(self.codes_, self.n_pairs, self.random_state)
        with progress(OWNER, bool(self.verbose), self.max_iter, self.callback) as report:
            result = self._alternate(kernels, side, self.gamma_, report)
        self._keep(kernels, result)
        self.metric_ = kernels.metric(result.core, result.theta, k)
        self.embedding_ = self.metric_.transform_of(X)
        self._appoint(choice, X)
        return self

    def _family(self) -> Family:
        """The family itself, also where it is only named."""
        return FAMILIES[self.family] if isinstance(self.family, str) else self.family

    def _choose_gamma(self, X: Any, kernels: KernelSet) -> Choice:
        if self.gamma is None:
            grid = [np.inf]
        elif isinstance(self.gamma, str):
            grid = list(GAMMAS if self.codes_ is not None else GAMMAS[-1:])
        else:
            grid = self._grid("gamma")

        def embeddings(codes: np.ndarray, grid: list[float]) -> Iterator[np.ndarray]:
            side = pairs_of_labels(codes, self.n_pairs, self.random_state)
            for gamma in grid:
                core = self._alternate(kernels, side, gamma).core
                yield kernels.Z @ kernels.principal(core, self.n_components)

        adjacency = None if kernels.graph is None else kernels.graph.adjacency
        return self._choose("gamma", grid, X, adjacency, embeddings)

    def _alternate(
        self, kernels: KernelSet, side: Constraints | None, gamma: float | None, report: Any = None
    ) -> Alternation:
        """Algorithm 1."""
        rules = self._rules(kernels, gamma)
        if side is None:
            return Alternation.unmoved(kernels)
        side, differ = bounded(side, kernels, self.bounds, self.percentiles, gamma)
        try:
            result = alternate(kernels.facing(side), side, rules, report)
            return result._replace(dual=in_place(result.dual, differ))
        except InfeasibleError as error:
            raise InfeasibleError(f"{OWNER}: gamma must be a number here, got None: {error}") from None

    def _rules(self, kernels: KernelSet, gamma: float | None) -> Rules:
        divergence = LogDet() if self.divergence is None else self.divergence
        logdet = isinstance(divergence, LogDet)
        if not (logdet or kernels.spectral):
            raise ValueError(
                f"{OWNER}: divergence must be LogDet for this family, got {divergence}; use family='spectral'."
            )
        return Rules(divergence, gamma, self.solver, int(self.max_iter), float(self.tol))

    def _keep(self, kernels: KernelSet, result: Alternation) -> None:
        """Store what Algorithm 1 found, and warn where it did not end."""
        self.coordinates_ = kernels.Z
        self.core_ = result.core
        self.alphas_ = result.theta
        self.dual_ = result.dual
        self.objective_path_ = result.path
        self.n_iter_ = result.n_iter
        self.converged_ = bool(result.change <= max(self.tol, ROUNDING))
        self.n_connected_components_ = 1 if kernels.graph is None else kernels.graph.n_components
        if kernels.basis is not None:
            self.eigenvectors_ = kernels.basis.vectors
            self.eigenvalues_ = kernels.basis.values
        if not self.converged_:
            _validate.warn(
                f"{OWNER}: stopped after {self.n_iter_} iterations with relative decrease {result.change:.3g} > "
                f"tol {self.tol:.3g}; raise max_iter or tol.",
                ConvergenceWarning,
            )

    @property
    def kernel_(self) -> np.ndarray:
        """K on the training points, (n, n)."""
        check_is_fitted(self, "core_")
        return linalg.symmetrize(self.coordinates_ @ self.core_ @ self.coordinates_.T)
