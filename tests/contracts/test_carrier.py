"""The fixture that runs contracts again with other libraries does carry points there, and looks at the answers."""

import numpy as np
import pytest

import gramian as gm
from gramian.metrics import Metric
from tests.arrays import libraries


@pytest.mark.parametrize("library", libraries.INSTALLED, indirect=True)
def test_points_are_carried_over_and_answers_come_back(library, monkeypatch):
    seen, sqdist_of = [], Metric.sqdist_of
    monkeypatch.setattr(Metric, "sqdist_of", lambda *args: seen.append(args[1]) or sqdist_of(*args))
    found = gm.Mahalanobis.euclidean(2).sqdist(np.eye(2))
    assert (
        len(seen) == 1
        and libraries.foreign(seen[0])
        and found.tolist() == [[0, 2], [2, 0]]
        and type(found) is np.ndarray
    )


@pytest.mark.parametrize("library", ["strict"], indirect=True)
def test_an_answer_in_numpy_is_a_failure(library, monkeypatch):
    monkeypatch.setattr(Metric, "transform_of", lambda metric, X: np.zeros(X.shape))
    with pytest.raises(AssertionError, match="Mahalanobis.transform answers in NumPy"):
        gm.Mahalanobis.euclidean(2).transform(np.eye(2))
