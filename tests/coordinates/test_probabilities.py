"""Class probabilities as values: what scikit-learn's classifiers say, written down as arrays."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import gramian as gm
from gramian.coordinates import ForestProbabilities, HeldProbabilities, LinearProbabilities, probabilities

WRITTEN = [
    (LogisticRegression(max_iter=50), LinearProbabilities),
    (LinearDiscriminantAnalysis(), LinearProbabilities),
    (make_pipeline(StandardScaler(), LogisticRegression()), LinearProbabilities),
    (make_pipeline(StandardScaler(with_mean=False), LinearDiscriminantAnalysis()), LinearProbabilities),
    (make_pipeline(StandardScaler(), RandomForestClassifier(9, random_state=0)), ForestProbabilities),
    (DecisionTreeClassifier(max_depth=3, random_state=0), ForestProbabilities),
    (RandomForestClassifier(15, class_weight="balanced", random_state=0), ForestProbabilities),
    (ExtraTreesClassifier(15, min_samples_leaf=2, random_state=0), ForestProbabilities),
]
HELD = [
    CalibratedClassifierCV(LinearSVC()),
    make_pipeline(MinMaxScaler(), LogisticRegression()),
    SGDClassifier(loss="log_loss", random_state=0),
    GradientBoostingClassifier(n_estimators=3, random_state=0),
    AdaBoostClassifier(n_estimators=3, random_state=0),
    BaggingClassifier(n_estimators=3, max_features=0.5, random_state=0),
]


def name_of(value):
    return type(value).__name__ if not isinstance(value, type) else ""


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return X / X.std(axis=0), np.array(["red", "white", "rosé"])[y]


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("classifier", "kind"), WRITTEN, ids=name_of)
def test_linear_models_and_trees_are_written_down_exactly(wine, tmp_path, classifier, kind, classes):
    X, y = (rows[np.isin(wine[1], ["red", "white", "rosé"][:classes])] for rows in wine)
    fitted = classifier.fit(X[::2], y[::2])
    model = probabilities(fitted, X[::2])
    assert isinstance(model, kind)
    np.testing.assert_allclose(model.of(X), fitted.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(model.classes, fitted.classes_)
    model.save(tmp_path / "model.gram")
    np.testing.assert_array_equal(gm.load(tmp_path / "model.gram").of(X), model.of(X))


@pytest.mark.parametrize("classifier", HELD, ids=name_of)
def test_other_classifiers_are_held_in_memory_and_refused_by_files(wine, tmp_path, classifier):
    X, y = wine
    model = probabilities(classifier.fit(X[::2], y[::2]), X[::2])
    assert isinstance(model, HeldProbabilities)
    np.testing.assert_array_equal(model.of(X), classifier.predict_proba(X))
    with pytest.raises(TypeError, match="^save: cannot store the probabilities of .*; take LogisticRegression"):
        model.save(tmp_path / "model.gram")
    assert not (tmp_path / "model.gram").exists()


def test_a_later_refit_of_the_classifier_does_not_reach_the_value(wine):
    X, y = wine
    classifier = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(X, y)
    model = probabilities(classifier, X)
    before = model.of(X)
    classifier.fit(X, y[::-1])
    np.testing.assert_array_equal(model.of(X), before)


def test_points_on_a_threshold_fall_where_single_precision_says(rng):
    """Thresholds are midpoints in double precision, and points are compared in single precision."""
    X = rng.integers(4, size=(400, 3)) / 3 + 1e-9
    y = (X.sum(axis=1) > 1.5).astype(int)
    forest = ExtraTreesClassifier(20, random_state=0).fit(X, y)
    model = probabilities(forest, X)
    edges = np.unique(np.concatenate([tree.tree_.threshold[tree.tree_.feature >= 0] for tree in forest.estimators_]))
    for near in (edges, edges.astype(np.float32), np.nextafter(edges.astype(np.float32), np.float32(9))):
        points = np.repeat(near[:, None], 3, axis=1).astype(float)
        np.testing.assert_allclose(model.of(points), forest.predict_proba(points), atol=1e-12)


def test_a_file_cannot_hold_a_walk_without_an_end(wine):
    X, y = wine
    state = probabilities(DecisionTreeClassifier(random_state=0).fit(X, y), X)._state()
    children = state["children"].copy()
    children[2] = 0
    with pytest.raises(ValueError, match="children must stand behind their parents"):
        ForestProbabilities(**{**state, "children": children})
    for name, value in (("feature", state["feature"] + 13), ("children", children + len(children))):
        with pytest.raises(ValueError, match="ForestProbabilities: arrays of nodes"):
            ForestProbabilities(**{**state, name: value})


def test_shapes_must_fit():
    with pytest.raises(ValueError, match=r"LinearProbabilities: weights must be \(c, d\)"):
        LinearProbabilities(np.eye(3), np.zeros(2), np.arange(3))
    with pytest.raises(TypeError, match="^probabilities: classifier must be a fitted one"):
        probabilities(LinearSVC(), np.eye(2))
