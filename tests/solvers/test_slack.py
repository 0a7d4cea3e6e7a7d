"""Slacks by their definition, and sweeps that use the formulas of the slack they were given."""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest

import gramian as gm
from gramian._jit import own_loop
from gramian.divergences import LinearLogDet
from gramian.solvers import (
    BregmanProjections,
    Convex,
    DualAscent,
    Hinge,
    Quadratic,
    Relative,
    Slack,
)
from gramian.solvers.bregman import step
from tests.solvers.problems import NAMED, SLACKS, constraints, dense, divergence, points, problem

SOFT = SLACKS[1:]


@dataclass(frozen=True)
class Huber(Slack):
    """C/2 · e² for 0 ≤ e = v − b ≤ width, C · width · (e − width/2) beyond: s(λ) = bλ + λ²/2C on λ ≤ C · width."""

    weight: float = 1.0
    width: float = 1.0

    def cost(self, lam, b):
        return b * lam + lam**2 / (2 * self.weight)

    def bound(self, lam, b):
        return b + lam / self.weight

    def slope(self, lam, b, size=1.0):
        return np.full_like(lam, 1 / self.weight) / size / size

    def upper(self, b):
        return np.full_like(b, self.weight * self.width)

    def penalty(self, v, b):
        e = np.maximum(v - b, 0)
        return np.where(e < self.width, self.weight / 2 * e**2, self.weight * self.width * (e - self.width / 2))


@dataclass(frozen=True)
class Halved(Hinge):
    """A hinge of half the weight: a subclass that inherits everything but one formula."""

    def upper(self, b):
        return np.full_like(b, self.weight / 2)

    def penalty(self, v, b):
        return super().penalty(v, b) / 2


