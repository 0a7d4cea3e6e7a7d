"""One description of the settings that many classes share, by name: what each may be.

A word means the same everywhere, so one table serves all classes; ``Class.word`` stands for a class that takes more.
The checks of an estimator, the tests that try every wrong value, and the words in a message all come from here.
Settings with limits of their own (shapes, the number of points) are checked where those are known.
"""

from collections.abc import Callable
from functools import cache, wraps
from inspect import isfunction, signature
from numbers import Integral, Real
from os import PathLike
from typing import Any, TypeVar, cast

import numpy as np

from gramian import _settings
from gramian._settings import Kind
from gramian._settings import shown as shown

F = TypeVar("F", bound=Callable)
C = TypeVar("C")
MOST = 2**53
"""The largest integer that a setting may be."""


def number(low: float, high: float = np.inf, *, integer: bool = False, open_low: bool = False) -> Kind:
    """A finite number in [low, high], or (low, high] with open_low."""
    kind: Any = Integral if integer else Real
    top = min(high, MOST) if integer else high
    left = "(" if open_low else "["
    phrase = f"{'an integer' if integer else 'a number'} in {left}{low}, {high}{')' if high == np.inf else ']'}"

    def holds(value: Any) -> bool:
        if not isinstance(value, kind) or isinstance(value, bool | np.bool_ | np.timedelta64):  # an Integral to NumPy
            return False
        if not abs(value) < np.inf:
            return False
        return low <= value <= top and not (open_low and value == low)

    return Kind(phrase, holds)


def word(*words: str) -> Kind:
    """One of some words."""
    return Kind(" or ".join(map(repr, words)), lambda value: isinstance(value, str) and value in words)


NONE = Kind("None", lambda value: value is None)
FLAG = Kind("True or False", lambda value: isinstance(value, bool | np.bool_) or _is_bit(value))
LOUDNESS = Kind("True, False or an integer", lambda value: isinstance(value, bool | np.bool_ | Integral))
FUNCTION = Kind("a function", callable)
TEXT = Kind("a string", lambda value: isinstance(value, str))
PATH = Kind("a path", lambda value: isinstance(value, str | PathLike))
NAMES = Kind("a list of names", lambda value: _is_row(value) and all(isinstance(name, str) for name in value))
DATA = Kind("a dict", lambda value: isinstance(value, dict))
COUNT = number(1, integer=True)
SIZE = number(0)
SHARE = number(0, 1)
POSITIVE = number(0, open_low=True)
SIZES = Kind("a list of positive numbers", lambda value: _is_row(value) and all(map(POSITIVE.holds, value)))
METRIC = Kind("a metric", lambda value: hasattr(value, "pair_sqdist"))
OBJECTS = Kind(
    "points or a list of objects", lambda value: np.ndim(value) > 0 if hasattr(value, "ndim") else _is_list(value)
)

TABLE: dict[str, Kind] = {
    "callback": NONE | FUNCTION,
    "verbose": LOUDNESS,
    "comparator": NONE | METRIC,
    "center": FLAG,
    "DecorrelatedKMeans.center": word("auto") | FLAG,
    "hinge": FLAG,
    "normalized": FLAG,
    "diagonal": FLAG,
    "compress": FLAG,
    "conic": FLAG,
    "relative": FLAG,
    "root": FLAG,
    "mmap": FLAG,
    "verify": FLAG,
    "warn": FLAG,
    "soft": FLAG,
    "max_iter": COUNT,
    "LaplacianEigenmaps.max_iter": NONE | COUNT,
    "TDL.max_iter": NONE | COUNT,
    "n_init": COUNT,
    "n_neighbors": COUNT,
    "NCA.n_neighbors": NONE | COUNT,
    "LFDA.n_neighbors": word("auto") | COUNT,
    "reselect": number(0, integer=True),
    "n_pairs": NONE | COUNT,
    "max_points": NONE | number(2, integer=True),
    "tol": number(0),
    "KernelFeatures.tol": NONE | number(0),
    "members": NONE | OBJECTS,
    "TableEncoder.drop": NAMES,
    "n_jobs": NONE | number(-MOST, integer=True),
}


def _is_row(value: Any) -> bool:
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim == 1)


def _is_list(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str | bytes | dict)


def _is_bit(value: Any) -> bool:
    return isinstance(value, Integral) and value in (0, 1)


def _is_numpys(value: Any) -> bool:
    return isinstance(value, np.integer) and not isinstance(value, np.timedelta64)


def kind_of(owner: type, name: str) -> Kind | None:
    """What a setting of a class may be, None where the table does not say."""
    own = (TABLE.get(f"{cls.__name__}.{name}") for cls in owner.__mro__)
    return next((kind for kind in own if kind is not None), TABLE.get(name))


@cache
def settings_of(owner: type) -> tuple[tuple[str, Kind], ...]:
    """The settings of a class that its annotations or the table describe, in their order."""
    written = _settings.settings_of(owner)
    kinds = ((name, written.get(name) or kind_of(owner, name)) for name in signature(owner).parameters)
    return tuple((name, kind) for name, kind in kinds if kind is not None)


def check(obj: Any) -> None:
    """Raise one sentence for the first setting of an object that is not what it may be."""
    owner: Any = type(obj)
    for name, kind in settings_of(owner):
        require(kind, getattr(obj, name), owner.__name__, name)


def require(kind: Kind | None, value: Any, owner: str, name: str) -> None:
    """Raise one sentence for a value that is not of its kind; no kind takes anything."""
    if kind is not None:
        _settings.require(kind, value, owner, name)


def checked(owner: str | None = None, /, **kinds: Kind) -> Callable[[F], F]:
    """A function whose arguments of these names, and those in the table, are checked before it begins.

    NumPy's integers become Python's, which files and databases understand. A sentence names ``owner``, or the function
    where none is given.
    """

    def decorate(function: F) -> F:
        shape = signature(function)
        more = next((name for name, given in shape.parameters.items() if given.kind is given.VAR_KEYWORD), "")
        known = {**TABLE, **kinds}
        name_of = owner or function.__name__

        @wraps(function)
        def begun(*args: Any, **kwargs: Any) -> Any:
            call = shape.bind(*args, **kwargs)
            bound = call.arguments
            for name, value in {**bound, **bound.get(more, {})}.items():
                require(known.get(name), value, name_of, name)
            bound.update({name: int(value) for name, value in bound.items() if _is_numpys(value)})
            return function(*call.args, **call.kwargs)

        return cast(F, begun)

    return decorate


def checked_methods(**kinds: Kind) -> Callable[[type[C]], type[C]]:
    """A class whose constructor and public methods, inherited ones too, check their arguments before they begin."""

    def decorate(cls: type[C]) -> type[C]:
        methods = {name: method for base in reversed(cls.__mro__) for name, method in vars(base).items()}
        for name, method in methods.items():
            if isfunction(method) and (name == "__init__" or not name.startswith("_")):
                setattr(cls, name, checked(cls.__name__, **kinds)(method))
        return cls

    return decorate
