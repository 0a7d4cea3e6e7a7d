"""What the arguments of a space and of its client may be: one table, by their names."""

from numbers import Integral
from typing import Any

import numpy as np

from gramian._parameters import COUNT, DATA, FLAG, FUNCTION, NONE, PATH, POSITIVE, TEXT, Kind
from gramian._parameters import number as a_number
from gramian.service.changes import Request


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
    "folder": PATH,
    "n_features": COUNT,
    "ids": NONE | IDS,
    "meta": NONE | DICTS,
    "upsert": SOME,
    "id": NONE | WHOLE,
    "request": NONE | Kind("a Request", lambda value: isinstance(value, Request)),
    "after": NONE | a_number(0, integer=True),
    "limit": a_number(0, integer=True),
    "listener": FUNCTION,
    "timeout": POSITIVE,
}
"""Words of :class:`~gramian.service.Space` and :class:`~gramian.service.Client`."""
