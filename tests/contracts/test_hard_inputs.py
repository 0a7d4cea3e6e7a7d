"""Every public estimator on data that breaks others: a finite answer or one clear sentence, and never a crash.

RuntimeWarnings (overflow, 0/0) count as failures; nothing is printed and no input is written to.
"""

import inspect
import re
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

import gramian as gm

N = 18
CLASSES = np.arange(N) % 3


def base(seed=0):
    return np.random.default_rng(seed).normal(size=(N, 3)) + 2 * np.eye(3)[CLASSES]


def frozen(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def columns(X):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(X, columns=["a b", "é", "1"], index=np.arange(N) + 7)


CASES = {
    "copies": lambda X: (np.repeat(X[:6], 3, axis=0), np.repeat(np.arange(6) % 3, 3)),
    "copies in other classes": lambda X: (np.repeat(X[:9], 2, axis=0), np.tile([0, 1], 9)),
    "one point": lambda X: (np.ones_like(X), CLASSES),
    "zeros": lambda X: (np.zeros_like(X), CLASSES),
    "one class": lambda X: (X, np.zeros(N, int)),
    "singletons": lambda X: (X, np.arange(N)),
    "two rows": lambda X: (X[:2], CLASSES[:2]),
    "more columns than rows": lambda X: (np.hstack([X] + [np.cos(k * X) for k in range(2, 8)]), CLASSES),
    "booleans": lambda X: (X > 1, CLASSES == 0),
    "bytes": lambda X: ((np.abs(X) * 20).astype(np.uint8), np.array(["x", "y z", "é"])[CLASSES]),
    "single precision, huge": lambda X: ((X * 1e37).astype(np.float32), CLASSES),
    "frozen": lambda X: (frozen(X), frozen(CLASSES)),
    "frame": lambda X: (columns(X), list("abc") * (N // 3)),
    "sparse": lambda X: (sparse.csc_array(np.where(np.abs(X) < 1, 0, X)), CLASSES),
    "columns apart": lambda X: (X * [1e-100, 1.0, 1e100], CLASSES),
    "outlier": lambda X: (np.vstack([X[:-1], np.full((1, 3), 1e10)]), CLASSES),
    **{f"scale {s:g}": lambda X, s=s: (X * s, CLASSES) for s in (1e-300, 1e-100, 1e100, 1e300)},
    "not a number": lambda X: (np.where(X[3, 1] == X, np.nan, X), CLASSES),
    "infinity": lambda X: (np.where(X[3, 1] == X, -np.inf, X), CLASSES),
    "complex": lambda X: (X + 1j, CLASSES),
    "words": lambda X: (np.full((N, 3), "a"), CLASSES),
    "labels of two types": lambda X: (X, np.array([1, "a", 2.0] * (N // 3), dtype=object)),
}
ESTIMATORS = {
    name: cls
    for name in gm._registry.HOME
    if inspect.isclass(cls := getattr(gm, name)) and issubclass(cls, BaseEstimator) and name != "SubsetDistance"
}


def build(cls):
    """The estimator with small settings, of those that it has."""
    options = {"random_state": 0, "n_init": 1, "n_neighbors": 3, "max_iter": 10}
    return cls(**{key: value for key, value in options.items() if key in inspect.signature(cls).parameters})


def results(model, X, y):
    """Every array and number that a user would look at next."""
    model.fit(X, y)
    found = [getattr(model, name) for name in ("objective_", "objective_path_", "embedding_") if hasattr(model, name)]
    dense = not sparse.issparse(X) or model.__sklearn_tags__().input_tags.sparse
    if hasattr(model, "transform") and dense:
        found.append(model.transform(X))
    metric = getattr(model, "metric_", None)
    if hasattr(metric, "sqdist") and dense:
        found.append(metric.sqdist(X))
    if hasattr(model, "predict") and dense:
        found.append(model.predict(X))
    return found


def one_sentence(error, name):
    text = str(error)
    assert "\n" not in text, text
    assert text[0].isupper() or text.startswith(("y ", "neighbors")), text
    if isinstance(error, ValueError) and "NaN" in text and "Input y" not in text:
        assert text.startswith(f"{name}: X contains NaN or infinity"), text


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("case", CASES)
def test_a_finite_answer_or_one_sentence(name, case, capsys):
    X, y = CASES[case](base())
    kept = X.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        try:
            found = results(build(ESTIMATORS[name]), X, y)
        except (ValueError, TypeError) as error:
            assert not isinstance(error, np.linalg.LinAlgError)
            one_sentence(error, name)
            found = []
    for values in found:
        values = np.asarray(values)
        assert values.dtype.kind != "c"
        assert values.dtype.kind != "f" or np.isfinite(values).all()
    assert abs(X - kept).sum() == 0 if sparse.issparse(X) else np.array_equal(X, kept) or case == "not a number"
    assert capsys.readouterr().out == ""


PARAMETERS = [
    (name, parameter)
    for name, cls in ESTIMATORS.items()
    for parameter, given in inspect.signature(cls).parameters.items()
    if parameter not in ("callback", "comparator") and not isinstance(given.default, bool)
    if (name, parameter) != ("LowRankKernel", "random_state")
]


@pytest.mark.parametrize("name, parameter", PARAMETERS)
def test_a_parameter_that_makes_no_sense_is_named_or_not_used(name, parameter):
    model = build(ESTIMATORS[name]).set_params(**{parameter: object()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model.fit(base(), CLASSES)
        except (ValueError, TypeError) as error:
            assert re.match(r"\w+: .* must ", str(error)), error
