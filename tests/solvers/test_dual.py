"""The dual on any array library."""

import array_api_strict
import numpy as np
import pytest

from gramian.solvers import (
    DualAscent,
    Hard,
    Hinge,
    Problem,
    Relative,
    Rows,
)
from tests.solvers.problems import constraints, divergence, points, problem


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
