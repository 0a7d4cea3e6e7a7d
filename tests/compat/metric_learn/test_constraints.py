"""Constraints drawn as in metric-learn."""

import numpy as np

import gramian.compat.metric_learn as metric_learn


def test_negative_labels_are_unknown(iris):
    X, y = iris
    y = np.where(np.arange(len(y)) % 2 == 0, y, -1)
    constraints = metric_learn.Constraints(y)
    chunks = constraints.chunks(10, 3, random_state=0)
    assert (chunks[y < 0] == -1).all() and len(np.unique(chunks)) == 11
    assert (y[np.concatenate(constraints.positive_negative_pairs(50, random_state=0))] >= 0).all()
    assert (y[constraints.generate_knntriplets(X, 2, 2)] >= 0).all()
