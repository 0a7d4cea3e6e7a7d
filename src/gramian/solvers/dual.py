"""The box-constrained dual: one method for every divergence, constraint type and slack."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gramian._arrays import namespace
from gramian._settings import Count, Size
from gramian.divergences.base import Divergence
from gramian.solvers.base import Problem, Solution, Solver, ended
from gramian.solvers.newton import BoxResult, Point, minimize_box
from gramian.solvers.rows import Rows, Stacked


@dataclass(frozen=True)
class DualAscent(Solver):
    """Solve a problem through the multipliers of its constraints, with proof of the gap.

    max_{0 ≤ λ ≤ C} −φ*(Θ₀ − A(λ)) − s(λ) (Jain 2009, Lemma 1 and (3.24)–(3.33)).

    The gradient is ⟨A_i, M(λ)⟩ − s′(λ_i), from two products with the constraint rows; no A_i is formed. Steps are
    damped Newton steps that predict which multipliers end at 0 or C, solved by conjugate gradients with products of
    the same cost over the others. Runs on the array namespace of the problem (NumPy, torch on CPU or GPU).

    Parameters
    ----------
    max_iter : int
        Most iterations.
    tol : float
        Stop when the duality gap, relative to the objective, and the worst violation of a hard constraint, relative to
        the size of the constraint and its bound, are both at most ``tol``.

    See Also
    --------
    gramian.BregmanProjections : One constraint after the other.
    gramian.Framework : The learner that uses it.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> from gramian.solvers import Problem, Rows
    >>> problem = Problem(Rows(np.eye(2), np.ones((2, 1))), np.array([0.5, 2.0]), np.eye(2), gm.LogDet())
    >>> gm.DualAscent().solve(problem).M.round(6).tolist()
    [[0.5, 0.0], [0.0, 1.0]]
    """

    max_iter: Count = 2000
    tol: Size = 1e-8

    def check(self, problem: Problem) -> None:
        """Needs a divergence with a conjugate."""
        if not isinstance(problem.divergence, Divergence):
            raise TypeError(f"DualAscent: needs a Divergence, got {type(problem.divergence).__name__}.")

    def solve(self, problem: Problem, callback: Any = None) -> Solution:
        """Solve; hard constraints that cannot be met raise :class:`.InfeasibleError`."""
        self.check(problem)
        problem.check_trivial()
        dual = _Dual(problem)
        stop = _Stop(dual)
        upper = problem.slack.upper(problem.bound) * problem.scale
        result = minimize_box(dual.value, dual.hessian, stop.before, upper, stop, self.tol, self.max_iter, callback)
        if not result.converged:
            stop.check_feasible(result)
        return _solution(problem, result, self.tol, self.max_iter)


@dataclass(frozen=True)
class _Dual:
    """The negative dual as a function of x = s λ, with s the sizes of the constraints."""

    problem: Problem

    @cached_property
    def start(self) -> tuple[np.ndarray, float]:
        """Θ₀ and the constant of the divergence."""
        return self.problem.divergence.start(self.problem.prior)

    @cached_property
    def rows(self) -> Rows | Stacked:
        """The rows of A_i / s_i."""
        return self.problem.rows.scaled(1 / self.problem.scale)

    def value(self, x: np.ndarray) -> tuple[float, Any, Any]:
        """φ*(Θ₀ − A(λ)) + s(λ), its gradient, and (M(λ), ⟨A_i, M⟩)."""
        problem = self.problem
        lam = x / self.problem.scale
        xp = namespace(x)
        conjugate, M = problem.divergence.conjugate(self.start[0] - problem.rows.adjoint(lam))  # φ*(Θ), ∇φ*(Θ)
        cost = problem.slack.cost(lam, problem.bound) - lam * problem.offset  # s(λ), (m,)
        value = conjugate - self.start[1] + float(xp.sum(cost))
        if not np.isfinite(value):
            return np.inf, None, None
        values = problem.values(M)
        return value, (problem.slack.bound(lam, problem.bound) - values) / problem.scale, (M, values)

    def hessian(self, x: np.ndarray, info: Any) -> "_Curvature":
        """∇² at x."""
        problem = self.problem
        lam = x / self.problem.scale
        derivative = problem.divergence.hessian(self.start[0] - problem.rows.adjoint(lam))
        slope = problem.slack.slope(lam, problem.bound, problem.scale)  # s″, (m,)
        if hasattr(derivative, "form"):
            diagonal = self.rows.form(derivative)
        else:  # of the right size
            diagonal = self.rows.linear(info[0]) ** 2
        return _Curvature(self.rows, derivative, slope, floored(diagonal) + slope)


@dataclass(frozen=True)
class _Curvature:
    """The Hessian A ∇²φ* Aᵀ + s″ in the scaled variables, with about its diagonal."""

    rows: Rows | Stacked
    derivative: Any
    slope: Any
    diagonal: np.ndarray

    def product(self, v: np.ndarray) -> np.ndarray:
        """Two products with the constraint rows; no A_i is formed."""
        return self.rows.linear(self.derivative(self.rows.adjoint(v))) + self.slope * v

    def part(self, keep: np.ndarray) -> "_Curvature":
        """The Hessian on some of the multipliers."""
        return _Curvature(self.rows.take(keep), self.derivative, self.slope[keep], self.diagonal[keep])


def floored(diagonal: np.ndarray) -> np.ndarray:
    """The diagonal, no entry below a thousandth of the largest: where the cone cuts M, it says too little."""
    xp = namespace(diagonal)
    least = 1e-3 * xp.max(diagonal)
    return xp.where(diagonal > least, diagonal, least) if float(least) > 0 else xp.ones_like(diagonal)


class _Stop:
    """The residual of a point; every 20 steps it also looks for a proof that hard constraints cannot be met."""

    def __init__(self, dual: _Dual) -> None:
        self.problem = dual.problem
        self.hard = dual.problem.slack.hard
        self.before = interior_start(dual.problem, dual.start[0]) * dual.problem.scale
        self.steps = 0

    def __call__(self, point: Point) -> float:
        problem, (M, values) = self.problem, point.info
        objective = problem.objective(M, values)
        gap = abs(objective + point.value) / (1 + abs(objective)) if np.isfinite(objective) else np.inf
        if not self.hard:
            return gap
        self.steps += 1
        if self.steps % 20 == 0:
            self.check_feasible(point)
            self.before = point.x
        xp = namespace(point.x)
        reach = problem.scale + xp.abs(problem.bound)  # the unit of each violation, (m,)
        return max(gap, float(xp.max((values - problem.bound) / reach)))

    def check_feasible(self, point: Point) -> None:
        """Raise when the constraints are hard and proved infeasible."""
        if self.hard:
            self.problem.check_feasible(point.x / self.problem.scale, self.before / self.problem.scale)


def _solution(problem: Problem, result: BoxResult, tol: float, max_iter: int) -> Solution:
    M, values = result.info
    xp = namespace(M)
    objective = problem.objective(M, values)
    return Solution(
        M=M,
        dual=result.x / problem.scale,
        objective=objective,
        gap=objective + result.value,
        violation=max(0.0, float(xp.max(values - problem.bound))),
        n_iter=result.n_iter,
        result=ended(result.residual, tol, result.n_iter, max_iter),
        residual=result.residual,
        tol=tol,
    )


def interior_start(problem: Problem, Theta0: np.ndarray) -> np.ndarray:
    """A multiplier inside of the domain of the dual: given or 0 if possible, else a weight on the PSD constraints."""
    xp = namespace(Theta0)

    def bounded(lam: np.ndarray) -> bool:
        return np.isfinite(problem.divergence.conjugate(Theta0 - problem.rows.adjoint(lam))[0])

    for lam in problem.starts():
        if np.isfinite(float(xp.sum(problem.slack.cost(lam, problem.bound)))) and bounded(lam):
            return lam
    upper = problem.slack.upper(problem.bound)
    lam = problem.rows.positive() / problem.scale  # Σ λ_i A_i ⪰ 0, which pushes Θ into the cone
    for factor in (1.0, 1e-3, 1e3, 1e-6, 1e6):
        trial = xp.where(factor * lam < upper, factor * lam, 0.5 * upper)
        if bounded(trial):
            return trial
    raise ValueError(
        f"DualAscent: {type(problem.divergence).__name__} is unbounded below under these constraints; "
        "make linear positive definite or bound every direction."
    )
