"""Infeasible problems, closed forms, other array libraries, and solver requirements."""

from dataclasses import replace

import array_api_strict
import numpy as np
import pytest

from gramian.divergences import Frobenius, LinearLogDet, LogDet, VonNeumann
from gramian.solvers import (
    BregmanProjections,
    DualAscent,
    Hard,
    Hinge,
    InfeasibleError,
    PrimalNewton,
    Problem,
    Relative,
    Rows,
)
from tests.solvers.problems import constraints, divergence, points, problem

BOTH = pytest.mark.parametrize("solver", [DualAscent(), BregmanProjections()], ids=["dual", "bregman"])


def one_pair(v, sign, b, slack=None, div=None):
    v = np.atleast_2d(v).astype(float)
    d = v.shape[1]
    rows = Rows(v, np.array([[float(sign)]]))
    return Problem(rows, np.array([sign * b]), np.eye(d), div or LogDet(), slack or Hard())


def projected(M, v, b):
    """The Bregman projection of M onto vᵀMv = b under LogDet: M'⁻¹ = M⁻¹ + a v vᵀ, a = 1/b − 1/p, p = vᵀMv."""
    a = 1 / b - 1 / (v @ M @ v)
    return np.linalg.inv(np.linalg.inv(M) + a * np.outer(v, v))


def test_a_projection_of_rank_one_is_that_of_the_inverse(rng):
    A = rng.standard_normal((4, 4))
    M, v = A @ A.T + np.eye(4), rng.standard_normal(4)
    a, found = LogDet.project_rank_one(M, v, 0.7)
    np.testing.assert_allclose(found, projected(M, v, 0.7), atol=1e-10)
    np.testing.assert_allclose(np.linalg.inv(found), np.linalg.inv(M) + a * np.outer(v, v), atol=1e-8)
    assert v @ found @ v == pytest.approx(0.7)


@BOTH
@pytest.mark.parametrize("sign, b", [(1, 0.5), (-1, 9.0), (1, 50.0)])
def test_one_pair_has_a_closed_form(solver, sign, b):
    v = np.array([1.0, 2.0, 0.0])
    M = solver.solve(one_pair(v, sign, b)).M
    p = v @ v
    expected = np.eye(3) if sign * (p - b) <= 0 else projected(np.eye(3), v, b)
    np.testing.assert_allclose(M, expected, atol=1e-6)


@BOTH
@pytest.mark.parametrize("gamma", [0.1, 1.0, 7.0])
def test_one_slack_projection_is_the_repaired_formula(solver, gamma):
    """A = δ γ/(γ+1) (1/p − 1/ξ): the printed ½(1/p − γ/ξ) is right for γ = 1 only."""
    v, b = np.array([1.0, 1.0]), 0.7
    p = v @ v
    a = -gamma / (gamma + 1) * (1 / p - 1 / b)
    solution = solver.solve(one_pair(v, 1, b, Relative(gamma)))
    assert solution.dual[0] == pytest.approx(a, rel=1e-4)
    np.testing.assert_allclose(solution.M, np.linalg.inv(np.eye(2) + a * np.outer(v, v)), atol=1e-5)


@BOTH
def test_contradictory_hard_pairs_are_reported(solver):
    v = np.array([[1.0, 0.0], [1.0, 0.0]])
    prob = Problem(Rows(v, np.array([[1.0], [-1.0]])), np.array([1.0, -2.0]), np.eye(2), LogDet())
    with pytest.raises(InfeasibleError, match="no positive semi-definite matrix"):
        solver.solve(prob)


@BOTH
@pytest.mark.parametrize("div", [VonNeumann(), Frobenius()], ids=["vonneumann", "frobenius"])
def test_contradictory_hard_pairs_are_reported_by_every_divergence(div, solver):
    v = np.array([[1.0, 0.0], [1.0, 0.0]])
    prob = Problem(Rows(v, np.array([[1.0], [-1.0]])), np.array([1.0, -2.0]), np.eye(2), div)
    with pytest.raises(InfeasibleError):
        solver.solve(prob)


@BOTH
def test_identical_points_cannot_be_apart(solver):
    with pytest.raises(InfeasibleError, match="identical points"):
        solver.solve(one_pair(np.zeros(2), -1, 1.0))


