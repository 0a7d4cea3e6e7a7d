"""Step B over each set of kernels, against general solvers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.isotonic import isotonic_regression
from tests.manifold.problems import closer_moons, hide, logdet

import gramian as gm
from gramian.manifold import InductiveFamily
from gramian.manifold.kernel_sets import Ordered, Regularized, Widths

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*connected components", "ignore:.*held-out labels", "ignore::sklearn.exceptions.ConvergenceWarning"
)


def ordered(start):
    """(6.3) on coordinate vectors."""
    return Ordered(np.eye(len(start)), start, None, basis=None)


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=30))
def test_pooling_is_isotonic_regression(values):
    expected = isotonic_regression(np.array(values), increasing=False)
    found = ordered(np.ones(len(values))).nearest(np.diag(values), None)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_step_b_is_the_minimum_over_the_cone(rng):
    """(6.4) with K fixed, by a general solver, and by the cyclic projections of the thesis."""
    s = np.array([1.0, 3.0, 0.5, 0.9, 0.2, 0.4, 0.4, 0.1])
    alpha = ordered(np.ones(8)).nearest(np.diag(s), None)

    def fun(steps):
        beta = np.cumsum(steps)
        return s @ beta - np.log(beta).sum()

    found = minimize(fun, np.diff(1 / alpha, prepend=0) + 0.05, bounds=[(1e-9, None)] + [(0, None)] * 7, tol=1e-14)
    np.testing.assert_allclose(1 / np.cumsum(found.x), alpha, rtol=1e-3)
    assert fun(np.diff(1 / alpha, prepend=0)) <= found.fun + 1e-10
    cyclic, nu = s.copy(), np.zeros(7)
    for i in np.tile(np.arange(7), 3000):  # FindAlpha; the sign of c makes a violated pair meet halfway
        c = max(-nu[i], (cyclic[i + 1] - cyclic[i]) / 2)
        nu[i] += c
        cyclic[i + 1] -= c
        cyclic[i] += c
    np.testing.assert_allclose(cyclic, alpha, atol=1e-8)


def test_step_b_of_the_inductive_family(rng):
    Z, V = rng.normal(size=(12, 6)), np.linalg.qr(rng.normal(size=(12, 4)))[0]
    kernels = Regularized(Z, np.array([0.5, 1.0, 2.0, 4.0, 5.0]), V.T @ Z, False, None, basis=None)
    S, T = Z @ Z.T, V @ np.diag(kernels.start[:4]) @ V.T + 5.0 * (np.eye(12) - V @ V.T)
    np.testing.assert_allclose(
        Z @ kernels.core(kernels.start) @ Z.T, S - S @ np.linalg.inv(np.eye(12) + T @ S) @ T @ S, atol=1e-10
    )
    B = np.cov(rng.normal(size=(6, 30)))
    theta = kernels.nearest(B, kernels.start)
    best = logdet(B, kernels.core(theta))
    assert theta[0] >= 0 and (np.diff(theta) >= 0).all()
    for _ in range(200):
        trial = np.cumsum(np.maximum(np.diff(theta, prepend=0) + 0.1 * rng.normal(size=5), 0))
        assert logdet(B, kernels.core(trial)) >= best - 1e-6


def test_the_printed_order_of_the_inductive_family(rng):
    """(6.5) to the letter: θ falls, and nothing is said of rougher vectors."""
    Z, V = rng.normal(size=(12, 6)), np.linalg.qr(rng.normal(size=(12, 4)))[0]
    kernels = Regularized(Z, np.full(4, 2.0), V.T @ Z, True, None, basis=None)
    S, T = Z @ Z.T, 2.0 * V @ V.T
    np.testing.assert_allclose(
        Z @ kernels.core(kernels.start) @ Z.T, S - S @ np.linalg.inv(np.eye(12) + T @ S) @ T @ S, atol=1e-10
    )
    B = np.cov(rng.normal(size=(6, 30)))
    theta = kernels.nearest(B, kernels.start)
    best = logdet(B, kernels.core(theta))
    assert theta[-1] >= 0 and (np.diff(theta) <= 0).all()
    for _ in range(200):
        steps = np.maximum(np.diff(theta[::-1], prepend=0) + 0.1 * rng.normal(size=4), 0)
        assert logdet(B, kernels.core(np.cumsum(steps)[::-1])) >= best - 1e-6
    X, truth = closer_moons(60)
    printed = InductiveFamily(rank=20, n_eigenvectors=6, variant="as_printed")
    model = gm.GeometryAwareKernel(printed, 1.0, max_iter=3, random_state=0).fit(X, hide(truth, [1, 20, 40, 59]))
    assert model.alphas_.shape == (6,) and (np.diff(model.alphas_) <= 1e-12).all()


def test_step_b_of_the_rbf_family(rng):
    X = rng.normal(size=(10, 3))
    D = ((X[:, None] - X) ** 2).sum(-1)
    kernels = Widths(X, D, np.array([1.0, 1.0]))
    B = kernels.core(np.array([3.0, 1.7]))
    np.testing.assert_allclose(kernels.nearest(B, kernels.start), [3.0, 1.7], rtol=1e-3)


def test_inductive_family_keeps_rough_directions_down():
    """Without an end of the order the kernel S would be free wherever the graph's vectors are not."""
    X, truth = closer_moons(100)
    y = hide(truth, np.arange(3, 100, 6))
    inductive = InductiveFamily(gm.Gaussian(0.3), rank=40, n_eigenvectors=8)
    model = gm.GeometryAwareKernel(inductive, 1.0, max_iter=3).fit(X, y)
    V, Z = model.eigenvectors_, model.coordinates_
    assert model.alphas_.shape == (9,) and (np.diff(model.alphas_) >= -1e-12).all()

    def rough_share(theta):
        M = Z @ Regularized(Z, theta, V.T @ Z, False, None, basis=None).core(theta) @ Z.T
        return np.trace(M - V @ V.T @ M) / np.trace(M)

    assert rough_share(model.alphas_) < 0.5 * rough_share(np.append(model.alphas_[:-1], 0.0))
