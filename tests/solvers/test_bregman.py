"""Projections onto one constraint: closed forms."""

import numpy as np
import pytest

from gramian.divergences import LinearLogDet, LogDet
from gramian.solvers import (
    BregmanProjections,
    InfeasibleError,
    Relative,
)
from tests.solvers.problems import BOTH, constraints, one_pair, points, problem


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
def test_identical_points_cannot_be_apart(solver):
    with pytest.raises(InfeasibleError, match="identical points"):
        solver.solve(one_pair(np.zeros(2), -1, 1.0))


def test_bregman_names_what_is_missing():
    X, y = points()
    with pytest.raises(ValueError, match="LinearLogDet must be finite.*linear positive definite; use DualAscent"):
        BregmanProjections().solve(problem(X, constraints("pairs", X, y), LinearLogDet(np.zeros((3, 3)))))
    with pytest.raises(ValueError, match="rank at most two"):
        BregmanProjections().solve(problem(X, constraints("chunklets", X, y), LogDet()))
