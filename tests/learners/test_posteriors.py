"""Posteriors: class probabilities beside features, and what labeled points are given where they are searched."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import gramian as gm
from gramian.constraints import Labels
from gramian.learners.posteriors import forest, logistic

KINDS = ["logistic", "forest", "votes", LogisticRegression(), GradientBoostingClassifier(n_estimators=3)]
EACH = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind if isinstance(kind, str) else type(kind).__name__)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.array(["red", "white", "rosé"])[y]


@EACH
def test_the_distance_is_that_of_the_features_and_of_the_roots(wine, kind):
    X, y = wine
    learner = gm.Posteriors(kind, weight=1.5, random_state=0).fit(X[::2], y[::2])
    roots = np.sqrt(learner.metric_.coordinates.model.of(X))
    spread = ((X[::2] - X[::2].mean(axis=0)) ** 2).sum(axis=1).mean()
    expected = gm.linalg.sqdist(X) + 1.5**2 * spread * gm.linalg.sqdist(roots)
    np.testing.assert_allclose(learner.metric_.sqdist(X), expected, atol=1e-8)
    assert set(learner.metric_.coordinates.classes) == {"red", "white", "rosé"}


def test_what_a_learner_made_of_the_features_lies_below(wine):
    X, y = wine
    inner = gm.PLDA(anchor=0.2).fit(X, y)
    beside = gm.Posteriors("logistic", gm.PLDA(anchor=0.2)).fit(X, y)
    np.testing.assert_allclose(
        gm.linalg.sqdist(beside.transform(X)[:, :13]), inner.metric_.sqdist(X), rtol=1e-6, atol=1e-9
    )
    none = gm.Posteriors("logistic", gm.PLDA(anchor=0.2), weight=0.0).fit(X, y)
    np.testing.assert_allclose(none.metric_.sqdist(X), inner.metric_.sqdist(X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "inner", [gm.Kernelized(gm.RCA(anchor=0.3)), gm.AutoMetric(candidates=["RCA"]), gm.ITML(rank=3, anchor=0.2)]
)
def test_any_learner_lies_below(wine, tmp_path, inner):
    X, y = wine
    beside = gm.Posteriors("logistic", inner).fit(X[::2], y[::2])
    assert beside.metric_.coordinates.classes is not None
    np.testing.assert_allclose(gm.linalg.sqdist(beside.transform(X)), beside.metric_.sqdist(X), atol=1e-6)
    beside.metric_.save(tmp_path / "beside.gram")
    np.testing.assert_array_equal(gm.load(tmp_path / "beside.gram").sqdist(X), beside.metric_.sqdist(X))


@EACH
def test_neither_the_order_of_points_nor_names_matter(wine, kind):
    X, y = wine
    one = gm.Posteriors(kind, random_state=0).fit(X, y)
    order = np.random.default_rng(0).permutation(len(X))
    two = gm.Posteriors(kind, random_state=0).fit(X[order], y[order])
    np.testing.assert_allclose(one.metric_.sqdist(X), two.metric_.sqdist(X), rtol=1e-5, atol=1e-7)
    if isinstance(kind, str):
        names = np.where(y == "red", "z", y)
        three = gm.Posteriors(kind, random_state=0).fit(X, names)
        np.testing.assert_allclose(one.metric_.sqdist(X), three.metric_.sqdist(X), rtol=1e-5, atol=1e-7)


def test_labeled_points_get_probabilities_that_did_not_see_their_label(rng):
    """Labels by chance: a forest is sure of the points it saw, and of no others."""
    X, y = rng.normal(size=(200, 5)), np.arange(200) % 2
    learner = gm.Posteriors("forest", random_state=0)
    crossed = learner.fit_transform(X, y)
    plain, new = learner.transform(X), learner.transform(rng.normal(size=(200, 5)))
    np.testing.assert_array_equal(crossed[:, :5], plain[:, :5])
    sure = [np.abs(np.diff(Z[:, 5:] ** 2, axis=1)).mean() for Z in (plain, crossed, new)]
    assert sure[0] > 2 * sure[2] and sure[1] == pytest.approx(sure[2], rel=0.25)


def test_the_probabilities_of_a_part_are_those_of_a_model_of_the_others(wine):
    X, y = wine
    learner = gm.Posteriors(LogisticRegression(), cv=2).fit(X, y)
    crossed = learner.fit_transform(X, y)[:, 13:] / learner.metric_.components[-1, -1]
    order = np.argsort(X @ np.random.RandomState(0).standard_normal(13), kind="stable")
    place = np.empty(len(X), dtype=int)
    for name in set(y):  # every second point of each class
        members = order[y[order] == name]
        place[members] = np.arange(len(members)) % 2
    for fold in (0, 1):
        other = LogisticRegression().fit(X[place != fold], y[place != fold])
        np.testing.assert_allclose(crossed[place == fold] ** 2, other.predict_proba(X[place == fold]), atol=1e-6)


def test_a_class_of_one_point_is_unknown_to_the_others(wine):
    X, y = wine[0][:60], np.append(wine[1][:59], "alone")
    y[:20] = "white"
    learner = gm.Posteriors("logistic")
    crossed = learner.fit_transform(X, y)
    last = 13 + int(np.flatnonzero(learner.metric_.coordinates.classes == "alone")[0])
    assert crossed[59, last] == 0 and learner.transform(X)[59, last] > 0


def test_points_without_a_label_keep_what_the_model_says(wine):
    X, y = wine[0], np.where(np.arange(178) % 3 == 0, "?", wine[1])
    learner = gm.Posteriors("logistic")
    crossed = learner.fit_transform(X, y, unknown="?")
    np.testing.assert_allclose(
        crossed[::3], learner.transform(X[::3]), rtol=1e-12, atol=1e-12
    )  # fewer rows, another sum
    assert np.abs(crossed - learner.transform(X))[1::3].max() > 1e-3


def test_a_pipeline_learns_from_coordinates_that_did_not_see_the_labels(rng):
    X, y = rng.normal(size=(300, 4)), rng.integers(2, size=300)
    knn = make_pipeline(gm.Posteriors("forest", random_state=0), KNeighborsClassifier(5)).fit(X, y)
    assert knn.score(rng.normal(size=(300, 4)), rng.integers(2, size=300)) < 0.6
    assert knn[-1].score(knn[0].fit_transform(X, y), y) < 0.8, "its neighbors do not carry the label of the point"


def test_the_models_are_scikit_learns(wine):
    X, y = wine
    labels = Labels(np.unique(y, return_inverse=True)[1], np.unique(y))
    trees = ExtraTreesClassifier(200, random_state=3).fit(X, labels.codes)
    np.testing.assert_allclose(forest(X, labels, 3).of(X), trees.predict_proba(X), atol=1e-9)
    far = 1e9 + 4 * X  # single precision would not tell these apart
    np.testing.assert_allclose(forest(far, labels, 3).of(far), trees.predict_proba(X), atol=0.02)
    center, scale = X.mean(axis=0), np.sqrt(13)  # columns of variance 1
    theirs = LogisticRegression(C=10, tol=1e-4).fit((X - center) / scale, labels.codes)
    np.testing.assert_allclose(
        logistic(7 * X + 3, labels).of(7 * X + 3), theirs.predict_proba((X - center) / scale), atol=1e-4
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"classifier": "svm"},
            "one of 'auto', 'logistic', 'forest', 'votes', 'soft votes' or a classifier",
        ),
        ({"learner": 3}, "Posteriors: learner must be a learner or None"),
        ({"weight": -1.0}, "Posteriors: weight must be"),
        ({"cv": 1}, "Posteriors: cv must be"),
    ],
)
def test_bad_settings_are_one_sentence(wine, options, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        gm.Posteriors(**options).fit(*wine)


def test_one_class_and_sparse_points_are_refused(wine):
    with pytest.raises(ValueError, match="Posteriors: needs at least two classes"):
        gm.Posteriors().fit(wine[0], np.zeros(178))
    with pytest.raises(TypeError, match="Posteriors: X must be dense"):
        gm.Posteriors().fit(sparse.csr_array(wine[0]), wine[1])
