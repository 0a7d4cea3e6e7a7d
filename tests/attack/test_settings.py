"""Every setting of every estimator, with values that nobody should give: it fits, or one sentence names the owner."""

import inspect

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import gramian as gm
from gramian import _settings

WRONG = [
    None,
    -1,
    0,
    2.5,
    np.nan,
    np.inf,
    10**30,
    1e-300,
    "word",
    "",
    b"x",
    [],
    (1,),
    {"a": 1},
    np.array([1, 0]),
    object(),
    1j,
]
GIVEN = {
    "Kernelized": {"learner": gm.RCA(), "rank": 5},
    "SubsetDistance": {"distance": gm.Gaussian(), "m": 3},
}
"""What an estimator cannot do without."""
ELSEWHERE = {"TupleClassifier": "takes tuples; its settings are those of its learner"}
ENDLESS = {"n_init", "reselect", "max_iter", "n_pretrain"}
"""A huge number of rounds is what was asked for."""


def estimators():
    """The public estimators, each once."""
    found = {name: getattr(gm, name) for name in gm._registry.HOME}
    return {
        name: cls
        for name, cls in found.items()
        if inspect.isclass(cls) and issubclass(cls, BaseEstimator) and name not in ELSEWHERE
    }


ESTIMATORS = estimators()


SAID = {(name, word): kind for name, cls in ESTIMATORS.items() for word, kind in _settings.settings_of(cls).items()}
"""What every setting may be, of each of which something is said."""


def points():
    """Twelve points of three classes, far enough apart for any learner."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 6)
    return rng.standard_normal((18, 3)) + 3 * np.eye(3)[y], y


def outcome(name, setting, value):
    """None when the fit is done, else the exception."""
    estimator = ESTIMATORS[name](**{**GIVEN.get(name, {}), setting: value})
    try:
        with np.errstate(all="ignore"):
            estimator.fit(*points())
    except Exception as error:
        return error
    return None


def complain(name, setting, value):
    """Why an outcome is not one of the two that are allowed."""
    error = outcome(name, setting, value)
    if error is None:
        return None
    text = str(error)
    if not isinstance(error, ValueError | TypeError) or not text.split(":")[0].isidentifier() or "\n" in text.strip():
        return f"{name}({setting}={value!r:.30}): {type(error).__name__}: {text:.120}"
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "setting"), SAID)
def test_a_setting_is_refused_in_one_sentence(name, setting):
    kind = SAID[name, setting]
    for value in WRONG:
        if not kind.holds(value):
            error = outcome(name, setting, value)
            assert isinstance(error, ValueError) and f"{name}: {setting} must be {kind.phrase}, got" in str(error)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_any_setting_fits_or_says_what_is_wrong(name):
    found = [
        complain(name, setting, value)
        for setting in inspect.signature(ESTIMATORS[name]).parameters
        for value in WRONG
        if not (setting in ENDLESS and isinstance(value, int) and value == 10**30)
    ]
    assert not list(filter(None, found))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_refused_fit_changes_nothing(name):
    estimator = ESTIMATORS[name](**GIVEN.get(name, {}))
    before = dict(vars(estimator))
    X, y = points()
    with pytest.raises((ValueError, TypeError)):
        estimator.fit(np.where(X.max() == X, np.nan, X), y)
    assert vars(estimator) == before
