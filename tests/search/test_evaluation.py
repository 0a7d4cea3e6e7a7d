"""Retrieval scores against their definitions and scikit-learn; k-NN prediction against scikit-learn."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors

import gramian as gm
from gramian.search import evaluation, knn_classify, knn_proba, knn_regress


def test_recall_counts_what_was_found():
    assert evaluation.recall_at_k([[1, 2, 3], [4, 5, 6]], [[3, 2, 9], [7, 8, 9]]) == pytest.approx(1 / 3)
    assert evaluation.recall_at_k([[1, 2, 3]], [[2, 1, 9]], k=2) == 1.0
    with pytest.raises(ValueError, match="same rows"):
        evaluation.recall_at_k([[1]], [[1], [2]])


@given(st.integers(1, 12), st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_average_precision_is_scikit_learn_s(m, k, seed):
    rng = np.random.default_rng(seed)
    relevant = rng.random((m, k)) < 0.4
    relevant[:, 0] |= ~relevant.any(axis=1)
    rank = -np.arange(k)
    want = np.mean([average_precision_score(row, rank) for row in relevant])
    assert evaluation.mean_average_precision(relevant) == pytest.approx(want)


def test_precision_and_r_precision_by_hand():
    relevant = [[True, False, True, False], [False, False, True, True]]
    assert evaluation.precision_at_k(relevant, k=2) == 0.25
    assert evaluation.r_precision(relevant) == pytest.approx((1 / 2 + 0) / 2)
    assert evaluation.r_precision(relevant, n_relevant=4) == 0.5
    assert evaluation.mean_average_precision(relevant[:1], n_relevant=4) == pytest.approx((1 + 2 / 3) / 4)
    with pytest.raises(ValueError, match="no query"):
        evaluation.r_precision([[False]])
    with pytest.raises(ValueError, match="at least"):
        evaluation.r_precision(relevant, n_relevant=1)


def test_relevance_follows_ids():
    got = evaluation.relevance([[30, 10], [20, 30]], [10, 20, 30], ["a", "b", "a"], ["a", "b"])
    assert got.tolist() == [[True, True], [True, False]]
    with pytest.raises(ValueError, match="one label"):
        evaluation.relevance([[1]], [1, 2], [0], [0])


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(200, 4))
    y = np.array(["a", "b", "c"])[np.argmax(X[:, :3], axis=1)]
    A = rng.normal(size=(4, 4))
    return gm.Mahalanobis.from_matrix(A.T @ A), X, y, rng.normal(size=(50, 4))


def unique_winner(shares):
    """Rows without a tie; scikit-learn gives ties to the smaller label, we to the nearest voter's."""
    return (np.isclose(shares, shares.max(axis=1, keepdims=True))).sum(axis=1) == 1


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_prediction_is_scikit_learn_s(problem, weights):
    metric, X, y, Q = problem
    index = gm.ExactIndex(metric).add(X)
    Q = np.vstack([Q, X[:3]])
    rival = KNeighborsClassifier(7, weights=weights).fit(metric.transform(X), y)
    settled = unique_winner(rival.predict_proba(metric.transform(Q)))
    assert np.array_equal(
        knn_classify(index, y, Q, k=7, weights=weights)[settled], rival.predict(metric.transform(Q))[settled]
    )
    np.testing.assert_allclose(
        knn_proba(index, y, Q, k=7, weights=weights)[1], rival.predict_proba(metric.transform(Q)), atol=1e-12
    )
    for target in (X[:, 0], X[:, :2]):
        regressor = KNeighborsRegressor(7, weights=weights).fit(metric.transform(X), target)
        np.testing.assert_allclose(
            knn_regress(index, target, Q, k=7, weights=weights), regressor.predict(metric.transform(Q))
        )


def test_tied_votes_go_to_the_label_with_the_nearer_voters():
    index = gm.ExactIndex(gm.Mahalanobis.euclidean(1)).add([[0.0], [1.0], [2.5], [3.0]])
    assert knn_classify(index, ["b", "a", "a", "b"], [[0.2], [2.6]], k=2).tolist() == ["b", "a"]
    assert knn_classify(index, ["b", "b", "a", "a"], [[0.2], [2.6]], k=4).tolist() == ["b", "a"]


def test_labels_follow_the_order_of_ids(problem):
    metric, X, y, Q = problem
    ids = np.random.default_rng(0).permutation(1000)[:200]
    index = gm.ExactIndex(metric).add(X, ids=ids)
    labels = y[np.argsort(ids)]
    assert np.array_equal(knn_classify(index, labels, Q), knn_classify(gm.ExactIndex(metric).add(X), y, Q))
    with pytest.raises(ValueError, match="one entry per point"):
        knn_classify(index, y[:5], Q)
    with pytest.raises(ValueError, match="one target per item"):
        knn_regress(index, [1.0], Q)


def test_a_metric_is_a_callable_for_scikit_learn(problem):
    metric, X, y, Q = problem
    direct = KNeighborsClassifier(5, metric=metric, algorithm="brute").fit(X, y)
    through = KNeighborsClassifier(5).fit(metric.transform(X), y)
    assert np.array_equal(direct.predict(Q), through.predict(metric.transform(Q)))
    tree = NearestNeighbors(n_neighbors=3, metric=metric, algorithm="ball_tree").fit(X)
    d, ids = pickle.loads(pickle.dumps(tree)).kneighbors(Q)
    want, sqdist = gm.ExactIndex(metric).add(X).query(Q, k=3)
    assert np.array_equal(ids, want)
    np.testing.assert_allclose(d**2, sqdist, rtol=1e-9)


def test_a_learner_is_a_step_of_a_pipeline(problem):
    from sklearn.pipeline import make_pipeline

    _, X, y, Q = problem
    model = make_pipeline(gm.ITML(random_state=0, anchor=0), KNeighborsClassifier(3)).fit(X, y)
    index = gm.ExactIndex(model[0].metric_).add(X)
    settled = unique_winner(model.predict_proba(Q))
    assert settled.mean() > 0.8
    assert np.array_equal(model.predict(Q)[settled], knn_classify(index, y, Q, k=3)[settled])
