"""The index contract: points with ids, and their nearest neighbors under a metric."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from gramian import _checks, _device, _parameters, _threads, linalg
from gramian.metrics import Metric
from gramian.persist import Stored, believed
from gramian.search.columns import column
from gramian.search.items import NEXT, Items
from gramian.search.progress import progress
from gramian.search.rounded import RoundedRows

BATCHES = _parameters.Kind(
    "a generator or a list of points", lambda value: isinstance(value, Iterable) and not isinstance(value, str | bytes)
)
COMPARED = 256
"""Items of a file that are hashed again, to see whether the codes are theirs."""
ROUNDING, BITS = 1e-5, 0.02
"""By how much what a file holds may differ from what is computed: of the size of the numbers, and share of the bits."""


def learned(metric: Any, owner: str) -> Any:
    """The metric of a learner; anything else as it is."""
    if not (hasattr(metric, "fit") and hasattr(metric, "get_params")):
        return metric
    if not hasattr(metric, "metric_"):
        name = type(metric).__name__
        raise TypeError(f"{owner}: metric must be a Metric or a fitted learner, got {name} without metric_; fit it.")
    return metric.metric_


class Index(ABC, Stored):
    """Points with integer ids that answer nearest-neighbor queries under a metric.

    Any number of threads may query an index while others add, remove or learn: a query answers for the items as they
    were when it began. Changes are made one after the other, and one that fails changes nothing. A copy shares memory
    with its original, but no change.

    Subclasses give ``_search`` and ``_search_radius``, and, when they keep something per item beside the points,
    ``_derive(settled, X, threads) → {name: rows}``; ``_settle(points)`` chooses what that needs of all items, again
    whenever their number has doubled.
    """

    metric: Metric
    _devices = False
    """Whether the search runs where the items are; otherwise they must be on the host."""
    _doubling = True
    """Whether what is settled is chosen again when the items have doubled."""

    def __init__(self, metric: Metric) -> None:
        self.metric = self._accept(metric)
        self._begin()

    def _begin(self) -> None:
        self._items = Items()
        self._lock = threading.RLock()

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
    def _owner(self) -> str:
        """The public name, for messages."""
        return type(self).__name__

    def _accept(self, metric: Any) -> Any:
        metric = learned(metric, self._owner)
        if not isinstance(metric, Metric):
            raise TypeError(f"{self._owner}: metric must be a Metric, got {type(metric).__name__}.")
        return metric

    def _settle(self, points: Any) -> dict[str, Any]:
        return {}

    def _derive(self, settled: dict[str, Any], X: Any, threads: int) -> dict[str, Any]:
        return {}

    def _check(self, X: Any, name: str = "X") -> Any:
        _checks.same_columns(X, self.metric.feature_names, self._owner, name)
        X = _checks.placed(X, self._owner, name, devices=self._devices)
        return self.metric.coordinates.check(_device.outside(X), self._owner, name, 0)

    def __len__(self) -> int:
        """Number of items."""
        return self._items.n

    @property
    def ids(self) -> np.ndarray:
        """Ids of the items, ascending, int64."""
        return self._items.ids.copy()

    @property
    def points(self) -> Any:
        """The items themselves, in the order of ``ids``; arrays cannot be written to."""
        points = self._items["points"] if self._items.columns else np.zeros((0, 0))
        if isinstance(points, _device.DeviceArray):
            return points.copy().data
        if isinstance(points, np.ndarray | RoundedRows):
            points = points[:]
            points.flags.writeable = False
        return points

    def add(self, X: Any, ids: Any = None, *, n_jobs: int | None = None) -> Self:
        """Add points; ids default to the numbers after the largest id ever used.

        Parameters
        ----------
        X : points (m, d)
        ids : array of int64 (m,), optional
            Must be distinct, and new to this index.
        n_jobs : int, optional
            Threads; None is one, −1 all.
        """
        threads = _threads.count(n_jobs, self._owner)
        X = self._check(X)
        with self._lock:
            self._beside(self._items, X)
            new = self._new_ids(ids, linalg.count(X))
            if len(new):
                self._items = self._grown(self._items, new, X, threads)
        return self

    def _grown(self, items: Items, ids: np.ndarray, X: Any, threads: int) -> Items:
        """The items and new ones."""
        X, n = self._store(items.held(X)), items.n + len(ids)
        new = {"ids": ids, "points": X if items.n else _own(X)}
        columns = {name: items.columns[name].append(rows) if items.n else column(rows) for name, rows in new.items()}
        grown = replace(items, columns=columns, next_id=max(items.next_id, int(ids.max()) + 1), cache={})
        if n >= 2 * items.settled_on and (self._doubling or not items.settled_on):
            grown = self._rederived(grown, threads)
        else:
            derived = self._derive(items.settled, X, threads)
            columns.update({name: items.columns[name].append(rows) for name, rows in derived.items()})
        ordered = items.n == 0 or ids[0] > items.ids[-1]
        return grown if ordered and (np.diff(ids) > 0).all() else self._reordered(grown, np.argsort(grown.ids))

    def _store(self, X: Any) -> Any:
        """Points in the form in which they are kept."""
        return X

    def _reordered(self, items: Items, order: np.ndarray) -> Items:
        return items.take(order)

    def _rederived(self, items: Items, threads: int) -> Items:
        """The same points with everything else computed anew."""
        points = items["points"]
        settled = self._settle(points)
        derived = {name: column(rows) for name, rows in self._derive(settled, points, threads).items()}
        kept = {name: items.columns[name] for name in ("ids", "points")}
        return replace(items, columns={**kept, **derived}, settled=settled, settled_on=items.n, cache={})

    def _beside(self, items: Items, X: Any) -> None:
        """Points on a device need items there; NumPy points are sent to where the items are."""
        if items.n and isinstance(X, _device.DeviceArray):
            _device.same_place(self._owner, items["points"], X)

    def _new_ids(self, ids: Any, m: int) -> np.ndarray:
        owner, items = self._owner, self._items
        if ids is None:
            if items.next_id + m > np.iinfo(np.int64).max:
                raise ValueError(f"{owner}: no ids are left after {items.next_id - 1}; give ids.")
            return np.arange(items.next_id, items.next_id + m, dtype=np.int64)
        ids = _as_ids(ids, owner)
        if len(ids) != m:
            raise ValueError(f"{owner}: ids must have one entry per point ({m}), got {len(ids)}.")
        values, counts = np.unique(ids, return_counts=True)
        if counts.max(initial=1) > 1:
            raise ValueError(f"{owner}: ids must be distinct, got {values[counts > 1][0]} more than once.")
        known = items.find(ids) >= 0
        if known.any():
            raise ValueError(f"{owner}: ids must be new, got {ids[known][0]}, which the index already holds.")
        return ids

    def _positions(self, items: Items, ids: Any, name: str = "ids") -> np.ndarray:
        """Positions of ids that must be there."""
        ids = _as_ids(ids, self._owner, name)
        rows = items.find(ids)
        if (rows < 0).any():
            unknown = ids[rows < 0][0]
            raise ValueError(f"{self._owner}: {name} must be in the index, got {unknown}, which it does not hold.")
        return rows

    def remove(self, ids: Any) -> Self:
        """Remove items by id; unknown or repeated ids raise and nothing changes."""
        with self._lock:
            rows = self._positions(self._items, ids)
            if len(np.unique(rows)) < len(rows):
                raise ValueError(f"{self._owner}: ids must be distinct, got an id to remove more than once.")
            if len(rows):
                self._items = self._items.take(np.delete(np.arange(len(self)), rows))
        return self

    def query(
        self, X: Any, k: int = 10, *, n_jobs: int | None = None, within: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ids and squared distances of the k nearest items, ascending, ties by id.

        Parameters
        ----------
        X : points (m, d)
        k : int
            Neighbors per point; all n items when k > n.
        n_jobs : int, optional
            Threads; None is one, −1 all.
        within : array of ids, or of bool (n,) in the order of ``ids``, optional
            Only these items are neighbors.

        Returns
        -------
        ids : int64 (m, min(k, n))
        sqdist : float64 (m, min(k, n))
        """
        k = _checks.number(k, self._owner, "k", low=1, integer=True)
        items, Q, mask, threads = self._asked(X, within, n_jobs)
        k = min(k, items.n if mask is None else int(mask.sum()))
        if linalg.count(Q) == 0 or k == 0:
            return np.zeros((linalg.count(Q), k), np.int64), np.zeros((linalg.count(Q), k))
        rows, sqdist = self._search(items, Q, k, mask, threads)
        return _given_back(_names(items, rows), Q), _given_back(sqdist, Q)

    def query_batches(
        self,
        batches: Iterable[Any],
        k: int = 10,
        *,
        n_jobs: int | None = None,
        within: Any = None,
        verbose: bool = False,
        callback: Callable[[int, int | None], Any] | None = None,
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Answers of :meth:`query` for one batch of points after the other, for more of them than memory holds.

        Parameters
        ----------
        batches : iterable of points (m, d)
            A generator, or a list, of which the end is known.
        k, n_jobs, within
            As in :meth:`query`.
        verbose, callback
            A progress bar; ``callback(points answered so far, total or None)`` after each batch.
        """
        _parameters.require(BATCHES, batches, self._owner, "batches")
        _parameters.require(_parameters.TABLE["verbose"], verbose, self._owner, "verbose")
        _parameters.require(_parameters.TABLE["callback"], callback, self._owner, "callback")
        listed = isinstance(batches, list | tuple) and all(hasattr(X, "__len__") for X in batches)
        total = sum(map(linalg.count, batches)) if listed else None  # type: ignore[arg-type]  # a list then
        with progress(self._owner, total, verbose, callback) as report:
            for X in batches:
                found = self.query(X, k, n_jobs=n_jobs, within=within)
                report(len(found[0]))
                yield found

    def explain(self, q: Any, item: int, *, names: Any = None, by: str = "features") -> Any:
        """What each feature adds to the squared distance of a point and an item; see :meth:`.Metric.explain`.

        :func:`gramian.plotting.shares` draws it.

        Parameters
        ----------
        q : point (d,)
        item : int
            Id of an item.
        names : list of str, optional
            Names of the features: the answer is then a dict, the largest share first.
        by : {"features", "basis"}
            What the distance is shared among; "basis" is for kernels on strings, sets and other objects.
        """
        items = self._items
        row = self._positions(items, [item], "item")
        point = linalg.take(items["points"], row)
        return self.metric.explain(q, point if sparse.issparse(point) else point[0], names=names, by=by)

    def query_radius(
        self, X: Any, r: float, *, n_jobs: int | None = None, within: Any = None
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Ids and squared distances of all items at a distance of at most r, ascending, ties by id.

        Parameters
        ----------
        X : points (m, d)
        r : float
            A distance as ``metric.distance`` gives it, not squared: d ≤ r.
        n_jobs, within
            As in :meth:`query`.

        Returns
        -------
        ids : list of m arrays of int64
        sqdist : list of m arrays of float64
        """
        r = _checks.number(r, self._owner, "r", low=0)
        items, Q, mask, threads = self._asked(X, within, n_jobs)
        if linalg.count(Q) == 0:
            return [], []
        found = self._search_radius(items, Q, r * r, mask, threads)
        ids = [_given_back(_names(items, rows), Q) for rows, _ in found]
        return ids, [_given_back(sqdist, Q) for _, sqdist in found]

    def _asked(self, X: Any, within: Any, n_jobs: int | None) -> tuple[Items, Any, np.ndarray | None, int]:
        """The snapshot that answers, the queries, which items may be found, and the number of threads."""
        threads = _threads.count(n_jobs, self._owner)
        items, Q = self._items, self._check(X)
        self._beside(items, Q)
        if items.n == 0:
            raise ValueError(f"{self._owner}: the index is empty; add points before a query.")
        return items, Q, None if within is None else self._mask(items, within), threads

    def _mask(self, items: Items, within: Any) -> np.ndarray:
        given = _checks.plain(within, self._owner, "within")
        if given.dtype == bool:
            if given.shape != (items.n,):
                raise ValueError(
                    f"{self._owner}: within must be ids or a mask of shape ({items.n},), got shape {given.shape}."
                )
            return given
        mask = np.zeros(items.n, bool)
        mask[self._positions(items, given, "within")] = True
        return mask

    def with_metric(self, metric: Metric, *, n_jobs: int | None = None) -> Self:
        """Index of the same items under another metric; this one stays as it is."""
        threads, items = _threads.count(n_jobs, self._owner), self._items
        other = self._like(metric)
        d, own = other._width(items), self._width(items)
        if d != own:
            raise ValueError(f"{self._owner}: metric must have {own} features, got {d}.")
        other._items = other._rederived(items, threads) if items.n else replace(other._items, next_id=items.next_id)
        return other

    def _width(self, items: Items) -> int | None:
        """Number of features of a point, None where points need not be vectors."""
        return self.metric.n_features

    def _like(self, metric: Metric) -> Self:
        """Empty index with the same settings and another metric."""
        return type(self)(metric)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()

    def _state(self) -> dict[str, Any]:
        return {"metric": self.metric, **self._items_state()}

    def _items_state(self) -> dict[str, Any]:
        items = self._on_host(self._items)
        return {
            "next_id": items.next_id,
            "columns": {name: part.state() for name, part in items.columns.items()},
            "settled": items.settled,
            "settled_on": items.settled_on,
        }

    def _on_host(self, items: Items) -> Items:
        """The same items in NumPy arrays."""
        if not items.n or not isinstance(items["points"], _device.DeviceArray):
            return items
        columns = {name: column(items.columns[name].state()) for name in ("ids", "points")}
        return self._rederived(replace(items, columns=columns), 1)

    def _restore(self, state: dict[str, Any]) -> Self:
        """Take the items of a stored state, when they fit together."""
        columns = {name: column(rows) for name, rows in state["columns"].items()}
        items = Items(columns, state["next_id"], state["settled"], state["settled_on"])
        if columns:
            self._fits(items)
        self._items = items
        return self

    def _fits(self, items: Items) -> None:
        """Refuse columns that belong to no index: compiled loops would read beside them."""
        ids = items["ids"]
        if ids.dtype != np.int64 or ids.ndim != 1 or (np.diff(ids) <= 0).any() or items.next_id <= ids.max(initial=-1):
            raise ValueError("its ids are not distinct and ascending")
        if items.columns["points"].n != items.n:
            raise ValueError("its points are not as many as its ids")
        rows = linalg.spread(items.n, COMPARED)
        some = self._check(linalg.take(items["points"], rows))
        sample = {name: column(part) for name, part in self._derive(items.settled, some, 1).items()}
        if not set(items.columns) >= {"ids", "points", *sample}:
            raise ValueError("its columns are those of another index")
        for name, part in items.columns.items():
            own = name.removeprefix(NEXT)
            wanted = sample[own].state() if own in sample else part.state()
            whole = part.n == items.n or (own != name and part.n < items.n)
            if not whole or own not in ("ids", "points", *sample) or _form(part.state()) != _form(wanted):
                raise ValueError(f"its column {name!r} does not fit the others")
            if own == name and name in sample and not _alike(part.take(rows).rows, sample[name].rows):
                raise ValueError(f"its column {name!r} is not that of its points")
        if not believed.get():
            self._check(items["points"])

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        return cls(state["metric"])._restore(state)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} items, {type(self.metric).__name__})"


