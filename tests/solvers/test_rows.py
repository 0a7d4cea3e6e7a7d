"""Constraint matrices that are never formed, against dense ones."""

import numpy as np
import pytest

from gramian.solvers.rows import PIECE, Stacked
from tests.solvers.problems import (
    CONSTRAINTS,
    constraint_rows,
    constraints,
    dense,
    divergence,
    points,
    problem,
)


@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_values_and_adjoint_agree_with_dense_matrices(kind, rng):
    X, y = points()
    prob = problem(X, constraints(kind, X, y), divergence("logdet", 3))
    A = dense(prob)
    B = rng.normal(size=(3, 3))
    M, lam = B @ B.T, rng.random(len(prob.bound))
    np.testing.assert_allclose(prob.values(M), np.einsum("mij,ij->m", A, M), atol=1e-10)
    np.testing.assert_allclose(prob.rows.adjoint(lam), np.einsum("m,mij->ij", lam, A), atol=1e-10)


@pytest.mark.parametrize("kind", ["pairs", "triplets", "products"])
@pytest.mark.parametrize("m", [1, 7, PIECE + 3])
def test_the_fused_product_is_the_sum_over_the_matrices(kind, m):
    rng = np.random.default_rng(m)
    rows, A = constraint_rows(m, 4, kind, rng)
    S = rng.normal(size=(4, 4))
    S = S + S.T
    expected = np.einsum("iab,icd,cd->ab", A, A, S)
    np.testing.assert_allclose(rows.normal(S), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    both = Stacked((rows, rows))
    np.testing.assert_allclose(both.normal(S), 2 * expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(both.moment(), 2 * rows.moment())
    assert len(both) == 2 * m


@pytest.mark.parametrize("kind", ["pairs", "triplets", "products"])
@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_constraints_without_a_multiplier_are_left_out_of_the_sum(kind, share):
    rng = np.random.default_rng(0)
    rows, A = constraint_rows(PIECE + 40, 3, kind, rng)
    lam = rng.uniform(size=len(rows)) * (rng.uniform(size=len(rows)) < share)
    expected = np.einsum("i,iab->ab", lam, A)
    np.testing.assert_allclose(rows.adjoint(lam), expected, rtol=0, atol=1e-12 * len(rows))
