"""Every solver against a conic program, and what all of them report."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import gramian as gm
from gramian.divergences import Frobenius, LogDet, VonNeumann
from gramian.solvers import (
    BregmanProjections,
    DualAscent,
    Hard,
    Hinge,
    InfeasibleError,
    InteriorPoint,
    PrimalNewton,
    Problem,
    Quadratic,
    Relative,
    Rows,
)
from tests.solvers.problems import (
    BOTH,
    CONSTRAINTS,
    DIVERGENCES,
    constraints,
    divergence,
    exact,
    one_pair,
    points,
    problem,
)

SLACKS = [Hard(), Hinge(0.3), Quadratic(0.5), Relative(0.8)]


def _solutions(prob):
    for solver in (DualAscent(), BregmanProjections(), PrimalNewton(), InteriorPoint()):
        try:
            solver.check(prob)
        except (TypeError, ValueError):
            continue
        yield solver.solve(prob)


@pytest.mark.parametrize("slack", SLACKS, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("kind", CONSTRAINTS)
@pytest.mark.parametrize("name", DIVERGENCES)
def test_agrees_with_the_conic_solver(name, kind, slack):
    if isinstance(slack, Relative) and kind == "probabilities":
        pytest.skip("relative slack is not defined for bounds of zero")
    X, y = points()
    prob = problem(X, constraints(kind, X, y), divergence(name, X.shape[1]), slack)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best, _ = exact(prob)
    for solution in _solutions(prob):
        assert solution.converged
        assert solution.objective == pytest.approx(best, rel=1e-6, abs=1e-6)
        assert abs(solution.gap) <= 1e-6 * (1 + abs(best))
        assert np.linalg.eigvalsh(solution.M)[0] >= -1e-10
        if slack.hard:
            assert solution.violation <= 1e-6
        assert (solution.dual >= 0).all()


@pytest.mark.parametrize("slack", SLACKS, ids=lambda s: type(s).__name__)
def test_an_offset_is_the_same_as_a_shifted_value(slack):
    """A fixed extra coordinate gives the same optimum as its contribution given as an offset."""
    X, y = points()
    cons = constraints("pairs", X, y)
    extra = np.linspace(0, 0.4, len(X))[:, None]
    terms = cons.terms(len(X))
    shift = (terms.weight * ((terms.left @ extra) ** 2)).sum(axis=1)
    prob = replace(problem(X, cons, divergence("logdet", 3), slack), offset=shift)
    one, two, *_ = _solutions(prob)
    assert one.objective == pytest.approx(two.objective, rel=1e-6)
    np.testing.assert_allclose(one.M, two.M, atol=1e-4)
    np.testing.assert_allclose(prob.values(one.M) - shift, problem(X, cons, divergence("logdet", 3)).values(one.M))


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


def test_several_kinds_may_leave_their_bounds_to_the_data(rng):
    X, y = points(n=40)
    mixed = gm.Pairs.from_labels(y, 30, random_state=0) + gm.Triplets.from_labels(y, 30, random_state=0)
    learned = gm.Framework(anchor=0).fit(X, mixed).metric_
    scaled = gm.Framework(prior=np.eye(3) / 49, anchor=0).fit(7 * X, mixed).metric_
    np.testing.assert_allclose(scaled.matrix, learned.matrix / 49, atol=1e-5 * np.abs(learned.matrix).max() / 49)


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
def test_far_bounds_are_feasible_not_infeasible(solver):
    solution = solver.solve(one_pair([1.0, 0.0], -1, 1e7))
    assert solution.converged
    assert solution.M[0, 0] == pytest.approx(1e7, rel=1e-6)


def test_non_convergence_is_reported():
    X, y = points()
    solution = DualAscent(max_iter=2).solve(problem(X, constraints("pairs", X, y), LogDet()))
    assert not solution.converged
    assert solution.residual > solution.tol
