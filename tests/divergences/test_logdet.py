"""A prior of low rank confines what is learned."""

import cvxpy as cp
import numpy as np
import pytest
from tests.solvers.problems import constraints, dense, divergence, points, problem

import gramian as gm
from gramian.rankmin.kernel_methods import burg
from gramian.rankmin.kernel_problem import KernelProblem
from gramian.solvers import DualAscent, Quadratic
from gramian.solvers.base import in_range, lifted


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
