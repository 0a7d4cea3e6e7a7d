"""Divergences of a function of the spectrum."""

import numpy as np
import pytest
from scipy.optimize import brentq
from tests.solvers.problems import constraints, divergence, points, problem

import gramian as gm
from gramian.solvers import DualAscent, Hinge, Problem, Quadratic, Rows

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
