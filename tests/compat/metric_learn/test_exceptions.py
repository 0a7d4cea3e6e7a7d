"""What differs from metric-learn is said once."""

import warnings

import pytest

import gramian.compat.metric_learn as metric_learn
from gramian.compat.metric_learn.exceptions import DifferenceWarning, _noted


def test_what_differs_is_said_once(pairs):
    T, _, signs = pairs
    _noted.clear()
    with pytest.warns(DifferenceWarning, match="bounds are distances here"):
        metric_learn.ITML().fit(T, signs, bounds=(1.0, 3.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error", DifferenceWarning)
        metric_learn.ITML().fit(T, signs, bounds=(1.0, 3.0))
