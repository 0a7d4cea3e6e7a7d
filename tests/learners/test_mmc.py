"""MMC: the conic optimum and its gradients."""

import cvxpy as cp
import numpy as np
import pytest

import gramian as gm
from gramian.learners.mmc import diagonal_objective, full_objective


@pytest.mark.parametrize("diagonal", [False, True])
def test_mmc_reaches_the_conic_optimum(iris, pairs, diagonal):
    X, _ = iris
    fitted = gm.MMC(diagonal=diagonal, tol=1e-7, anchor=0).fit(X, pairs)
    V = X[pairs.left] - X[pairs.right]
    near, far = V[pairs.similar], V[~pairs.similar]
    S = near.T @ near
    S += 1e-6 * np.trace(S) / 4 * np.eye(4)
    M = cp.diag(cp.Variable(4, nonneg=True)) if diagonal else cp.Variable((4, 4), PSD=True)
    goal = cp.sum(cp.hstack([cp.sqrt(cp.trace(np.outer(v, v) @ M)) for v in far]))
    best = cp.Problem(cp.Maximize(goal), [cp.trace(S @ M) <= 1]).solve(solver="CLARABEL")
    assert fitted.objective_ == pytest.approx(best, rel=1e-6)
    assert np.sum(S * fitted.metric_.matrix) == pytest.approx(1, rel=1e-8)
    assert 0 <= fitted.solution_.gap + 1e-9 <= 1e-6 * best + 2e-9


@pytest.mark.parametrize("objective, size", [(full_objective, 16), (diagonal_objective, 4)])
def test_mmc_gradients_by_finite_differences(objective, size, rng):
    W, x = np.abs(rng.normal(size=(9, 4))), rng.normal(size=size)
    value, grad = objective(x, W)
    h = 1e-6
    numeric = [(objective(x + h * e, W)[0] - objective(x - h * e, W)[0]) / (2 * h) for e in np.eye(x.size)]
    np.testing.assert_allclose(grad, numeric, atol=1e-6)
