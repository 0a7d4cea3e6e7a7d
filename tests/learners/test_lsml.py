"""LSML: the conic optimum, its conditions and its gap."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.datasets import load_iris

import gramian as gm
from gramian.learners.lsml import Residuals, lsml


def quadruplets(rng, n=30, d=3, m=40):
    """Comparisons that the identity violates about half of the time."""
    X = rng.normal(size=(n, d)) * np.linspace(0.3, 2, d)
    i, j, k, l = rng.integers(n, size=(4, m))
    real = (i != j) & (k != l)
    return X, gm.Quadruplets(i[real], j[real], k[real], l[real])


def lsml_value(M, X, side, weight):
    a, b = (np.sqrt(gm.Mahalanobis.from_matrix(M).pair_sqdist(X[i], X[j])) for i, j in (side.near_ends, side.far_ends))
    return np.trace(M) - np.linalg.slogdet(M)[1] - len(M) + weight * np.mean(np.maximum(a - b, 0) ** 2)


def conic_lsml(X, side, weight):
    """The optimum by a conic solver: [√p − √q]₊² is the least p + t − 2√(pt) over t ≤ q."""
    d = X.shape[1]
    M, t = cp.Variable((d, d), PSD=True), cp.Variable(len(side), nonneg=True)
    near, far = (X[i] - X[j] for i, j in (side.near_ends, side.far_ends))
    p = [cp.sum(cp.multiply(np.outer(v, v), M)) for v in near]
    q = [cp.sum(cp.multiply(np.outer(v, v), M)) for v in far]
    residuals = [a + b - 2 * cp.geo_mean(cp.hstack([a, b])) for a, b in zip(p, t)]
    objective = cp.trace(M) - cp.log_det(M) - d + weight * sum(residuals) / len(side)
    cp.Problem(cp.Minimize(objective), [t <= cp.hstack(q)]).solve()
    return M.value


def test_lsml_reaches_the_conic_optimum(rng):
    X, side = quadruplets(rng)
    found = gm.LSML(weight=5.0, anchor=0, tol=1e-8).fit(X, side)
    M = conic_lsml(X, side, 5.0)
    assert found.objective_ == pytest.approx(lsml_value(found.metric_.matrix, X, side, 5.0), rel=1e-9)
    assert found.objective_ <= lsml_value(M, X, side, 5.0) + 1e-6
    np.testing.assert_allclose(found.metric_.matrix, M, atol=1e-3)


def test_lsml_satisfies_its_optimality_condition(rng):
    """M⁻¹ = M₀⁻¹ + the gradient of the residuals."""
    X, side = quadruplets(rng)
    M0 = np.diag([1.0, 2.0, 0.5])
    M = gm.LSML(weight=5.0, anchor=0, prior=M0, tol=1e-12).fit(X, side).metric_.matrix
    slope = np.zeros((3, 3))
    for i, j, k, l in zip(*side.near_ends, *side.far_ends):
        v, w = X[i] - X[j], X[k] - X[l]
        a, b = np.sqrt(v @ M @ v), np.sqrt(w @ M @ w)
        if a > b:
            slope += 5 / len(side) * ((1 - b / a) * np.outer(v, v) + (1 - a / b) * np.outer(w, w))
    np.testing.assert_allclose(np.linalg.inv(M), np.linalg.inv(M0) + slope, atol=1e-6)


def test_gradient_of_lsml_is_that_of_finite_differences(rng):
    X, side = quadruplets(rng)
    pairs = np.stack([X[i] - X[j] for i, j in (side.near_ends, side.far_ends)])
    problem = Residuals(pairs, rng.random(len(side)), np.diag([1.0, 3.0, 0.2]))
    F = np.eye(3) + 0.3 * rng.normal(size=(3, 3))
    value, slope = (lambda x, place=place: problem(x.reshape(3, 3))[place] for place in (0, 1))
    assert check_grad(value, lambda x: slope(x).ravel(), F.ravel()) < 1e-4


@pytest.mark.parametrize("steps", [1, 5, 8])
def test_the_gap_of_lsml_bounds_the_distance_from_the_optimum(rng, steps):
    X, side = quadruplets(rng)
    pairs = np.stack([X[i] - X[j] for i, j in (side.near_ends, side.far_ends)])
    problem = Residuals(pairs, np.full(len(side), 0.2), np.eye(3))
    best = lsml(problem, max_iter=1000, tol=1e-12).objective
    early = lsml(problem, max_iter=steps, tol=0.0)
    assert 0 <= early.objective - best <= early.gap + 1e-12


def test_lsml_by_default_does_not_depend_on_units(rng):
    X, side = quadruplets(rng)
    first = gm.LSML(prior="covariance", anchor=0, tol=1e-9).fit(X, side).metric_.matrix
    again = gm.LSML(prior="covariance", anchor=0, tol=1e-9).fit(100 * X, side).metric_.matrix
    np.testing.assert_allclose(1e4 * again, first, rtol=1e-4, atol=1e-6)


def test_weights_of_lsml_count_as_copies(rng):
    X, side = quadruplets(rng, m=20)
    rows = np.r_[np.arange(len(side)), np.arange(5), np.arange(5)]
    weight = np.where(np.arange(len(side)) < 5, 3.0, 1.0)
    heavy = gm.Quadruplets(*side.near_ends, *side.far_ends, weight=weight)
    a, b = (gm.LSML(weight=5.0, anchor=0, tol=1e-9).fit(X, s).metric_.matrix for s in (heavy, side[rows]))
    np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.parametrize(
    "learner", [gm.LSML(random_state=0), gm.SCML(random_state=0)], ids=lambda est: type(est).__name__
)
def test_triplets_are_quadruplets_that_share_an_end(rng, learner):
    X, y = load_iris(return_X_y=True)
    t = gm.Triplets.from_labels(y, 200, random_state=0)
    a = learner.fit(X, t).metric_.matrix
    b = learner.fit(X, gm.Quadruplets(t.anchor, t.near, t.anchor, t.far)).metric_.matrix
    np.testing.assert_allclose(a, b)
