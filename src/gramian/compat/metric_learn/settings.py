"""Settings of metric-learn's classes by what they can hold at all: one value, or a word or an array."""

from inspect import signature
from numbers import Number
from typing import Any

import numpy as np

from gramian._parameters import DATA, NONE, Kind, require

ONE = Kind(
    "a number, a word, True, False or None",
    lambda value: value is None or isinstance(value, str | Number | np.bool_) or _is_single(value),
)
WORD_OR_ARRAY = NONE | Kind("a word or an array", lambda value: isinstance(value, str | np.ndarray | list | tuple))
SEVERAL = {"prior": WORD_OR_ARRAY, "init": WORD_OR_ARRAY, "basis": WORD_OR_ARRAY}
ELSEWHERE = ("preprocessor", "random_state")
"""Settings that are looked at where they are used."""
OPTIONS = NONE | DATA


def check_settings(learner: Any) -> None:
    """Raise one sentence for a setting that cannot be what it should, before it is compared with anything."""
    for name in signature(type(learner)).parameters:
        if name not in ELSEWHERE:
            require(SEVERAL.get(name, ONE), getattr(learner, name, None), type(learner).__name__, name)


def _is_single(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "biuf"
