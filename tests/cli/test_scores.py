"""Scores and their differences, against scikit-learn."""

import json

import numpy as np
import pytest

import gramian as gm


def test_evaluation_is_that_of_scikit_learn(gramian, wine):
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.neighbors import KNeighborsClassifier

    out = gramian("evaluate", wine, "-l", "kind", "--learner", "rca", "-k", 1, "--seed", 5, "--json")[1]
    data = gm.datasets.load("wine")
    folds = StratifiedKFold(5, shuffle=True, random_state=5)
    expected = cross_val_score(KNeighborsClassifier(1), data.X, data.class_names[data.y], cv=folds)
    assert np.allclose([fold["accuracy"] for fold in json.loads(out)["Euclidean"]], expected)


def test_differences_are_paired_and_their_error_is_that_of_dependent_folds():
    from gramian.cli.scores import Score, best, difference

    ours, theirs = [0.9, 0.8, 0.95], [0.8, 0.75, 0.8]
    one, other = ([Score(a, 0.5) for a in side] for side in (ours, theirs))
    gain, error = difference(one, other)
    d = np.subtract(ours, theirs)
    assert gain == pytest.approx(d.mean()) and error == pytest.approx(d.std(ddof=1) * np.sqrt(1 / 3 + 1 / 2))
    assert best({"a": other, "b": one}) == "b"
