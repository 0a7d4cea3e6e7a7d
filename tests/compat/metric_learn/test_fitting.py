"""Warnings and failures of a fit, in the words of metric-learn."""

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning

import gramian.compat.metric_learn as metric_learn
from gramian.compat.metric_learn.exceptions import DifferenceWarning, _noted


def test_failing_to_converge_is_never_silent(iris):
    with pytest.warns(ConvergenceWarning, match=r"\[NCA\] NCA did not converge"):
        metric_learn.NCA(max_iter=2).fit(*iris)


def test_warnings_point_at_the_line_of_the_caller(iris):
    X, y = iris
    _noted.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        metric_learn.LMNN(learn_rate=1e-6).fit(X, y)
        metric_learn.NCA(max_iter=2).fit(X, y)
        metric_learn.SCML_Supervised(random_state=0).fit(X, y)
        metric_learn.ITML_Supervised(num_constraints=20)
    assert {warning.filename for warning in caught} == {__file__}
    assert {warning.category for warning in caught} >= {DifferenceWarning, ConvergenceWarning, FutureWarning}


def test_sdml_without_a_minimum_says_what_helps(pairs):
    T, _, signs = pairs
    with pytest.warns(ConvergenceWarning), pytest.raises(RuntimeError, match="Lower balance_param, or take gramian"):
        metric_learn.SDML(balance_param=0.5).fit(T, signs)
