"""Cyclic Bregman projections: one multiplier at a time, in the coordinates Θ = ∇φ(M) of whichever divergence."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gramian import linalg
from gramian._arrays import cholesky_or_none
from gramian._jit import own_loop
from gramian._settings import Count, Size
from gramian.solvers.base import InfeasibleError, Problem, Solution, Solver, ended
from gramian.solvers.slack import Slack


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
        new = newton_step(a, value, slope, (low, high), unit)
        if abs(new - a) <= 1e-15 * abs(new):
            return new
        a = new
        value, slope = excess(a)
        low, high = (a, high) if value > 0 else (low, a)
    return a


def newton_step(a: float, value: float, slope: float, bracket: tuple[float, float], unit: float) -> float:
    """A Newton step for a falling function; the middle of the bracket, or a step out, where that leaves it."""
    low, high = bracket
    new = a + value / slope if slope > 0 else np.inf
    if low < new < high:
        return new
    return 0.5 * (low + high) if np.isfinite(high) else 2 * a + unit


@dataclass(frozen=True)
class BregmanProjections(Solver):
    """Project onto one constraint after the other, with correction, until all agree (Davis et al. 2007, Algorithm 1).

    Each projection maximizes the dual exactly over one multiplier. Under LogDet: closed form for a pair (rank one), a
    root in one variable for rank-two constraints and slack; O(d²) a projection, in compiled code for the slacks that
    name a loop. Under other divergences, von Neumann and Frobenius among them (Jain 2009, §3.3.1.1), a root in one
    variable, O(d³) for each value tried. Constraints that stay satisfied with λ = 0 are forgotten for a few sweeps;
    every fifth sweep visits all, and M is then rebuilt from λ, so that no drift is kept.

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

    max_iter: Count = 2000
    tol: Size = 1e-8

    def check(self, problem: Problem) -> None:
        """Needs constraints of rank at most two."""
        if problem.rows.rank > 2:
            raise ValueError(
                f"BregmanProjections: needs constraints of rank at most two, got {problem.rows.rank}; use DualAscent."
            )

    def solve(self, problem: Problem, callback: Any = None) -> Solution:
        """Solve; hard constraints that cannot be met raise :class:`.InfeasibleError`."""
        self.check(problem)
        problem.check_trivial()
        steps = walk(problem)
        lam = steps.begin()
        everything = np.arange(len(lam))
        active = everything
        before = lam.copy()
        residual = np.inf
        n_iter = 0
        while n_iter < self.max_iter:
            full = n_iter % 5 == 0
            steps.project(lam, everything if full else active)
            n_iter += 1
            if not full:
                continue
            M = steps.metric(lam)
            values = problem.values(M)
            active = np.flatnonzero((lam > 0) | (values > problem.bound))
            residual = self._residual(problem, M, values, lam * steps.weight)
            if callback is not None:
                callback(n_iter, np.nan, residual)
            if residual <= self.tol:
                break
            if problem.slack.hard and n_iter % 20 == 1:
                problem.check_feasible(lam, before)
                before = lam.copy()
        return self._solution(problem, steps.metric(lam), lam * steps.weight, n_iter, residual)

    def _solution(self, problem: Problem, M: np.ndarray, lam: np.ndarray, n_iter: int, residual: float) -> Solution:
        values = problem.values(M)
        objective = problem.objective(M, values)
        return Solution(
            M=M,
            dual=lam,
            objective=objective,
            gap=objective - dual_value(problem, M, values, lam),
            violation=max(0.0, float((values - problem.bound).max())),
            n_iter=n_iter,
            result=ended(residual, self.tol, n_iter, self.max_iter),
            residual=residual,
            tol=self.tol,
        )

    def _residual(self, problem: Problem, M: np.ndarray, values: np.ndarray, lam: np.ndarray) -> float:
        objective = problem.objective(M, values)
        gap = abs(objective - dual_value(problem, M, values, lam)) / (1 + abs(objective))
        if not problem.slack.hard:
            return gap
        reach = problem.scale + np.abs(problem.bound)
        return max(gap, float(((values - problem.bound) / reach).max()))


def dual_value(problem: Problem, M: np.ndarray, values: np.ndarray, lam: np.ndarray) -> float:
    """f(M(λ)) + ⟨A(λ), M(λ)⟩ − s(λ), the dual at λ with its inner minimizer M."""
    f = problem.divergence.value(M, problem.prior)
    return f + float(lam @ values) - float(np.sum(problem.slack.cost(lam, problem.bound)))


def walk(problem: Problem) -> "UnderLogDet | Mirror":
    """The projections of a problem: on M itself under a multiple of LogDet, otherwise on Θ."""
    logdet = problem.divergence.as_logdet(problem.prior)
    return Mirror(problem) if logdet is None else UnderLogDet(problem, *logdet)


