"""How a low-rank kernel is found: small values with one method, ``solve(problem, max_iter, report) → Solution``."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from gramian._settings import Positive, check
from gramian.learners.factor_descent import shifted
from gramian.rankmin.base import RankProblem, combine
from gramian.rankmin.burg import burg
from gramian.rankmin.game import average, play, rule_of
from gramian.rankmin.kernel_problem import KernelProblem
from gramian.rankmin.kernel_search import Step, Steps, Trial, closest, solution_of
from gramian.rankmin.projection import project
from gramian.solvers import Solution

OWNER = "LowRankKernel"


class KernelMethod(ABC):
    """A way to the S of a ``KernelProblem``."""

    __post_init__ = check

    @abstractmethod
    def solve(self, problem: KernelProblem, max_iter: int, report: Callable | None = None) -> Solution:
        """The factor L of S = LᵀL on the coordinates, its residual the violation relative to the least bound."""


Method = Literal["factored", "mw", "ocp", "burg", "svp"] | KernelMethod


@dataclass(frozen=True)
class Descent(KernelMethod):
    """Descent on a factor of the wanted rank, from the best approximation of K₀."""

    def solve(self, problem: KernelProblem, max_iter: int, report: Callable | None = None) -> Solution:
        """The nearest kernel to K₀ of the wanted rank that the descent finds."""
        steps = Steps(report)
        return solution_of(problem, closest(problem, max_iter, steps), steps)


@dataclass(frozen=True)
class Projection(KernelMethod):
    """Singular value projection, a method of matrix completion (Meka, Jain and Dhillon 2009; Jain 2009, chapter 9).

    Steps along the gradient in K itself, each followed by the projection onto the kernels of the wanted rank.
    """

    def solve(self, problem: KernelProblem, max_iter: int, report: Callable | None = None) -> Solution:
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
        the plain average of ``max_iter`` answers at β (0.5 unless given): its rank is what it happens to be (cut to
        ``rank`` if that is given), and so are the violations.
    """

    rule: Literal["mw", "ocp"] = "mw"
    step: Positive | None = None
    variant: Literal["restored", "as_printed"] = "restored"

    def solve(self, problem: KernelProblem, max_iter: int, report: Callable | None = None) -> Solution:
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

    def played(self, how: Callable, case: RankProblem, max_iter: int, step: Step) -> np.ndarray:
        """The factor of the average of a game, in order of decreasing weight."""
        game = how(case, rule_of(case, self.rule, self.step, OWNER), max_iter, step)
        atom = combine(game.atoms, game.mix, case.A.n)
        return atom.vectors * np.sqrt(np.maximum(atom.values, 0))


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

    def solve(self, problem: KernelProblem, max_iter: int, report: Callable | None = None) -> Solution:
        """The LogDet method from the initial kernel, whose steps count too; its residual is the duality gap."""
        G = np.eye(problem.Z.shape[1], problem.target)
        steps = 0
        if self.init != "eigen":
            first = method_of(self.init).solve(problem, max_iter, report)
            G = first.factor.T
            steps = first.n_iter
        solution = burg(problem, G, float(self.gamma), 20 * max_iter, shifted(report, steps))
        values, vectors = np.linalg.eigh(solution.M)
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
