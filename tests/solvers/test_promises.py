"""What the framework allows beside the named divergences, slacks and priors: any f, any slack, priors of low rank."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import brentq

import gramian as gm
from gramian.rankmin.kernel_methods import burg
from gramian.rankmin.kernel_problem import KernelProblem
from gramian.solvers import BregmanProjections, Convex, DualAscent, Hinge, Problem, Quadratic, Rows
from gramian.solvers.base import in_range, lifted
from tests.solvers.problems import constraints, dense, divergence, points, problem

SAME = {
    "logdet": gm.Spectral(lambda x: -np.log(x), lambda x: -1 / x),
    "vonneumann": gm.Spectral(lambda x: x * np.log(x) - x, np.log, inverse=np.exp),
    "frobenius": gm.Spectral(lambda x: x**2 / 2, lambda x: x),
}


@pytest.mark.parametrize("kind", ["pairs", "triplets", "mixed"])
@pytest.mark.parametrize("name", SAME)
def test_a_function_of_the_spectrum_gives_the_divergence_it_defines(name, kind):
    X, y = points()
    cons = constraints(kind, X, y)
    for slack in (Hinge(0.3), Quadratic(0.5)):
        named = DualAscent().solve(problem(X, cons, divergence(name, 3), slack))
        ours = DualAscent().solve(problem(X, cons, SAME[name], slack))
        assert ours.converged
        assert ours.objective == pytest.approx(named.objective, rel=1e-7, abs=1e-7)
        np.testing.assert_allclose(ours.M, named.M, atol=1e-4)


@pytest.mark.parametrize("relative", [True, False])
def test_a_power_of_the_eigenvalues_has_the_scalar_solution_on_the_axes(relative):
    """Constraints on the axes leave one scalar problem for each: f(x) − f′(x₀)x + C max(0, ±(x − b))."""
    f = gm.Spectral(lambda x: x**4 / 4 + 1 / x, lambda x: x**3 - 1 / x**2, relative=relative)
    b, signs, C, x0 = np.array([0.4, 3.0, 1.2]), np.array([1.0, -1.0, 1.0]), 0.8, 1.3
    prob = Problem(Rows(np.eye(3), signs[:, None]), signs * b, x0 * np.eye(3), f, Hinge(C))
    solution = DualAscent(tol=1e-10).solve(prob)
    pull = x0**3 - 1 / x0**2 if relative else 0.0
    wanted = []
    for bound, sign in zip(b, signs):
        free, pushed = (brentq(lambda x, p=p: x**3 - 1 / x**2 - p, 1e-3, 1e3) for p in (pull, pull - sign * C))
        between = sorted([free, pushed])
        wanted.append(free if sign * (free - bound) <= 0 else float(np.clip(bound, *between)))
    np.testing.assert_allclose(solution.M, np.diag(wanted), atol=1e-6)
    assert abs(solution.gap) < 1e-8


def test_no_feasible_matrix_nearby_has_a_smaller_value(rng):
    """Local optimality of a problem without a closed form, by random steps in the cone."""
    X, y = points()
    f = gm.Spectral(lambda x: x**1.5, lambda x: 1.5 * np.sqrt(x))
    prob = problem(X, constraints("pairs", X, y), f, Quadratic(0.5))
    solution = DualAscent().solve(prob)
    for scale in (1e-3, 1e-2, 1e-1):
        for _ in range(50):
            step = rng.normal(size=(3, 3))
            M = gm.linalg.project_psd(solution.M + scale * (step + step.T))
            assert prob.objective(M) >= solution.objective - 1e-9


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


def low_rank(rng):
    B = rng.normal(size=(3, 2))
    return B @ B.T


@pytest.mark.parametrize("name", ["logdet", "vonneumann"])
def test_a_prior_of_low_rank_confines_the_metric_to_its_range(name, rng):
    X, y = points()
    prior = low_rank(rng)
    prob = problem(X, constraints("pairs", X, y), divergence(name, 3), Quadratic(0.5), prior)
    inner, V = in_range(prob)
    solution = lifted(DualAscent().solve(inner), V)
    values, V = np.linalg.eigh(prior)
    assert abs(V[:, 0] @ solution.M @ V[:, 0]) < 1e-9
    B = cp.Variable((2, 2), PSD=True)
    V, values = V[:, 1:], values[1:]
    excess = cp.pos(cp.hstack([cp.trace(V.T @ A @ V @ B) for A in dense(prob)]) - prob.bound)
    if name == "logdet":
        f = cp.trace(np.diag(1 / values) @ B) - cp.log_det(B) + np.log(values).sum() - 2
    else:
        f = -cp.von_neumann_entr(B) - cp.trace(B @ np.diag(np.log(values))) - cp.trace(B) + values.sum()
    best = cp.Problem(cp.Minimize(f + 0.25 * cp.sum_squares(excess))).solve(solver="CLARABEL")
    assert solution.objective == pytest.approx(best, rel=1e-5, abs=1e-6)
    np.testing.assert_allclose(solution.M, V @ B.value @ V.T, atol=1e-3)


def test_the_learner_takes_a_prior_of_low_rank(rng):
    """It is the limit of positive definite priors, and the low-rank kernel learning of Kulis et al."""
    X, y = points()
    B = rng.normal(size=(3, 2))
    pairs = constraints("pairs", X, y)
    found = gm.Framework(prior=B @ B.T, slack=0.3, anchor=0).fit(X, pairs).metric_.matrix
    near = gm.Framework(prior=B @ B.T + 1e-6 * np.eye(3), slack=0.3, anchor=0).fit(X, pairs).metric_.matrix
    np.testing.assert_allclose(found, near, atol=1e-3)
    pairs = gm.Pairs(pairs.left, pairs.right, pairs.similar, bounds=(1.0, 6.0))
    itml = gm.ITML(prior=B @ B.T, gamma=0.7, tol=1e-9, anchor=0).fit(X, pairs).metric_.matrix
    core = burg(KernelProblem.of(X @ B, pairs, inductive=True, tol=1e-9), np.eye(2), 0.7, 1000).M
    np.testing.assert_allclose(itml, B @ core @ B.T, atol=1e-5)
    cut = gm.ITML(prior=np.diag([1.0, 2.0, 0.0]), gamma=0.7, tol=1e-9, anchor=0).fit(X, pairs).metric_.matrix
    plain = gm.ITML(prior=np.diag([1.0, 2.0]), gamma=0.7, tol=1e-9, anchor=0).fit(X[:, :2], pairs).metric_.matrix
    np.testing.assert_allclose(cut, np.pad(plain, ((0, 1), (0, 1))), atol=1e-6)
    with pytest.raises(ValueError, match="Framework: prior must not be 0"):
        gm.Framework(prior="zero", anchor=0).fit(X, pairs)


def test_several_kinds_may_leave_their_bounds_to_the_data(rng):
    X, y = points(n=40)
    mixed = gm.Pairs.from_labels(y, 30, random_state=0) + gm.Triplets.from_labels(y, 30, random_state=0)
    learned = gm.Framework(anchor=0).fit(X, mixed).metric_
    scaled = gm.Framework(prior=np.eye(3) / 49, anchor=0).fit(7 * X, mixed).metric_
    np.testing.assert_allclose(scaled.matrix, learned.matrix / 49, atol=1e-5 * np.abs(learned.matrix).max() / 49)
