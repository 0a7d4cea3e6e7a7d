"""Clicks on a list of results: what a person liked and disliked of what was on the screen."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _validate, linalg
from gramian._settings import shown as text_of
from gramian.constraints.base import reach
from gramian.constraints.pairs import Pairs
from gramian.metrics import Metric
from gramian.persist import Stored


@dataclass(frozen=True, eq=False)
class Feedback(Stored):
    """A liked item should be as near as the first hit on the screen, a disliked one beyond the last.

    Targets are relative to the list that was judged, so that they fit the distances as they are: bounds from
    percentiles of all distances ask for far more than a person said, and take a good metric down.
    Every learner of pairs takes it; :meth:`pairs` shows what it becomes.

    Parameters
    ----------
    query : int, or int array (m,)
        The point that was asked for, or one for each of m lists.
    liked, disliked : indices, or m sequences of indices
        Items of each list that the person wants nearer, and farther.
    shown : indices, or m sequences of indices, optional
        The list on the screen, in any order; what was liked and disliked when None.

    See Also
    --------
    gramian.LEGO : Learns from it, click by click.
    gramian.Pairs : Without a list on the screen.

    Examples
    --------
    >>> import gramian as gm
    >>> clicks = gm.Feedback(0, liked=[3], disliked=[1], shown=[1, 2, 3])
    >>> pairs = clicks.pairs([[0.0], [1.0], [2.0], [3.0]])
    >>> pairs.right.tolist(), pairs.limit.tolist()
    ([3, 1], [1.0, 9.0])
    """

    query: Any
    liked: Any = ()
    disliked: Any = ()
    _: KW_ONLY
    shown: Any = None

    def __post_init__(self) -> None:
        query = _validate.plain(self.query, "Feedback", "query")
        many = query.ndim > 0
        queries = _validate.indices(np.atleast_1d(query), "Feedback", "query")
        object.__setattr__(self, "query", tuple(queries.tolist()))
        for name in ("liked", "disliked", "shown"):
            object.__setattr__(self, name, _lists(getattr(self, name), len(queries), many, name))
        if not any(map(len, self.liked)) and not any(map(len, self.disliked)):
            raise ValueError("Feedback: needs something liked or disliked, got neither.")

    @property
    def n_points(self) -> int:
        """One more than the largest index."""
        lists = [*self.liked, *self.disliked, *self.shown, self.query]
        return reach(*(np.asarray(items, dtype=np.intp) for items in lists))

    def __len__(self) -> int:
        return sum(map(len, self.liked)) + sum(map(len, self.disliked))

    def pairs(self, X: Any, metric: Metric | None = None) -> Pairs:
        """The clicks as soft pairs with a bound each: the distances under ``metric``, as X are when None."""
        if metric is None:
            X = _validate.points(X, "Feedback")
        if self.n_points > linalg.count(X):
            raise ValueError(
                f"Feedback: the lists refer to point {self.n_points - 1}, but X has {linalg.count(X)} points."
            )
        left, right, similar, bound = [], [], [], []
        for query, liked, disliked, shown in zip(self.query, self.liked, self.disliked, self.shown):
            nearest, farthest = ends(X, query, shown or (*liked, *disliked), metric)
            left += [query] * (len(liked) + len(disliked))
            right += [*liked, *disliked]
            similar += [True] * len(liked) + [False] * len(disliked)
            bound += [nearest] * len(liked) + [farthest] * len(disliked)
        limits = np.array(bound)
        return Pairs(np.array(left), np.array(right), np.array(similar), bounds=(limits, limits), soft=True)


def ends(X: Any, query: int, shown: Iterable[int], metric: Metric | None = None) -> tuple[float, float]:
    """Squared distances of the first hit, copies of the query aside, and of the last one."""
    rows = np.array(list(shown), dtype=np.intp)
    one, items = linalg.take(X, np.array([query])), linalg.take(X, rows)
    # (number of shown items,)
    d = linalg.sqdist(one, items)[0] if metric is None else metric.sqdist(one, items)[0]
    return float(d[d > 0].min(initial=d.max())), float(d.max())


def _lists(value: Any, m: int, many: bool, name: str) -> tuple[tuple[int, ...], ...]:
    """m lists of indices."""
    if value is None:
        return ((),) * m
    if not _is_list(value):
        raise ValueError(f"Feedback: {name} must be indices of items, got {text_of(value)}.")
    if len(value) == 0:
        return ((),) * m
    lists = list(value) if many else [value]
    if len(lists) != m:
        raise ValueError(f"Feedback: {name} must have one list for each query ({m}), got {len(lists)}.")
    rows = [np.atleast_1d(_validate.plain(items, "Feedback", name)) for items in lists]
    return tuple(tuple(_validate.indices(row, "Feedback", name).tolist()) for row in rows)


def _is_list(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return hasattr(value, "__len__") and not (isinstance(value, str | bytes | dict) or sparse.issparse(value))
