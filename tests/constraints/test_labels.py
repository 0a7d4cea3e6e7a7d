"""Labels of any type as codes."""

import numpy as np

import gramian as gm
from gramian.constraints import Labels


def test_string_labels():
    y = np.array(["cat", "dog", "cat", "dog", "owl"])
    pairs = gm.Pairs.from_labels(y, random_state=0)
    assert np.array_equal(y[pairs.left] == y[pairs.right], pairs.similar)


def test_labels_groups():
    labels = Labels.from_array(["b", "a", "?", "b"], "test", unknown="?")
    assert [g.tolist() for g in labels.groups()] == [[1], [0, 3]]
    assert labels.codes.tolist() == [1, 0, -1, 1]


def test_missing_labels_may_be_nan():
    pairs = gm.Pairs.from_labels([np.nan, 0.0, 1.0, 0.0, np.nan], unknown=np.nan, random_state=0)
    assert sorted({*pairs.left.tolist(), *pairs.right.tolist()}) == [1, 2, 3]


def test_whole_numbers_and_few_fractions_are_classes():
    for y in (np.arange(50.0), np.repeat([0.5, 1.0, 1.5], 20)):
        assert len(gm.Pairs.from_labels(y, random_state=0))
