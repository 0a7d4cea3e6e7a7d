"""The compiled loops (numba), imported only when called; one file per topic."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


def own_loop(value: Any, topic: str) -> Callable | None:
    """The loop that the class of ``value`` names as ``compiled``, from the file ``topic``; None when it names none.

    A subclass does not inherit the name: the compiled loop would not see what the subclass overrides.
    """
    kind: Any = type(value)
    return _loop_of(kind, topic)


@cache
def _loop_of(kind: Any, topic: str) -> Callable | None:
    name = vars(kind).get("compiled")
    return None if name is None else getattr(import_module(f"{__name__}.{topic}"), name)
