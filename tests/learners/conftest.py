"""Fixtures that several tests of this room take."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import gramian as gm
from gramian.constraints import Labels
from gramian.learners import neighbor_targets as targets


@pytest.fixture
def problem(rng):
    X = rng.standard_normal((23, 5))
    codes = np.repeat([0, 1, 2, 3], [10, 8, 4, 1])
    return X, codes, rng.standard_normal((3, 5)) * 0.5, targets.same_class(X, Labels(codes, np.arange(4)), 2)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X[::3], y[::3]


@pytest.fixture(scope="module")
def pairs(iris):
    X, y = iris
    return gm.Pairs.from_labels(y, 60, random_state=0, X=X)
