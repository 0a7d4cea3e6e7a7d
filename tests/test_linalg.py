"""Squared distances keep their digits."""

import numpy as np
import pytest

from gramian import linalg


def by_differences(X, Y):
    return ((X[:, None] - Y[None]) ** 2).sum(-1)


@pytest.mark.parametrize("dtype, rtol", [(np.float64, 1e-4), (np.float32, 2e-2)])
def test_close_points_far_from_the_others_have_exact_distances(dtype, rtol):
    X = np.random.default_rng(0).normal(size=(30, 4))
    X = np.vstack([X, 1e4 + X, X[:3]]).astype(dtype)
    X[3] = X[4] + dtype(1e-3)
    np.testing.assert_allclose(linalg.sqdist(X), by_differences(X, X), rtol=rtol)
    np.testing.assert_allclose(linalg.sqdist(X, X[5:]), by_differences(X, X[5:]), rtol=rtol)


def test_a_copy_is_at_distance_zero():
    X = 1e3 * np.random.default_rng(1).normal(size=(40, 6)) + 1e6
    assert (np.diag(linalg.sqdist(X, X.copy())) == 0).all()
    assert (linalg.sqdist(np.vstack([X, X]))[:40, 40:].diagonal() == 0).all()
    assert (linalg.sqdist(np.ones((5, 2))) == 0).all() and (linalg.sqdist(np.zeros((5, 2))) == 0).all()
