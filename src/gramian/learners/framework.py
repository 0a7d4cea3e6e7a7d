"""The framework of Jain (2009, (3.2)): constraints with bounds, the problem that they make, and its learner."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np

from gramian import _validate, linalg
from gramian._arrays import asarray, foreign, to_numpy
from gramian._settings import Count, Positive, Size
from gramian.constraints import Comparisons, Constraints, Labels, Pairs
from gramian.constraints.comparisons import unit_margins
from gramian.divergences import Divergence, LogDet
from gramian.learners.base import Iterative
from gramian.learners.task import Effort, Task, Traits
from gramian.solvers import (
    BregmanProjections,
    DualAscent,
    Hard,
    Hinge,
    InfeasibleError,
    InteriorPoint,
    PrimalNewton,
    Problem,
    Quadratic,
    Slack,
    Solution,
    Solver,
    rows_of,
)
from gramian.solvers.base import Result, in_range, lifted
from gramian.solvers.slack import default_weight

ENOUGH_PAIRS = 3000
"""Pairs that are enough for what is blended with a prior."""
DUAL_STEPS = 40
"""Steps of the dual in a blended fit on a device."""
FEW = 1_000
"""Constraints up to which the dual goes on where an interior point meets rounding before a fine tolerance."""
SOLVERS: dict[str, type[DualAscent | BregmanProjections | PrimalNewton | InteriorPoint]] = {
    "primal": PrimalNewton,
    "dual": DualAscent,
    "bregman": BregmanProjections,
    "interior": InteriorPoint,
}
SolverName = Literal["auto", "primal", "dual", "interior", "bregman"]
SubspaceName = Literal["svd", "landmarks"]


@dataclass(frozen=True, eq=False)
class Ground:
    """What the framework stands on: M₀ on the coordinates, and the weight α of what lies outside of them."""

    M0: Any
    alpha: float

    @classmethod
    def of(cls, task: Task, alpha: float) -> "Ground":
        """αI where the prior is the identity, which then has the weight α outside as well."""
        return cls(alpha * task.M0, float(alpha)) if task.prior is None else cls(task.prior, 0.0)


def drawn(task: Task, n_pairs: int | None) -> Constraints:
    """The constraints of a task; pairs from labels where these were given."""
    if not isinstance(task.y, Labels):
        return task.y
    count = task.effort.constraints if n_pairs is None else n_pairs
    return Pairs.from_labels(task.y, count, random_state=task.rng)


def bounded(task: Task, side: Constraints, ground: Ground, percentiles: Any = (5, 95)) -> Constraints:
    """Bounds that were left open: percentiles of the squared distances under the prior, in the whole space if it
    reaches there; they are soft then.
    """
    if not side.from_data:
        return side
    if ground.alpha > 0 and not task.rest.empty:
        return side.filled(task.Z, percentiles, sqdist=lambda rows: ground.alpha * task.rest.sqdist(rows)).softened()
    root = asarray(linalg.psd_sqrt(ground.M0), task.Z) if ground.M0.any() else None
    return side.filled(task.Z if root is None else task.Z @ root, percentiles).softened()


def solved(
    task: Task, side: Constraints, ground: Ground, divergence: Divergence, slack: Slack, solver: Any, owner: str
) -> Solution:
    """min_M D(M, M₀) + slack  s.t.  ⟨C_i, Z M Zᵀ⟩ ≤ b_i,  M ⪰ 0."""
    Z, offset = task.Z, 0.0  # type: tuple[Any, Any]
    if ground.alpha > 0 and not task.rest.empty:
        # Jain 2009, (3.8): what the part αI outside of the coordinates already spends.
        offset = ground.alpha * np.concatenate([task.rest.energy(terms) for terms in side.blocks(Z.shape[0])])
    problem = Problem(
        rows=rows_of(side, Z),
        bound=asarray(side.bound, Z),
        prior=asarray(ground.M0, Z),
        divergence=divergence,
        slack=slack.placed(Z),
        offset=asarray(offset, Z) if isinstance(offset, np.ndarray) else offset,
    )
    try:
        solution = answer(problem, task, solver, owner)
    except InfeasibleError as error:
        way = ", or margin=None in the triplets for a soft one that fits the data" * isinstance(side, Comparisons)
        raise InfeasibleError(f"{owner}: {str(error).rstrip('.')}{way}.") from None
    return replace(solution, alpha=ground.alpha)


def answer(problem: Problem, task: Task, solver: Any, owner: str) -> Solution:
    """What a solver, by name or as given, says of a problem."""
    if problem.divergence.keeps_range and not np.any(to_numpy(problem.prior)):
        raise ValueError(f"{owner}: prior must not be 0 for LogDet and von Neumann, which keep its range.")
    problem, V = in_range(problem)
    free = solver == "auto"
    solver = named(solver, problem, task) if isinstance(solver, str) else solver
    if foreign(task.Z) and not isinstance(solver, DualAscent):
        raise TypeError(
            f"{owner}: solver must be 'dual' for X on a device, got {type(solver).__name__}, "
            "which runs on the CPU; pass X as a NumPy array for it."
        )
    solver.check(problem)
    solution = solver.solve(problem, task.report)
    if free and solution.result is Result.stalled and isinstance(solver, InteriorPoint) and len(problem.rows) <= FEW:
        dual = DualAscent(max_iter=solver.max_iter, tol=solver.tol).solve(problem, task.report)
        solution = min(solution, dual, key=lambda one: one.residual)
    return lifted(solution, V)


def named(name: str, problem: Problem, task: Task) -> Solver:
    """The solver of a name; "auto" is Newton's method on M where that suits, and the dual elsewhere."""
    steps, rough = int(task.effort.max_iter or 1), task.effort.constraints is not None
    if rough and foreign(problem.bound):  # a blend counts on primal steps, of which the dual needs more
        steps = max(steps, DUAL_STEPS)
    return SOLVERS[suited(problem, rough) if name == "auto" else name](max_iter=steps, tol=float(task.effort.tol))