class UnderLogDet:
    """Projections under weight · D_ld(·, prior), where M itself is updated.

    Dividing the problem by the weight leaves LogDet, with multipliers and the weight of the slack divided by it.
    """

    def __init__(self, problem: Problem, prior: np.ndarray, weight: float) -> None:
        self.problem = problem
        self.weight = weight
        self.prior_inverse = np.linalg.inv(prior)
        self.M = np.array(prior, dtype=float)
        self.bound = np.ascontiguousarray(problem.bound, dtype=float)
        self.offset = np.broadcast_to(np.asarray(problem.offset, dtype=float), self.bound.shape).copy()
        self.squares = problem.rows.squares()

    def begin(self) -> np.ndarray:
        """λ to start from, where M(λ) is positive definite."""
        problem = self.problem
        for lam in problem.starts():
            if lam.any() and np.isfinite(problem.slack.cost(lam, problem.bound)).all():
                lam = np.array(lam, dtype=float) / self.weight
                if cholesky_or_none(self._inverse(lam)) is not None:
                    self.metric(lam)
                    return lam
        return np.zeros(len(self.bound))

    def metric(self, lam: np.ndarray) -> np.ndarray:
        """M(λ) = (M₀⁻¹ + A(λ))⁻¹, from where the next sweep goes on."""
        S = self._inverse(lam)
        if cholesky_or_none(S) is None:
            raise InfeasibleError("the projections ran out of the positive definite cone; set slack.")
        self.M = linalg.symmetrize(np.linalg.inv(S))
        return self.M.copy()

    def project(self, lam: np.ndarray, active: np.ndarray) -> None:
        """One sweep over the active constraints; M and λ change in place."""
        slack = self.problem.slack
        loop = own_loop(slack, "bregman")
        if loop is None:
            sweep(self.M, *self.squares, self.offset, self.bound, lam, active, slack, self.weight)
            return
        weight = np.broadcast_to(slack.weight / self.weight, self.bound.shape).copy()
        loop(self.M, *self.squares, self.offset, self.bound, lam, active, weight)

    def _inverse(self, lam: np.ndarray) -> np.ndarray:
        return linalg.symmetrize(self.prior_inverse + self.problem.rows.adjoint(lam))


def sweep(
    M: np.ndarray,
    vectors: np.ndarray,
    signs: np.ndarray,
    offset: np.ndarray,
    bound: np.ndarray,
    lam: np.ndarray,
    active: np.ndarray,
    slack: Slack,
    tau: float = 1.0,
) -> None:
    """Project onto the active constraints in turn; M and λ change in place.

    A_i = Σ_s signs[i, s] u_s u_sᵀ with u = vectors[i]; the multipliers of ``slack`` are τλ.
    """
    for i in active:
        terms = signs[i] != 0
        U, sign = vectors[i, terms], signs[i, terms]
        images = U @ M
        gram = images @ U.T
        mu = np.linalg.eigvals(sign[:, None] * gram).real  # of A_i M
        if not mu.any():
            continue
        a = step(mu, offset[i], lam[i], bound[i], slack, tau)
        if a != 0:
            lam[i] = max(lam[i] + a, 0.0)
            # The Woodbury correction of M⁻¹ ← M⁻¹ + a A_i.
            M -= images.T @ np.linalg.solve(np.diag(1 / (a * sign)) + gram, images)


def step(mu: np.ndarray, offset: float, lam: float, b: float, slack: Slack, tau: float = 1.0) -> float:
    """The change a of one multiplier that maximizes the dual: Σ_s μ_s/(1 + aμ_s) + offset = s′(τ(λ + a)).

    The left side falls and the right side rises with a; λ + a ends in [0, upper / τ].
    """

    def rising(a: float) -> bool:
        scale = 1 + a * mu
        multiplier = np.asarray(tau * (lam + a))
        if (scale <= 0).any() or not np.isfinite(slack.cost(multiplier, b)):
            return a < 0  # beyond a barrier: the way back is up
        return float((mu / scale).sum()) + offset > float(slack.bound(multiplier, b))

    least = -lam
    most = float(slack.upper(np.asarray(b))) / tau - lam
    if not rising(least):
        return least
    if np.isfinite(most) and rising(most):
        return most
    return bisection(rising, least, most, 1 / float(np.abs(mu).max()))


def bisection(rising: Callable[[float], Any], low: float, high: float, scale: float) -> float:
    """Where ``rising`` turns from true to false, to rounding; ``high`` may be infinite."""
    if not np.isfinite(high):
        high = max(low, 0.0) + scale
        while rising(high) and high < 1e18 * scale:
            low = high
            high = 2 * high + scale
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            return middle
        low, high = (middle, high) if rising(middle) else (low, middle)
