"""Partially labeled data: points without a label are left out, whatever stands for it."""

import numpy as np
import pytest

import gramian as gm

LEARNERS = [gm.RCA, gm.ITML, gm.NCA, gm.LMNN, gm.PLDA, gm.Contrastive, gm.DNE, gm.AutoMetric]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("unknown", [-1, np.nan, None, "?"], ids=str)
def test_points_without_a_label_change_nothing(learner, unknown, rng):
    X, y = rng.normal(size=(60, 4)) * [1, 2, 3, 4], np.arange(60) % 3
    X[:, 0] += 3 * y
    options = {"random_state": 0, **({"candidates": ["RCA"]} if learner is gm.AutoMetric else {})}
    alone = learner(**options).fit(X, y).metric_
    extra = np.vstack([X[:20], rng.normal(size=(7, 4)) * 100, X[20:]])
    kind = {type(None): object, str: object, float: float}.get(type(unknown), int)
    labels = np.concatenate([y[:20].astype(kind), np.full(7, unknown, dtype=kind), y[20:].astype(kind)])
    if unknown == "?":
        labels = np.array([str(label) for label in labels])
    partly = learner(**options).fit(extra, labels, unknown=unknown).metric_
    assert np.array_equal(partly.matrix, alone.matrix)


def test_nothing_labeled_is_one_sentence(rng):
    with pytest.raises(ValueError, match="RCA: needs at least two labeled points, got 0"):
        gm.RCA().fit(rng.normal(size=(5, 2)), [-1] * 5, unknown=-1)
