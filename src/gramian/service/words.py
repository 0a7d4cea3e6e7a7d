"""What the arguments of a space and of its client may be: one table, by their names."""

from collections.abc import Callable
from functools import wraps
from inspect import isfunction, signature
from numbers import Integral
from types import NoneType
from typing import Any, TypeVar, cast

import numpy as np

from gramian import _settings
from gramian._settings import Kind
from gramian.service.changes import Request

C = TypeVar("C")


def _is_whole(value: Any) -> bool:
    if not isinstance(value, Integral) or isinstance(value, bool | np.bool_ | np.timedelta64):
        return False
    return -(2**63) <= int(value) < 2**63


def _is_row(value: Any) -> bool:
    return isinstance(value, list | tuple | range) or (isinstance(value, np.ndarray) and value.ndim == 1)


def _are_ids(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 1 and (len(value) == 0 or (value.dtype.kind in "iu" and int(value.max()) < 2**63))
    return _is_row(value) and all(entry is None or _is_whole(entry) for entry in value)


def _are_dicts(value: Any) -> bool:
    return _is_row(value) and all(entry is None or isinstance(entry, dict) for entry in value)


def _kind(hint: Any) -> Kind:
    return cast(Kind, _settings.kind(hint))


NONE, FLAG, TEXT, DATA = _kind(NoneType), _kind(bool), _kind(str), _kind(dict)
WHOLE = Kind("an integer", _is_whole)
IDS = Kind("a list of ids", _are_ids)
DICTS = Kind("a list of dicts", _are_dicts)
VERSION = Kind("'active', 'plain' or a number", lambda value: isinstance(value, str) or _is_whole(value))
SOME = Kind(
    "True, False or ids", lambda value: FLAG.holds(value) or isinstance(value, set | frozenset) or _is_row(value)
)
WORDS: dict[str, Kind] = {
    **dict.fromkeys(("name", "method", "path", "address"), TEXT),
    **dict.fromkeys(("user", "label", "token", "key", "duel_id", "learner"), NONE | TEXT),
    **dict.fromkeys(("learning", "like", "duel", "unseen"), FLAG),
    **dict.fromkeys(("seq", "item"), WHOLE),
    **dict.fromkeys(("version", "to"), VERSION),
    **dict.fromkeys(("where", "headers"), NONE | DATA),
    **dict.fromkeys(("likes", "dislikes"), IDS),
    "folder": _kind(_settings.Path),
    "n_features": _kind(_settings.Count),
    "ids": NONE | IDS,
    "meta": NONE | DICTS,
    "upsert": SOME,
    "id": NONE | WHOLE,
    "request": NONE | Kind("a Request", lambda value: isinstance(value, Request)),
    "after": NONE | _kind(_settings.Index),
    "limit": _kind(_settings.Index),
    "listener": _kind(Callable),
    "timeout": _kind(_settings.Positive),
}
"""Words of :class:`~gramian.service.Space` and :class:`~gramian.service.Client`."""


def checked(cls: type[C]) -> type[C]:
    """A class whose constructor and public methods, inherited ones too, check their arguments before they begin."""
    methods = {name: method for base in reversed(cls.__mro__) for name, method in vars(base).items()}
    for name, method in methods.items():
        if isfunction(method) and (name == "__init__" or not name.startswith("_")):
            setattr(cls, name, _checked(cls.__name__, method))
    return cls


def _checked(owner: str, method: Callable) -> Callable:
    """A method whose arguments are what the table says; NumPy's integers become Python's, which databases take."""
    shape = signature(method)
    more = next((name for name, one in shape.parameters.items() if one.kind is one.VAR_KEYWORD), "")

    @wraps(method)
    def begun(*args: Any, **kwargs: Any) -> Any:
        call = shape.bind(*args, **kwargs)
        bound = call.arguments
        for name, value in {**bound, **bound.get(more, {})}.items():
            _settings.require(WORDS.get(name, Any), value, owner, name)
        bound.update({name: int(value) for name, value in bound.items() if _is_numpys(value)})
        return method(*call.args, **call.kwargs)

    return begun


def _is_numpys(value: Any) -> bool:
    return isinstance(value, np.integer) and not isinstance(value, np.timedelta64)
