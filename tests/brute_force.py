"""Nearest rows by all distances."""

import numpy as np
from scipy.spatial.distance import cdist


def brute(X, k, Q=None):
    D = cdist(X if Q is None else Q, X, "sqeuclidean")
    if Q is None:
        np.fill_diagonal(D, np.inf)
    ids = np.argsort(D, axis=1, kind="stable")[:, :k]
    return ids, np.take_along_axis(D, ids, 1)


def images(rng, n, d=200):
    """Rows whose spread falls off, so that a projection pays."""
    return rng.normal(size=(n, d)) * np.exp(-np.arange(d) / 12)


def agree(found, true, scale=1.0):
    assert np.array_equal(found[0], true[0])
    np.testing.assert_allclose(found[1], true[1], rtol=1e-12, atol=1e-13 * scale)
