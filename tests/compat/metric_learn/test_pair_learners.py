"""Learners of pairs under their names in metric-learn."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import gramian.compat.metric_learn as metric_learn


def test_scale_of_mmc_follows_its_start(pairs):
    T, _, signs = pairs
    V = (T[:, 0] - T[:, 1])[signs == 1]
    for start in (np.eye(4), 3 * np.eye(4)):
        M = metric_learn.MMC(init=start).fit(T, signs).get_mahalanobis_matrix()
        spread, before = (np.einsum("ij,jk,ik->", V, A, V) for A in (M, start))
        assert spread == pytest.approx(before / 100, rel=1e-4)


def test_sdml_warns_where_its_matrix_is_not_definite_and_solves_where_the_penalty_helps():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.3, 0.4]])
    pairs, signs = X[[[0, 1], [0, 2]]], [-1, 1]
    prior = np.linalg.inv([[1.2, -0.9], [-0.9, 1.2]])
    with pytest.warns(ConvergenceWarning, match="not positive semi-definite"):
        model = metric_learn.SDML(balance_param=0.9, sparsity_param=2.0, prior=prior).fit(pairs, signs)
    assert (np.linalg.eigvalsh(model.get_mahalanobis_matrix()) > 0).all()
    with pytest.warns(ConvergenceWarning), pytest.raises(RuntimeError, match="graphical lasso"):
        metric_learn.SDML(balance_param=10.0, sparsity_param=2.0, prior=prior).fit(pairs, signs)
