"""Bregman projections under any divergence: one multiplier at a time, in the coordinates Θ = ∇φ(M)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gramian.solvers.base import InfeasibleError, Problem


@dataclass(frozen=True)
class Mirror:
    """Projection onto ⟨A_i, M⟩ ≤ b_i moves Θ = ∇φ(M) along −A_i (Bregman 1967; Jain 2009, §3.3.1.1).

    λ_i changes by the a that maximizes the dual over it, the root of ⟨A_i, ∇φ*(Θ − aA_i)⟩ = s′(λ_i + a). No closed form
    is asked for: the left side falls and the right side rises with a. O(d³) for each value that is tried.
    """

    problem: Problem
    weight = 1.0

    @cached_property
    def Theta0(self) -> Any:
        """∇φ(M₀)."""
        return self.problem.divergence.start(self.problem.prior)[0]

    @cached_property
    def squares(self) -> tuple[np.ndarray, np.ndarray]:
        """Vectors and signs of the A_i."""
        return self.problem.rows.squares()

    def begin(self) -> np.ndarray:
        """Multipliers to start from, inside of the domain of the dual."""
        problem = self.problem
        for lam in problem.starts():
            inside = np.isfinite(problem.slack.cost(lam, problem.bound)).all()
            if inside and np.isfinite(problem.divergence.conjugate(self._theta(lam))[0]):
                return np.array(lam, dtype=float)
        raise ValueError(
            f"BregmanProjections: {type(problem.divergence).__name__} must be finite at its prior, or linear positive "
            "definite; use DualAscent."
        )

    def metric(self, lam: np.ndarray) -> np.ndarray:
        """M(λ) = ∇φ*(Θ₀ − A(λ))."""
        M = self.problem.divergence.conjugate(self._theta(lam))[1]
        if M is None:
            raise InfeasibleError("the projections ran out of the domain of the divergence; set slack.")
        return M

    def project(self, lam: np.ndarray, active: np.ndarray) -> None:
        """One sweep over the active constraints; λ changes in place."""
        Theta = self._theta(lam)
        vectors, signs = self.squares
        for i in active:
            A = (vectors[i].T * signs[i]) @ vectors[i]
            if not A.any():
                continue
            a = self._step(Theta, A, i, float(lam[i]))
            lam[i] = max(lam[i] + a, 0.0)
            Theta -= a * A

    def _theta(self, lam: np.ndarray) -> np.ndarray:
        return self.Theta0 - self.problem.rows.adjoint(lam)

    def _step(self, Theta: np.ndarray, A: np.ndarray, i: int, lam: float) -> float:
        divergence = self.problem.divergence
        slack = self.problem.slack.of(i)
        b = np.asarray(self.problem.bound[i])
        offset = float(np.broadcast_to(self.problem.offset, self.problem.bound.shape)[i])

        def excess(a: float) -> tuple[float, float]:
            multiplier = np.asarray(lam + a)
            value, M = divergence.conjugate(Theta - a * A)
            if not np.isfinite(value) or not np.isfinite(slack.cost(multiplier, b)):
                return (-np.inf if a > 0 else np.inf), 0.0  # beyond a barrier: the way is back
            curvature = float(np.sum(A * divergence.hessian(Theta - a * A)(A)))
            left = float(np.sum(A * M)) + offset
            return left - float(slack.bound(multiplier, b)), curvature + float(slack.slope(multiplier, b))

        most = float(slack.upper(b)) - lam
        return falling_root(excess, -lam, most, 1 / float(np.linalg.norm(A)))


def falling_root(
    excess: Callable[[float], tuple[float, float]], least: float, most: float, unit: float, max_iter: int = 100
) -> float:
    """Where a falling function of a in [least, most] is 0, or the end of it that is nearest; ``most`` may be infinite.

    ``excess(a)`` is the value and how fast it falls, ±inf and 0 out of its domain; 0 is inside. Newton steps, halved
    where they leave what is known to hold the root; ``unit`` is the first step where there is nothing to go by.
    """
    value, slope = excess(0.0)
    end = most if value > 0 else least
    if end == 0 or (np.isfinite(end) and (excess(end)[0] > 0) == (value > 0)):
        return end
    low, high = (0.0, most) if value > 0 else (least, 0.0)
    a = 0.0
    for _ in range(max_iter):
        new = a + value / slope if slope > 0 else np.inf
        if not low < new < high:
            new = 0.5 * (low + high) if np.isfinite(high) else 2 * a + unit
        if abs(new - a) <= 1e-15 * abs(new):
            return new
        a = new
        value, slope = excess(a)
        low, high = (a, high) if value > 0 else (low, a)
    return a
