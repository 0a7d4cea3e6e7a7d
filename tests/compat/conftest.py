"""Fixtures that several tests of this room take."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import gramian.compat.metric_learn as metric_learn
from gramian.compat.metric_learn.constraints import wrap_pairs


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def pairs(iris):
    X, y = iris
    index = metric_learn.Constraints(y).positive_negative_pairs(60, random_state=0)
    T, signs = wrap_pairs(X, index)
    a, b, c, d = index
    return T, np.concatenate([np.column_stack([a, b]), np.column_stack([c, d])]), signs
