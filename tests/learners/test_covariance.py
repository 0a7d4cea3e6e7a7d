"""The inverse covariance of all points."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

import gramian as gm


def test_covariance_is_the_inverse_covariance():
    X, _ = load_iris(return_X_y=True)
    np.testing.assert_allclose(gm.Covariance().fit(X).metric_.matrix, np.linalg.inv(np.cov(X.T)), rtol=1e-9)


def test_covariance_of_dependent_features_is_a_reflexive_generalized_inverse():
    X, _ = load_iris(return_X_y=True)
    X = np.hstack([X, X[:, :2] @ [[2.0], [3.0]], np.ones((len(X), 1))])
    M, C = gm.Covariance().fit(X).metric_.matrix, np.cov(X.T)
    np.testing.assert_allclose(C @ M @ C, C, atol=1e-9)
    np.testing.assert_allclose(M @ C @ M, M, atol=1e-9 * np.abs(M).max())
    plus = np.linalg.pinv(C)
    V = X[:60] - X[60:120]
    np.testing.assert_allclose(np.einsum("ij,jk,ik->i", V, M, V), np.einsum("ij,jk,ik->i", V, plus, V), rtol=1e-6)


@given(st.lists(st.floats(1e-3, 1e3), min_size=4, max_size=4))
def test_covariance_does_not_depend_on_units(units):
    X, _ = load_iris(return_X_y=True)
    a, b = gm.Covariance().fit(X), gm.Covariance().fit(X * units)
    np.testing.assert_allclose(a.metric_.sqdist(X), b.metric_.sqdist(X * units), rtol=1e-6, atol=1e-6)
