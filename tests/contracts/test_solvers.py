"""What every public solver promises; each one enrolls by being in the table of contents."""

import inspect
from dataclasses import replace

import numpy as np
import pytest

import gramian as gm
from gramian.solvers import Hard, Hinge, Relative, Solution, Solver
from tests.solvers.problems import constraints, points, problem

SOLVERS = [
    value
    for value in (getattr(gm, name) for name in gm._registry.HOME)
    if inspect.isclass(value) and issubclass(value, Solver)
]
EACH = pytest.mark.parametrize("cls", SOLVERS, ids=lambda c: c.__name__)


@pytest.fixture
def prob():
    X, y = points()
    return problem(X, constraints("pairs", X, y), gm.LogDet())


def test_both_are_enrolled():
    assert {c.__name__ for c in SOLVERS} == {"BregmanProjections", "DualAscent"}


@EACH
def test_solving_is_pure(cls, prob):
    before = [a.copy() for a in (prob.rows.left, prob.rows.weight, prob.bound, prob.prior)]
    first, again = cls().solve(prob), cls().solve(prob)
    for old, new in zip(before, (prob.rows.left, prob.rows.weight, prob.bound, prob.prior)):
        np.testing.assert_array_equal(old, new)
    np.testing.assert_array_equal(first.M, again.M)


@EACH
def test_the_solution_reports_what_it_reached(cls, prob):
    solution = cls().solve(prob)
    assert isinstance(solution, Solution) and solution.converged and solution.residual <= solution.tol
    values = prob.values(solution.M)
    assert solution.objective == pytest.approx(prob.objective(solution.M), rel=1e-9)
    assert solution.violation == pytest.approx(max(0.0, float((values - prob.bound).max())), abs=1e-12)
    # Stationarity and complementary slackness, computed here from the answer alone.
    np.testing.assert_allclose(np.linalg.inv(solution.M), np.eye(3) + prob.rows.adjoint(solution.dual), atol=1e-6)
    assert np.abs(solution.dual * (values - prob.bound)).max() < 1e-5


@EACH
def test_a_cut_short_run_says_so(cls, prob):
    solution = cls(max_iter=1, tol=0.0).solve(prob)
    assert not solution.converged and solution.n_iter == 1


@EACH
def test_the_callback_hears_the_residual(cls, prob):
    heard = []
    cls().solve(prob, callback=lambda n, value, residual: heard.append((n, residual)))
    assert heard and heard[-1][1] <= cls().tol


@EACH
@pytest.mark.parametrize("slack", [Hard(), Hinge(0.5), Relative(2.0)], ids=lambda s: type(s).__name__)
def test_a_start_nearby_saves_steps_and_leads_to_the_same_place(cls, slack):
    """Multipliers of one prior are where the solver begins with another; an impossible start does no harm."""
    X, y = points()
    solver = cls(tol=1e-11)
    pairs = constraints("pairs", X, y)
    first = solver.solve(problem(X, pairs, gm.LogDet(), slack))
    cold = problem(X, pairs, gm.LogDet(), slack, prior=np.diag([1.0, 0.99, 1.02]))
    expected = solver.solve(cold)
    warm = solver.solve(replace(cold, start=first.dual))
    np.testing.assert_allclose(warm.M, expected.M, atol=1e-5)
    assert warm.n_iter <= expected.n_iter and solver.solve(replace(cold, start=expected.dual)).n_iter < expected.n_iter
    np.testing.assert_allclose(solver.solve(replace(cold, start=1e3 + first.dual)).M, expected.M, atol=1e-5)
