"""Sums, products and powers of kernels."""

import numpy as np
import pytest
from scipy import sparse

import gramian as gm


def test_powers_that_overflow_are_named():
    with pytest.raises(ValueError, match="Polynomial: degree must be lower for X of this size, got 4"):
        gm.Polynomial(4)(np.full((2, 2), 1e40))
    with pytest.raises(ValueError, match="align: kernel values must be below 1e150"):
        gm.align([gm.Linear()], np.array([[1e80], [2e80]]), [0, 1])


def test_vectors_of_a_sum_stand_side_by_side(rng):
    X, Y = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    kernel = 2 * gm.Linear() + gm.Cosine() + 3.0
    phi = kernel.embed(X)
    assert phi.shape == (5, 7)
    np.testing.assert_allclose(phi @ kernel.embed(Y).T, kernel(X, Y))
    S = sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0))
    phi = kernel.embed(S)
    assert sparse.issparse(phi)
    np.testing.assert_allclose((phi @ phi.T).toarray(), kernel(S))
    assert (gm.Linear() + gm.Gaussian()).embed(X) is None
