"""Shares of features, or of the points of a basis, in a squared distance, which they add up to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import gramian as gm
from gramian import coordinates
from gramian.metrics import Metric
from gramian.metrics import explain as shares


def metrics(rng):
    A = rng.normal(size=(5, 5))
    U = np.linalg.qr(rng.normal(size=(5, 2)))[0]
    M = A @ A.T
    yield gm.Mahalanobis.from_matrix(M), M
    subspace = gm.SubspaceMahalanobis(U, [[3.0, 1.0], [1.0, 2.0]], alpha=0.5)
    yield subspace, subspace.matrix


def kernel_metric(kernel, rng, alpha=0.5, n=12, d=4):
    X = rng.random((n, d)) + 0.1
    features = gm.KernelFeatures(kernel, rank=5).fit(X)
    A = rng.normal(size=(features.map_.shape[0],) * 2)
    return gm.KernelMetric(features, A @ A.T, alpha=alpha), X


@given(st.integers(0, 10**6))
def test_shares_are_those_of_the_matrix_and_sum_to_the_distance(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, 5))
    for metric, M in metrics(rng):
        found = metric.explain(x, y)
        np.testing.assert_allclose(found, (x - y) * (M @ (x - y)), atol=1e-9)
        assert found.sum() == pytest.approx(metric.sqdist([x], [y])[0, 0])


@given(st.integers(0, 10**6), st.integers(1, 4))
def test_the_way_between_points_gives_the_shares_of_a_matrix(seed, steps):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, 5))
    for metric, M in metrics(rng):
        found = shares.along_the_way(lambda P, metric=metric: metric.sqdist(P, [y])[:, 0], y, x, steps)
        np.testing.assert_allclose(found, (x - y) * (M @ (x - y)), atol=1e-9)


KERNELS = [gm.Linear(), gm.Gaussian(0.7), gm.Laplacian(0.7), gm.Polynomial(3), gm.Cosine(), gm.ChiSquared()]


@pytest.mark.parametrize("kernel", [*KERNELS, gm.Intersection()], ids=lambda k: type(k).__name__)
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_shares_of_a_kernel_sum_to_the_distance(kernel, alpha, rng):
    metric, X = kernel_metric(kernel, rng, alpha)
    x, y = X[7] + 0.05, X[11]
    expected = metric.sqdist([x], [y])[0, 0]
    assert metric.explain(x, y).sum() == pytest.approx(expected)
    found = metric.explain(x, y, by="basis")
    assert len(found) == len(metric.features.basis_) + 1
    assert found.sum() == pytest.approx(expected)
    apart = np.diff(metric.features.transform([x, y]), axis=0)
    whole = kernel.diag([x]) + kernel.diag([y]) - 2 * kernel([x], [y])[0]
    assert found[-1] == pytest.approx(alpha * (whole[0] - (apart**2).sum()))


def test_shares_of_a_smooth_kernel_are_the_integral_of_its_gradient(rng):
    metric, X = kernel_metric(gm.Gaussian(0.7), rng)
    x, y = X[0], X[1]
    nodes, weights = np.polynomial.legendre.leggauss(20)
    expected = np.zeros(4)
    for t, weight in zip((nodes + 1) / 2, weights / 2):
        p, h = y + t * (x - y), 1e-5
        ahead, back = (metric.sqdist(p + side * h * np.eye(4), [y])[:, 0] for side in (1, -1))
        expected += weight * (x - y) * (ahead - back) / (2 * h)
    np.testing.assert_allclose(metric.explain(x, y), expected, atol=0.02 * np.abs(expected).max())
    fine = shares.along_the_way(lambda P: metric.sqdist(P, [y])[:, 0], y, x, steps=200)
    np.testing.assert_allclose(fine, expected, atol=2e-4 * np.abs(expected).max())


def test_a_kernel_of_vectors_shares_as_its_vectors_do(rng):
    metric, X = kernel_metric(gm.Linear(), rng)
    M = metric.sqdist  # the matrix by polarization, from distances alone
    zero, axes = np.zeros((1, 4)), np.eye(4)
    W = np.array([[M([a + b], zero)[0, 0] - M([a - b], zero)[0, 0] for a in axes] for b in axes]) / 4
    v = X[0] - X[1]
    np.testing.assert_allclose(metric.explain(X[0], X[1]), v * (W @ v), atol=1e-9)


def test_a_feature_that_does_not_differ_has_no_share(rng):
    metric, X = kernel_metric(gm.Gaussian(0.7), rng)
    x = X[0].copy()
    x[2] += 1
    found = metric.explain(x, X[0])
    assert np.flatnonzero(found).tolist() == [2] and found[2] == pytest.approx(metric.sqdist([x], [X[0]])[0, 0])


def test_sparse_points_and_angles_are_explained(rng):
    X = sparse.random_array((30, 40), density=0.2, random_state=rng, format="csr")
    metric = gm.Kernelized(gm.RCA(), gm.Cosine(), rank=8).fit(X, np.arange(30) % 3).metric_
    x, y = X[[0]], X[[1]]
    assert metric.explain(x, y).sum() == pytest.approx(metric.sqdist(x, y)[0, 0])
    angles = Metric.of(coordinates.Angles(np.ones(3), rng.normal(size=(2, 3))), np.eye(2))
    x, y = rng.normal(size=(2, 3))
    assert angles.explain(x, y).sum() == pytest.approx(angles.sqdist([x], [y])[0, 0])


def test_names_come_with_the_largest_share_first():
    found = gm.Mahalanobis.from_matrix(np.diag([1.0, 9.0])).explain([0.0, 0.0], [2.0, 1.0], names=["a", "b"])
    assert list(found) == ["b", "a"] and list(found.values()) == pytest.approx([9.0, 4.0])


def test_strings_are_explained_by_the_strings_they_are_compared_with():
    words = ["gram", "grams", "metric", "metrics", "matrix", "kernel"]

    def alike(a, b):
        return float(len(set(a) & set(b)))

    metric = gm.Kernelized(gm.RCA(), alike).fit(words, [0, 0, 1, 1, 1, 2]).metric_
    with pytest.raises(TypeError, match='no vectors have no shares of features; give by="basis"'):
        metric.explain("gram", "metric")
    names = list(metric.features.basis_)
    found = metric.explain("gram", "metric", names=names, by="basis")
    assert set(found) == {*names, "rest"}
    assert sum(found.values()) == pytest.approx(metric.sqdist(["gram"], ["metric"])[0, 0])
    index = gm.ExactIndex(metric).add(words)
    assert index.explain("gram", 2, names=names, by="basis") == found


def test_what_cannot_be_explained_says_why(rng):
    metric, X = kernel_metric(gm.Gaussian(1.0), rng)
    with pytest.raises(ValueError, match="by must be one of 'features', 'basis', 'classes', got 'landmarks'"):
        metric.explain(X[0], X[1], by="landmarks")
    with pytest.raises(ValueError, match="names must be 5 names of points of the basis"):
        metric.explain(X[0], X[1], names=["one"], by="basis")
    with pytest.raises(TypeError, match="Mahalanobis: by='basis' needs a metric of a kernel"):
        gm.Mahalanobis.euclidean(4).explain(X[0], X[1], by="basis")
    with pytest.raises(ValueError, match="names must be 4 names of features"):
        gm.Mahalanobis.euclidean(4).explain(X[0], X[1], names=["one"])


def test_a_metric_that_knows_the_names_of_its_features_tells_them():
    metric = gm.Mahalanobis(np.diag([1.0, 3.0])).with_names(["width", "height"])
    x, y = [0.0, 0.0], [2.0, 1.0]
    assert metric.explain(x, y, names=True) == {"height": 9.0, "width": 4.0}
    assert metric.explain(x, y).tolist() == [4.0, 9.0]
    with pytest.raises(ValueError, match="Mahalanobis: names must be 2 names of features, got None"):
        gm.Mahalanobis(np.eye(2)).explain(x, y, names=True)
