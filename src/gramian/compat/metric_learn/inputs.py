"""Points and tuples as they come in: formed, or as indicators for a preprocessor."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, check_X_y

from gramian._validate import shown
from gramian.compat.metric_learn.exceptions import PreprocessorError

LOOSE: dict[str, Any] = {
    "ensure_2d": False,
    "allow_nd": True,
    "ensure_all_finite": False,
    "accept_sparse": True,
    "dtype": None,
    "ensure_min_features": 0,
    "ensure_min_samples": 0,
}
FORMED = {2: "2D array of formed points", 3: "3D array of formed tuples"}
INDICATORS = {2: "1D array of indicators", 3: "2D array of indicators"}


class ArrayIndexer:
    """A preprocessor that takes rows of an array."""

    def __init__(self, X: Any):
        self.X = check_array(X, **LOOSE)

    def __call__(self, indices: Any) -> Any:
        """The rows of some indices."""
        return self.X[indices]


def make_context(estimator: Any) -> str:
    """What messages say of an estimator or its name; nothing for None."""
    if estimator is None:
        return ""
    return f" by {estimator if isinstance(estimator, str) else type(estimator).__name__}"


def check_input(
    input_data: Any,
    y: Any = None,
    preprocessor: Any = None,
    type_of_inputs: str = "classic",
    tuple_size: int | None = None,
    *,
    estimator: Any = None,
    force_all_finite: Any = True,
    multi_output: bool = False,
    y_numeric: bool = False,
    **checks: Any,
) -> Any:
    """Points (n, d) or tuples (n, t, d), formed and validated; with y, both."""
    if not isinstance(type_of_inputs, str) or type_of_inputs not in ("classic", "tuples"):
        raise ValueError(f"Unknown value {type_of_inputs} for type_of_inputs. Valid values are 'classic' or 'tuples'.")
    ndim = 2 if type_of_inputs == "classic" else 3
    if y is None:
        X = check_array(input_data, **LOOSE)
    else:
        X, y = check_X_y(input_data, y, multi_output=multi_output, y_numeric=y_numeric, **LOOSE)
    X = _formed(X, ndim, preprocessor, make_context(estimator))
    X = check_array(
        X, allow_nd=True, ensure_2d=False, ensure_all_finite=force_all_finite, estimator=estimator, **checks
    )
    if ndim == 3:
        _check_tuples(X, y, tuple_size, checks.get("ensure_min_features", 1), make_context(estimator))
    return X if y is None else (X, y)


def _formed(X: Any, ndim: int, preprocessor: Any, context: str) -> Any:
    if X.ndim == ndim - 1 and preprocessor is not None:
        X = preprocess_points(X, preprocessor) if ndim == 2 else preprocess_tuples(X, preprocessor)
        if X.ndim != ndim:
            advice = " and/or use a preprocessor"  # as there
            raise ValueError(_message(X, ndim, context, " after the preprocessor has been applied", advice))
    if X.ndim != ndim:
        when = "" if preprocessor is None else " when using a preprocessor"
        advice = " and/or use a preprocessor" if X.ndim == ndim - 1 else ""
        raise ValueError(_message(X, ndim, context, when, advice, indicators=preprocessor is not None))
    return X


def _message(X: Any, ndim: int, context: str, when: str, advice: str, indicators: bool = False) -> str:
    wanted = f"{INDICATORS[ndim]} or {FORMED[ndim]}" if indicators else FORMED[ndim]
    what = f"Found {X.ndim}D array instead:\ninput={_words(X)}"
    return f"{wanted} expected{context}{when}. {what}. Reshape your data{advice}.\n"


def _words(X: Any) -> str:
    """As it is written; its type where it cannot be."""
    try:
        return str(X)
    except Exception:
        return shown(X)


def preprocess_points(points: Any, preprocessor: Any) -> Any:
    """Points of their indicators."""
    try:
        return preprocessor(points)
    except Exception as error:
        raise PreprocessorError(error) from error


def preprocess_tuples(tuples: Any, preprocessor: Any) -> np.ndarray:
    """Tuples of points from tuples of indicators; one call for each place."""
    try:
        return np.stack([preprocessor(column) for column in tuples.T], axis=1)
    except Exception as error:
        raise PreprocessorError(error) from error


def _check_tuples(X: np.ndarray, y: Any, size: int | None, least: int, context: str) -> None:
    if X.shape[2] < least:
        raise ValueError(
            f"Found array with {X.shape[2]} feature(s) (shape={X.shape}) while a minimum of {least} is "
            f"required{context}."
        )
    if size is not None and X.shape[1] != size:
        raise ValueError(
            f"Tuples of {size} element(s) expected{context}. Got tuples of {X.shape[1]} element(s) instead "
            f"(shape={X.shape}):\ninput={X}.\n"
        )
    if y is not None and X.shape[1] == 2:
        check_y_valid_values_for_pairs(y)


def check_y_valid_values_for_pairs(y: Any) -> None:
    """Raise unless labels of pairs are ±1."""
    if not np.isin(y, (-1, 1)).all():
        raise ValueError(
            "When training on pairs, the labels (y) should contain only values in [-1, 1]. Found an incorrect value."
        )
