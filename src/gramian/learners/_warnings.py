"""What a learner says of data that it can take, but that rarely are what was meant."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from gramian import _validate
from gramian.constraints import Comparisons, Constraints, Labels, Pairs
from gramian.learners.task import Traits

UNEVEN = 1e4
"""Ratio of the spreads of two columns from which the wider one decides every distance."""

COMPARED = "Triplets", "Quadruplets"
"""What there is of comparisons."""


def warn_of_data(learner: Any, X: Any, side: Labels | Constraints, unknown: Any) -> None:
    """Warn of columns of very different spread, of −1 and of fractions as classes, and of too few pairs."""
    owner = type(learner).__name__
    if not learner.traits.scale_free and _validate.is_word(learner.prior, "identity"):
        warn_of_units(X, owner, getattr(learner, "feature_names_in_", range(X.shape[1])))
    if isinstance(side, Constraints):
        warn_of_few(side, X.shape[1], owner)
    elif unknown is None and learner.traits.labels != "numbers":
        warn_of_labels(side.classes, owner)


def refuse_tuples(y: np.ndarray, owner: str) -> None:
    """Raise where labels are several for each point: pairs and triplets of indices come as constraints."""
    if y.ndim == 2 and y.shape[1] > 1:
        raise ValueError(
            f"{owner}: y must be labels (n,) or constraints, got shape {y.shape}. y should be a 1d array; "
            "for pairs of points give Pairs(left, right, similar), for triplets Triplets(anchor, near, far)."
        )


def warn_of_units(X: Any, owner: str, names: Any) -> None:
    if not isinstance(X, np.ndarray):
        return
    varies = X.max(axis=0) > X.min(axis=0)  # rounding leaves a spread to a constant column
    if varies.sum() < 2:
        return
    spread = X.std(axis=0)
    wide, narrow = (int(pick(np.where(varies, spread, spread[varies].mean()))) for pick in (np.argmax, np.argmin))
    if spread[wide] < UNEVEN * spread[narrow]:
        return
    _validate.warn(
        f"{owner}: columns of X have very different spreads, column {names[wide]} has {spread[wide]:.3g} and "
        f"column {names[narrow]} {spread[narrow]:.3g}, so the first decides all distances; "
        "scale them (StandardScaler) or take AutoMetric."
    )


def warn_of_few(side: Constraints, d: int, owner: str) -> None:
    """A metric on d columns needs about as many pairs."""
    if isinstance(side, Pairs | Comparisons) and side.from_data and 2 * len(side) < d:
        kind = type(side).__name__.lower()
        words = f"{len(side)} {kind} say" if len(side) > 1 else f"one {kind.removesuffix('s')} says"
        _validate.warn(f"{owner}: {words} little about {d} columns; give more, or fewer columns (PCA).")


def warn_of_labels(classes: np.ndarray, owner: str) -> None:
    """Beside 0, 1, 2, … others write −1 for what has no label; fractions are measurements and rarely classes."""
    if classes.dtype.kind not in "if":
        return
    if (classes != np.round(classes)).any() and len(classes) > 2:
        _validate.warn(
            f"{owner}: labels are {len(classes)} different fractions, such as {classes[0]:g}, and each is a class; "
            "use Pairs.from_targets for continuous targets."
        )
    elif len(classes) > 2 and classes[0] == -1 and classes[1] >= 0:
        _validate.warn(
            f"{owner}: labels hold -1 beside {len(classes) - 1} others, and it is a class of its own here; "
            "give unknown=-1 where it stands for no label."
        )


def listed(kinds: tuple[type, ...]) -> str:
    """Labels and some kinds of constraints, in words."""
    names = [name for kind in kinds for name in (COMPARED if kind is Comparisons else (kind.__name__,))]
    return " or ".join(["labels", *names])


def takers(base: type, kind: type) -> str:
    """The learners that accept a kind of constraints, in words."""
    plain = [cls for cls in _public(base) if isinstance(cls.traits, Traits)]  # elsewhere it takes what its learner does
    able = {cls.__name__ for cls in plain if issubclass(kind, cls.traits.takes)}
    names = sorted(able)
    return f"{kind.__name__} are taken by {', '.join(names)}" if names else f"no learner takes {kind.__name__}"


def _public(cls: Any) -> Iterator[Any]:
    for child in cls.__subclasses__():
        if child.__module__.startswith("gramian.learners.") and not child.__name__.endswith("Learner"):
            yield child
        yield from _public(child)
