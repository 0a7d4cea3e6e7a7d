"""Shares of features in a squared distance, which they add up to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gramian as gm


def metrics(rng):
    A = rng.normal(size=(5, 5))
    U = np.linalg.qr(rng.normal(size=(5, 2)))[0]
    M = A @ A.T
    yield gm.Mahalanobis.from_matrix(M), M
    subspace = gm.SubspaceMahalanobis(U, [[3.0, 1.0], [1.0, 2.0]], alpha=0.5)
    yield subspace, subspace.matrix


@given(st.integers(0, 10**6))
def test_shares_are_those_of_the_matrix_and_sum_to_the_distance(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, 5))
    for metric, M in metrics(rng):
        shares = metric.explain(x, y)
        np.testing.assert_allclose(shares, (x - y) * (M @ (x - y)), atol=1e-9)
        assert shares.sum() == pytest.approx(metric.sqdist([x], [y])[0, 0])


def test_names_come_with_the_largest_share_first():
    shares = gm.Mahalanobis.from_matrix(np.diag([1.0, 9.0])).explain([0.0, 0.0], [2.0, 1.0], names=["a", "b"])
    assert list(shares) == ["b", "a"] and list(shares.values()) == pytest.approx([9.0, 4.0])


def test_a_kernel_metric_says_why_not(rng):
    X = rng.normal(size=(6, 2))
    metric = gm.KernelMetric(gm.KernelFeatures(gm.Gaussian(1.0)).fit(X), np.eye(6))
    with pytest.raises(TypeError, match="KernelMetric: explain needs a metric on features"):
        metric.explain(X[0], X[1])
    with pytest.raises(ValueError, match="names must be 2 names"):
        gm.Mahalanobis.euclidean(2).explain(X[0], X[1], names=["one"])
