"""Settings of metric-learn's classes: kept by constructors, and checked by what they can hold at all."""

from inspect import signature
from numbers import Number
from typing import Annotated, Any

import numpy as np

from gramian import _validate
from gramian._settings import Rule, require


def _is_one(value: Any) -> bool:
    single = isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "biuf"
    return single or value is None or isinstance(value, str | Number | np.bool_)


ONE = Annotated[Any, Rule("a number, a word, True, False or None", _is_one)]
MANY = Annotated[Any, Rule("a word or an array", lambda value: isinstance(value, str | np.ndarray | list | tuple))]
SEVERAL = {"prior": MANY | None, "init": MANY | None, "basis": MANY | None}
ELSEWHERE = ("preprocessor", "random_state")
"""Settings that are looked at where they are used."""


def check_settings(learner: Any) -> None:
    """Raise one sentence for a setting that cannot be what it should, before it is compared with anything."""
    for name in signature(type(learner)).parameters:
        if name not in ELSEWHERE:
            require(SEVERAL.get(name, ONE), getattr(learner, name, None), type(learner).__name__, name)


def store(estimator: Any, settings: dict[str, Any], **new_names: str) -> None:
    """Keep the parameters of a constructor, its ``locals()``; ``new_names`` says what old names are called now."""
    values = {name: value for name, value in settings.items() if name != "self"}
    for old, new in new_names.items():
        values[new] = renamed(old, new, values[old], values[new])
        values[old] = "deprecated"
    vars(estimator).update(values)


def whole(name: str, value: Any) -> int:
    """A number of things; one with a fraction is cut, as there."""
    return int(_validate.number(value, "Constraints", name))


def renamed(old: str, new: str, value: Any, default: Any) -> Any:
    """The value of a parameter that may come under its old name."""
    if isinstance(value, str) and value == "deprecated":
        return default
    _validate.warn(
        f'"{old}" parameter has been renamed to "{new}". It has been deprecated in version 0.6.3 and will be removed '
        "in 0.7.0",
        FutureWarning,
    )
    return value