@pytest.mark.parametrize("slack", [*SOFT, Huber(0.7, 0.4), Halved(0.6)], **NAMED)
def test_the_penalty_is_the_conjugate_of_the_dual_cost(slack):
    for b in (0.5, 2.0, -1.5):
        b_array = np.array([b])
        limit = min(float(slack.upper(b_array)[0]), 40.0)
        lam = np.linspace(0, limit, 400_001)
        for v in (0.6, 1.9, 3.0) if b > 0 else (-0.2, -1.0, -1.4):
            best = np.max(lam * v - slack.cost(lam, b))
            assert float(slack.penalty(np.array([v]), b_array)[0]) == pytest.approx(best, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("slack", [*SLACKS, Huber(0.7, 0.4)], **NAMED)
def test_bound_and_slope_are_derivatives_of_the_cost(slack):
    lam, b, h = np.array([0.05, 0.2]), np.array([0.9, -1.3]), 1e-5
    first = (slack.cost(lam + h, b) - slack.cost(lam - h, b)) / (2 * h)
    second = (slack.bound(lam + h, b) - slack.bound(lam - h, b)) / (2 * h)
    np.testing.assert_allclose(slack.bound(lam, b), first, rtol=1e-7)
    np.testing.assert_allclose(slack.slope(lam, b, 3.0), second / 9, rtol=1e-7)


@pytest.mark.parametrize("slack", [Quadratic(0.5), Relative(0.8)], **NAMED)
def test_a_multiplier_is_the_derivative_of_the_penalty(slack):
    b, h = np.array([0.9, 0.9, -1.3, -1.3]), 1e-6
    v = np.array([1.5, 0.7, -0.4, -1.6])
    lam, root = slack.multiplier(v, b)
    np.testing.assert_allclose(lam, (slack.penalty(v + h, b) - slack.penalty(v - h, b)) / (2 * h), atol=1e-8)
    up, down = slack.multiplier(v + h, b)[0], slack.multiplier(v - h, b)[0]
    np.testing.assert_allclose(root**2, (up - down) / (2 * h), atol=1e-8)
    np.testing.assert_allclose(slack.bound(lam, b)[lam > 0], v[lam > 0])


@pytest.mark.parametrize("slack", [*SLACKS, Huber(0.7, 0.4)], **NAMED)
@pytest.mark.parametrize("mu", [[1.7], [-0.6], [2.0, -0.9], [0.4, 1.1]], ids=str)
@pytest.mark.parametrize("lam", [0.0, 0.1])
def test_a_step_maximizes_the_dual_over_one_multiplier(slack, mu, lam):
    """Log det(I + aA) in coordinates where M = I, minus the cost, over a fine grid."""
    mu, b, offset = np.array(mu), 0.8, 0.1
    a = step(mu, offset, lam, b, slack)
    with np.errstate(invalid="ignore", divide="ignore"):
        grid = np.unique(np.concatenate([np.linspace(-lam, 3.0, 60_001), [a]]))
        grid = grid[lam + grid <= float(slack.upper(np.array(b))) * (1 + 1e-12)]
        gain = np.log(1 + grid[:, None] * mu).sum(axis=1) + offset * grid - slack.cost(lam + grid, b)
    gain = np.where(np.isfinite(gain), gain, -np.inf)
    assert gain[np.searchsorted(grid, a)] >= gain.max() - 1e-8


@pytest.mark.parametrize("slack", [Huber(0.4, 0.5), Halved(0.6)], **NAMED)
@pytest.mark.parametrize("div", ["logdet", "linear-logdet"])
def test_a_new_slack_is_swept_by_its_own_formulas(slack, div):
    """Both solvers end at the optimum of the penalty that the slack writes down, found by a conic solver."""
    X, y = points()
    prob = problem(X, constraints("pairs", X, y), divergence(div, 3), slack)
    assert own_loop(slack, "bregman") is None
    M = cp.Variable((3, 3), PSD=True)
    excess = cp.pos(cp.hstack([cp.trace(A @ M) for A in dense(prob)]) - prob.bound)
    if isinstance(slack, Huber):
        penalty = slack.weight * slack.width**2 / 2 * cp.sum(cp.huber(excess / slack.width))
    else:
        penalty = slack.weight / 2 * cp.sum(excess)
    if isinstance(prob.divergence, LinearLogDet):
        f = cp.trace(prob.divergence.linear @ M) - prob.divergence.gamma * cp.log_det(M)
    else:
        f = cp.trace(M) - cp.log_det(M) - 3
    best = cp.Problem(cp.Minimize(f + penalty)).solve(solver="CLARABEL")
    for solver in (DualAscent(), BregmanProjections()):
        solution = solver.solve(prob)
        assert solution.converged
        assert solution.objective == pytest.approx(best, rel=1e-6, abs=1e-6)


def test_only_the_class_that_names_a_loop_has_it():
    assert own_loop(Hinge(1.0), "bregman") is not None
    assert own_loop(Halved(1.0), "bregman") is None


HUBER = Convex(lambda e: np.where(e < 0.5, e**2, e - 0.25), lambda e: np.minimum(2 * e, 1.0), limit=1.0)


POWER = Convex(lambda e: e**3 / 3, lambda e: e**2)


@pytest.mark.parametrize("slack", [HUBER, POWER], ids=["huber", "power"])
@pytest.mark.parametrize("name", ["logdet", "frobenius"])
def test_any_convex_cost_of_a_violation_is_a_slack(slack, name):
    X, y = points()
    prob = problem(X, constraints("mixed", X, y), divergence(name, 3), slack)
    M = cp.Variable((3, 3), PSD=True)
    e = cp.pos(cp.hstack([cp.trace(A @ M) for A in dense(prob)]) - prob.bound)
    penalty = cp.sum(cp.huber(e / 0.5)) * 0.25 if slack is HUBER else cp.sum(cp.power(e, 3)) / 3
    f = cp.trace(M) - cp.log_det(M) - 3 if name == "logdet" else 0.5 * cp.sum_squares(M - np.eye(3))
    best = cp.Problem(cp.Minimize(f + penalty)).solve(solver="CLARABEL")
    assert DualAscent().solve(prob).objective == pytest.approx(best, rel=1e-6, abs=1e-6)


def test_a_convex_slack_can_be_swept_and_given_to_the_learner():
    X, y = points()
    pairs = constraints("pairs", X, y)
    prob = problem(X, pairs, gm.LogDet(), HUBER)
    swept = BregmanProjections().solve(prob)
    assert swept.objective == pytest.approx(DualAscent().solve(prob).objective, rel=1e-6)
    learned = gm.Framework(slack=HUBER, anchor=0).fit(X, pairs)
    np.testing.assert_allclose(learned.metric_.matrix, swept.M, atol=1e-4)


@pytest.mark.parametrize("solver", [DualAscent(), BregmanProjections()], ids=["dual", "bregman"])
def test_each_constraint_may_have_a_weight_of_its_own(solver):
    X, y = points()
    weight = np.linspace(0.1, 0.9, 12)
    prob = problem(X, constraints("pairs", X, y), gm.LogDet(), Hinge(weight))
    M = cp.Variable((3, 3), PSD=True)
    excess = cp.pos(cp.hstack([cp.trace(A @ M) for A in dense(prob)]) - prob.bound)
    best = cp.Problem(cp.Minimize(cp.trace(M) - cp.log_det(M) - 3 + weight @ excess)).solve(solver="CLARABEL")
    assert solver.solve(prob).objective == pytest.approx(best, rel=1e-6, abs=1e-6)
