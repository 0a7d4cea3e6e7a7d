"""Histogram kernels against scikit-learn and their definitions."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import chi2_kernel

import gramian as gm


@pytest.fixture
def histograms(rng):
    X = rng.exponential(size=(12, 6)) * (rng.random((12, 6)) < 0.7)
    X[3] = 0
    return X[:8], X[3:]


def test_chi_squared_is_scikit_learns_with_one_over_scale(histograms):
    X, Y = histograms
    np.testing.assert_allclose(gm.ChiSquared(4.0)(X, Y), chi2_kernel(X, Y, gamma=0.25), atol=1e-14)


def test_additive_chi_squared_is_the_sum_of_harmonic_means(histograms):
    X, Y = histograms
    x, y = X[:, None], Y[None]
    safe = np.where(x + y > 0, x + y, 1)
    np.testing.assert_allclose(gm.ChiSquared(None)(X, Y), (2 * x * y / safe).sum(-1), atol=1e-12)
    np.testing.assert_allclose(gm.ChiSquared(None).diag(X), X.sum(axis=1), atol=1e-12)


def test_intersection_is_the_sum_of_minima_dense_and_sparse(histograms):
    X, Y = histograms
    want = np.minimum(X[:, None], Y[None]).sum(-1)
    np.testing.assert_allclose(gm.Intersection()(X, Y), want, atol=1e-12)
    np.testing.assert_allclose(gm.Intersection()(sparse.csr_array(X), sparse.csr_array(Y)), want, atol=1e-12)


def test_domain_is_checked(histograms):
    X, _ = histograms
    for kernel in (gm.ChiSquared(), gm.Intersection()):
        with pytest.raises(ValueError, match="must be nonnegative"):
            kernel(X - 1)
    with pytest.raises(TypeError, match="must be dense"):
        gm.ChiSquared()(sparse.csr_array(X))
    with pytest.raises(ValueError, match="ChiSquared: scale"):
        gm.ChiSquared(0.0)


def test_frozen_histograms_are_taken(histograms):
    X = histograms[0].copy()
    want = gm.ChiSquared()(X)
    X.flags.writeable = False  # as a pandas frame gives them
    assert np.array_equal(gm.ChiSquared()(X), want)
