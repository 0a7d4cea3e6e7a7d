"""Fits on many points: a part of them where the work would grow with n², chosen by class, and announced."""

from typing import Any

import numpy as np

from gramian import _validate, linalg
from gramian._arrays import asarray, to_numpy
from gramian.constraints import Comparisons, Constraints, Labels
from gramian.constraints.comparisons import moved

ENOUGH = 100_000
"""Pairs, or comparisons, that are enough for what is blended with a prior."""
PER_CLASS = 10
"""Points of a class that are drawn at least, if it has them, as long as there are enough in all."""


def by_content(points: Any) -> np.ndarray | None:
    """The rows in an order that follows from what they hold, (n,); None where there are none to look at."""
    if getattr(points, "ndim", 0) != 2:
        return None
    direction = np.random.RandomState(0).standard_normal(points.shape[1])  # (d,)
    return np.argsort(to_numpy(points @ asarray(direction, points)), kind="stable")


def in_order(labels: Labels, order: np.ndarray | None) -> list[np.ndarray]:
    """The points of each class, all in an order, and classes in that of their first points."""
    if order is None:
        return [members for members in labels.groups() if len(members)]
    groups = [order[members] for members in Labels(labels.codes[order], labels.classes).groups() if len(members)]
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return sorted(groups, key=lambda members: int(rank[members[0]]))


def some(labels: Labels, most: int, rng: np.random.RandomState, order: Any = None) -> np.ndarray:
    """Rows, ascending, at most so many: of each class in proportion to its size, but ``PER_CLASS`` at least.

    Where there are too many classes for that, some classes are drawn instead: pairs within a class are what is needed.
    ``order`` is that in which the points are drawn, by their rows when None.
    """
    groups = [rng.permutation(members) for members in in_order(labels, order)]
    sizes = np.array([len(members) for members in groups])
    least = np.minimum(sizes, PER_CLASS)
    if least.sum() > most:
        order = rng.permutation(len(groups))
        fit = np.cumsum(least[order]) <= most
        fit[:2] = True  # two classes at the least
        return np.sort(np.concatenate([groups[i][: least[i]] for i in order[fit]]))
    left = sizes - least
    take = least + left * (most - least.sum()) // max(left.sum(), 1)
    return np.sort(np.concatenate([members[:count] for members, count in zip(groups, take)]))


def usual(count: int | None, most: int | None, labels: Labels, each: int) -> int | None:
    """How many to draw: what was given, or the usual number for each point, left open, unless that is too many."""
    return most if count is None and most is not None and each * len(labels.codes) > most else count


def fewer(
    X: Any,
    y: Any,
    most: int,
    owner: str,
    remedy: str,
    rng: np.random.RandomState,
    *,
    by_class: bool = True,
    reason: str = "its work grows with n²",
) -> tuple[Any, Any]:
    """Points and labels, or a part of them where there are more than ``most``, which a warning says."""
    if isinstance(y, Constraints) or linalg.count(X) <= most:
        return X, y
    n = linalg.count(X)
    drawn = "by class" if by_class else "at random"
    order = by_content(X)
    order = np.arange(n) if order is None else order
    rows = some(y, most, rng, order) if by_class else np.sort(order[rng.choice(n, most, replace=False)])
    _validate.warn(
        f"{owner}: learns from {len(rows):,} of the {n:,} points, drawn {drawn}, since {reason}; "
        f"{remedy} to learn from all of them."
    )
    return linalg.take(X, rows), y.of(rows)


def joined(X: Any, y: Any) -> tuple[Any, Any]:
    """Points without copies, and the comparisons of them; in tuples a point comes as often as it is compared."""
    if not isinstance(y, Comparisons):
        return X, y
    points, place = np.unique(X, axis=0, return_inverse=True)
    return points, moved(y, place.ravel())
