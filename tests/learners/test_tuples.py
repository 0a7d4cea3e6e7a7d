"""Pairs, triplets and quadruplets as things to predict, and thresholds against brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics import accuracy_score, f1_score, fbeta_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score

import gramian as gm
from gramian.learners.tuples import best_threshold


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def pairs(iris):
    """Pairs as tuples, as indices, and their signs."""
    X, y = iris
    drawn = gm.Pairs.from_labels(y, 200, random_state=0)
    index = np.stack([drawn.left, drawn.right], axis=1)
    return X[index], index, np.where(drawn.similar, 1, -1)


@pytest.fixture(scope="module")
def triplets(iris):
    X, y = iris
    t = gm.Triplets.from_labels(y, 150, random_state=0)
    index = np.stack([t.anchor, t.near, t.far], axis=1)
    return X[index], index


def rates(score, positive, cut):
    accepted = score >= cut
    return accepted[positive].mean() if positive.any() else 0.0, (~accepted[~positive]).mean() if (
        ~positive
    ).any() else 0.0


def worth(strategy, score, positive, cut, limit):
    """What a cut is worth, from the definitions."""
    tpr, tnr = rates(score, positive, cut)
    predicted = score >= cut
    if strategy == "accuracy":
        return accuracy_score(positive, predicted)
    if strategy == "f_beta":
        return fbeta_score(positive, predicted, beta=limit, zero_division=0)
    rate, other = (tpr, tnr) if strategy == "max_tpr" else (tnr, tpr)
    return rate if other >= limit else -1


@given(
    st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=12),
    st.sampled_from(["accuracy", "f_beta", "max_tpr", "max_tnr"]),
    st.sampled_from([0.0, 0.3, 0.5, 1.0]),
)
def test_no_cut_is_better_than_the_threshold(rows, strategy, limit):
    score, positive = np.array([r[0] for r in rows], float), np.array([r[1] for r in rows])
    cut = best_threshold(score, positive, strategy, min_rate=limit, beta=limit)
    best = worth(strategy, score, positive, cut, limit)
    assert np.isfinite(cut)
    for other in [*np.unique(score), score.max() + 1, score.min() - 1]:
        assert worth(strategy, score, positive, other, limit) <= best + 1e-12


def test_the_threshold_lies_between_the_scores():
    assert best_threshold(np.array([3.0, 2.0, 0.0]), np.array([True, True, False])) == 1.0
    assert best_threshold(np.array([3.0, 2.0]), np.array([False, False])) > 3.0
    assert best_threshold(np.array([3.0, 2.0]), np.array([True, True])) == 2.0


def test_thresholds_name_what_is_wrong():
    score, positive = np.arange(3.0), np.array([True, False, True])
    with pytest.raises(ValueError, match="strategy must be one of"):
        best_threshold(score, positive, "best")
    with pytest.raises(ValueError, match=r"min_rate must be a number in \[0, 1\], got None"):
        best_threshold(score, positive, "max_tpr")


@pytest.mark.parametrize("learner", [gm.ITML(), gm.GMML(), gm.SDML(), gm.POLA()], ids=lambda est: type(est).__name__)
def test_pairs_are_predicted_by_their_distance(learner, pairs):
    T, _, s = pairs
    fitted = clone(learner).fit(T, s)
    d = fitted.pair_distance(T)
    np.testing.assert_allclose(d**2, fitted.metric_.pair_sqdist(T[:, 0], T[:, 1]))
    np.testing.assert_allclose(fitted.pair_score(T), -(d**2))
    np.testing.assert_array_equal(fitted.predict(T), np.where(d**2 <= fitted.threshold_, 1, -1))
    np.testing.assert_array_equal(np.sign(fitted.decision_function(T)), fitted.predict(T))
    assert accuracy_score(s, fitted.predict(T)) > 0.85


@pytest.mark.parametrize("size", [3, 4])
def test_comparisons_are_predicted_by_two_distances(iris, size):
    X, y = iris
    q = gm.Quadruplets.from_labels(y, 100, random_state=0)
    T = np.stack([X[ends] for ends in (*q.near_ends, *q.far_ends)], axis=1)
    T = T[:, [0, 1, 3]] if size == 3 else T
    fitted = gm.LSML().fit(T)
    D = [fitted.metric_.sqdist(t) for t in T]
    expected = [d[0, 2] > d[0, 1] if size == 3 else d[2, 3] > d[0, 1] for d in D]
    np.testing.assert_array_equal(fitted.predict(T) == 1, expected)
    assert fitted.score(T) == np.mean(expected)


def test_there_is_nothing_to_predict_without_tuples(iris, pairs):
    X, y = iris
    T, _, s = pairs
    fitted = gm.GMML(random_state=0).fit(X, y)
    assert not hasattr(fitted, "predict") and not hasattr(fitted, "threshold_")
    with pytest.raises(AttributeError) as error:
        fitted.predict(T)
    assert "GMML: tells tuples apart after a fit on pairs" in str(error.value.__cause__)
    fitted.calibrate_threshold(T, s, strategy="f_beta")
    assert f1_score(s, fitted.predict(T)) > 0.8
    assert not hasattr(fitted.fit(X, y), "predict")


def test_strategies_trade_one_rate_for_the_other(pairs):
    T, _, s = pairs
    fitted = gm.GMML().fit(T, s)
    for limit in (0.5, 0.9, 1.0):
        fitted.calibrate_threshold(T, s, strategy="max_tpr", min_rate=limit)
        assert (fitted.predict(T)[s == -1] == -1).mean() >= limit
    assert (fitted.set_threshold(1e9).predict(T) == 1).all()


def test_scorers_of_classifiers_take_fitted_learners(pairs):
    T, _, s = pairs
    for scoring in ("accuracy", "f1", "roc_auc", "average_precision"):
        assert cross_val_score(gm.GMML(), T, s, scoring=scoring, cv=3).min() > 0.8


def test_triplets_are_scored_without_targets(triplets):
    T, _ = triplets
    assert cross_val_score(gm.LSML(), T, cv=3).min() > 0.8


def test_indices_and_copies_give_the_same(iris, pairs, triplets):
    X, _ = iris
    T, index, s = pairs
    a, b = (
        gm.TupleClassifier(gm.GMML(anchor=0)).fit(T, s),
        gm.TupleClassifier(gm.GMML(anchor=0), points=X).fit(index, s),
    )
    np.testing.assert_allclose(a.decision_function(T), b.decision_function(index), atol=1e-9)
    c = gm.TupleClassifier(gm.GMML(anchor=0), points=lambda keys: X[keys]).fit(index, s)
    np.testing.assert_array_equal(b.predict(index), c.predict(index))
    T, index = triplets
    d = gm.TupleClassifier(gm.LSML(), points=X).fit(index)
    assert d.score(index) == pytest.approx(d.score(index)) and d.score(index) > 0.8


def test_keys_may_be_words(iris, pairs):
    X, _ = iris
    _, index, s = pairs
    names = np.array([f"flower {i}" for i in range(len(X))])
    table = dict(zip(names, X))
    model = gm.TupleClassifier(gm.GMML(), points=lambda keys: np.stack([table[k] for k in keys]))
    assert model.fit(names[index], s).score(names[index], s) > 0.9


def test_folds_over_index_pairs_are_stratified(iris, pairs):
    X, _ = iris
    _, index, s = pairs
    order = np.argsort(s)
    model = gm.TupleClassifier(gm.GMML(), points=X)
    assert cross_val_score(model, index[order], s[order], cv=3).min() > 0.8
    assert accuracy_score(s[order], cross_val_predict(model, index[order], s[order], cv=3)) > 0.85
    search = GridSearchCV(model, {"learner__t": [0.3, 0.5], "strategy": ["accuracy", "f_beta"]}, cv=3).fit(index, s)
    assert search.best_score_ > 0.85


def test_tuples_of_other_shapes_are_named(iris, pairs):
    X, _ = iris
    T, index, s = pairs
    with pytest.raises(ValueError, match=r"got \(200, 2\); give points= for tuples of indices"):
        gm.TupleClassifier(gm.ITML()).fit(pairs[1], pairs[2])
    with pytest.raises(ValueError, match=r"TupleClassifier: X must have shape \(n, t\) with t = 2, 3 or 4"):
        gm.TupleClassifier(points=X).fit(T, s)
    with pytest.raises(ValueError, match=r"GMML: tuples must have shape \(n, 2, d\), got shape \(200, 2\)"):
        gm.GMML().fit(T, s).pair_distance(index)
    with pytest.raises(ValueError, match="must be below the number of points"):
        gm.TupleClassifier(points=X[:5]).fit(index, s)
