"""Priors and starts by name."""

import numpy as np
import pytest
from numpy.linalg import LinAlgError
from sklearn.datasets import make_spd_matrix

import gramian.compat.metric_learn as metric_learn
from gramian.compat.metric_learn.exceptions import NonPSDError


@pytest.mark.parametrize("cls", [metric_learn.ITML_Supervised, metric_learn.LSML_Supervised])
def test_priors_that_cannot_serve_are_named(cls, iris):
    X, y = iris
    with pytest.raises(LinAlgError, match="You should provide a strictly positive definite matrix as `prior`"):
        cls(prior=np.diag([1.0, 1.0, 1.0, 0.0])).fit(X, y)
    with pytest.raises(NonPSDError, match="not positive semidefinite"):
        cls(prior=np.diag([1.0, 1.0, 1.0, -1.0])).fit(X, y)
    with pytest.raises(LinAlgError, match="Unable to get a true inverse"):
        cls(prior="covariance").fit(np.hstack([X, X[:, :1]]), y)
    cls(prior=make_spd_matrix(4, random_state=0)).fit(X, y)
