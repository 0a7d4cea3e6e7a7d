"""Newton's method on the metric itself, for LogDet and slacks that curve."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gramian._arrays import asarray, cholesky_or_none, foreign, namespace
from gramian._settings import Count, Size
from gramian.solvers.base import Problem, Solution, Solver, ended
from gramian.solvers.newton import conjugate_gradients

ROUGH, FINE = 0.1, 1e-4
"""Relative residuals with which a direction is found: on the way, and at the end."""
PLAIN = 1e-3
"""Tolerances from which on a solution is rough, and the path to it straight."""
NEARBY = 0.1
"""Relative gap at which a problem on the path is left for the next."""
FEW, MANY = 3, 8
"""Steps that such a problem should take."""
SHARE = 10
"""One of so many constraints is drawn for a problem whose solution is where to begin."""
ENOUGH = 2
"""Constraints that are drawn for each entry of M, at the least."""


@dataclass(frozen=True)
class PrimalNewton(Solver):
    """min_M f(M) + Σ_i p(⟨A_i, M⟩) over M ≻ 0, f a multiple of LogDet and p a slack with a slope (ITML).

    With many constraints the matrix M is smaller than the vector of multipliers, and −log det M keeps it in the cone.
    A step solves (∇²f + Σ p″ A_i ⊗ A_i) ΔM = −∇, with ∇²f[H] = weight · M⁻¹HM⁻¹ and the sum over the violated
    constraints, by conjugate gradients on S with ΔM = FSFᵀ, M = FFᵀ; where the vectors of the constraints were normally
    distributed the sum would be known from their second moments, and this is the preconditioner. The multipliers are
    λ_i = p′(⟨A_i, M⟩), and their dual value says how far the optimum can be.

    Many constraints would take M to the edge of the cone in the first few steps, along which all others would be
    short. So f is emphasized first, τf + Σ p with τ falling to 1, and each problem begins where the last one ended (the
    central path of Nesterov and Nemirovskii 1994). Where a tenth of the constraints still says what M is, their
    problem is solved first, roughly, and the path to all of them is a short one.

    Parameters
    ----------
    max_iter : int
    tol : float
        Stop when the duality gap, relative to the objective, is at most ``tol``.
    """

    max_iter: Count = 1000
    tol: Size = 1e-8

    @staticmethod
    def suits(problem: Problem) -> bool:
        """Whether the problem has what this solver needs."""
        if not problem.slack.curved or problem.divergence.as_logdet(problem.prior) is None:
            return False
        return bool(np.isfinite(problem.objective(problem.prior)))

    def check(self, problem: Problem) -> None:
        """Needs a divergence that is a multiple of LogDet, and a slack that curves and is finite at the prior."""
        if not self.suits(problem):
            raise ValueError(
                "PrimalNewton: needs LogDet or LinearLogDet with positive definite linear, and a slack that curves and "
                f"is finite at the prior, got {type(problem.divergence).__name__} and {type(problem.slack).__name__}; "
                "use DualAscent."
            )

    def solve(self, problem: Problem, callback: Any = None) -> Solution:
        """Solve."""
        self.check(problem)
        begin = self._nearby(problem)
        primal = _Primal(problem, self._first_emphasis(problem) if begin is None else 1.0)
        point = primal.at(primal.begin() if begin is None else begin)
        n_iter, factor = 0, 4.0
        while True:
            goal = self.tol if primal.emphasis == 1 else NEARBY
            point, steps = primal.descended(point, goal, range(n_iter, self.max_iter), callback)
            n_iter += steps
            if primal.emphasis == 1:
                break
            factor = longer(factor, steps) if n_iter < self.max_iter else np.inf
            primal = _Primal(problem, max(1.0, primal.emphasis / factor))
            point = primal.at(point.M)
        residual = point.residual
        if residual <= self.tol <= 1e-5:
            point = primal.sharpened(point)
        return Solution(
            M=point.M,
            dual=point.lam,
            objective=point.value,
            gap=point.value - point.dual,
            violation=max(0.0, float(namespace(point.M).max(point.values - problem.bound))),
            n_iter=n_iter,
            result=ended(residual, self.tol, n_iter, self.max_iter),
            residual=residual,
            tol=self.tol,
        )

    def _first_emphasis(self, problem: Problem) -> float:
        """About what makes f as heavy as all penalties; a rough solution, or one nearby, needs no such path."""
        if self.tol > PLAIN or problem.start is not None:
            return 1.0
        return max(1.0, len(problem.rows) / problem.prior.shape[0])

    def _nearby(self, problem: Problem) -> np.ndarray | None:
        """M of a draw from many constraints; None where they are not so many, or that M is of no use."""
        enough = SHARE * ENOUGH * problem.prior.shape[0] ** 2
        if len(problem.rows) < enough or self._first_emphasis(problem) == 1 or foreign(problem.bound):
            return None
        M = replace(self, tol=PLAIN).solve(drawn(problem)).M
        return M if np.isfinite(problem.objective(M)) else None


def drawn(problem: Problem) -> Problem:
    """The problem of a tenth of the constraints, each of which counts for ten; always the same ones."""
    keep = np.random.default_rng(0).random(len(problem.rows)) < 1 / SHARE  # (m,)
    return replace(
        problem,
        rows=problem.rows.take(keep),
        bound=problem.bound[keep],
        slack=problem.slack.part(keep, SHARE),
        offset=problem.offset if np.ndim(problem.offset) == 0 else problem.offset[keep],
    )


def longer(factor: float, steps: int) -> float:
    """By how much the emphasis may fall next, given by how much it fell and how many steps that took."""
    if steps <= FEW:
        return min(2 * factor, 100.0)
    return max(factor**0.5, 1.2) if steps >= MANY else factor


@dataclass(frozen=True, eq=False)
class _Point:
    """M ≻ 0, the objective there, ⟨A_i, M⟩, λ = p′, √p″, the gradient, and the dual value of λ."""

    M: np.ndarray
    value: float
    values: Any
    lam: np.ndarray
    root: Any
    gradient: np.ndarray
    dual: float

    @property
    def residual(self) -> float:
        """The relative duality gap, 1 at the least where λ is outside of the domain of the dual and proves nothing."""
        if not np.isfinite(self.dual):
            return max(1.0, self.value)
        return abs(self.value - self.dual) / (1 + abs(self.value))


@dataclass(frozen=True, eq=False)
class _Curvature:
    """S ↦ weight · S + Σ ⟨A_i, S⟩ A_i, for A_i whose m vectors u have Σ uuᵀ = m diag(spread).

    Normally distributed u have Σ ⟨uuᵀ, S⟩ uuᵀ = m (2 CSC + ⟨C, S⟩ C), C = diag(spread), by Isserlis' theorem (1918): a
    diagonal and a matrix of rank one, whose inverse is the preconditioner.
    """

    rows: Any
    weight: float
    spread: Any

    def product(self, S: np.ndarray) -> np.ndarray:
        """Two products with the vectors."""
        return self.weight * S + self.rows.normal(S)

    @cached_property
    def diagonal(self) -> np.ndarray:
        """The weights of S_ij in weight · S + 2m CSC."""
        return self.weight + 2 * len(self.rows) * self.spread[:, None] * self.spread[None, :]

    def preconditioned(self, R: np.ndarray) -> np.ndarray:
        """The inverse where the vectors are normally distributed, by Sherman and Morrison."""
        xp = namespace(R)
        S = R / self.diagonal
        line = self.spread / xp.linalg.diagonal(self.diagonal)  # (d,)
        m = len(self.rows)
        share = m * float(self.spread @ xp.linalg.diagonal(S)) / (1 + m * float(self.spread @ line))
        unit = asarray(np.eye(S.shape[0]), S)
        return S - unit * (share * line)

    def solved(self, R: np.ndarray, rtol: float) -> np.ndarray:
        """S of which R is the product, to a relative residual."""
        xp = namespace(R)
        square = R.shape
        s = conjugate_gradients(
            lambda v: xp.reshape(self.product(xp.reshape(v, square)), (-1,)),
            lambda r: xp.reshape(self.preconditioned(xp.reshape(r, square)), (-1,)),
            xp.reshape(R, (-1,)),
            rtol,
            max_iter=300,
        )
        return xp.reshape(s, square)


@dataclass(frozen=True)
class _Primal:
    """The objective τf(M) + Σ p as a function of M, with the emphasis τ."""

    problem: Problem
    emphasis: float = 1.0

    @cached_property
    def origin(self) -> tuple[np.ndarray, float]:
        """Θ₀ and the constant of the divergence."""
        return self.problem.divergence.start(self.problem.prior)

    @cached_property
    def weight(self) -> float:
        """τf is this multiple of LogDet."""
        logdet = self.problem.divergence.as_logdet(self.problem.prior)
        assert logdet is not None  # see suits
        return self.emphasis * logdet[1]

    def begin(self) -> Any:
        """M(λ) of multipliers to start from, the prior at the least."""
        for lam in self.problem.starts():
            M = self.problem.divergence.conjugate(self.origin[0] - self.problem.rows.adjoint(lam))[1]
            if M is not None and self.value(M)[0] < np.inf:
                return M
        return self.problem.prior

    def value(self, M: np.ndarray) -> tuple[float, Any]:
        """τf(M) + Σ p and ⟨A_i, M⟩; inf outside of the cone."""
        if cholesky_or_none(M) is None:
            return np.inf, None
        values = self.problem.values(M)
        more = self.emphasis - 1
        value = self.problem.objective(M, values)
        return value + more * self.problem.divergence.value(M, self.problem.prior) if more else value, values

    def at(self, M: np.ndarray, found: tuple[float, Any] | None = None) -> _Point:
        """Everything at M, given its value where that is known."""
        problem, (Theta, constant) = self.problem, self.origin
        value, values = self.value(M) if found is None else found
        lam, root = problem.slack.multiplier(values, problem.bound)  # λ = p′, √p″, (m,)
        A = problem.rows.adjoint(lam)  # Σ λ_i A_i, (d, d)
        cost = namespace(lam).sum(problem.slack.cost(lam, problem.bound) - lam * problem.offset)
        tau = self.emphasis
        dual = tau * (constant - problem.divergence.conjugate(Theta - A / tau)[0]) - float(cost)
        return _Point(M, value, values, lam, root, tau * (problem.divergence.grad(M) - Theta) + A, dual)

    def descended(self, point: _Point, goal: float, steps: range, callback: Any) -> tuple[_Point, int]:
        """The point after Newton steps to a residual, as far as there are steps and they help, and their number."""
        done = 0
        for step in steps:
            if point.residual <= goal:
                break
            new = self.search(point, self.direction(point, ROUGH))
            if new is None:
                break
            point = new
            done += 1
            if callback is not None:
                callback(step + 1, self.problem.objective(point.M, point.values), point.residual)
        return point, done

    def direction(self, point: _Point, rtol: float) -> np.ndarray:
        """Newton's direction."""
        xp = namespace(point.M)
        F = cholesky_or_none(point.M)  # M = FFᵀ: in its coordinates the curvature of f is the identity
        violated = point.root > 0
        if bool(xp.any(violated)):
            rows = self.problem.rows.take(violated).scaled(point.root[violated]).mapped(F)
            moments, Q = xp.linalg.eigh(rows.moment() / len(rows))  # (d,), (d, d)
            spread = xp.where(moments > 0, moments, xp.zeros_like(moments))
            F = F @ Q
            S = _Curvature(rows.mapped(Q), self.weight, spread).solved(-(F.T @ point.gradient @ F), rtol)
        else:
            S = -(F.T @ point.gradient @ F) / self.weight
        step = F @ S @ F.T  # back from the coordinates of M
        return (step + step.T) / 2

    def search(self, point: _Point, direction: np.ndarray) -> _Point | None:
        """First point of the line with sufficient decrease, None when there is none."""
        slope = float(namespace(direction).sum(point.gradient * direction))
        t = 1.0
        for _ in range(50):
            M = point.M + t * direction
            value, values = self.value(M)
            if value <= point.value + 1e-4 * t * min(slope, 0.0) + 1e-15 * (1 + abs(point.value)):
                return self.at(M, (value, values))
            t *= 0.5
        return None

    def sharpened(self, point: _Point) -> _Point:
        """A few more steps while the gradient still falls: near the end the value no longer tells points apart."""
        norm = namespace(point.M).linalg.matrix_norm
        for _ in range(3):
            M = point.M + self.direction(point, FINE)
            value, values = self.value(M)
            if not np.isfinite(value):
                break
            new = self.at(M, (value, values))
            if not float(norm(new.gradient)) < float(norm(point.gradient)):
                break
            point = new
        return point
