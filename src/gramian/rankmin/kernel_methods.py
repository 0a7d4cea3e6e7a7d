"""How a low-rank kernel is found: small values with one method, ``solve(problem, max_iter, report) → Solution``.

Most search for the kernel of wanted rank that keeps most of K₀: trials at one β, and a binary search over β.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from gramian._settings import Positive, check
from gramian.divergences import LogDet
from gramian.learners.factor_descent import shifted
from gramian.rankmin.base import RankProblem, combine, compact
from gramian.rankmin.factored import Restored, project, restore
from gramian.rankmin.game import Played, average, play, rule_of
from gramian.rankmin.kernel_problem import KernelProblem
from gramian.solvers import PrimalNewton, Problem, Relative, Result, Solution

OWNER = "LowRankKernel"
Report = Callable[..., Any]
HALVINGS = 6
"""Steps of the binary search for β."""

Step = Callable[[int, float], None]
"""Hears the number of a step and the worst violation."""

Mend = Callable[[RankProblem, np.ndarray, int, Step], Restored]
"""Moves a factor of fixed rank until the constraints hold, in so many steps at most."""


class Trial(NamedTuple):
    """A factor F for one β, with the worst violation of any constraint, and what is allowed."""

    F: np.ndarray
    beta: float
    violation: float
    epsilon: float

    @property
    def feasible(self) -> bool:
        """Whether every constraint holds to ε."""
        return self.violation <= self.epsilon


class Steps:
    """Counts the steps of all trials, and reports each as ``report(n_iter, β, violation relative to the unit)``."""

    def __init__(self, report: Report | None = None):
        self.report = report
        self.n_iter = 0

    def at(self, beta: float, unit: float) -> Step:
        """What a game or a descent at this β calls after each of its own steps."""

        def step(_: int, violation: float) -> None:
            self.n_iter += 1
            if self.report is not None:
                self.report(self.n_iter, beta, violation / unit)

        return step


def closest(
    problem: KernelProblem,
    max_iter: int,
    steps: Steps,
    begin: Callable[[RankProblem, Step], np.ndarray] | None = None,
    mend: Mend = restore,
) -> Trial:
    """β as given, or binary search for the largest one at the wanted rank: the K nearest to K₀ in angle (§7.3.1).

    ``begin`` gives the factor to start from (the best approximation of K₀ when None), at a high β, or without one when
    that cannot be met; the search goes on from what was found there. ``mend`` restores the constraints at the rank.
    """
    start = problem.start()

    def attempt(beta: float, last: np.ndarray, fresh: bool) -> Trial:
        case = problem.at(beta)
        step = steps.at(beta, problem.unit)
        F = begin(case, step) if fresh and begin is not None else last
        return _restored(problem, case, F, last, beta, lambda F: mend(case, F, 4 * max_iter, step))

    if problem.beta is not None:
        return attempt(problem.beta, start, True)
    high = problem.share(start)
    best = attempt(0.9 * high, start, True)
    if not best.feasible:
        high = best.beta
        best = attempt(0.0, start, True)
    for _ in range(HALVINGS if best.feasible else 0):
        trial = attempt((best.beta + high) / 2, best.F, False)
        if trial.feasible:
            best = trial
        else:
            high = trial.beta
    return best


def _restored(
    problem: KernelProblem,
    case: RankProblem,
    F: np.ndarray,
    last: np.ndarray,
    beta: float,
    mend: Callable[[np.ndarray], Restored],
) -> Trial:
    """F cut to the wanted rank, and the constraints restored there; filled up from ``last`` where that does not do."""
    F = F[:, : problem.target]
    mended = mend(F if F.shape[1] else last)
    missing = last[:, mended.F.shape[1] :]
    if mended.violation > case.epsilon and missing.shape[1]:
        mended = mend(np.hstack([mended.F, missing]))
    return Trial(compact(mended.F), beta, mended.violation, case.epsilon)


def solution_of(problem: KernelProblem, trial: Trial, steps: Steps) -> Solution:
    """A trial as the answer of a method: its residual is the violation relative to the least bound."""
    return Solution(
        factor=problem.lift(trial.F).T,
        objective=float(trial.F.shape[1]),
        violation=trial.violation * problem.radius,
        n_iter=max(steps.n_iter, 1),
        result=Result.converged if trial.feasible else Result.stalled,
        residual=trial.violation / problem.unit,
        tol=problem.tol,
    )


def burg(problem: KernelProblem, G: np.ndarray, gamma: float, max_iter: int, callback: Any = None) -> Solution:
    """min_B D_ld(B, I) + slack   s.t. the constraints on K = C B Cᵀ, for an initial kernel K₁ = CCᵀ with C = ZG.

    Kulis et al. (2006), the BurgKernel of Jain 2009, §7.4.2. D_ld(K, K₁) is finite only when K has the range of K₁, and
    then it is D_ld(B, I) in the r coordinates C: the full-rank problem of the framework, solved as such.
    """
    rows = problem.rows.mapped(G)  # A_i in the coordinates C = ZG
    size = rows.size()
    # A constraint on copies says nothing; the slack knows no scale, so what differs by rounding would be heard too.
    keep = size > np.finfo(float).eps ** 2 * size.max(initial=0)  # (m,)
    prior = np.eye(G.shape[1])
    if not keep.any():
        return Solution(M=prior, objective=0.0, residual=0.0, tol=problem.tol)
    whole = Problem(rows.take(keep), problem.bound[keep], prior, LogDet(), Relative(gamma))
    return PrimalNewton(max_iter=max_iter, tol=problem.tol).solve(whole, callback)


class KernelMethod(ABC):
    """A way to the S of a ``KernelProblem``."""

    __post_init__ = check

    @abstractmethod
    def solve(self, problem: KernelProblem, max_iter: int, report: Report | None = None) -> Solution:
        """The factor L of S = LᵀL on the coordinates, its residual the violation relative to the least bound."""


Method = Literal["factored", "mw", "ocp", "burg", "svp"] | KernelMethod


@dataclass(frozen=True)
class Descent(KernelMethod):
    """Descent on a factor of the wanted rank, from the best approximation of K₀."""

    def solve(self, problem: KernelProblem, max_iter: int, report: Report | None = None) -> Solution:
        """The nearest kernel to K₀ of the wanted rank that the descent finds."""
        steps = Steps(report)
        return solution_of(problem, closest(problem, max_iter, steps), steps)


@dataclass(frozen=True)
class Projection(KernelMethod):
    """Singular value projection, a method of matrix completion (Meka, Jain and Dhillon 2009; Jain 2009, chapter 9).

    Steps along the gradient in K itself, each followed by the projection onto the kernels of the wanted rank.
    """

    def solve(self, problem: KernelProblem, max_iter: int, report: Report | None = None) -> Solution:
        """The nearest kernel to K₀ of the wanted rank that the projections find."""
        steps = Steps(report)
        return solution_of(problem, closest(problem, max_iter, steps, mend=project), steps)


@dataclass(frozen=True)
class Game(KernelMethod):
    """The games of Algorithms 2 ("mw") and 3 ("ocp") of Jain 2009.

    Parameters
    ----------
    rule : {"mw", "ocp"}
    step : float, optional
        As in :class:`~gramian.RankMinimizer`.
    variant : {"restored", "as_printed"}
        "restored" cuts the average of the game to the wanted rank and restores the constraints there. "as_printed" is
        the plain average of ``max_iter`` answers at β (0.5 unless given), with the steps as they are printed unless
        ``step`` is given: its rank is what it happens to be (cut to ``rank`` if that is given), and so are the
        violations.
    """

    rule: Literal["mw", "ocp"] = "mw"
    step: Positive | None = None
    variant: Literal["restored", "as_printed"] = "restored"

    def solve(self, problem: KernelProblem, max_iter: int, report: Report | None = None) -> Solution:
        """The average of the game, as it is or restored at the wanted rank."""
        steps = Steps(report)
        if self.variant == "as_printed":
            return solution_of(problem, self.averaged(problem, max_iter, steps), steps)

        def begin(case: RankProblem, step: Step) -> np.ndarray:
            return self.played(play, case, max_iter, step)

        return solution_of(problem, closest(problem, max_iter, steps, begin), steps)

    def averaged(self, problem: KernelProblem, max_iter: int, steps: Steps | None = None) -> Trial:
        """The plain average; where the first question is refused the best approximation of K₀ stands for it."""
        beta = 0.5 if problem.beta is None else problem.beta
        case = problem.at(beta)
        step = (steps or Steps()).at(beta, problem.unit)
        F = self.played(average, case, max_iter, step)[:, : problem.rank]
        F = F if F.shape[1] else problem.start()
        return Trial(F, beta, case.violation(case.A(F)), case.epsilon)

    def played(self, how: Callable[..., Played], case: RankProblem, max_iter: int, step: Step) -> np.ndarray:
        """The factor of the average of a game, in order of decreasing weight."""
        size: Any = "printed" if self.step is None and self.variant == "as_printed" else self.step
        game = how(case, rule_of(case, self.rule, size, OWNER), max_iter, step)
        atom = combine(game.atoms, game.mix, case.A.n)
        factor: np.ndarray = atom.vectors * np.sqrt(np.maximum(atom.values, 0))
        return factor


@dataclass(frozen=True)
class Burg(KernelMethod):
    """The LogDet method, which keeps the range of an initial kernel (Jain 2009, §7.4.2).

    Parameters
    ----------
    init : {"eigen"}, name or method
        The initial kernel: the leading eigenvectors of K₀, or what another method finds.
    gamma : float
        Weight of the slack, as in :class:`~gramian.ITML`.
    """

    init: Literal["eigen"] | Method = "eigen"
    gamma: Positive = 1.0

    def solve(self, problem: KernelProblem, max_iter: int, report: Report | None = None) -> Solution:
        """The LogDet method from the initial kernel, whose steps count too; its residual is the duality gap."""
        G = np.eye(problem.Z.shape[1], problem.target)  # the leading eigenvectors of K₀
        steps = 0
        if self.init != "eigen":
            initial = method_of(self.init).solve(problem, max_iter, report)
            assert initial.factor is not None
            G, steps = initial.factor.T, initial.n_iter
        solution = burg(problem, G, float(self.gamma), 20 * max_iter, shifted(report, steps))
        values, vectors = np.linalg.eigh(solution.M)  # (r, r)
        factor = (G @ (vectors * np.sqrt(np.maximum(values, 0)))).T
        return replace(solution, M=None, factor=factor, n_iter=steps + solution.n_iter)


METHODS: dict[str, KernelMethod] = {
    "factored": Descent(),
    "mw": Game("mw"),
    "ocp": Game("ocp"),
    "burg": Burg(),
    "svp": Projection(),
}


def method_of(value: Method) -> KernelMethod:
    """A method by its name, or itself."""
    return METHODS[value] if isinstance(value, str) else value
