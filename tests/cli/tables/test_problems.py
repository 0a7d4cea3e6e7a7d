"""Which columns look like ids, and which give the label away."""

import numpy as np
import pytest

import gramian as gm
from gramian.cli.tables.problems import is_identifier, is_named_id, suspicions, tells_label


@pytest.mark.parametrize("name", ["id", "ID", "customer_id", "Unnamed: 0", "rowIndex", "row", "index", "user key"])
def test_names_of_ids(name):
    assert is_named_id(name)


@pytest.mark.parametrize("name", ["width", "paid", "humid", "bid", "monkey", "brow", "size"])
def test_names_that_only_end_like_ids(name):
    assert not is_named_id(name)


def test_whole_numbers_without_repetition_are_ids_when_dense_or_called_so(rng):
    rows = np.arange(50)
    assert is_identifier("a", rows) and is_identifier("a", rng.permutation(rows) + 7.0)
    assert is_identifier("a", 100 * rows)
    income = rng.choice(10**6, 50, replace=False)
    assert not is_identifier("income", income) and is_identifier("income_id", income)
    assert not is_identifier("a", rows + 0.5) and not is_identifier("a", rows // 2)


def test_real_measurements_are_not_suspected():
    for name in ("wine", "iris", "digits", "breast_cancer"):
        try:
            data = gm.datasets.load(name)
        except (KeyError, ValueError, FileNotFoundError):
            continue
        columns = {str(j): data.X[:, j] for j in range(data.X.shape[1])}
        assert suspicions(columns, data.y) == []


def test_what_tells_the_label(rng):
    y = np.repeat(["a", "b", "c"], 20)
    assert tells_label(np.repeat([3, 1, 2], 20), y)
    assert tells_label(np.repeat(["x", "y", "z"], 20), y)
    assert not tells_label(np.arange(60) + 0.25, y)  # a measurement may separate the classes
    assert not tells_label(np.repeat(["x", "x", "z"], 20), y)
    assert not tells_label(np.concatenate([rng.uniform(0, 1, 20), rng.uniform(2, 3, 20)]), y[:40])
