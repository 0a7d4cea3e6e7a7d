"""The index contract: points with ids, and their nearest neighbors under a metric."""

from abc import ABC, abstractmethod
from dataclasses import replace
from inspect import signature
from typing import Any, Self

import numpy as np

from gramian import _threads, _validate
from gramian.metrics import Metric
from gramian.persist import Stored
from gramian.search import stored
from gramian.search.collection import Collection, rederived
from gramian.search.items import Items
from gramian.search.queries import Queries


def learned(metric: Any, owner: str) -> Any:
    """The metric of a learner; anything else as it is."""
    if not (hasattr(metric, "fit") and hasattr(metric, "get_params")):
        return metric
    if not hasattr(metric, "metric_"):
        name = type(metric).__name__
        raise TypeError(f"{owner}: metric must be a Metric or a fitted learner, got {name} without metric_; fit it.")
    return metric.metric_


class Index(Collection, Queries, Stored, ABC):
    """Points with integer ids that answer nearest-neighbor queries under a metric.

    Any number of threads may query an index while others add, remove or learn: a query answers for the items as they
    were when it began. Changes are made one after the other, and one that fails changes nothing. A copy shares memory
    with its original, but no change.

    Subclasses give ``_search`` and ``_search_radius``, and, when they keep something per item beside the points,
    ``_derive(settled, X, threads) → {name: rows}``; ``_settle(points)`` chooses what that needs of all items, again
    whenever their number has doubled. Settings of the constructor are stored under their own names.
    """

    metric: Metric
    _devices = False
    """Whether the search runs where the items are; otherwise they must be on the host."""

    def __init__(self, metric: Metric) -> None:
        self.metric = self._accept(metric)
        self._begin()

    @abstractmethod
    def _search(
        self, items: Items, Q: Any, k: int, mask: np.ndarray | None, threads: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Positions and squared distances of the k nearest items, (m, k), of those in the mask."""

    @abstractmethod
    def _search_radius(
        self, items: Items, Q: Any, limit: float, mask: np.ndarray | None, threads: int
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Positions and squared distances of all items with d² ≤ limit, for each query, ascending."""

    @property
    def _owner(self) -> str:  # type: ignore[override]  # a constant there
        """The public name, for messages."""
        return type(self).__name__

    def _accept(self, metric: Any) -> Any:
        metric = learned(metric, self._owner)
        if not isinstance(metric, Metric):
            raise TypeError(f"{self._owner}: metric must be a Metric, got {type(metric).__name__}.")
        return metric

    def _check(self, X: Any, name: str = "X") -> Any:
        """Points at the door."""
        _validate.same_columns(X, self.metric.feature_names, self._owner, name)
        X = _validate.placed(X, self._owner, name, devices=self._devices)
        return self.metric.coordinates.check(X, self._owner, name, 0)

    def _store(self, X: Any) -> Any:
        """Points in the form in which they are kept."""
        return X

    def _settle(self, points: Any) -> dict[str, Any]:
        return {}

    def _derive(self, settled: dict[str, Any], X: Any, threads: int) -> dict[str, Any]:
        return {}

    def _place(
        self, settled: dict[str, Any], points: Any, cells: np.ndarray | None, threads: int
    ) -> tuple[dict[str, Any], np.ndarray | None]:
        return settled, None

    def _arranged(self, items: Items, threads: int) -> Items:
        return items

    def _completed(self, items: Items) -> Items:
        """Items of a file with what files do not keep."""
        return items

    def _turned(self, items: Items, threads: int) -> Items:
        """The items of an index of another metric under that of this one."""
        return rederived(self, items, threads)

    def with_metric(self, metric: Metric, *, n_jobs: int | None = None) -> Self:
        """Index of the same items under another metric; this one stays as it is."""
        threads, items = _threads.count(n_jobs, self._owner), self._items
        other = type(self)(metric, **self._settings())
        d, own = other._width(items), self._width(items)
        if d != own and self.metric is not None:
            raise ValueError(f"{self._owner}: metric must have {own} features, got {d}.")
        with _threads.beside(threads):
            other._items = other._turned(items, threads) if items.n else replace(other._items, next_id=items.next_id)
        return other

    def _width(self, items: Items) -> int | None:
        """Number of features of a point, None where points need not be vectors."""
        return self.metric.n_features

    def _settings(self) -> dict[str, Any]:
        """What the constructor takes beside the metric."""
        return {name: getattr(self, name) for name in list(signature(type(self)).parameters)[1:]}

    def _state(self) -> dict[str, Any]:
        settings = self._settings()
        return {"metric": self.metric, **stored.state(self), **({"settings": settings} if settings else {})}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        return stored.restore(cls(state["metric"], **state.get("settings", {})), state)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} items, {type(self.metric).__name__})"
