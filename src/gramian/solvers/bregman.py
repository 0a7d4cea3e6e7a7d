"""Cyclic Bregman projections under LogDet."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian import linalg
from gramian._array import cholesky
from gramian._jit import own_loop
from gramian.solvers.base import InfeasibleError, Problem, Solution, Solver
from gramian.solvers.projections import sweep


@dataclass(frozen=True)
class BregmanProjections(Solver):
    """Project onto one constraint after the other, with correction, until all agree (Davis et al. 2007, Algorithm 1).

    Each projection maximizes the dual exactly over one multiplier: closed form for a pair (rank one), a root in one
    variable for rank-two constraints and slack. O(d²) a projection, in compiled code for the slacks that name a loop.
    Constraints that stay satisfied with λ = 0 are forgotten for a few sweeps; every fifth sweep visits all, and M
    is then rebuilt from λ, so that no drift is kept.

    Parameters
    ----------
    max_iter : int
        Sweeps.
    tol : float
        As in :class:`DualAscent`.

    See Also
    --------
    gramian.DualAscent : All multipliers at once, with a proven gap.
    gramian.Framework : The learner that uses it.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    >>> pairs = gm.Pairs([0, 0], [1, 2], [True, False], bounds=(1.0, 4.0))
    >>> learner = gm.Framework(solver=gm.BregmanProjections(), anchor=0).fit(X, pairs)
    >>> np.diag(learner.metric_.matrix).round(6).tolist()
    [0.25, 4.0]
    """

    max_iter: int = 2000
    tol: float = 1e-8

    def check(self, problem: Problem) -> None:
        """Needs a divergence that is a multiple of LogDet, and constraints of rank at most two."""
        _as_logdet(problem)
        if problem.rows.rank > 2:
            raise ValueError(
                f"BregmanProjections: needs constraints of rank at most two, got {problem.rows.rank}; use DualAscent."
            )

    def solve(self, problem: Problem, callback: Any = None) -> Solution:
        """Solve; hard constraints that cannot be met raise :class:`.InfeasibleError`."""
        self.check(problem)
        problem.check_trivial()
        prior, tau = _as_logdet(problem)
        prior_inverse = np.linalg.inv(prior)
        bound = np.ascontiguousarray(problem.bound, dtype=float)
        project = _projections(problem, bound, tau)
        lam, M = _begin(prior, prior_inverse, problem, tau)
        everything, before = np.arange(len(bound)), lam.copy()
        active = everything
        residual, n_iter = np.inf, 0
        while n_iter < self.max_iter:
            full = n_iter % 5 == 0
            project(M, lam, everything if full else active)
            n_iter += 1
            if not full:
                continue
            M = _metric(prior_inverse, problem, lam)
            values = problem.values(M)
            active = np.flatnonzero((lam > 0) | (values > bound))
            residual = self._residual(problem, M, values, lam * tau)
            if callback is not None:
                callback(n_iter, np.nan, residual)
            if residual <= self.tol:
                break
            if problem.slack.hard and n_iter % 20 == 1:
                problem.check_feasible(lam, before)
                before = lam.copy()
        return self._solution(problem, _metric(prior_inverse, problem, lam), lam * tau, n_iter, residual)

    def _solution(self, problem: Problem, M: np.ndarray, lam: np.ndarray, n_iter: int, residual: float) -> Solution:
        values = problem.values(M)
        objective = problem.objective(M, values)
        return Solution(
            M=M,
            dual=lam,
            objective=objective,
            gap=objective - _dual_value(problem, M, values, lam),
            violation=max(0.0, float((values - problem.bound).max())),
            n_iter=n_iter,
            converged=bool(residual <= self.tol),
            residual=residual,
            tol=self.tol,
        )

    def _residual(self, problem: Problem, M: np.ndarray, values: np.ndarray, lam: np.ndarray) -> float:
        objective = problem.objective(M, values)
        gap = abs(objective - _dual_value(problem, M, values, lam)) / (1 + abs(objective))
        if not problem.slack.hard:
            return gap
        reach = problem.scale + np.abs(problem.bound)
        return max(gap, float(((values - problem.bound) / reach).max()))


def _as_logdet(problem: Problem) -> tuple[Any, float]:
    found = problem.divergence.as_logdet(problem.prior)
    if found is None:
        raise ValueError(
            "BregmanProjections: needs a divergence with as_logdet (LogDet, or LinearLogDet with positive definite "
            f"linear), got {type(problem.divergence).__name__}; use DualAscent."
        )
    return found


def _projections(problem: Problem, bound: np.ndarray, tau: float) -> Callable[[Any, Any, Any], None]:
    """One sweep, as a function of M, λ and the constraints to visit: compiled where the slack names a loop.

    f = τ D_ld + …: dividing by τ leaves LogDet, with multipliers and the weight of the slack divided by τ.
    """
    vectors, signs = problem.rows.squares()
    offset = np.broadcast_to(np.asarray(problem.offset, dtype=float), bound.shape).copy()
    loop = own_loop(problem.slack, "bregman")
    if loop is None:
        return lambda M, lam, active: sweep(M, vectors, signs, offset, bound, lam, active, problem.slack, tau)
    weight = np.broadcast_to(problem.slack.weight / tau, bound.shape).copy()
    return lambda M, lam, active: loop(M, vectors, signs, offset, bound, lam, active, weight)


def _dual_value(problem: Problem, M: np.ndarray, values: np.ndarray, lam: np.ndarray) -> float:
    """f(M(λ)) + ⟨A(λ), M(λ)⟩ − s(λ), the dual at λ with its inner minimizer M."""
    f = problem.divergence.value(M, problem.prior)
    return f + float(lam @ values) - float(np.sum(problem.slack.cost(lam, problem.bound)))


def _metric(prior_inverse: np.ndarray, problem: Problem, lam: np.ndarray) -> np.ndarray:
    """M(λ) = (M₀⁻¹ + A(λ))⁻¹."""
    S = linalg.symmetrize(prior_inverse + problem.rows.adjoint(lam))
    if cholesky(S) is None:
        raise InfeasibleError("the projections ran out of the positive definite cone; set slack.")
    return linalg.symmetrize(np.linalg.inv(S))


def _begin(prior: np.ndarray, prior_inverse: np.ndarray, problem: Problem, tau: float) -> tuple[np.ndarray, np.ndarray]:
    """λ to start from, where M(λ) is positive definite, and M(λ)."""
    for lam in problem.starts():
        if lam.any() and np.isfinite(problem.slack.cost(lam, problem.bound)).all():
            lam = np.array(lam, dtype=float) / tau
            if cholesky(linalg.symmetrize(prior_inverse + problem.rows.adjoint(lam))) is not None:
                return lam, _metric(prior_inverse, problem, lam)
    return np.zeros(len(problem.bound)), np.array(prior, dtype=float)