@BOTH
def test_far_bounds_are_feasible_not_infeasible(solver):
    solution = solver.solve(one_pair([1.0, 0.0], -1, 1e7))
    assert solution.converged
    assert solution.M[0, 0] == pytest.approx(1e7, rel=1e-6)


def test_bregman_names_what_is_missing():
    X, y = points()
    with pytest.raises(ValueError, match="LinearLogDet must be finite.*linear positive definite; use DualAscent"):
        BregmanProjections().solve(problem(X, constraints("pairs", X, y), LinearLogDet(np.zeros((3, 3)))))
    with pytest.raises(ValueError, match="rank at most two"):
        BregmanProjections().solve(problem(X, constraints("chunklets", X, y), LogDet()))


def test_unbounded_linear_logdet_is_reported():
    with pytest.raises(ValueError, match="unbounded below"):
        DualAscent().solve(one_pair([1.0, 0.0], 1, 1.0, div=LinearLogDet(np.zeros((2, 2)))))


def test_non_convergence_is_reported():
    X, y = points()
    solution = DualAscent(max_iter=2).solve(problem(X, constraints("pairs", X, y), LogDet()))
    assert not solution.converged
    assert solution.residual > solution.tol


@pytest.mark.parametrize("name", ["logdet", "vonneumann", "frobenius", "linear-frobenius", "linear-logdet"])
@pytest.mark.parametrize("slack", [Hard(), Hinge(0.3), Relative(0.8)], ids=lambda s: type(s).__name__)
def test_the_dual_runs_on_a_strict_array_namespace(name, slack):
    X, y = points()
    prob = problem(X, constraints("pairs", X, y), divergence(name, 3), slack)
    xp = array_api_strict
    rows = Rows(xp.asarray(prob.rows.left), xp.asarray(prob.rows.weight))
    other = Problem(rows, xp.asarray(prob.bound), xp.asarray(prob.prior), prob.divergence, prob.slack)
    ours, strict = DualAscent().solve(prob), DualAscent().solve(other)
    assert strict.objective == pytest.approx(ours.objective, rel=1e-7)
    np.testing.assert_allclose(np.asarray(strict.M), ours.M, atol=1e-5)


def test_primal_newton_names_what_is_missing_and_runs_elsewhere():
    X, y = points()
    pairs = constraints("pairs", X, y)
    with pytest.raises(ValueError, match="a slack that curves .*, got LogDet and Hard; use DualAscent"):
        PrimalNewton().solve(problem(X, pairs, LogDet()))
    prob = problem(X, pairs, LogDet(), Relative(0.8))
    xp = array_api_strict
    rows = Rows(xp.asarray(prob.rows.left), xp.asarray(prob.rows.weight))
    other = Problem(rows, xp.asarray(prob.bound), xp.asarray(prob.prior), prob.divergence, prob.slack)
    ours, strict = PrimalNewton().solve(prob), PrimalNewton().solve(other)
    np.testing.assert_allclose(np.asarray(strict.M), ours.M, atol=1e-7)
    np.testing.assert_allclose(np.linalg.inv(ours.M), np.eye(3) + prob.rows.adjoint(ours.dual), atol=1e-8)


def test_primal_newton_begins_where_it_is_told(rng):
    X, y = points(n=40)
    prob = problem(X, constraints("pairs", X, y), LogDet(), Relative(0.8))
    first = PrimalNewton().solve(prob)
    again = PrimalNewton().solve(replace(prob, start=first.dual))
    assert again.n_iter < first.n_iter
    np.testing.assert_allclose(again.M, first.M, atol=1e-7)


def test_pairs_of_very_different_lengths_are_all_heard(rng):
    """The multiplier of a short pair that must be far grows by 2 a step, and holds up no other."""
    rows = Rows(rng.normal(size=(30, 4)) * np.logspace(0, -8, 30)[:, None], np.tile([[1.0], [-1.0]], (15, 1)))
    problem = Problem(rows, np.tile([1.0, -4.0], 15), np.eye(4), LogDet(), Relative(1.0))
    dual = DualAscent(tol=1e-8, max_iter=300).solve(problem)
    primal = PrimalNewton(tol=1e-10).solve(problem)
    assert dual.converged and primal.converged
    np.testing.assert_allclose(dual.M, primal.M, rtol=1e-4, atol=1e-6)
