"""LowRankKernel: a kernel of low rank from a kernel and pairs."""

from dataclasses import replace
from typing import Any

import numpy as np

from gramian import _checks
from gramian.constraints import Labels, Pairs
from gramian.coordinates import Coordinates, KernelSpace, Rest
from gramian.features import KernelFeatures
from gramian.kernels.objects import as_kernel
from gramian.learners.base import MetricLearner
from gramian.learners.factored import shifted
from gramian.learners.kernelized import kernel_or_gaussian
from gramian.learners.progress import progress
from gramian.rankmin.burg import burg
from gramian.rankmin.kernel_problem import KernelProblem, Method, Steps, Trial, averaged, closest, trial
from gramian.solvers import Solution

OWNER = "LowRankKernel"
METHODS = ("factored", "mw", "ocp", "burg")


class LowRankKernel(MetricLearner):
    """min rank(K) s.t. d²_K ≤ u (similar), d²_K ≥ l (dissimilar), ⟨K, K₀⟩ ≥ β ‖K₀‖², ‖K‖ bounded, K ⪰ 0.

    Jain 2009, (7.7) with ``setting="transductive"``, where the norm is that of K, and (7.11) with ``"inductive"``,
    where it is that of L in k(x, y) = z(x)ᵀ L z(y) = k₀(x)ᵀ K₀^{−1/2} L K₀^{−1/2} k₀(y). In both the result is a kernel
    function of at most the wanted rank on any points, equal to the learned matrix on the training points. For a wanted
    rank β is found by binary search: the largest at which the constraints can be met.

    Parameters
    ----------
    kernel : Kernel or function of two objects, optional
        k₀, on vectors or on anything else; Gaussian with the median distance as its scale when None.
    rank : int, optional
        Wanted rank; the fewest that keep 90% of the trace of K₀ when None.
    method : {"factored", "mw", "ocp", "burg"}
        How S is found: descent from the best approximation of K₀, the games of Algorithm 2 or 3 cut to the rank, or
        the LogDet method that keeps the range of an initial kernel.
    setting : {"inductive", "transductive"}
    beta : float in [0, 1], optional
        Share of K₀ to keep; binary search when None (0.5 without ``restore``). "burg" has none.
    init : {"eigen", "factored", "mw", "ocp"}
        "burg": the initial kernel, the leading eigenvectors of K₀ or what another method finds (§7.4.2).
    gamma : float
        "burg": weight of the slack, as in :class:`ITML`.
    n_pairs : int, optional
        Pairs drawn from labels; 40 C² for C classes when None.
    percentiles : (float, float)
        Bounds (u, l) of pairs without bounds, as percentiles of the squared distances of k₀.
    n_basis : int, optional
        Coordinates of k₀ to work in; all when None.
    rtol : float
        Directions of k₀ with an eigenvalue below this share of the largest are left out. Transductive, K ranges over
        what is left; a smaller rtol asks more digits of the coordinates when the kernel function is used.
    max_iter : int
        Rounds of a game.
    step : float, optional
        "mw", "ocp": the step of the game, as in :class:`RankMinimizer`.
    restore : bool
        "mw", "ocp": cut the average of the game to the rank and restore the constraints there. If False, the kernel is
        the plain average of ``max_iter`` answers, which is what Algorithms 2 and 3 return: its rank is what it happens
        to be (cut to ``rank`` if that is given), and so are the violations.
    tol : float
        Violation of a pair allowed, relative to the least bound ("burg": relative duality gap).
    random_state : int or generator, optional
    verbose : bool
        Show a progress bar (needs the ``cli`` extra).
    callback : callable, optional
        Called as ``callback(n_iter, beta, residual)`` after each answer of a game and each step of a descent, with the
        β in trial and the violation relative to the least bound; the passes of "burg" give their dual objective in the
        place of β.

    Attributes
    ----------
    metric_ : KernelMetric
    factor_ : array (n, r)
        K = FFᵀ on the training points.
    rank_ : int
    beta_ : float
        Share of K₀ that was kept, ⟨K, K₀⟩ / ‖K₀‖²; inductive, where K may be longer than K₀, it can exceed 1.

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = gm.LowRankKernel(gm.Gaussian(1.0), rank=20, n_pairs=40, random_state=0).fit(X, y)
    >>> model.rank_, model.kernel_function(X[:3]).shape
    (20, (3, 3))
    """

    _accepts = (Pairs,)
    _remedy = "raise rank, max_iter or tol"

    def __init__(
        self,
        kernel=None,
        rank=None,
        method="factored",
        setting="inductive",
        *,
        beta=None,
        init="eigen",
        gamma=1.0,
        n_pairs=None,
        percentiles=(30, 70),
        n_basis=None,
        rtol=1e-10,
        max_iter=50,
        step=None,
        restore=True,
        tol=0.05,
        random_state=None,
        verbose=False,
        callback=None,
    ):
        self.kernel = kernel
        self.rank = rank
        self.method = method
        self.setting = setting
        self.beta = beta
        self.init = init
        self.gamma = gamma
        self.n_pairs = n_pairs
        self.percentiles = percentiles
        self.n_basis = n_basis
        self.rtol = rtol
        self.max_iter = max_iter
        self.step = step
        self.restore = restore
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def _door(self, X: Any, y: Any, vectors: bool = True) -> Any:
        return super()._door(X, y, vectors=self.kernel is None or as_kernel(self.kernel, OWNER).on_vectors)

    def _coordinates(self, X: Any) -> tuple[Coordinates, np.ndarray]:
        kernel = kernel_or_gaussian(self.kernel, X, OWNER)
        features = KernelFeatures(kernel, rank=self.n_basis, random_state=self.random_state)
        Z = features.learn(X)
        return KernelSpace(features), Z

    def kernel_matrix(self) -> np.ndarray:
        """K on the training points, (n, n)."""
        return self.factor_ @ self.factor_.T

    def kernel_function(self, X: Any, Y: Any = None) -> np.ndarray:
        """k(x, y) on any points, (n, m): positive semi-definite, of rank at most ``rank_``."""
        return self.metric_.kernel(X, Y)

    def _side(self, y: Any, Z: Any, rest: Rest, rng: np.random.RandomState) -> Pairs:
        if isinstance(y, Labels):
            count = 40 * len(y.classes) ** 2 if self.n_pairs is None else self.n_pairs
            y = Pairs.from_labels(y, count, random_state=rng)
        return super()._side(y.filled(Z, self.percentiles) if isinstance(y, Pairs) else y, Z, rest, rng)

    def _learn(self, Z: Any, side: Pairs, rest: Rest, rng: np.random.RandomState) -> Solution:
        _checks.one_of(self.method, OWNER, "method", METHODS)
        _checks.one_of(self.setting, OWNER, "setting", ("inductive", "transductive"))
        solution = self._solved(Z, side)
        factor = Z @ solution.factor.T
        Z, F = Z / _unit(Z), factor / _unit(Z)
        beta = float(np.sum((Z.T @ F) ** 2) / max(np.sum((Z.T @ Z) ** 2), np.finfo(float).tiny))
        return replace(solution, found={"factor": factor, "rank": factor.shape[1], "beta": beta})

    def _solved(self, X: Any, side: Pairs) -> Solution:
        max_iter = _checks.number(self.max_iter, OWNER, "max_iter", low=1, integer=True)
        tol = _checks.number(self.tol, OWNER, "tol", low=0)
        unit = _unit(X)
        Z, side = X / unit, side.scaled(unit**-2)
        spectrum = np.einsum("ij,ij->j", Z, Z)
        rtol = _checks.number(self.rtol, OWNER, "rtol", low=0, high=1)
        used = spectrum > rtol * spectrum.max(initial=0.0)
        rank = self._wanted(spectrum[used])
        if rank == 0:
            return Solution(factor=np.zeros((0, X.shape[1])), objective=0.0, residual=0.0, tol=tol)
        problem = KernelProblem(Z[:, used], side, rank, self.setting == "inductive", tol)
        with progress(OWNER, self.verbose, 20 * max_iter, self.callback) as report:
            solution = (self._burg if self.method == "burg" else self._rmp)(problem, max_iter, report)
        factor = np.zeros((solution.factor.shape[0], X.shape[1]))
        factor[:, used] = solution.factor
        return replace(solution, factor=factor, violation=unit**2 * solution.violation)

    def _wanted(self, spectrum: np.ndarray) -> int:
        """The rank asked for, at most what the kernel has."""
        if self.rank is not None:
            return min(_checks.number(self.rank, OWNER, "rank", low=1, integer=True), len(spectrum))
        kept = np.cumsum(spectrum)
        return int(np.searchsorted(kept, 0.9 * kept[-1])) + 1 if len(spectrum) else 0

    def _search(self, problem: KernelProblem, name: str, max_iter: int, report: Any) -> tuple[Trial, int]:
        """What the method finds, and the steps it took."""
        method, steps = Method(name, max_iter, self.step), Steps(report)
        beta = None if self.beta is None else _checks.number(self.beta, OWNER, "beta", low=0, high=1)
        if not self.restore and name != "factored":
            rank = None if self.rank is None else problem.rank
            found = averaged(problem, 0.5 if beta is None else beta, method, steps, rank)
        elif beta is None:
            found = closest(problem, method, steps)
        else:
            found = trial(problem, beta, method, problem.start(), steps)
        return found, steps.n_iter

    def _rmp(self, problem: KernelProblem, max_iter: int, report: Any) -> Solution:
        """Rank minimization; its residual is the violation relative to the least bound."""
        found, steps = self._search(problem, self.method, max_iter, report)
        return Solution(
            factor=problem.lift(found.F).T,
            objective=float(found.F.shape[1]),
            violation=found.violation * problem.radius,
            n_iter=max(steps, 1),
            converged=found.feasible,
            residual=found.violation / problem.unit,
            tol=problem.tol,
        )

    def _burg(self, problem: KernelProblem, max_iter: int, report: Any) -> Solution:
        """The LogDet method from the initial kernel, whose steps count too."""
        _checks.one_of(self.init, OWNER, "init", ("eigen", "factored", "mw", "ocp"))
        G, steps = np.eye(problem.Z.shape[1], problem.rank), 0
        if self.init != "eigen":
            found, steps = self._search(problem, self.init, max_iter, report)
            G = problem.lift(found.F)
        gamma = _checks.number(self.gamma, OWNER, "gamma", low=0, open_low=True)
        solution = burg(problem.Z @ G, problem.pairs, gamma, 20 * max_iter, problem.tol, shifted(report, steps))
        values, vectors = np.linalg.eigh(solution.M)
        factor = (G @ (vectors * np.sqrt(np.maximum(values, 0)))).T
        return replace(solution, M=None, factor=factor, n_iter=steps + solution.n_iter)

    def _store(self, coordinates: Coordinates, solution: Solution) -> None:
        super()._store(coordinates, solution)
        self.features_ = coordinates.features  # type: ignore[attr-defined]  # a KernelSpace


def _unit(Z: np.ndarray) -> float:
    """A power of two near the largest |z|: M on the coordinates is the same in any unit of the kernel."""
    size = float(np.abs(Z).max(initial=0.0))
    size *= float(np.linalg.norm(Z / size, axis=1).max()) if size > 0 else 1.0
    return float(2.0 ** np.round(np.log2(size))) if size > 0 else 1.0
