"""Learners and kernels by name, with their settings: whatever is public can be named."""

import ast
import difflib
import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import gramian
from gramian.kernels import Kernel
from gramian.learners.base import Learner

RANK = 300
"""Coordinates of a kernel when nobody said how many: with all of them a fit on thousands of rows would take hours."""


def learners() -> dict[str, type[Learner]]:
    """Public learners that need no argument, by lower-case name."""
    return {name: cls for name, cls in _public(Learner).items() if _callable_bare(cls)}


def learner(
    name: str, settings: Sequence[str] = (), kernel: str | None = None, rank: int | None = None, seed: int = 0
) -> Any:
    """A learner from its name and ``name=value`` settings, in the feature space of a kernel when one is named.

    "auto" is AutoMetric, and ITML where a kernel is named.
    """
    if name.lower() == "auto":
        name = "autometric" if kernel is None else "itml"
    cls = _pick(name, learners(), "learner")
    arguments = _arguments(cls, settings, seed)
    if cls is gramian.Kernelized:
        arguments.setdefault("rank", RANK if rank is None else rank)
        rank = None
    built = cls(**arguments)
    if kernel is None:
        if rank is not None:
            raise ValueError("--rank needs --kernel; for fewer dimensions without one see --set n_components=….")
        return built
    if cls is gramian.Kernelized:
        return built.set_params(kernel=_kernel(kernel))
    return gramian.Kernelized(built, kernel=_kernel(kernel), rank=RANK if rank is None else rank, random_state=seed)


@contextmanager
def typed(settings: Sequence[str]) -> Iterator[None]:
    """Blame a setting for a type that a learner cannot compute with."""
    try:
        yield
    except TypeError as error:
        if not settings:
            raise
        raise ValueError(f"--set {' --set '.join(settings)}: a value has the wrong type ({error}).") from error


def _kernel(text: str) -> Kernel | None:
    """A kernel and its arguments, as ``gaussian:2.5``; None, the median distance as its width, for ``gaussian``."""
    name, *arguments = text.split(":")
    if name.lower() == "gaussian" and not arguments:
        return None
    cls = _pick(name, _public(Kernel), "kernel")
    try:
        return cls(*[_value(argument) for argument in arguments])
    except TypeError as error:
        raise ValueError(f"kernel {text!r}: {error}.") from error


def _public(base: type) -> dict[str, Any]:
    """The classes below a base that can be made, by their names."""
    classes = {name: value for name in dir(gramian) if inspect.isclass(value := getattr(gramian, name))}
    return {name.lower(): cls for name, cls in classes.items() if issubclass(cls, base) and not inspect.isabstract(cls)}


def _callable_bare(cls: type) -> bool:
    parameters = list(inspect.signature(cls).parameters.values())
    return all(p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)


def _pick(name: str, options: dict[str, Any], what: str) -> Any:
    if name.lower() in options:
        return options[name.lower()]
    close = difflib.get_close_matches(name.lower(), options, n=3, cutoff=0.4)
    if close:
        raise ValueError(f"no {what} {name!r}, did you mean {', '.join(close)}?")
    where = "gramian learners lists them" if what == "learner" else f"there are {', '.join(sorted(options))}"
    raise ValueError(f"no {what} {name!r}; {where}.")


def settings_of(cls: type) -> str:
    """The settings of a learner with their defaults, as --set takes them."""
    hidden = ("verbose", "callback", "random_state")
    shown = [p for p in inspect.signature(cls).parameters.values() if p.name not in hidden]
    return ", ".join(f"{p.name}={p.default}" for p in shown)


def _arguments(cls: type, settings: Sequence[str], seed: int) -> dict[str, Any]:
    names = list(inspect.signature(cls).parameters)
    arguments: dict[str, Any] = {"random_state": seed} if "random_state" in names else {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise ValueError(f"--set takes name=value, got {setting!r}.")
        if name not in names:
            raise ValueError(f"{cls.__name__} has no setting {name!r}; it has {', '.join(names)}.")
        arguments[name] = _value(text)
    return arguments


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
