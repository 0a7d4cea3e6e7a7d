"""SDML against a conic solver, closed forms and the conditions of its optimum."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.datasets import load_iris

import gramian as gm
from gramian.learners.sdml import SparseInverse, pair_balance, sparse_inverse


def spd(rng, d):
    A = rng.normal(size=(d, 2 * d))
    return A @ A.T / (2 * d)


@pytest.mark.parametrize("lam", [0.01, 0.1, 0.5])
def test_it_reaches_the_conic_optimum(rng, lam):
    K = spd(rng, 5)
    found = sparse_inverse(K, lam, max_iter=200, tol=1e-9)
    M = cp.Variable((5, 5), PSD=True)
    off = cp.sum(cp.abs(cp.multiply(1 - np.eye(5), M)))
    cp.Problem(cp.Minimize(cp.trace(K @ M) - cp.log_det(M) + lam * off)).solve()
    problem = SparseInverse(K, lam)
    assert found.objective <= problem.primal(M.value) + 1e-6
    assert -1e-12 <= found.gap < 1e-6
    np.testing.assert_allclose(found.M, M.value, atol=1e-3)


def test_conditions_of_the_optimum_hold(rng):
    """K − M⁻¹ is −λ sign(M_ij) where M_ij ≠ 0, within λ where it is 0, and 0 on the diagonal."""
    K, lam = spd(rng, 12), 0.1
    M = sparse_inverse(K, lam, max_iter=500, tol=1e-10).M
    slope = np.linalg.inv(M) - K
    off = ~np.eye(12, dtype=bool)
    np.testing.assert_allclose(np.diag(slope), 0, atol=1e-4)
    assert np.abs(slope[off]).max() <= lam * (1 + 1e-3)
    np.testing.assert_allclose(slope[off & (M != 0)], lam * np.sign(M[off & (M != 0)]), atol=1e-3)
    assert (M[off] == 0).any()


def test_without_penalty_it_is_the_inverse(rng):
    K = spd(rng, 6)
    np.testing.assert_allclose(sparse_inverse(K, 1e-12, max_iter=50, tol=1e-6).M, np.linalg.inv(K), rtol=1e-6)


def test_a_large_penalty_leaves_the_diagonal(rng):
    K = spd(rng, 6)
    M = sparse_inverse(K, 10.0, max_iter=50, tol=1e-10).M
    np.testing.assert_allclose(M, np.diag(1 / np.diag(K)), atol=1e-6)


def test_the_largest_balance_makes_the_matrix_singular(rng):
    V, sign, prior = rng.normal(size=(50, 4)), np.where(rng.random(50) < 0.5, 1.0, -1.0), spd(rng, 4)
    P, most = pair_balance(V, sign, prior)
    assert np.linalg.eigvalsh(np.linalg.inv(prior) + most * P)[0] == pytest.approx(0, abs=1e-9)
    again = pair_balance(np.repeat(100 * V, 3, axis=0), np.repeat(sign, 3), prior / 1e4)
    assert again[1] == pytest.approx(most)


def test_a_balance_without_a_minimum_is_named():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match="SDML: balance must be below"):
        gm.SDML(balance=1e6, random_state=0).fit(X, y)


def test_far_pairs_stretch_the_metric(rng):
    X = rng.normal(size=(40, 3))
    left, right = np.arange(20), np.arange(20, 40)
    gap = np.abs(X[left] - X[right])
    similar = gap[:, 0] < np.median(gap[:, 0])
    M = gm.SDML().fit(X, gm.Pairs(left, right, similar)).metric_.matrix
    assert M[0, 0] > max(M[1, 1], M[2, 2])
