"""Information-theoretic metric learning."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np

from gramian import _validate
from gramian._settings import Count, Percentiles, Positive, Size
from gramian.constraints import Comparisons, Labels, Pairs
from gramian.constraints.pairs import apart, in_place
from gramian.divergences import LogDet
from gramian.learners.base import Iterative
from gramian.learners.class_weights import ClassWeight, class_weights
from gramian.learners.framework import ENOUGH_PAIRS, Ground, SolverName, SubspaceName, bounded, drawn, solved
from gramian.learners.task import Effort, Task, Traits
from gramian.solvers import Quadratic, Relative, Slack, Solution, Solver
from gramian.solvers.slack import default_weight

ROUNDED = 1e-14
"""Copies are no farther apart than this in coordinates that were computed, relative to the others."""


@dataclass(eq=False, repr=False)
class ITML(Iterative):
    """Keep similar pairs near and dissimilar pairs far, and stay close to a prior.

    min_M D_ld(M, M₀) + γ Σ_i D_ld(ξ_i, b_i)   s.t.  d²_M ≤ ξ_i (similar),  d²_M ≥ ξ_i (dissimilar).

    Davis et al. (2007); Jain (2009), §3.1.1: the framework with the LogDet divergence, pairs, and a slack that is
    a LogDet divergence from the bounds itself. γ → ∞ is the hard problem. The projection printed in the ITML paper is
    right for γ = 1 only; here the dual is solved as a whole (``solver="dual"``) or pair by pair with the right step
    (``"bregman"``). Bounds are **squared** distances, so the result does not depend on the units of X.
    Pairs of identical points say nothing about M and are left out.

    Triplets and quadruplets may take the place of pairs. Their d²(near pair) − d²(far pair) ≤ −margin can be missed by
    more than all of b, where D_ld(ξ, b) is infinite; the slack is then γ/2 (ξ/b − 1)², which it is to second order.

    Parameters
    ----------
    gamma : float or "auto"
        Weight γ of the slack; "auto" chooses 0.1, 1 or 10 on points and classes that are held out.
    prior : {"identity", "covariance"} or array (d, d)
        M₀, positive definite.
    anchor : "auto" or float in [0, 1]
        Weight of the prior. 0 is the problem as it stands above; "auto" chooses the weight on points and on classes
        that are held out, in the leading directions of the points (see the guide on anchored learning).
    bounds : (u, l), optional
        Bounds on squared distances for pairs drawn from labels; percentiles of the squared distances, under the
        prior, when None.
    percentiles : (float, float)
        Which percentiles of the squared distances are (u, l), where no bounds are given.
    n_pairs : int, optional
        Pairs drawn from labels; see :meth:`Pairs.from_labels`.
    class_weight : None, "balanced" or dict
        What the points of a class count, a pair by the mean of its two: all the same; each class the same in all,
        however rare it is; or label → weight.
    solver : {"auto", "dual", "bregman"} or Solver
        Newton steps on the dual, cyclic Bregman projections, or the one that suits; see :class:`Framework`.
    rank, subspace, alpha
        High-dimensional form W = αI + U(M − αI)Uᵀ; see :class:`Framework`.
    max_iter, tol
        Limit of the solver, and the relative duality gap to stop at. Below 1e-5 Newton steps make M exact to rounding;
        1e-3 is enough for neighbors, and a little faster.
        None: 1000 and 1e-06; 15 and 0.01 in a blend with a prior.
    random_state : int or generator, optional
        Draws, where there are any: the same number gives the same result.
    verbose : bool
        Show progress: a bar, or lines where rich is not installed.
    callback : callable, optional
        Called as ``callback(n_iter, value, residual)``.

    Attributes
    ----------
    metric_ : Mahalanobis, or SubspaceMahalanobis with ``rank``
        The learned distance.
    gamma_ : float
        The weight of the slack that was used.
    n_iter_, converged_, objective_, solution_
        Steps taken, whether ``solution_.tol`` was met, the objective (of a blend there is none), and the whole answer.

    See Also
    --------
    gramian.OnlineITML : One pair at a time.
    gramian.GMML : In closed form.
    gramian.Framework : Other divergences and constraints.

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> itml = gm.ITML(random_state=0).fit(X, y)
    >>> itml.score(X, y) > 0.9
    True
    """

    traits = Traits(
        takes=(Pairs, Comparisons),
        exact=Effort(tol=1e-6, max_iter=1000),
        blended=Effort(tol=1e-2, max_iter=15, constraints=ENOUGH_PAIRS),
        choices={"gamma": (1.0, 0.1, 10.0)},
        prior_inside=True,
        subspace=True,
        sparse=True,
        devices=True,
    )

    gamma: Positive | Literal["auto"] = 1.0
    _: KW_ONLY
    bounds: tuple[Any, Any] | None = None
    percentiles: Percentiles = (5, 95)
    n_pairs: Count | None = None
    class_weight: ClassWeight = None
    solver: SolverName | Solver = "auto"
    rank: Count | None = None
    subspace: SubspaceName | np.ndarray = "svd"
    alpha: Size = 1.0

    def solve(self, task: Task) -> Solution:
        """The framework with LogDet and a slack that is LogDet as well."""
        ground = Ground.of(task, self.alpha)
        side = bounded(
            task, self.with_bounds(self.with_weights(drawn(task, self.n_pairs), task)), ground, self.percentiles
        )
        differ = in_order(side, task.Z) if isinstance(side, Pairs) else np.ones(len(side), bool)
        side = side if differ.all() else side[differ]
        solution = solved(task, side, ground, LogDet(), self.slack(side), self.solver, "ITML")
        return replace(solution, dual=in_place(solution.dual, differ)).saying(gamma=float(self.gamma))

    def with_weights(self, side: Any, task: Task) -> Any:
        """Pairs weighed by the classes of their points."""
        weight = class_weights(self.class_weight, task.y, "ITML") if isinstance(task.y, Labels) else None
        return side if weight is None else replace(side, weight=(weight[side.left] + weight[side.right]) / 2)

    def with_bounds(self, side: Any) -> Any:
        """Pairs without bounds with those that were asked for."""
        if self.bounds is None or not isinstance(side, Pairs) or not side.from_data:
            return side
        check_bounds(self.bounds)
        return replace(side, bounds=self.bounds)

    def slack(self, side: Any) -> Slack:
        """What missing a bound costs."""
        if not isinstance(side, Pairs):
            return Quadratic(self.gamma * default_weight(side.sizes()) ** 2)
        gamma: Any = self.gamma  # a number, by here
        return Relative(gamma if side.weight is None else gamma * side.weight)


def in_order(pairs: Pairs, Z: Any) -> np.ndarray:
    """Which pairs are of points that differ, (m,), once their bounds are in order."""
    if (pairs.limit <= 0).any():
        raise ValueError("ITML: bounds must be positive squared distances, got 0; drop such pairs.")
    u, l = (np.unique(pairs.limit[kind]) for kind in (pairs.similar, ~pairs.similar))
    if len(u) == len(l) == 1:  # one u for all similar pairs and one l for all others
        check_bounds((u[0], l[0]))
    return apart(pairs, Z, "ITML", tol=ROUNDED)


def check_bounds(bounds: Any) -> None:
    """Raise unless bounds are (u, l), 0 < u < l."""
    if not isinstance(bounds, list | tuple | np.ndarray) or len(bounds) != 2:
        raise ValueError(f"ITML: bounds must be (u, l), got {_validate.shown(bounds)}.")
    u, l = (_validate.number(bound, "ITML", "each of bounds") for bound in bounds)
    if not 0 < u < l:
        raise ValueError(f"ITML: bounds must satisfy 0 < u < l (squared distances), got u={u}, l={l}.")
