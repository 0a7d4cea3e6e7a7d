"""Clicks as side information of batch learners."""

import numpy as np
import pytest

import gramian as gm


def test_feedback_becomes_pairs_with_a_bound_each(rng):
    X = rng.normal(size=(12, 3))
    clicks = gm.Feedback([0, 4], liked=[[1], [5, 6]], disliked=[[2], []], shown=[[1, 2, 3], [5, 6, 7]])
    pairs = clicks.pairs(X)
    D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    near = [D[0, 1:4].min(), D[0, 1:4].max(), D[4, 5:8].min(), D[4, 5:8].min()]
    assert pairs.left.tolist() == [0, 0, 4, 4] and pairs.right.tolist() == [1, 2, 5, 6]
    assert pairs.similar.tolist() == [True, False, True, True] and pairs.soft and len(clicks) == 4
    np.testing.assert_allclose(pairs.limit, near)


def test_batch_learners_take_clicks(rng, tmp_path):
    X = rng.normal(size=(80, 4))
    far = np.argsort(-np.abs(X[:, 0] - X[0, 0]))[:10]
    near = np.argsort(np.abs(X[:, 0] - X[0, 0]))[1:11]
    clicks = gm.Feedback(0, liked=near, disliked=far)
    for learner in (gm.ITML(anchor=0), gm.GMML(), gm.Framework()):
        M = learner.fit(X, clicks).metric_.matrix
        assert M[0, 0] > M.diagonal()[1:].max()
    clicks_path = tmp_path / "clicks.gram"
    clicks.save(clicks_path)
    assert gm.load(clicks_path).liked == clicks.liked


def test_lists_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match=r"Feedback: liked must have one list for each query \(2\), got 1"):
        gm.Feedback([0, 1], liked=[[1]], disliked=[[2], [3]])
    with pytest.raises(ValueError, match="Feedback: needs something liked or disliked"):
        gm.Feedback(0)
    with pytest.raises(ValueError, match="Feedback: the lists refer to point 9, but X has 3 points"):
        gm.Feedback(0, liked=[9]).pairs(np.eye(3))
