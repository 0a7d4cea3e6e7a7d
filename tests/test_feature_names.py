"""Metrics remember the columns they were learned on, and indexes take learners."""

import pickle

import numpy as np
import pytest

import gramian as gm

pandas = pytest.importorskip("pandas")


@pytest.fixture
def frame():
    X, y = gm.datasets.load("iris", return_X_y=True)
    return pandas.DataFrame(X, columns=list("abcd")), y


@pytest.mark.parametrize("learner", [gm.RCA(), gm.AutoMetric(candidates=["RCA"]), gm.Kernelized(gm.RCA(), rank=10)])
def test_a_reordered_frame_is_refused(learner, frame):
    X, y = frame
    metric = learner.fit(X, y).metric_
    assert metric.feature_names == ("a", "b", "c", "d")
    np.testing.assert_array_equal(metric.sqdist(X), metric.sqdist(X.to_numpy()))
    for wrong, reason in ((X[list("badc")], "has them in another order"), (X.rename(columns={"a": "z"}), "lacks")):
        for ask in (metric.sqdist, metric.transform, lambda W: metric.sqdist(X, W)):
            with pytest.raises(ValueError, match=reason):
                ask(wrong)
    with pytest.raises(ValueError, match="ExactIndex: X must have the columns"):
        gm.ExactIndex(metric).add(X[list("badc")])


def test_names_survive_files_and_pickle_and_are_forgotten_by_arrays(frame, tmp_path):
    X, y = frame
    learner = gm.RCA().fit(X, y)
    learner.metric_.save(tmp_path / "m.gram")
    assert gm.load(tmp_path / "m.gram").feature_names == pickle.loads(pickle.dumps(learner.metric_)).feature_names
    assert learner.fit(X.to_numpy(), y).metric_.feature_names is None
    named = learner.metric_.with_names(list("wxyz"))
    assert named.feature_names == ("w", "x", "y", "z") and named.with_names(None).feature_names is None
    with pytest.raises(ValueError, match="feature_names must be 4 names, got 2"):
        learner.metric_.with_names(["a", "b"])


def test_a_row_of_a_frame_is_explained_by_its_own_names(frame):
    X, y = frame
    metric = gm.RCA().fit(X, y).metric_
    shares = metric.explain(X.iloc[0], X.iloc[100], names=metric.feature_names)
    assert sum(shares.values()) == pytest.approx(metric.sqdist(X[:1], X[100:101])[0, 0])
    with pytest.raises(ValueError, match="y must have the columns"):
        metric.explain(X.iloc[0], X[list("badc")].iloc[100])


def test_indexes_take_a_fitted_learner(frame):
    X, y = frame
    learner = gm.RCA().fit(X, y)
    by_learner, by_metric = (gm.ExactIndex(one).add(X).query(X[:9], k=5)[0] for one in (learner, learner.metric_))
    np.testing.assert_array_equal(by_learner, by_metric)
    assert gm.HashIndex(learner).metric is learner.metric_
    for index in (gm.ExactIndex, gm.HashIndex):
        with pytest.raises(TypeError, match="a fitted learner, got RCA without metric_"):
            index(gm.RCA())
