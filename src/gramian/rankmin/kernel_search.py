"""The search for the kernel of wanted rank that keeps most of K₀: trials at one β, and the binary search over β."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gramian.rankmin.base import RankProblem, compact
from gramian.rankmin.factored import Restored, restore
from gramian.rankmin.kernel_problem import KernelProblem
from gramian.solvers import Result, Solution

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

    def __init__(self, report: Callable | None = None):
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

    def attempt(beta: float, known: np.ndarray, fresh: bool) -> Trial:
        case = problem.at(beta)
        step = steps.at(beta, problem.unit)
        F = begin(case, step) if fresh and begin is not None else known
        return _restored(problem, case, F, known, beta, lambda F: mend(case, F, 4 * max_iter, step))

    if problem.beta is not None:
        return attempt(problem.beta, start, True)
    high = problem.share(start)
    best = attempt(0.9 * high, start, True)
    if not best.feasible:
        high = best.beta
        best = attempt(0.0, start, True)
    for _ in range(HALVINGS if best.feasible else 0):
        found = attempt((best.beta + high) / 2, best.F, False)
        if found.feasible:
            best = found
        else:
            high = found.beta
    return best


def _restored(
    problem: KernelProblem,
    case: RankProblem,
    F: np.ndarray,
    known: np.ndarray,
    beta: float,
    mend: Callable[[np.ndarray], Restored],
) -> Trial:
    """F cut to the wanted rank, and the constraints restored there; filled up from ``known`` where that does not do."""
    F = F[:, : problem.target]
    found = mend(F if F.shape[1] else known)
    missing = known[:, found.F.shape[1] :]
    if found.violation > case.epsilon and missing.shape[1]:
        found = mend(np.hstack([found.F, missing]))
    return Trial(compact(found.F), beta, found.violation, case.epsilon)


def solution_of(problem: KernelProblem, found: Trial, steps: Steps) -> Solution:
    """A trial as the answer of a method: its residual is the violation relative to the least bound."""
    return Solution(
        factor=problem.lift(found.F).T,
        objective=float(found.F.shape[1]),
        violation=found.violation * problem.radius,
        n_iter=max(steps.n_iter, 1),
        result=Result.converged if found.feasible else Result.stalled,
        residual=found.violation / problem.unit,
        tol=problem.tol,
    )
