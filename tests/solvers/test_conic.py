"""Every divergence × constraint type × slack × solver that accepts it, against an exact conic solver."""

import warnings

import numpy as np
import pytest

from gramian.solvers import (
    BregmanProjections,
    DualAscent,
    Hard,
    Hinge,
    InteriorPoint,
    PrimalNewton,
    Quadratic,
    Relative,
)
from tests.solvers.problems import CONSTRAINTS, DIVERGENCES, constraints, dense, divergence, exact, points, problem

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


@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_values_and_adjoint_agree_with_dense_matrices(kind, rng):
    X, y = points()
    prob = problem(X, constraints(kind, X, y), divergence("logdet", 3))
    A = dense(prob)
    B = rng.normal(size=(3, 3))
    M, lam = B @ B.T, rng.random(len(prob.bound))
    np.testing.assert_allclose(prob.values(M), np.einsum("mij,ij->m", A, M), atol=1e-10)
    np.testing.assert_allclose(prob.rows.adjoint(lam), np.einsum("m,mij->ij", lam, A), atol=1e-10)


@pytest.mark.parametrize("slack", SLACKS, ids=lambda s: type(s).__name__)
def test_an_offset_is_the_same_as_a_shifted_value(slack):
    """A fixed extra coordinate gives the same optimum as its contribution given as an offset."""
    from dataclasses import replace

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
