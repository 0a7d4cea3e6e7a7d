"""Settings of classes and functions whose annotations do not say yet what they may be: one table, by name.

``Class.word`` stands for a class that takes more. What annotations say goes before the table.
"""

from collections.abc import Callable
from functools import cache, wraps
from inspect import isfunction, signature
from types import NoneType
from typing import Any, TypeVar, cast

import numpy as np

from gramian import _settings
from gramian._settings import Kind, Within
from gramian._settings import shown as shown

F = TypeVar("F", bound=Callable)
C = TypeVar("C")


def number(low: float, high: float = np.inf, *, integer: bool = False, open_low: bool = False) -> Kind:
    """A finite number in [low, high], or (low, high] with open_low."""
    return _settings.number(int if integer else float, Within(low, high, open_low))


def word(*words: str) -> Kind:
    """One of some words."""
    return Kind(" or ".join(map(repr, words)), lambda value: isinstance(value, str) and value in words)


def _kind(hint: Any) -> Kind:
    return cast(Kind, _settings.kind(hint))


NONE, FLAG, TEXT, DATA = _kind(NoneType), _kind(bool), _kind(str), _kind(dict)
FUNCTION, LOUDNESS, PATH = _kind(Callable), _kind(_settings.Loudness), _kind(_settings.Path)
NAMES, SIZES, METRIC = _kind(_settings.Names), _kind(_settings.Sizes), _kind(_settings.Distance)
COUNT, SIZE = _kind(_settings.Count), _kind(_settings.Size)
SHARE, POSITIVE = _kind(_settings.Share), _kind(_settings.Positive)

TABLE: dict[str, Kind] = {
    "callback": NONE | FUNCTION,
    "verbose": LOUDNESS,
    "diagonal": FLAG,
    "mmap": FLAG,
    "verify": FLAG,
    "max_iter": COUNT,
    "n_neighbors": COUNT,
    "NCA.n_neighbors": NONE | COUNT,
    "LFDA.n_neighbors": word("auto") | COUNT,
    "reselect": number(0, integer=True),
    "n_pairs": NONE | COUNT,
    "max_points": NONE | number(2, integer=True),
    "tol": SIZE,
    "TableEncoder.drop": NAMES,
}


def _is_numpys(value: Any) -> bool:
    return isinstance(value, np.integer) and not isinstance(value, np.timedelta64)


def kind_of(owner: type, name: str) -> Kind | None:
    """What a setting of a class may be by the table, None where it does not say."""
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