def suited(problem: Problem, rough: bool) -> str:
    """The name of the solver that suits a problem, roughly solved in a blend or to the end."""
    if foreign(problem.bound):  # the dual runs on any array library
        return "dual"
    if PrimalNewton.suits(problem):
        return "primal"
    return "interior" if not rough and InteriorPoint.suits(problem) else "dual"


@dataclass(eq=False, repr=False)
class Framework(Iterative):
    """Learn from any constraints, under any divergence, with any solver.

    min_M D(M, M₀) + slack   s.t.  ⟨C_i, X M Xᵀ⟩ ≤ b_i,  M ⪰ 0   (Jain 2009, (3.2)).

    Parameters
    ----------
    divergence : Divergence, optional
        D; :class:`LogDet` when None. LinearFrobenius and LinearLogDet have no prior.
    prior : {"identity", "covariance", "zero"} or array (d, d)
        M₀. A singular M₀ confines M to its range for LogDet and von Neumann.
    anchor : "auto" or float in [0, 1]
        Weight of the prior. 0 is the problem as it stands above; "auto" chooses the weight on points and on classes
        that are held out, in the leading directions of the points (see the guide on anchored learning).
        Constraints whose bounds are given are a problem of your own: "auto" is 0 for them.
    slack : float or Slack, optional
        None: constraints must hold. Where their bounds are taken from the data they rarely can all hold, and get
        C = 1 / mean |b_i| of their kind instead. C: a violation v costs C · v (``slack_loss="hinge"``) or C/2 · v²
        (``"quadratic"``). A :class:`~gramian.solvers.Slack`: any convex cost.
    slack_loss : {"hinge", "quadratic"}
        What a violation costs: in proportion, or its square.
    solver : {"auto", "primal", "dual", "interior", "bregman"} or Solver
        Newton's method on M (LogDet with a slack that curves), the box-constrained dual (everything), an interior
        point (Frobenius with hinges, more of them than twice the entries of M), or cyclic Bregman projections
        (constraints of rank two at most; fast under LogDet); "auto" takes the first that suits.
    rank : int, optional
        Learn W = αI + U(M − αI)Uᵀ on a subspace of that dimension (Jain 2009, (3.6)); linear in d, takes sparse X.
    subspace : {"svd", "landmarks"} or array (d, k)
        U: leading singular vectors of X, the span of points drawn at random, or your own columns.
    alpha : float
        Weight α of an identity prior; also of what lies outside of the subspace.
    max_iter, tol
        Limit of the solver, and the relative duality gap and violation to stop at.
        None: 5000 and 1e-07; 15 and 0.01 in a blend with a prior.
    random_state : int or generator, optional
        For constraints drawn from labels.
    verbose : bool
        Show progress.
    callback : callable, optional
        Called as ``callback(n_iter, value, residual)``.

    Attributes
    ----------
    metric_ : Metric
        The learned distance, an immutable value.
    n_iter_, converged_, objective_, solution_
        Steps taken, whether ``solution_.tol`` was met, the objective (of a blend there is none), and the whole answer.

    See Also
    --------
    gramian.ITML : LogDet with relative slack, ready made.
    gramian.LEGO : One constraint at a time.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    >>> pairs = gm.Pairs([0, 0], [1, 2], [True, False], bounds=(0.5, 6.0))
    >>> gm.Framework(gm.LogDet()).fit(X, pairs).metric_.sqdist(X)[0].round(6).tolist()
    [0.0, 0.5, 6.0]
    """

    traits = Traits(
        takes=(Constraints,),
        exact=Effort(tol=1e-7, max_iter=5000),
        blended=Effort(tol=1e-2, max_iter=15, constraints=ENOUGH_PAIRS),
        prior_inside=True,
        subspace=True,
        sparse=True,
        devices=True,
    )

    divergence: Divergence | None = None
    _: KW_ONLY
    prior: Literal["identity", "covariance", "zero"] | np.ndarray = "identity"  # type: ignore[assignment]  # one word more
    slack: Positive | Slack | None = None
    solver: SolverName | Solver = "auto"
    slack_loss: Literal["hinge", "quadratic"] = "hinge"
    rank: Count | None = None
    subspace: SubspaceName | np.ndarray = "svd"
    alpha: Size = 1.0

    def blends(self, y: Any) -> bool:
        """As elsewhere, but not where bounds were given and nothing else asked for, nor without a prior."""
        bounds_given = not isinstance(y, Labels) and not y.from_data and isinstance(self.anchor, str)
        zero = _validate.is_word(self.prior, "zero")
        return super().blends(y) and not bounds_given and not zero and self.uses_prior

    @property
    def uses_prior(self) -> bool:
        """Whether the divergence is one from M₀."""
        return getattr(self.divergence, "uses_prior", True)

    def solve(self, task: Task) -> Solution:
        """The problem (3.2), with bounds that were left open from the distances under the prior."""
        ground, side = Ground.of(task, self.alpha), drawn(task, None)
        side = bounded(task, side if self.slack is None else unit_margins(side), ground)
        ground = ground if self.uses_prior else replace(ground, alpha=0.0)
        divergence: Any = LogDet() if self.divergence is None else self.divergence
        if hasattr(divergence, "at"):  # matrices of its own on the features
            divergence = divergence.at(task.Z, task.rest.lower)
        return solved(task, side, ground, divergence, self.slack_of(side), self.solver, "Framework")

    def slack_of(self, side: Constraints) -> Slack:
        """What missing a bound costs."""
        if isinstance(self.slack, Slack):
            return self.slack
        if self.slack is None and not side.soft:
            return Hard()
        C: Any = default_weight(side.sizes()) if self.slack is None else self.slack
        return Hinge(C) if self.slack_loss == "hinge" else Quadratic(C)