def _alike(rows: Any, others: Any) -> bool:
    """Whether two columns hold the same numbers, but for rounding: a few bits, or the last digits."""
    if not isinstance(rows, np.ndarray) or rows.dtype.kind not in "fiu":
        return True
    if rows.dtype.kind == "f":
        size = max(float(np.abs(others).max(initial=0.0)), np.finfo(rows.dtype).tiny)
        return bool(np.isfinite(rows).all() and np.abs(rows - others).max(initial=0.0) <= ROUNDING * size)
    if rows.dtype != np.uint64:
        return bool((rows == others).mean() > 1 - BITS) if rows.size else True
    return bool(np.bitwise_count(rows ^ others).sum() <= BITS * 64 * rows.size)


def _form(rows: Any) -> Any:
    """Type and width of the rows of a column."""
    rows = rows.get("tiles", rows.get("rounded")) if isinstance(rows, dict) else rows
    return (rows.dtype, rows.shape[1:]) if hasattr(rows, "dtype") else type(rows)


def _names(items: Items, rows: Any) -> Any:
    """Ids of positions, where these are."""
    if not isinstance(rows, _device.DeviceArray):
        return items.ids[rows]
    return items.cached("ids there", lambda: linalg.placed(items.ids, rows))[rows]


def _given_back(x: Any, Q: Any) -> Any:
    """An answer as the queries came: on their device, or as a NumPy array."""
    if not isinstance(Q, _device.DeviceArray):
        return _device.to_host(x)
    return _device.outside(x.astype(Q.dtype) if x.dtype.kind == "f" else x)


def _own(rows: Any) -> Any:
    """Copy of what the caller passed, so that later changes of it are not seen."""
    if isinstance(rows, np.ndarray) and isinstance(rows.base, np.memmap) and not rows.flags.writeable:
        return rows  # a file that is open for reading only stays on disk
    return rows.copy() if hasattr(rows, "copy") else list(rows)


def _as_ids(ids: Any, owner: str, name: str = "ids") -> np.ndarray:
    array = _checks.plain(ids, owner, name)
    array = array.astype(np.int64) if array.size == 0 else array
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(
            f"{owner}: {name} must be a 1-D array of integers, got shape {array.shape} and dtype {array.dtype}."
        )
    if array.size and array.max() > np.iinfo(np.int64).max:
        raise ValueError(f"{owner}: {name} must be below 2**63, got {array.max()}.")
    return array.astype(np.int64)
