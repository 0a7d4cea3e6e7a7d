"""An interior point method for many hinges on a small matrix: the Frobenius divergence with PSD matrices (POLA)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg as sla

from gramian import linalg
from gramian._arrays import namespace
from gramian._settings import Count, Size
from gramian.divergences import Frobenius
from gramian.solvers.base import Problem, Solution, Solver, ended
from gramian.solvers.rows import Rows
from gramian.solvers.slack import Hinge

MOST = 1500
"""Entries of a symmetric matrix up to which Newton's equations are solved densely."""
SHARP = 1e-15
"""Gap to which a fine solution goes on, as far as rounding lets it."""
BACK = 0.95
"""Share of the way to the edge of the cones that a step may go."""


@dataclass(frozen=True)
class InteriorPoint(Solver):
    """min_M ½‖M − M₀‖² + Σ_i C_i max(0, ⟨A_i, M⟩ − b_i) over M ⪰ 0, with many more constraints than entries of M.

    The dual of so many hinges is flat in most directions, and first-order steps on it do not end. This is Mehrotra's
    primal-dual method (1992) on the optimality conditions, with ξ and s = ξ − ⟨A_i, M⟩ + b_i ≥ 0::

        M − M₀ + A(λ) = Z,   λ s = (C − λ) ξ = τ,   MZ = τI,   τ → 0

    (the direction of Helmberg, Rendl, Vanderbei and Wolkowicz 1996). Newton's equations have d (d + 1) / 2 unknowns,
    and every point comes with multipliers λ and their dual value: the gap is a certificate.

    Parameters
    ----------
    max_iter : int
    tol : float
        Stop when the duality gap, relative to the objective, is at most ``tol``.
    """

    max_iter: Count = 2000
    tol: Size = 1e-8

    @staticmethod
    def suits(problem: Problem) -> bool:
        """Whether the problem has what this solver needs, and constraints enough for it to be the faster one."""
        if namespace(problem.bound) is not np or not isinstance(problem.divergence, Frobenius):
            return False
        d = problem.prior.shape[0]
        size = d * (d + 1) // 2
        usual = isinstance(problem.slack, Hinge) and isinstance(problem.rows, Rows)
        return usual and size <= MOST and len(problem.rows) > 2 * size

    def check(self, problem: Problem) -> None:
        """Needs the Frobenius divergence and a hinge, on NumPy arrays."""
        if namespace(problem.bound) is not np or not isinstance(problem.divergence, Frobenius):
            raise TypeError(f"InteriorPoint: needs Frobenius, got {type(problem.divergence).__name__}; use DualAscent.")
        if not isinstance(problem.slack, Hinge) or not isinstance(problem.rows, Rows):
            raise TypeError(f"InteriorPoint: needs a hinge, got {type(problem.slack).__name__}; use DualAscent.")

    def solve(self, problem: Problem, callback: Any = None) -> Solution:
        """Follow the path until the gap is small enough."""
        self.check(problem)
        point = _Point.first(problem)
        best, n_iter = certified(problem, point), 0
        goal = SHARP if self.tol <= 1e-5 else self.tol  # ‖ΔM‖² is up to twice the gap, and the last steps are short
        while best.residual > goal and n_iter < self.max_iter:
            try:
                after = following(problem, point)
            except np.linalg.LinAlgError:  # at the edge of the cones rounding leaves no step
                break
            n_iter += 1
            trial = certified(problem, after)
            if not np.isfinite(trial.residual) or after.mean < 1e-16 * (1 + abs(best.value)):
                break
            point, best = after, min(best, trial, key=lambda one: one.residual)
            if callback is not None:
                callback(n_iter, best.dual, best.residual)
        return Solution(
            M=best.M,
            dual=best.lam,
            objective=best.value,
            gap=best.value - best.dual,
            violation=max(0.0, float((problem.values(best.M) - problem.bound).max())),
            n_iter=n_iter,
            result=ended(best.residual, self.tol, n_iter, self.max_iter),
            residual=best.residual,
            tol=self.tol,
        )


def following(problem: Problem, point: "_Point") -> "_Point":
    """The next point: the affine step says how far τ can fall, and the step is toward that."""
    step = _Step.at(problem, point)
    ahead = point.moved(step.toward(0.0))
    return point.moved(step.toward(point.mean * min(1.0, ahead.mean / point.mean) ** 3))


@dataclass(frozen=True, eq=False)
class _Certified:
    """M, its objective, multipliers and their dual value."""

    M: np.ndarray
    value: float
    lam: np.ndarray
    dual: float

    @property
    def residual(self) -> float:
        """The relative duality gap."""
        return abs(self.value - self.dual) / (1 + abs(self.value))


def certified(problem: Problem, point: "_Point") -> _Certified:
    """M, or the M(λ) of its multipliers where that is better, with the dual value of λ."""
    Theta, constant = problem.divergence.start(problem.prior)
    conjugate, candidate = problem.divergence.conjugate(Theta - problem.rows.adjoint(point.lam))
    dual = constant - conjugate - float(point.lam @ (problem.bound - problem.offset))
    value, second = problem.objective(point.M), problem.objective(candidate)
    M, value = (point.M, value) if value <= second else (candidate, second)
    return _Certified(M, value, point.lam, dual)


