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


def test_counts_in_unary_are_the_vectors_of_the_intersection(rng):
    counts = rng.integers(0, 5, size=(9, 4))
    kernel = gm.Intersection(levels=4)
    phi = kernel.embed(counts)
    written = [[[1.0] * c + [0.0] * (4 - c) for c in row] for row in counts]  # one count after the other
    np.testing.assert_array_equal(phi.toarray(), np.array(written).reshape(9, 16))
    np.testing.assert_allclose((phi @ phi.T).toarray(), np.minimum(counts[:, None], counts[None]).sum(-1))
    np.testing.assert_array_equal(kernel.embed(sparse.csr_array(counts.astype(float))).toarray(), phi.toarray())
    np.testing.assert_allclose(kernel(counts), gm.Intersection()(counts))
    assert gm.Intersection().embed(counts) is None


@pytest.mark.parametrize("bad, shown", [(2.5, "2.5"), (7.0, "7")])
def test_levels_take_counts_only(bad, shown):
    for X in (np.array([[1.0, bad]]), sparse.csr_array(np.array([[1.0, bad]]))):
        with pytest.raises(ValueError, match=f"Intersection: X must be counts up to levels=4, got {shown};"):
            gm.Intersection(levels=4)(X)
    with pytest.raises(ValueError, match="Intersection: levels"):
        gm.Intersection(levels=0)


def test_a_learned_intersection_is_searched_through_its_vectors(rng):
    """Sparse vectors in place of a kernel: the same metric, explicit and implicit (Jain 2009, Theorem 5)."""
    counts = rng.integers(0, 4, size=(30, 6)).astype(float)
    y = np.arange(30) % 2
    kernel = gm.Intersection(levels=3)
    learner = gm.Framework(slack=1.0, tol=1e-10, anchor=0)
    pairs = gm.Pairs.from_labels(y, 20, random_state=0).with_bounds(counts)
    implicit = gm.Kernelized(learner, kernel).fit(counts, pairs).metric_
    explicit = learner.fit(kernel.embed(counts).toarray(), pairs).metric_
    np.testing.assert_allclose(
        implicit.sqdist(counts), explicit.sqdist(kernel.embed(counts).toarray()), rtol=1e-4, atol=1e-6
    )


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
