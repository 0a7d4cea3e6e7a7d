"""What a learner says of data that it can take, but that rarely are what was meant."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from gramian import _checks
from gramian.constraints import Comparisons, Constraints, Pairs
from gramian.constraints.base import Labels

UNEVEN = 1e4
"""Ratio of the spreads of two columns from which the wider one decides every distance."""


def warn(learner: Any, X: Any, y: Any, unknown: Any) -> None:
    """Warn of columns of very different spread, of −1 as a class, and of too few pairs."""
    owner = type(learner).__name__
    if not learner._scale_free and _checks.is_word(getattr(learner, "prior", "identity"), "identity"):
        _warn_of_units(X, owner)
    if isinstance(y, Constraints):
        _warn_of_few(y, X.shape[1], owner)
    elif unknown is None:
        _warn_of_gaps(y, owner)


def _warn_of_units(X: Any, owner: str) -> None:
    if not isinstance(X, np.ndarray):
        return
    spread = X.std(axis=0)
    varying = spread[spread > 0]
    if len(varying) < 2 or varying.max() < UNEVEN * varying.min():
        return
    wide, narrow = int(spread.argmax()), int(np.where(spread > 0, spread, np.inf).argmin())
    _checks.warn(
        f"{owner}: columns of X have very different spreads, column {wide} has {spread[wide]:.3g} and column {narrow} "
        f"{spread[narrow]:.3g}, so that the first decides every distance; scale them (StandardScaler) or take AutoMetric."
    )


def _warn_of_few(side: Constraints, d: int, owner: str) -> None:
    """A metric on d columns needs about as many pairs."""
    if isinstance(side, Pairs | Comparisons) and side.from_data and 2 * len(side) < d:
        _checks.warn(
            f"{owner}: {len(side)} {type(side).__name__.lower()} say little about {d} columns; "
            "give more, or fewer columns (PCA)."
        )


def _warn_of_gaps(y: Any, owner: str) -> None:
    """Beside 0, 1, 2, … others write −1 for what has no label; beside +1 alone it is a class."""
    values = np.unique(y.classes if isinstance(y, Labels) else np.asarray(y)) if _whole(y) else np.array([])
    if len(values) > 2 and values[0] == -1 and values[1] >= 0:
        _checks.warn(
            f"{owner}: labels hold -1 beside {len(values) - 1} others, and it is a class of its own here; "
            'give unknown=-1 where it stands for "no label".'
        )


def _whole(y: Any) -> bool:
    values = y.classes if isinstance(y, Labels) else np.asarray(y)
    return bool(values.dtype.kind in "i" or (values.dtype.kind == "f" and (values == np.round(values)).all()))


def takers(base: type, kind: type) -> str:
    """The learners that accept a kind of constraints, in words."""
    able = {cls.__name__ for cls in _public(base) if issubclass(kind, cls._accepts)}
    names = sorted(able - {"Kernelized"})  # which takes what its learner does
    return f"{kind.__name__} are taken by {', '.join(names)}" if names else f"no learner takes {kind.__name__}"


def _public(cls: Any) -> Iterator[Any]:
    for child in cls.__subclasses__():
        if child.__module__.startswith("gramian.learners.") and not child.__abstractmethods__:
            yield child
        yield from _public(child)
