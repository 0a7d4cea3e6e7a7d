"""Low-rank kernel learning as rank minimization, transductive and inductive in one form.

With coordinates Z of the kernel (ZZᵀ = K₀, ZᵀZ = diag(λ)) the learned matrix is K = Y S Yᵀ. Transductive, (7.7) of Jain
2009: Y = Z λ^{−1/2} has orthonormal columns, so ‖S‖ = ‖K‖ and S ranges over all K in the range of K₀. Inductive,
(7.11): Y = Z, so S is the L of the thesis and the kernel function is z(x)ᵀ S z(y). Either way K is a matrix on the
coordinates, Z M Zᵀ, and extends to new points.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from gramian.constraints import Pairs
from gramian.rankmin.base import RankProblem, combine, compact
from gramian.rankmin.factored import restore
from gramian.rankmin.game import Game, average, play, rule_of
from gramian.rankmin.measurements import Measurements
from gramian.rankmin.oracles import SchattenBall
from gramian.rankmin.parts import LowRank


@dataclass(frozen=True, eq=False)
class KernelProblem:
    """min rank(S) s.t. the pair bounds, ⟨K, K₀⟩ ≥ β ‖K₀‖², ‖S‖_F ≤ ρ, S ⪰ 0, everything divided by ρ.

    ρ is the norm of the S that gives K₀ back: ‖K₀‖ when transductive (the thesis takes ‖K₀‖ = 1), and ‖I‖ when
    inductive, where (7.9) leaves it open. With the norm √rank of a cut K₀ the pairs can hardly ever all be met.
    """

    Z: np.ndarray
    pairs: Pairs
    rank: int
    inductive: bool
    tol: float

    @property
    def spectrum(self) -> np.ndarray:
        """λ, the eigenvalues of K₀."""
        return np.einsum("ij,ij->j", self.Z, self.Z)

    @property
    def scaling(self) -> np.ndarray:
        """T with Y = Z T, diagonal."""
        return np.ones(self.Z.shape[1]) if self.inductive else self.spectrum**-0.5

    @property
    def radius(self) -> float:
        """The norm ρ of the ball."""
        return float(np.sqrt(len(self.spectrum)) if self.inductive else np.linalg.norm(self.spectrum))

    @property
    def unit(self) -> float:
        """The least positive bound over ρ: violations are relative to it."""
        positive = self.pairs.limit[self.pairs.limit > 0]
        return float(positive.min() if positive.size else 1.0) / self.radius

    def start(self) -> np.ndarray:
        """The factor of the best approximation of K₀ of the wanted rank, in units of the ball."""
        prior = np.ones(self.rank) if self.inductive else self.spectrum[: self.rank]
        return np.eye(self.Z.shape[1], self.rank) * np.sqrt(prior / self.radius)

    def share(self, F: np.ndarray) -> float:
        """⟨K, K₀⟩ / ‖K₀‖² of S = ρ FFᵀ."""
        return float(self._kept() @ np.einsum("ij,ij->i", F, F))

    def _kept(self) -> np.ndarray:
        lam = self.spectrum
        return self.radius * (lam * self.scaling) ** 2 / (lam @ lam)

    @cached_property
    def _measurements(self) -> Measurements:
        """The pairs, and ⟨K, K₀⟩ / ‖K₀‖² as the last row."""
        Y = self.Z * self.scaling
        V = Y[self.pairs.left] - Y[self.pairs.right]
        rows: list = [LowRank(v[:, None], [-sign]) for v, sign in zip(V, self.pairs.sign)]
        return Measurements([*rows, sparse.diags_array(self._kept())])

    def at(self, beta: float) -> RankProblem:
        """The rank problem for one β; the constraint is void at β = 0."""
        b = np.append(-self.pairs.bound / self.radius, beta)
        epsilon = max(self.tol * self.unit, np.finfo(float).tiny)
        return RankProblem(self._measurements, b, epsilon, SchattenBall())

    def lift(self, F: np.ndarray) -> np.ndarray:
        """The factor G of M = GGᵀ on the coordinates Z."""
        return self.scaling[:, None] * F * np.sqrt(self.radius)


@dataclass(frozen=True, eq=False)
class Trial:
    """A factor F of the wanted rank for one β, with the pairs' and β's worst violation."""

    F: np.ndarray
    beta: float
    violation: float
    epsilon: float

    @property
    def feasible(self) -> bool:
        """Whether every constraint holds to ε."""
        return self.violation <= self.epsilon


@dataclass
class Steps:
    """Counts the steps of all trials, and reports each as ``report(n_iter, β, violation relative to the unit)``."""

    report: Callable | None = None
    n_iter: int = 0

    def at(self, beta: float, unit: float) -> Callable[[int, float], None]:
        """What a game or a descent at this β calls after each of its own steps."""

        def step(_: int, violation: float) -> None:
            self.n_iter += 1
            if self.report is not None:
                self.report(self.n_iter, beta, violation / unit)

        return step


@dataclass(frozen=True)
class Method:
    """How S is found: "factored", or the game "mw" or "ocp" of so many rounds with its step."""

    name: str
    rounds: int
    step: float | None = None

    def play(self, case: RankProblem, callback: Callable, how: Callable[..., Game] = play) -> np.ndarray:
        """The factor of the average of a game, in order of decreasing weight."""
        game = how(case, rule_of(case, self.name, self.step, "LowRankKernel"), self.rounds, callback)
        atom = combine(game.atoms, game.mix, case.A.n)
        return atom.vectors * np.sqrt(np.maximum(atom.values, 0))


def averaged(
    problem: KernelProblem, beta: float, method: Method, steps: Steps | None = None, rank: int | None = None
) -> Trial:
    """One β, as printed: the plain average of all answers, cut to the rank if one is given, violations as they come.

    Where the first question is refused there is no answer: the best approximation of K₀ stands for it.
    """
    case = problem.at(beta)
    F = method.play(case, (steps or Steps()).at(beta, problem.unit), average)[:, :rank]
    F = F if F.shape[1] else problem.start()
    return Trial(F, beta, case.violation(case.A(F)), case.epsilon)


def trial(problem: KernelProblem, beta: float, method: Method, start: np.ndarray, steps: Steps) -> Trial:
    """One β: play the game (or begin at ``start``), cut to the wanted rank, restore the constraints.

    A game that ends below the wanted rank is filled up from ``start`` where its own rank does not do.
    """
    case = problem.at(beta)
    step = steps.at(beta, problem.unit)
    F = start if method.name == "factored" else method.play(case, step)[:, : problem.rank]
    found = restore(case, F if F.shape[1] else start, 4 * method.rounds, step)
    missing = start[:, found.F.shape[1] :]
    if found.violation > case.epsilon and missing.shape[1]:
        found = restore(case, np.hstack([found.F, missing]), 4 * method.rounds, step)
    return Trial(compact(found.F), beta, found.violation, case.epsilon)


def closest(problem: KernelProblem, method: Method, steps: Steps | None = None, halvings: int = 6) -> Trial:
    """Binary search for the largest β at the wanted rank: the K nearest to K₀ in angle (Jain 2009, §7.3.1).

    The game is played at a high β, or without one when that cannot be met; the search goes on from its answer.
    """
    start, further, steps = problem.start(), Method("factored", method.rounds), steps or Steps()
    high = problem.share(start)
    best = trial(problem, 0.9 * high, method, start, steps)
    if not best.feasible:
        high, best = best.beta, trial(problem, 0.0, method, start, steps)
    for _ in range(halvings if best.feasible else 0):
        found = trial(problem, (best.beta + high) / 2, further, best.F, steps)
        if found.feasible:
            best = found
        else:
            high = found.beta
    return best
