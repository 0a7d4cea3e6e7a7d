"""Fixtures that several tests of this room take."""

import pytest
from sklearn.datasets import load_iris


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X[::3], y[::3]
