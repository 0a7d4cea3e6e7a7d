"""What a setting may be, said once: by its annotation. Constructors and functions are checked by the same reading.

``n_components: Count | None``, ``anchor: Literal["auto"] | Share`` and ``kernel: Kernel | None`` are all that is
written; :func:`kind` turns an annotation into a test, and into the words of the one sentence for what does not pass.
Shapes, and relations between settings, are looked at where the data are.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, wraps
from inspect import signature
from numbers import Integral, Real
from os import PathLike
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])
INTEGER = 2.0**53
"""The largest integer that a setting may be."""
REAL = sys.float_info.max
NO_NUMBERS = (bool, np.bool_, np.timedelta64)
"""Types that pass for integers, and are none."""
PYTHONS = (int, float, bool, str, NoneType)


class SettingError(ValueError, TypeError):
    """A setting is none of the objects that it may be; numbers and words out of place are a plain ValueError."""


@dataclass(frozen=True)
class Within:
    """Numbers from ``low`` to ``high``; ``above`` leaves ``low`` itself out. pydantic understands it as well."""

    low: float = -np.inf
    high: float = np.inf
    above: bool = False

    __is_annotated_types_grouped_metadata__ = True

    def __repr__(self) -> str:
        left = "(" if self.above or self.low == -np.inf else "["
        return f"{left}{self.low}, {self.high}{')' if self.high == np.inf else ']'}"

    def __iter__(self) -> Iterator[Any]:
        from annotated_types import Ge, Gt, Le  # of pydantic, which alone asks

        if self.low > -np.inf:
            yield Gt(self.low) if self.above else Ge(self.low)
        if self.high < np.inf:
            yield Le(self.high)


@dataclass(frozen=True)
class Rule:
    """What types cannot say: the words for people, and a test of a value that has the type."""

    phrase: str
    test: Callable[[Any], Any] = lambda value: True
    error: type[ValueError] = ValueError


def _is_bit(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, np.timedelta64) and value in (0, 1)


def _is_row(value: Any) -> bool:
    return isinstance(value, list | tuple | range) or (isinstance(value, np.ndarray) and value.ndim == 1)


def _is_array(value: Any) -> bool:
    """Whether this may be an array, or a list of objects: shapes are looked at where they matter."""
    if hasattr(value, "ndim"):
        return np.ndim(value) > 0
    return hasattr(value, "__len__") and not isinstance(value, str | bytes | dict)


def _is_seed(value: Any) -> bool:
    """What scikit-learn makes a RandomState of, or a Generator."""
    if isinstance(value, Integral) and not isinstance(value, np.timedelta64):
        return 0 <= int(value) < 2**32
    return value is None or value is np.random or isinstance(value, np.random.RandomState | np.random.Generator)


Positive = Annotated[float, Within(0, above=True)]
Size = Annotated[float, Within(0)]
Share = Annotated[float, Within(0, 1)]
Count = Annotated[int, Within(1)]
Index = Annotated[int, Within(0)]
Path = Annotated[str | PathLike[str], Rule("a path")]
Loudness = Annotated[bool | int, Rule("True, False or an integer")]
Names = Annotated[Sequence[str], Rule("a list of names")]
Sizes = Annotated[Sequence[Positive], Rule("a list of positive numbers")]
Percentiles = Annotated[
    tuple[Annotated[float, Within(0, 100)], Annotated[float, Within(0, 100)]], Rule("two numbers in [0, 100]")
]
Points = Annotated[Any, Rule("points or a list of objects", _is_array)]
Distance = Annotated[Any, Rule("a metric", lambda value: hasattr(value, "pair_sqdist"))]
Seed = Annotated[Any, Rule("None, an integer in [0, 2**32), a RandomState or a Generator", _is_seed)]


@dataclass(frozen=True)
class Kind:
    """An annotation, read: what to expect in words, and a test of a value."""

    phrase: str
    holds: Callable[[Any], bool]
    error: type[ValueError] = ValueError

    def __or__(self, other: "Kind") -> "Kind":
        return either(self, other)


PLAIN: dict[Any, Kind] = {
    NoneType: Kind("None", lambda value: value is None),
    bool: Kind("True or False", lambda value: isinstance(value, bool | np.bool_) or _is_bit(value)),
    str: Kind("a string", lambda value: isinstance(value, str)),
    dict: Kind("a dict", lambda value: isinstance(value, dict)),
    Callable: Kind("a function", callable, SettingError),
    np.ndarray: Kind("an array", _is_array),
}
"""Annotations of one word."""


def kind(hint: Any) -> Kind | None:
    """What an annotation says; None where it takes anything."""
    if get_origin(hint) in (Union, UnionType):  # whose order is no part of them, so that they are not looked up
        kinds = [kind(piece) for piece in get_args(hint)]
        return None if None in kinds else either(*cast(list[Kind], kinds))
    return simple(hint)


@cache
def simple(hint: Any) -> Kind | None:
    """What an annotation says that is no union."""
    origin, inside = get_origin(hint) or hint, get_args(hint)
    if hint is Any:
        return None
    if origin is Annotated:
        return limited(*inside)
    if origin is Literal:
        listed = ", ".join(map(repr, inside))
        return Kind(
            f"one of {listed}" if inside[1:] else listed, lambda value: isinstance(value, str) and value in inside
        )
    if hint in (int, float):
        return number(hint, Within())
    if origin in (tuple, list, Sequence) and inside:
        return row(*map(kind, inside)) if origin is tuple and Ellipsis not in inside else rows(kind(inside[0]))
    if origin in PLAIN:
        return PLAIN[origin]
    article = "an" if origin.__name__[0] in "AEIO" else "a"
    return Kind(f"{article} {origin.__name__}", lambda value: isinstance(value, origin), SettingError)


def number(of: type, limits: Within) -> Kind:
    """A finite number; no bool, and no span of time, which is an integer to NumPy."""
    sort: Any = Integral if of is int else Real
    most = INTEGER if of is int else REAL
    low, high = max(limits.low, -most), most if limits.high == np.inf else limits.high
    phrase = "an integer" if of is int else "a number"

    def holds(value: Any) -> bool:
        if type(value) is not of:
            if not isinstance(value, sort) or isinstance(value, NO_NUMBERS):
                return False
            value = plain(value) if isinstance(value, np.number) else value  # single precision cannot hold the ends
        return bool(low <= value <= high) and not (limits.above and value == low)

    return Kind(phrase if limits == Within() else f"{phrase} in {limits!r}", holds)


def limited(of: Any, *limits: Any) -> Kind | None:
    """A type with limits: of numbers, or in words, with a test of their own."""
    sides = [limit for limit in limits if isinstance(limit, Within)]
    rules = [limit for limit in limits if isinstance(limit, Rule)]
    base = number(of, sides[0]) if sides else kind(of)
    if not rules:
        return base
    error, test = rules[-1].error if base is None else base.error, rules[-1].test
    return Kind(rules[-1].phrase, lambda value: (base is None or base.holds(value)) and bool(test(value)), error)


def either(*kinds: Kind) -> Kind:
    """One of several kinds."""
    *phrases, last = (one.phrase for one in kinds)
    phrase = f"{', '.join(phrases)} or {last}"
    error = next((one.error for one in kinds if one.error is not ValueError), ValueError)
    tests = tuple(one.holds for one in kinds)

    def holds(value: Any) -> bool:
        for test in tests:  # noqa: SIM110  # a generator takes three times as long
            if test(value):
                return True
        return False

    return Kind(phrase, holds, error)


def row(*kinds: Kind | None) -> Kind:
    """So many entries, each of its own kind."""
    phrase = ", ".join("anything" if one is None else one.phrase for one in kinds)

    def holds(value: Any) -> bool:
        right = _is_row(value) and len(value) == len(kinds)
        return right and all(one is None or one.holds(entry) for one, entry in zip(kinds, value))

    return Kind(f"({phrase})", holds)


def rows(each: Kind | None) -> Kind:
    """Any number of entries of one kind."""
    phrase = "a list" if each is None else f"a list, each {each.phrase}"
    return Kind(phrase, lambda value: _is_row(value) and (each is None or all(map(each.holds, value))))


def hints_of(owner: Any) -> dict[str, Any]:
    """Annotations of what a function or a class takes; where a constructor says nothing, those of its bases count."""
    bases = [vars(cls).get("__init__") for cls in reversed(owner.__mro__)] if isinstance(owner, type) else [owner]
    hints: dict[str, Any] = {}
    for function in bases:
        if hasattr(function, "__annotations__"):
            hints.update(get_type_hints(function, include_extras=True))
    return {name: hints[name] for name in signature(owner).parameters if name in hints}


@cache
def settings_of(owner: Callable[..., Any]) -> dict[str, Kind]:
    """The settings of a class or of a function whose annotations say what they may be."""
    kinds = {name: kind(hint) for name, hint in hints_of(owner).items()}
    return {name: one for name, one in kinds.items() if one is not None}


def check(obj: Any) -> None:
    """Raise one sentence for the first setting of an object that is not what it may be."""
    owner: Any = type(obj)
    for name, one in settings_of(owner).items():
        value = getattr(obj, name)
        if not one.holds(value):
            refuse(one, value, owner.__name__, name)


def require(hint: Any, value: Any, owner: str, name: str) -> None:
    """Raise one sentence for a value that is not what an annotation, or a kind, says."""
    one = hint if isinstance(hint, Kind) else kind(hint)
    if one is not None and not one.holds(value):
        refuse(one, value, owner, name)


def holds(hint: Any, value: Any) -> bool:
    """Whether a value is what an annotation says."""
    one = kind(hint)
    return one is None or one.holds(value)


def refuse(one: Kind, value: Any, owner: str, name: str) -> None:
    """The one sentence."""
    raise one.error(f"{owner}: {name} must be {one.phrase}, got {shown(value)}.")


def shown(value: Any) -> str:
    """A value on one line of a message; its type where it cannot be written."""
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."


def plain(value: Any) -> Any:
    """A number of NumPy's, or a fraction, as Python's: what files, databases and single precision take as it is."""
    if type(value) not in PYTHONS and isinstance(value, Real) and not isinstance(value, np.timedelta64):
        return int(value) if isinstance(value, Integral) else float(value)
    return value


def checked(function: F) -> F:
    """A function whose arguments are what its annotations say; a method's sentence names the class."""
    shape = signature(function).parameters
    by_place = [name for name, item in shape.items() if item.kind in (item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD)]
    method = by_place[:1] in (["self"], ["cls"])

    @wraps(function)
    def begun(*args: Any, **kwargs: Any) -> Any:
        call = dict(zip(by_place, args))
        if not call.keys().isdisjoint(kwargs):
            return function(*args, **kwargs)  # Python says what is wrong
        call.update(kwargs)
        for name, one in settings_of(function).items():
            if name in call:
                value = call[name]
                if not one.holds(value):
                    owner = getattr(args[0], "__name__", type(args[0]).__name__) if method else function.__name__
                    refuse(one, value, owner, name)
                call[name] = plain(value)
        head = [call.pop(name) for name, _ in zip(by_place, args)]
        return function(*head, *args[len(by_place) :], **call)

    return cast(F, begun)


@contextmanager
def intact(obj: Any) -> Iterator[None]:
    """Check the settings of an object, and give back its attributes as they were when something goes wrong inside."""
    check(obj)
    before = dict(vars(obj))
    try:
        with np.errstate(under="ignore"):  # a number too small to hold is 0
            yield
    except BaseException:
        vars(obj).clear()
        vars(obj).update(before)
        raise


def whole(method: F) -> F:
    """A method such as ``fit``, done as a whole or not at all: see :func:`intact`."""

    @wraps(method)
    def done(self: Any, *args: Any, **kwargs: Any) -> Any:
        with intact(self):
            return method(self, *args, **kwargs)

    return cast(F, done)
