"""What a solver takes and gives: :class:`Problem` and :class:`Solution`, and how it ended: :class:`Result`."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np

from gramian import _settings
from gramian._arrays import namespace, to_numpy
from gramian.divergences.base import Divergence
from gramian.solvers.rows import Rows, Stacked
from gramian.solvers.slack import Hard, Slack


class InfeasibleError(ValueError):
    """No positive semi-definite matrix satisfies the hard constraints."""


@dataclass(frozen=True)
class Problem:
    """min_M f(M) + slack   s.t.  ⟨A_i, M⟩ ≤ b_i,  M ⪰ 0   (Jain 2009, (3.2)).

    Parameters
    ----------
    rows : Rows or Stacked
        The A_i, never formed.
    bound : array (m,)
        The b_i; arrays may be of any array library.
    prior : array (d, d)
        M₀; it also fixes dtype and device.
    divergence : Divergence
    slack : Slack
    offset : array (m,)
        What a fixed part of the metric outside of these coordinates adds to each ⟨A_i, M⟩.
    start : array (m,), optional
        Multipliers λ of a problem nearby: where to begin, not a part of the problem.
    """

    rows: Rows | Stacked
    bound: np.ndarray
    prior: np.ndarray
    divergence: Divergence
    slack: Slack = field(default_factory=Hard)
    offset: Any = 0.0
    start: np.ndarray | None = None

    def starts(self) -> Iterator[Any]:
        """Multipliers to begin at, the most hopeful first: ``start``, parts of it, and 0; not all are in the domain."""
        xp = namespace(self.bound)
        if self.start is not None:
            upper = self.slack.upper(self.bound)
            start = xp.where(self.start < upper, self.start, upper)
            yield from (factor * start for factor in (1.0, 0.5, 0.25))
        yield xp.zeros_like(self.bound)

    def values(self, M: np.ndarray) -> np.ndarray:
        """⟨A_i, M⟩ + offset_i, shape (m,)."""
        return self.rows.linear(M) + self.offset

    def objective(self, M: np.ndarray, values: np.ndarray | None = None) -> float:
        """The primal objective with its slack penalty."""
        values = self.values(M) if values is None else values
        penalty = float(namespace(values).sum(self.slack.penalty(values, self.bound)))
        return self.divergence.value(M, self.prior) + penalty

    @cached_property
    def scale(self) -> np.ndarray:
        """s_i, the size of A_i under M₀, or under I where M₀ says nothing.

        Never 0, and never so small that b_i / s_i loses all meaning.
        """
        xp = namespace(self.bound)
        s = self.rows.size(self.prior) if self.divergence.uses_prior else xp.zeros_like(self.bound)
        s = xp.where(s > 0, s, self.rows.size())
        least = 1e-15 * xp.abs(self.bound)
        s = xp.where(s > least, s, least)
        return xp.where(s > 0, s, xp.ones_like(s))

    def check_trivial(self) -> None:
        """Raise when a hard constraint reads 0 ≤ b < 0, as it does for a far pair of equal points."""
        if not self.slack.hard:
            return
        xp = namespace(self.bound)
        bad = (self.rows.size() == 0) & (self.bound - self.offset < 0)
        if bool(xp.any(bad)):
            raise InfeasibleError(
                f"{int(xp.sum(xp.astype(bad, xp.int64)))} constraint(s) ask identical points to be apart; "
                "drop them or set slack."
            )

    def check_feasible(self, lam: np.ndarray, before: np.ndarray) -> None:
        """Raise when the multipliers, or the way they moved since ``before``, prove hard constraints infeasible."""
        xp = namespace(lam)
        moved = xp.where(lam > before, lam - before, xp.zeros_like(lam))
        if self._certificate(lam) or self._certificate(moved):
            raise InfeasibleError("no positive semi-definite matrix satisfies the hard constraints; set slack.")

    def _certificate(self, lam: np.ndarray) -> bool:
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
        low = float(xp.min(xp.linalg.eigvalsh(self.rows.adjoint(unit))))
        size = max(1.0, float(xp.max(xp.abs(self.bound / self.scale)))) * max(1.0, float(xp.linalg.trace(self.prior)))
        return low >= 0 or value / low > 1e6 * size


class Result(Enum):
    """How a fit ended, in words for people."""

    closed_form = "found in closed form"
    converged = "the residual fell to the tolerance"
    stopped_early = "stopped where the answer is good enough to be blended with a prior"
    stalled = "no further step made it better"
    max_iter = "the limit of steps was reached"


def ended(residual: float, tol: float, n_iter: int, max_iter: int) -> Result:
    """How an iteration ended, from what it counted."""
    if residual <= tol:
        return Result.converged
    return Result.max_iter if n_iter >= max_iter else Result.stalled


@dataclass(frozen=True, eq=False)
class Solution:
    """What was found, M (d, d) or a factor L (r, d) with M = LᵀL, and the account of how it was found.

    ``objective``, duality ``gap``, worst ``violation`` and multipliers ``dual`` λ (m,) belong to this M, where the
    method has them. ``residual`` is the quantity that was compared with ``tol`` when the method stopped. ``alpha`` is
    the weight of what lies outside of the coordinates.
    Of a blend with a prior ``result``, ``n_iter``, ``residual`` and ``tol`` are those of ``learned``, what was blended;
    the objective is that of no problem, and nan.
    """

    M: Any = None
    factor: Any = None
    dual: Any = None
    objective: float = np.nan
    gap: float = np.nan
    violation: float = 0.0
    n_iter: int = 0
    result: Result = Result.closed_form
    residual: float = np.nan
    tol: float = np.nan
    alpha: float = 0.0
    coordinates: Any = None
    """Those that M refers to; None where they are those of the task."""
    learned: "Solution | None" = None
    """Of a blend: what the learner found by itself."""
    extra: dict[str, Any] = field(default_factory=dict)
    """What else a learner shows, name → value, as its attribute ``name_``."""

    @property
    def converged(self) -> bool:
        """Whether this is the solution, as far as ``tol`` says."""
        return self.result in (Result.closed_form, Result.converged)

    @property
    def core(self) -> Any:
        """M itself."""
        return self.M if self.factor is None else self.factor.T @ self.factor

    def saying(self, **extra: Any) -> "Solution":
        """The same with more to show."""
        return replace(self, extra={**self.extra, **extra})


def on_host(solution: Solution) -> Solution:
    """A solution in plain NumPy, wherever it was found."""
    arrays = {name: to_numpy(getattr(solution, name)) for name in ("M", "factor", "dual")}
    learned = None if solution.learned is None else on_host(solution.learned)
    extra = {name: to_numpy(x) for name, x in solution.extra.items()}
    return replace(solution, extra=extra, learned=learned, **arrays)


class Solver(ABC):
    """A pure map from a :class:`.Problem` to a :class:`.Solution`; ``check`` fails before any work is done.

    ``max_iter`` is the most calls of the callback that a progress bar should expect.
    """

    max_iter: int

    def __post_init__(self) -> None:
        _settings.check(self)

    @abstractmethod
    def check(self, problem: Problem) -> None:
        """Raise when the problem lacks something this solver needs, naming it."""

    @abstractmethod
    def solve(self, problem: Problem, callback: Any = None) -> Solution:
        """Solve the problem; ``callback(n_iter, dual objective, residual)`` is called as it goes."""


ROUNDING = 1e-14
"""Eigenvalues of a prior below this share of the largest are zero."""


def in_range(problem: Problem) -> tuple[Problem, Any]:
    """The problem for B of M = V B Vᵀ with V (d, r), where D(M, M₀) is finite only in the range of M₀ = V Λ Vᵀ.

    The problem itself, and None for V, where that is not so.
    D(V B Vᵀ, V Λ Vᵀ) = D(B, Λ) for spectral divergences (Kulis et al. 2006, for LogDet and von Neumann), and
    ⟨A_i, V B Vᵀ⟩ = ⟨Vᵀ A_i V, B⟩.
    """
    V, values = _range(problem)
    if V is None:
        return problem, None
    xp = namespace(values)
    prior = xp.eye(values.shape[0], dtype=values.dtype, device=values.device) * values
    return replace(problem, rows=problem.rows.mapped(V), prior=prior), V


def lifted(solution: Solution, V: np.ndarray) -> Solution:
    """The answer for M = V B Vᵀ from that for B."""
    return solution if V is None else replace(solution, M=V @ solution.M @ V.T)


def _range(problem: Problem) -> tuple[Any, Any]:
    """Eigenvectors V (d, r) and eigenvalues (r,) of a singular prior that counts, otherwise (None, None)."""
    if not problem.divergence.keeps_range:
        return None, None
    xp = namespace(problem.prior)
    values, V = xp.linalg.eigh(problem.prior)
    positive = values > ROUNDING * values[-1]
    if bool(xp.all(positive)):
        return None, None
    rows = xp.nonzero(positive)[0]
    return xp.take(V, rows, axis=1), xp.take(values, rows)
