"""MCML: the conic optimum and its conditions."""

import cvxpy as cp
import numpy as np
import pytest

import gramian as gm
from gramian import linalg
from gramian.learners.mcml import mcml_loss
from tests.learners.problems import classes_apart, outer_products


def test_mcml_reaches_the_conic_optimum(rng):
    X, y = classes_apart(rng, n=15)
    mcml = gm.MCML(tol=1e-8, anchor=0).fit(X, y)
    M, value = cp.Variable((3, 3), PSD=True), 0
    for i in range(len(X)):
        others = np.delete(np.arange(len(X)), i)
        d = outer_products(X, np.full(len(others), i), others) @ cp.vec(M, order="C")
        same = y[others] == y[i]
        value += d @ (same / same.sum()) + cp.log_sum_exp(-d) - np.log(same.sum())
    best = cp.Problem(cp.Minimize(value)).solve(solver=cp.CLARABEL)
    assert mcml.objective_ == pytest.approx(best, rel=1e-6)
    np.testing.assert_allclose(mcml.metric_.matrix, M.value, atol=1e-3 * np.abs(M.value).max())


def test_mcml_satisfies_the_conditions_of_the_convex_problem(rng):
    """The gradient G = Σ (p0 − p) v vᵀ on M is positive semi-definite and orthogonal to M."""
    X, y = classes_apart(rng, n=40, d=4)
    mcml = gm.MCML(tol=1e-7, anchor=0).fit(X, y)
    D = mcml.metric_.sqdist(X)
    P = np.exp(-D) * (1 - np.eye(40))
    P /= P.sum(axis=1, keepdims=True)
    same = (y[:, None] == y) & ~np.eye(40, dtype=bool)
    G = linalg.scatter(X, same / same.sum(axis=1, keepdims=True) - P)
    np.testing.assert_allclose(2 * mcml.components_ @ G, mcml_loss(mcml.components_, X, y)[1], atol=1e-8)
    scale = np.linalg.norm(linalg.scatter(X, P))
    assert np.linalg.eigvalsh(G)[0] >= -1e-5 * scale
    assert abs((G * mcml.metric_.matrix).sum()) <= 1e-5 * len(X)
