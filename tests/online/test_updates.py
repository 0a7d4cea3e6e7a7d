"""Clicks: targets relative to the list on the screen, online and in batches."""

import numpy as np
import pytest

import gramian as gm


def test_clicks_are_bounds_at_the_ends_of_the_list(rng):
    X = rng.normal(size=(30, 4))
    clicks, one_by_one = gm.LEGO(eta=0.2), gm.LEGO(eta=0.2)
    for learner in (clicks, one_by_one):
        learner.learn_one(X[0], X[1], target=0.3)
    d = clicks.metric_.sqdist(X[:1], X[5:15])[0]
    clicks.feedback(X[0], liked=X[[8, 9]], disliked=X[[5]], shown=X[5:15])
    for row, target, kind in ((8, d.min(), "at_most"), (9, d.min(), "at_most"), (5, d.max(), "at_least")):
        one_by_one.learn_one(X[0], X[row], target, kind)
    np.testing.assert_allclose(clicks.metric_.matrix, one_by_one.metric_.matrix, rtol=1e-12)


def test_without_a_list_the_clicks_are_the_list(rng):
    X = rng.normal(size=(6, 3))
    one, two = gm.LEGO(eta=0.5), gm.LEGO(eta=0.5)
    one.feedback(X[0], liked=X[1:3], disliked=X[3:5])
    two.feedback(X[0], liked=X[1:3], disliked=X[3:5], shown=X[1:5])
    np.testing.assert_allclose(one.metric_.matrix, two.metric_.matrix, rtol=1e-12)
    assert one.n_seen_ == 4


def test_bad_clicks_are_one_sentence_and_change_nothing(rng):
    learner = gm.LEGO(eta=0.5).feedback(np.zeros(3), liked=rng.normal(size=(1, 3)), disliked=rng.normal(size=(2, 3)))
    before = learner.metric_.matrix
    with pytest.raises(ValueError, match="LEGO: feedback needs something liked or disliked"):
        learner.feedback(np.zeros(3))
    with pytest.raises(ValueError, match="LEGO: liked must have 3 features, got 2"):
        learner.feedback(np.zeros(3), liked=np.zeros((1, 2)))
    assert np.array_equal(learner.metric_.matrix, before)


@pytest.mark.parametrize("options", [{}, {"rank": 8}], ids=["dense", "rank"])
def test_a_person_who_clicks_is_understood(options):
    """A person to whom only the first two of eight columns matter; the gain is on queries that nobody clicked."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 8))
    kind = (X[:, 0] > 0) * 2 + (X[:, 1] > 0)
    learner = gm.LEGO(**options).start(8)
    for _ in range(60):
        query = rng.integers(300)
        shown = np.argsort(learner.metric_.sqdist(X[[query]], X)[0])[1:11]
        likes = kind[shown] == kind[query]
        learner.feedback(X[query], X[shown[likes]], X[shown[~likes]], shown=X[shown])

    def share(metric):
        near = np.argsort(metric.sqdist(X[300:], X), axis=1)[:, 1:11]
        return np.mean(kind[near] == kind[300:, None])

    assert share(learner.metric_) > share(gm.Mahalanobis.euclidean(8)) + 0.05


def test_an_index_takes_ids_or_points(rng):
    X = rng.normal(size=(100, 4))
    by_id, by_point = (gm.OnlineHashIndex(gm.LEGO(eta=0.3), n_bits=64, random_state=0).add(X) for _ in range(2))
    by_id.feedback(3, liked=[5, 6], disliked=[7], shown=[5, 6, 7, 8])
    by_point.feedback(X[3], liked=X[[5, 6]], disliked=X[[7]], shown=X[5:9])
    assert np.array_equal(by_id.metric_.matrix, by_point.metric_.matrix)
    assert not np.array_equal(by_id.metric_.matrix, np.eye(4))
    with pytest.raises(ValueError, match="OnlineHashIndex: liked must be in the index, got 500"):
        by_id.feedback(3, liked=[500])


@pytest.mark.parametrize("options", [{}, {"rank": 4}], ids=["dense", "rank"])
def test_clicks_that_mean_nothing_do_little_harm(options):
    """A person who clicks at random: the metric stays near where it began."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 8))
    learner = gm.LEGO(**options).start(8)
    for _ in range(100):
        query = rng.integers(300)
        shown = np.argsort(learner.metric_.sqdist(X[[query]], X)[0])[1:11]
        likes = rng.uniform(size=10) < 0.5
        learner.feedback(X[query], X[shown[likes]], X[shown[~likes]], shown=X[shown])
    before, after = (
        np.argsort(metric.sqdist(X), axis=1)[:, 1:11] for metric in (gm.Mahalanobis.euclidean(8), learner.metric_)
    )
    kept = np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(before, after)])
    assert kept > 0.6


def test_the_step_of_clicks_follows_the_first_list(rng):
    X = rng.normal(size=(20, 4))
    learner = gm.LEGO().feedback(X[0], liked=X[[3]], disliked=X[[5]], shown=X[1:11])
    farthest = max(np.sum((X[0] - x) ** 2) for x in X[1:11])
    assert learner.eta_ == pytest.approx(0.1 / farthest**2)
    assert gm.LEGO(eta=0.7).feedback(X[0], liked=X[[3]], shown=X[1:11]).eta_ == 0.7


@pytest.mark.parametrize("unit", [10.0, 0.1])
def test_no_step_of_clicks_is_larger_than_that_of_its_own_list(rng, unit):
    """A list of far points after one of near points: by another road, a step with η of the wider list from there."""
    X = rng.normal(size=(20, 4))
    learner = gm.LEGO().feedback(X[0], liked=X[[3]], disliked=X[[5]], shown=X[1:11])
    first, before = learner.eta_, learner.metric_
    Y = unit * X
    farthest = before.sqdist(Y[[0]], Y[11:])[0].max()
    eta = min(first, 0.1 / farthest**2)
    alone = gm.LEGO(eta=eta, prior=before.matrix).feedback(Y[0], liked=Y[[12]], disliked=Y[[15]], shown=Y[11:])
    learner.feedback(Y[0], liked=Y[[12]], disliked=Y[[15]], shown=Y[11:])
    np.testing.assert_allclose(learner.metric_.matrix, alone.metric_.matrix, rtol=1e-9)
    assert learner.eta_ == first, "pairs go on with the step of the stream"


def test_clicks_on_points_too_far_apart_are_one_sentence(rng):
    X = 1e100 * rng.normal(size=(5, 3))
    with pytest.raises(ValueError, match="LEGO: .*too large"):
        gm.LEGO().feedback(X[0], liked=X[[1]], disliked=X[[2]])
