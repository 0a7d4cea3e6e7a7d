"""What a solver takes and gives: :class:`Problem` and :class:`Solution`."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from gramian._array import namespace
from gramian.divergences.base import Divergence
from gramian.solvers.slack import Hard


class InfeasibleError(ValueError):
    """No positive semi-definite matrix satisfies the hard constraints."""


@dataclass(frozen=True)
class Problem:
    """min_M f(M) + slack   s.t.  ⟨A_i, M⟩ ≤ b_i,  M ⪰ 0   (Jain 2009, (3.2)).

    ⟨A_i, M⟩ = Σ_s weight_is · p_isᵀ M q_is; the A_i are never formed. Arrays may be of any array library.

    Parameters
    ----------
    left, right : array (m·t, d)
        The rows p and q, t per constraint; ``right`` None means q = p.
    weight : array (m, t)
    bound : array (m,)
    prior : array (d, d)
        M₀; it also fixes dtype and device.
    divergence : Divergence
    slack : Hard, Hinge, Quadratic or Relative
    offset : array (m,)
        What a fixed part of the metric outside of these coordinates adds to each ⟨A_i, M⟩.
    start : array (m,), optional
        Multipliers λ of a problem nearby: where to begin, not a part of the problem.
    """

    left: Any
    right: Any
    weight: Any
    bound: Any
    prior: Any
    divergence: Divergence
    slack: Hard = field(default_factory=Hard)
    offset: Any = 0.0
    start: Any = None

    def starts(self) -> Iterator[Any]:
        """Multipliers to begin at, the most hopeful first: ``start``, parts of it, and 0; not all are in the domain."""
        xp = namespace(self.bound)
        if self.start is not None:
            upper = self.slack.upper(self.bound)
            start = xp.where(self.start < upper, self.start, upper)
            yield from (factor * start for factor in (1.0, 0.5, 0.25))
        yield xp.zeros_like(self.bound)

    def values(self, M: Any) -> Any:
        """⟨A_i, M⟩ + offset_i, shape (m,)."""
        return self.linear(M) + self.offset

    def linear(self, M: Any) -> Any:
        """⟨A_i, M⟩, shape (m,)."""
        xp = namespace(M)
        right = self.left if self.right is None else self.right
        products = xp.reshape(xp.sum((self.left @ M) * right, axis=1), self.weight.shape)
        return xp.sum(self.weight * products, axis=1)

    def adjoint(self, lam: Any) -> Any:
        """A(λ) = Σ λ_i A_i, (d, d), symmetric."""
        xp = namespace(lam)
        w = xp.reshape(self.weight * lam[:, None], (-1,))
        if self.right is None:
            return self.left.T @ (self.left * w[:, None])
        A = self.left.T @ (self.right * w[:, None])
        return (A + A.T) / 2

    def restricted(self, keep: Any) -> tuple["Problem", Any]:
        """The problem on some of the constraints, and the map that puts their values back among zeros."""
        xp = namespace(self.bound)
        rows = xp.nonzero(xp.reshape(xp.broadcast_to(keep[:, None], self.weight.shape), (-1,)))[0]
        right = None if self.right is None else xp.take(self.right, rows, axis=0)
        weight = xp.take(self.weight, xp.nonzero(keep)[0], axis=0)
        part = replace(self, left=xp.take(self.left, rows, axis=0), right=right, weight=weight, bound=self.bound[keep])

        def scatter(values: Any) -> Any:
            full = xp.zeros_like(self.bound)
            full[keep] = values
            return full

        return part, scatter

    def objective(self, M: Any, values: Any = None) -> float:
        """The primal objective with its slack penalty."""
        values = self.values(M) if values is None else values
        penalty = float(namespace(values).sum(self.slack.penalty(values, self.bound)))
        return self.divergence.value(M, self.prior) + penalty

    @cached_property
    def scale(self) -> Any:
        """s_i, the size of A_i: Σ_s |weight_is| (pᵀM₀p + qᵀM₀q) / 2, or with I where M₀ says nothing.

        Never 0, and never so small that b_i / s_i loses all meaning.
        """
        prior = self._size(lambda rows: rows @ self.prior) if self.divergence.uses_prior else 0.0 * self.bound
        xp = namespace(self.weight)
        s = xp.where(prior > 0, prior, self._size(lambda rows: rows))
        least = 1e-15 * xp.abs(self.bound)
        s = xp.where(s > least, s, least)
        return xp.where(s > 0, s, xp.ones_like(s))

    def _size(self, image: Any) -> Any:
        """Σ_s |weight_is| (p · image(p) + q · image(q)) / 2 for each constraint."""
        xp = namespace(self.weight)
        norms = xp.sum(image(self.left) * self.left, axis=1)
        if self.right is not None:
            norms = (norms + xp.sum(image(self.right) * self.right, axis=1)) / 2
        return xp.sum(xp.abs(self.weight) * xp.reshape(norms, self.weight.shape), axis=1)

    def check_trivial(self) -> None:
        """Raise when a hard constraint reads 0 ≤ b < 0, as it does for a far pair of equal points."""
        xp = namespace(self.weight)
        if isinstance(self.slack, Hard) and type(self.slack) is Hard:
            bad = (self._size(lambda rows: rows) == 0) & (self.bound - self.offset < 0)
            if bool(xp.any(bad)):
                raise InfeasibleError(
                    f"{int(xp.sum(xp.astype(bad, xp.int64)))} constraint(s) ask identical points to be apart; "
                    "drop them or set slack."
                )

    def check_feasible(self, lam: Any, before: Any) -> None:
        """Raise when the multipliers, or the way they moved since ``before``, prove hard constraints infeasible."""
        xp = namespace(lam)
        moved = xp.where(lam > before, lam - before, xp.zeros_like(lam))
        if self._certificate(lam) or self._certificate(moved):
            raise InfeasibleError("no positive semi-definite matrix satisfies the hard constraints; set slack.")

    def _certificate(self, lam: Any) -> bool:
        """Whether λ ≥ 0 proves that no M ⪰ 0 of sensible size is feasible.

        ⟨A(λ), M⟩ ≤ bᵀλ fails for every M ⪰ 0 of trace below bᵀλ / λ_min(A(λ)) when bᵀλ < 0 (Farkas).
        """
        xp = namespace(lam)
        scaled = lam * self.scale
        total = float(xp.sum(scaled))
        if not np.isfinite(total) or total <= 0:
            return False
        unit = lam / total
        value = float(xp.sum(unit * (self.bound - self.offset)))
        if value >= 0:
            return False
        low = float(xp.min(xp.linalg.eigvalsh(self.adjoint(unit))))
        size = max(1.0, float(xp.max(xp.abs(self.bound / self.scale)))) * max(1.0, float(xp.linalg.trace(self.prior)))
        return low >= 0 or value / low > 1e6 * size


@dataclass(frozen=True)
class Solution:
    """Result of a fit.

    ``M`` (d, d) or ``factor`` L (r, d) with M = LᵀL; ``dual`` λ (m,); ``objective`` of the primal; duality ``gap``
    and worst ``violation`` where the method has them; ``residual`` is the quantity that was compared with
    ``tol`` when the method stopped. ``alpha`` is the weight of what lies outside of the coordinates, and ``found``
    holds what else a learner shows, name → value, as its attribute ``name_``.
    """

    M: Any = None
    factor: Any = None
    dual: Any = None
    objective: float = np.nan
    gap: float = np.nan
    violation: float = 0.0
    n_iter: int = 0
    converged: bool = True
    residual: float = np.nan
    tol: float = np.nan
    alpha: float = 0.0
    found: dict[str, Any] = field(default_factory=dict)


class Solver(ABC):
    """A pure map from a :class:`.Problem` to a :class:`.Solution`; ``check`` fails before any work is done.

    ``max_iter`` is the most calls of the callback that a progress bar should expect.
    """

    max_iter: int

    @abstractmethod
    def check(self, problem: Problem) -> None:
        """Raise when the problem lacks something this solver needs, naming it."""

    @abstractmethod
    def solve(self, problem: Problem, callback: Any = None) -> Solution:
        """Solve the problem; ``callback(n_iter, dual objective, residual)`` is called as it goes."""
