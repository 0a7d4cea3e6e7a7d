"""Settings of metric-learn's classes by what they can hold at all: one value, or a word or an array."""

from inspect import signature
from numbers import Number
from typing import Annotated, Any

import numpy as np

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
