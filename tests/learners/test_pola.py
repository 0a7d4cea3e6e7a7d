"""POLA: a Frobenius projection from zero, with or without a threshold."""

import cvxpy as cp
import numpy as np
import pytest

import gramian as gm


def test_pola_is_frobenius_from_zero(iris, pairs):
    X, _ = iris
    b = 3.0
    ours = gm.POLA(threshold=b, slack=0.5, tol=1e-8, anchor=0).fit(X, pairs)
    bounded = gm.Pairs(pairs.left, pairs.right, pairs.similar, bounds=(b - 1, b + 1))
    other = gm.Framework(gm.Frobenius(), prior="zero", slack=0.5, anchor=0, tol=1e-8).fit(X, bounded)
    apart = np.linalg.norm(ours.metric_.matrix - other.metric_.matrix)
    gaps = [one.solution_.gap for one in (ours, other)]
    assert apart <= sum(
        np.sqrt(2 * np.maximum(gaps, 1e-16))
    )  # ½‖M − M*‖² is at most what the objective is above its least
    assert max(gaps) < 1e-6 * other.objective_ and apart < 1e-5


def test_pola_learns_metric_and_threshold_jointly(iris, pairs):
    X, _ = iris
    fitted = gm.POLA(slack=0.5, tol=1e-9, anchor=0).fit(X, pairs)
    M, b = cp.Variable((4, 4), PSD=True), cp.Variable(nonneg=True)
    V = X[pairs.left] - X[pairs.right]
    d2 = cp.hstack([cp.quad_form(v, M) for v in V])
    loss = cp.sum(cp.pos(1 - cp.multiply(pairs.sign, b - d2)))
    best = cp.Problem(cp.Minimize(cp.sum_squares(M) / 2 + b**2 / 2 + 0.5 * loss)).solve(solver="CLARABEL")
    assert fitted.objective_ == pytest.approx(best, rel=1e-6)
    assert fitted.threshold_ == pytest.approx(b.value, rel=1e-4)
    np.testing.assert_allclose(fitted.metric_.matrix, M.value, atol=1e-4)