@dataclass(frozen=True, eq=False)
class _Point:
    """Strictly positive M, Z (d, d), λ, C − λ, ξ, s (m,)."""

    M: np.ndarray
    Z: np.ndarray
    lam: np.ndarray
    rest: np.ndarray
    xi: np.ndarray
    s: np.ndarray

    @classmethod
    def first(cls, problem: Problem) -> "_Point":
        """A multiple of the identity of the size of the constraints, and λ in the middle."""
        prior, d = problem.prior, len(problem.prior)
        sizes = np.abs(problem.rows.linear(np.eye(d)))
        bounds = np.abs(problem.bound - problem.offset)
        unit = float(np.median(bounds) / max(float(np.median(sizes)), 1e-300)) or 1.0
        M = prior + max(unit, 1e-3 * np.trace(prior) / d) * np.eye(d)
        v = problem.values(M) - problem.bound
        half = np.full(len(v), 0.5) * np.asarray(problem.slack.weight, float)
        size = float(np.abs(v).mean()) or 1.0
        xi = np.maximum(v, 0) + size
        mean = float(np.mean(half * (2 * xi - v)) / 2)
        return cls(M, mean * np.linalg.inv(M), half, half, xi, xi - v)

    @property
    def mean(self) -> float:
        """τ of the pairs, on average."""
        total = self.lam @ self.s + self.rest @ self.xi + np.vdot(self.M, self.Z)
        return float(total / (2 * len(self.s) + len(self.M)))

    def moved(self, change: "_Point") -> "_Point":
        """As far along a change as all stay positive."""
        vectors = ((self.lam, change.lam), (self.rest, change.rest), (self.xi, change.xi), (self.s, change.s))
        falls = [float((-dx / x).max(initial=0.0)) for x, dx in vectors]
        for X, dX in ((self.M, change.M), (self.Z, change.Z)):
            L = np.linalg.cholesky(X)
            half = sla.solve_triangular(L, dX, lower=True)
            falls.append(-float(np.linalg.eigvalsh(sla.solve_triangular(L, half.T, lower=True))[0]))
        t = min(1.0, BACK / max(max(falls), 1e-300))
        pairs = zip(vars(self).values(), vars(change).values())
        return _Point(*(x + t * dx for x, dx in pairs))


@dataclass(frozen=True, eq=False)
class _Step:
    """Newton's equations at a point, factored once for both steps.

    ΔM = LSLᵀ with M = LLᵀ and LᵀZL = diag(ν), in which the cone adds (ν_a + ν_b)/2 to the diagonal of the system in S.
    """

    problem: Problem
    point: _Point
    L: np.ndarray
    weight: np.ndarray
    factor: Any

    @classmethod
    def at(cls, problem: Problem, point: _Point) -> "_Step":
        """The system S + LᵀA(D R(LSLᵀ))L + …, with D = 1 / (ξ/(C − λ) + s/λ)."""
        root = np.linalg.cholesky(point.M)
        nu, Q = linalg.eigh(linalg.symmetrize(root.T @ point.Z @ root))
        L = root @ Q
        weight = 1 / (point.xi / point.rest + point.s / point.lam)
        i, j, unit = triangle(len(L))
        G = L.T @ L
        H = (G[i][:, i] * G[j][:, j] + G[i][:, j] * G[j][:, i]) * (unit[:, None] * unit / 2)  # of ½‖ΔM‖²
        H += hinges(problem.rows.mapped(L), weight, i, j, unit) + np.diag((nu[i] + nu[j]) / 2)
        H += 1e-14 * np.trace(H) * np.eye(len(H))  # below the rounding of its entries
        return cls(problem, point, L, weight, sla.cho_factor(H, check_finite=False))

    def toward(self, tau: float) -> _Point:
        """The change that makes all products τ, to first order."""
        rows, p, L = self.problem.rows, self.point, self.L
        inverse = sla.cho_solve((np.linalg.cholesky(p.M), True), np.eye(len(L)))
        lead = self.weight * (tau / p.lam - p.s - tau / p.rest + p.xi)
        dual = p.M - self.problem.prior + rows.adjoint(p.lam) - p.Z
        right = L.T @ (tau * inverse - p.Z - dual - rows.adjoint(lead)) @ L
        i, j, unit = triangle(len(L))
        S = np.zeros_like(right)
        S[i, j] = S[j, i] = sla.cho_solve(self.factor, right[i, j] * unit, check_finite=False) / unit
        dM = linalg.symmetrize(L @ S @ L.T)
        lam = lead + self.weight * rows.linear(dM)
        dZ = linalg.symmetrize(dual + dM + rows.adjoint(lam))
        xi = (tau - p.rest * p.xi + p.xi * lam) / p.rest
        return _Point(dM, dZ, lam, -lam, xi, xi - rows.linear(dM))


def triangle(d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The upper triangle, and factors with which it has the norm of the matrix."""
    i, j = np.triu_indices(d)
    return i, j, np.where(i == j, 1.0, np.sqrt(2.0))


def hinges(rows: Any, weight: np.ndarray, i: np.ndarray, j: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Σ weight_i A_i ⊗ A_i on upper triangles, (p, p), in blocks of constraints."""
    m, t = rows.weight.shape
    total = np.zeros((len(i), len(i)))
    for block in linalg.blocks(m, 24.0 * t * len(i)):
        terms = slice(block.start * t, block.stop * t)
        P = rows.left[terms]
        Q = P if rows.right is None else rows.right[terms]
        entries = (P[:, i] * Q[:, j] + P[:, j] * Q[:, i]) * (unit / 2)  # (block · t, p)
        weighted = entries * rows.weight[block].reshape(-1, 1)
        A = weighted.reshape(-1, t, len(i)).sum(axis=1) * np.sqrt(weight[block])[:, None]
        total += A.T @ A
    return total
