"""Learners of labels and targets under their names in metric-learn."""

import numpy as np
from sklearn.datasets import load_diabetes

import gramian as gm
import gramian.compat.metric_learn as metric_learn


def test_lmnn_weighs_pull_and_push(iris):
    X, y = iris
    theirs = metric_learn.LMNN(regularization=0.2, init="identity").fit(X, y)
    ours = gm.LMNN(push=4.0, anchor=0, init="identity").fit(X, y)
    np.testing.assert_allclose(theirs.get_mahalanobis_matrix(), ours.metric_.matrix)


def test_mlkr_takes_real_targets():
    X, y = load_diabetes(return_X_y=True)
    fitted = metric_learn.MLKR(n_components=2, max_iter=20).fit(X[:100], y[:100])
    assert fitted.transform(X).shape == (442, 2)
