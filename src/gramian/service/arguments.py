"""What the arguments of a space and of its client may be: annotations, which are checked before a method begins."""

from inspect import isfunction
from numbers import Integral
from typing import Annotated, Any, TypeVar

import numpy as np

from gramian import _settings
from gramian._settings import Rule

C = TypeVar("C")


def is_id(value: Any) -> bool:
    """Whether this is an integer of 64 bits."""
    if not isinstance(value, Integral) or isinstance(value, bool | np.bool_ | np.timedelta64):
        return False
    return -(2**63) <= int(value) < 2**63


def _is_row(value: Any) -> bool:
    return isinstance(value, list | tuple | range) or (isinstance(value, np.ndarray) and value.ndim == 1)


def _are_ids(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 1 and (len(value) == 0 or (value.dtype.kind in "iu" and int(value.max()) < 2**63))
    return _is_row(value) and all(entry is None or is_id(entry) for entry in value)


def _are_dicts(value: Any) -> bool:
    return _is_row(value) and all(entry is None or isinstance(entry, dict) for entry in value)


def _is_choice(value: Any) -> bool:
    return _settings.holds(bool, value) or isinstance(value, set | frozenset) or _is_row(value)


Id = Annotated[Any, Rule("an integer", is_id)]
Ids = Annotated[Any, Rule("a list of ids", _are_ids)]
Dicts = Annotated[Any, Rule("a list of dicts", _are_dicts)]
Choice = Annotated[Any, Rule("True, False or ids", _is_choice)]
VersionName = Annotated[
    Any, Rule("'active', 'plain' or a number", lambda value: isinstance(value, str) or is_id(value))
]


def checked(cls: type[C]) -> type[C]:
    """A class whose constructor and public methods check their arguments."""
    for name, method in list(vars(cls).items()):
        if isfunction(method) and (name == "__init__" or not name.startswith("_")):
            setattr(cls, name, _settings.checked(method))
    return cls
