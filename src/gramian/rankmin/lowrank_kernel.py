"""LowRankKernel: a kernel of low rank from a kernel and constraints."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from gramian import linalg
from gramian._settings import Count, Loudness, Percentiles, Seed, Share, Size
from gramian.constraints import Constraints, Labels, Pairs
from gramian.constraints.pairs import MOST_BY_CLASS
from gramian.coordinates import KernelSpace
from gramian.features import KernelFeatures
from gramian.features.kernel_features import MANY
from gramian.kernels import Kernel
from gramian.kernels.objects import as_kernel
from gramian.learners import subsample
from gramian.learners.base import Learner
from gramian.learners.kernelized import kernel_or_gaussian
from gramian.learners.task import Task, Traits
from gramian.linalg import count, take
from gramian.rankmin.kernel_methods import OWNER, Method, method_of
from gramian.rankmin.kernel_problem import KernelProblem
from gramian.solvers import Solution
from gramian.solvers.rows import rows_of

MOST_POINTS = 2_000
"""Labeled points that a fit learns from where there are many and nothing says in which coordinates."""
NEGLIGIBLE = 1e-10
"""Directions of k₀ with an eigenvalue below this share of the largest are left out."""


@dataclass(eq=False, repr=False)
class LowRankKernel(Learner):
    """Learn a kernel of low rank from pairs that should be near or far.

    min rank(K) s.t. d²_K ≤ u (similar), d²_K ≥ l (dissimilar), ⟨K, K₀⟩ ≥ β ‖K₀‖², ‖K‖ bounded, K ⪰ 0.

    Jain 2009, (7.7) with ``setting="transductive"``, where the norm is that of K, and (7.11) with ``"inductive"``,
    where it is that of L in k(x, y) = z(x)ᵀ L z(y) = k₀(x)ᵀ K₀^{−1/2} L K₀^{−1/2} k₀(y). In both the result is a kernel
    function of at most the wanted rank on any points, equal to the learned matrix on the training points. For a wanted
    rank β is found by binary search: the largest at which the constraints can be met. Triplets, similarities and other
    constraints that are linear in K take the place of the pairs where they are given.

    Parameters
    ----------
    kernel : Kernel or function of two objects, optional
        k₀, on vectors or on anything else; Gaussian with the median distance as its scale when None.
    rank : int, optional
        Wanted rank; the fewest that keep 90% of the trace of K₀ when None.
    method : {"factored", "mw", "ocp", "burg", "svp"} or method
        How S is found: :class:`~gramian.rankmin.Descent` from the best approximation of K₀, the
        :class:`~gramian.rankmin.Game` of Algorithm 2 or 3 cut to the rank, :class:`~gramian.rankmin.Burg`, the LogDet
        method that keeps the range of an initial kernel, or :class:`~gramian.rankmin.Projection`, which cuts to the
        rank after each step. ``Game("mw", variant="as_printed")`` is Algorithm 2 with nothing added.
    setting : {"inductive", "transductive"}
        Whether the kernel is learned for new points as well, or for the training points alone.
    beta : float in [0, 1], optional
        Share of K₀ to keep; binary search when None. "burg" has none.
    features : KernelFeatures, optional
        Coordinates of k₀ to work in; all when None, and of more than 5,000 labeled points those of 2,000 of them.
    n_pairs : int, optional
        Pairs drawn from labels; 40 C² for C classes when None, 100,000 at most.
    percentiles : (float, float)
        Bounds (u, l) of pairs without bounds, as percentiles of the squared distances of k₀.
    max_iter : int
        Rounds of a game.
    tol : float
        Violation of a constraint allowed, relative to the least bound ("burg": relative duality gap).
    verbose : bool
        Show a progress bar (needs the ``cli`` extra).
    callback : callable, optional
        Called as ``callback(n_iter, beta, residual)`` after each answer of a game and each step of a descent, with the
        β in trial and the violation relative to the least bound; the passes of "burg" give their dual objective in the
        place of β.
    random_state : int or generator, optional
        Draws, where there are any: the same number gives the same result.

    Attributes
    ----------
    metric_ : KernelMetric
        The learned distance; ``metric_.kernel`` is the kernel function on any points.
    kernel_ : array (n, n)
        K on the training points, made when asked for.
    factor_ : array (n, r)
        K = FFᵀ on the training points.
    rank_ : int
        Rank of K.
    beta_ : float
        Share of K₀ that was kept, ⟨K, K₀⟩ / ‖K₀‖²; inductive, where K may be longer than K₀, it can exceed 1.
    features_ : KernelFeatures
        Coordinates of k₀ in use.

    See Also
    --------
    gramian.RankMinimizer : Any linear constraints.
    gramian.Kernelized : Kernels of full rank.

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = gm.LowRankKernel(gm.Gaussian(1.0), rank=20, n_pairs=40, random_state=0).fit(X, y)
    >>> model.rank_, model.metric_.kernel(X[:3]).shape
    (20, (3, 3))
    """

    kernel: Kernel | Callable[..., Any] | None = None
    rank: Count | None = None
    _: KW_ONLY
    method: Method = "factored"
    setting: Literal["inductive", "transductive"] = "inductive"
    beta: Share | None = None
    features: KernelFeatures | None = None
    n_pairs: Count | None = None
    percentiles: Percentiles = (30, 70)
    max_iter: Count = 50
    tol: Size = 0.05
    verbose: Loudness = False
    callback: Callable[..., Any] | None = None
    random_state: Seed = None

    @property
    def traits(self) -> Traits:  # type: ignore[override]  # a constant elsewhere
        """Any constraints, on any points that the kernel takes."""
        return Traits(
            takes=(Constraints,),
            vectors=self.kernel is None or as_kernel(self.kernel, OWNER).on_vectors,
            lifts=True,
            remedy="raise rank, max_iter or tol",
        )

    def solve(self, task: Task) -> Solution:
        """The method that was asked for, on the kernel coordinates of the points, or of a part of many."""
        points, y = self._sample(task)
        features = self._features(kernel_or_gaussian(self.kernel, points, OWNER))
        Z = features.learn(points)  # (n, r)
        inside = replace(task, Z=points, y=y).within(KernelSpace(features), Z)
        solution = self._solved(inside, self._bounded(inside))
        F = (
            inside.Z @ solution.factor.T
            if count(points) == count(task.Z)
            else images(task.Z, features, solution.factor)
        )
        share = _share(inside.Z, inside.Z @ solution.factor.T)
        solution = replace(solution, coordinates=inside.rest.coordinates)
        return solution.saying(features=features, factor=task.by_rows(F), rank=len(solution.factor), beta=share)

    def _sample(self, task: Task) -> tuple[Any, Any]:
        """A part of many labeled points, in all of its coordinates: few coordinates of all points say less."""
        if self.features is not None or self.setting == "transductive" or count(task.Z) <= MANY:
            return task.Z, task.y
        return subsample.fewer(task.Z, task.y, MOST_POINTS, OWNER, "give features=KernelFeatures(…)", task.rng)

    def _features(self, kernel: Kernel) -> KernelFeatures:
        if self.features is None:
            return KernelFeatures(kernel, random_state=self.random_state)
        features: KernelFeatures = clone(self.features).set_params(kernel=kernel)
        return features

    def _bounded(self, task: Task) -> Constraints:
        """The constraints with their bounds."""
        y: Any = task.y
        if isinstance(y, Labels):
            n_pairs = min(40 * len(y.classes) ** 2, MOST_BY_CLASS) if self.n_pairs is None else self.n_pairs
            y = Pairs.from_labels(y, n_pairs, random_state=task.rng)
        side: Constraints = y.filled(task.Z, self.percentiles)
        return side

    def _solved(self, task: Task, side: Constraints) -> Solution:
        """The method in units in which the coordinates are of order one, on those that matter."""
        method, Z = method_of(self.method), task.Z
        max_iter = int(self.max_iter)
        unit = _unit(Z)
        scaled = Z / unit  # bounds are divided by unit²
        spectrum = np.einsum("ij,ij->j", scaled, scaled)  # eigenvalues of K₀
        used = spectrum > NEGLIGIBLE * spectrum.max(initial=0.0)
        problem = self._problem(scaled[:, used], side, unit**-2)
        solution = Solution(factor=np.zeros((0, used.sum())), objective=0.0, residual=0.0, tol=problem.tol)
        if problem.target > 0:
            solution = method.solve(problem, max_iter, task.report)
        L = np.zeros((solution.factor.shape[0], Z.shape[1]))  # (q, r)
        L[:, used] = solution.factor
        return replace(solution, factor=L, violation=unit**2 * solution.violation)

    def _problem(self, Z: np.ndarray, side: Constraints, unit: float) -> KernelProblem:
        rank = None if self.rank is None else int(self.rank)
        beta = None if self.beta is None else float(self.beta)
        bound = unit * side.bound
        return KernelProblem(Z, rows_of(side, Z), bound, self.setting == "inductive", rank, beta, float(self.tol))

    @property
    def kernel_(self) -> np.ndarray:
        """K on the training points, (n, n)."""
        check_is_fitted(self, "factor_")
        K: np.ndarray = self.factor_ @ self.factor_.T
        return K


def images(X: Any, features: KernelFeatures, L: np.ndarray) -> np.ndarray:
    """F = k₀(X, B) TᵀLᵀ, without the coordinates z of all points."""
    turn = features.map_.T @ L.T  # (r, q)
    F = np.empty((count(X), turn.shape[1]))
    for rows in linalg.blocks(len(F), 24 * len(turn)):
        F[rows] = features.kernel_._gram(take(X, rows), features.basis_) @ turn
    return F


def _unit(Z: np.ndarray) -> float:
    """A power of two near the largest |z|: M on the coordinates is the same in any unit of the kernel."""
    size = float(np.abs(Z).max(initial=0.0))
    if size == 0:
        return 1.0
    longest = size * float(np.linalg.norm(Z / size, axis=1).max())
    return float(2.0 ** np.round(np.log2(longest)))


def _share(Z: np.ndarray, F: np.ndarray) -> float:
    """⟨FFᵀ, ZZᵀ⟩ / ‖ZZᵀ‖², in units in which squares do not overflow."""
    unit = _unit(Z)
    Z, F = Z / unit, F / unit
    total = np.sum((Z.T @ Z) ** 2)  # ‖ZZᵀ‖² from the r × r side
    return float(np.sum((Z.T @ F) ** 2) / max(total, np.finfo(float).tiny))
