"""PLDA: the likelihood ratio of two covariances, and what shrinking does."""

import numpy as np

import gramian as gm
from tests.learners.problems import labeled_points


def test_plda_is_the_likelihood_ratio_of_two_covariances(rng):
    from scipy.stats import multivariate_normal

    X, y = labeled_points(300, 3)
    metric = gm.PLDA(0.0, 0.0, anchor=0).fit(X, y).metric_
    groups = [X[y == c] for c in range(4)]
    W = sum((len(g) - 1) * np.cov(g.T) for g in groups) / (300 - 4)
    B = np.cov(np.stack([g.mean(axis=0) for g in groups]).T)
    V = rng.normal(size=(50, 3))
    ratio = multivariate_normal(cov=2 * W).logpdf(V) - multivariate_normal(cov=2 * (W + B)).logpdf(V)
    d = metric.sqdist(V, np.zeros((1, 3)))[:, 0]
    np.testing.assert_allclose(ratio - ratio[0], -(d - d[0]) / 4, rtol=1e-6, atol=1e-8)


def test_plda_shrunk_all_the_way_is_a_multiple_of_the_features():
    X, y = labeled_points()
    M = gm.PLDA(1.0, 1.0, anchor=0).fit(X, y).metric_.matrix
    np.testing.assert_allclose(M, M[0, 0] * np.eye(4), atol=1e-10)
