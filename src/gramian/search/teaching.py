"""Lessons for an index whose metric is being learned: pairs, batches, clicks."""

import copy
from typing import Any, Self

import numpy as np

from gramian import _validate, linalg
from gramian.metrics import Metric
from gramian.online import updates
from gramian.online.learner import OnlineLearner
from gramian.online.progress import Progress
from gramian.search.items import Items, positions


class Taught:
    """An index with a ``learner`` of its own, whose metric it searches under; ``stats_`` counts the updates."""

    learner: OnlineLearner
    stats_: dict[str, int]
    _owner: str
    _items: Items
    _lock: Any

    @property
    def metric_(self) -> Metric:
        """The metric after all constraints so far."""
        return self.learner.metric_

    def learn_one(self, u: Any, v: Any, target: float, kind: str = "equal") -> Self:
        """Learn from one pair, as the learner's ``learn_one``."""
        with self._lock:
            self._learned(updates.pair(self.learner, u, v, target, kind))
        return self

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn from the pairs of a :class:`~gramian.Pairs`, or of labels, as the learner's ``partial_fit``."""
        with self._lock:
            learner = copy.copy(self.learner)
            learner.partial_fit(X, y)
            self._learned(learner.progress_)
        return self

    def feedback(self, query: Any, liked: Any = (), disliked: Any = (), shown: Any = None) -> Self:
        """Learn from clicks on a list of results, as the learner's ``feedback``.

        Parameters
        ----------
        query : point (d,), or the id of an item
        liked, disliked, shown : points (m, d), or ids of items
        """
        with self._lock:
            given = {"query": query, "liked": liked, "disliked": disliked, "shown": shown}
            points = {name: meant(self._items, value, self._owner, name) for name, value in given.items()}
            self._learned(updates.clicks(self.learner, **points))
        return self

    def _learned(self, progress: Progress) -> None:
        before = self.learner.progress_.n_seen if hasattr(self.learner, "progress_") else 0
        self.stats_["updates"] += progress.n_seen - before
        self.learner._adopt(progress)


def meant(items: Items, value: Any, owner: str, name: str) -> Any:
    """Points as they are, or those of items that are named by their ids."""
    listed = isinstance(value, int | np.integer | list | tuple | np.ndarray)
    ids = _validate.plain(value, owner, name) if listed else np.zeros(1)
    if ids.dtype.kind not in "iu" or ids.ndim > 1 or (ids.ndim == 1 and name == "query"):
        return value
    rows = positions(items, np.atleast_1d(ids), owner, name)
    return linalg.take(items["points"], int(rows[0]) if ids.ndim == 0 else rows)
