"""The index contract: points with ids, and their nearest neighbors under a metric."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from scipy import sparse

from gramian import _checks
from gramian.kernels.base import _length
from gramian.metrics import Metric
from gramian.persist import Stored
from gramian.search.columns import column


class Index(ABC, Stored):
    """Points with integer ids that answer nearest-neighbor queries under a metric.

    Subclasses give ``_search(Q, k) -> (rows, sqdist)``, the positions and squared distances of the k nearest items,
    and, when they keep something per item beside the points, ``_derive(X) -> {name: rows}``.
    The base keeps all columns aligned and in the order of the ids, so that a tie by position is a tie by id.
    """

    metric: Metric
    _columns: dict[str, Any]

    def __init__(self, metric: Metric) -> None:
        if not self._accepts(metric):
            raise TypeError(f"{self._owner}: metric must be a Metric, got {type(metric).__name__}.")
        self.metric = metric
        self._next_id = 0
        self._set({})

    @abstractmethod
    def _search(self, Q: Any, k: int) -> tuple[np.ndarray, np.ndarray]: ...

    @property
    def _owner(self) -> str:
        """The public name, for messages."""
        return type(self).__name__

    def _accepts(self, metric: Any) -> bool:
        return isinstance(metric, Metric)

    def _set(self, columns: dict[str, Any]) -> None:
        self._columns = columns
        self._cache: dict[str, Any] = {}

    def _derive(self, X: Any) -> dict[str, Any]:
        return {}

    def _check(self, X: Any, name: str = "X") -> Any:
        kernel = getattr(getattr(self.metric, "features", None), "kernel_", None)
        if kernel is not None and not kernel.on_vectors:
            return kernel.check(X, name)
        return _checks.points(X, self._owner, n_features=self._width, min_points=0, name=name)

    @property
    def _width(self) -> int | None:
        """Number of features: the metric's, or that of the items under a distance for any number of them."""
        if isinstance(self.metric, Metric) or self.metric.n_features is not None or not self._columns:
            return self.metric.n_features
        return self._rows("points").shape[1]

    def _rows(self, name: str) -> Any:
        return self._columns[name].rows

    def __len__(self) -> int:
        """Number of items."""
        return self._columns["ids"].n if self._columns else 0

    @property
    def ids(self) -> np.ndarray:
        """Ids of the items, ascending, int64."""
        return self._rows("ids").copy() if self._columns else np.zeros(0, np.int64)

    def add(self, X: Any, ids: Any = None) -> "Index":
        """Add points; ids default to the numbers after the largest id ever used.

        Parameters
        ----------
        X : points (m, d)
        ids : array of int64 (m,), optional
            Must be distinct, and new to this index.
        """
        X = self._check(X)
        m = _length(X)
        ids = self._new_ids(ids, m)
        if m == 0:
            return self
        X = self._as_held(X)
        ordered = np.array_equal(ids, np.sort(ids)) and (len(self) == 0 or ids[0] > self._rows("ids")[-1])
        self._grow({"ids": ids, "points": X})
        if not ordered:
            self._take(np.argsort(self._rows("ids")))
        self._next_id = max(self._next_id, int(ids.max()) + 1)
        return self

    def _grow(self, new: dict[str, Any]) -> None:
        """Append rows and what is derived from them."""
        derived = self._derive(new["points"])
        if self._columns:
            self._set({name: self._columns[name].append(rows) for name, rows in {**new, **derived}.items()})
        else:
            own = {name: _own(rows) for name, rows in new.items()}
            self._set({name: column(rows) for name, rows in {**own, **derived}.items()})

    def _take(self, rows: np.ndarray) -> None:
        self._set({name: part.take(rows) for name, part in self._columns.items()})

    def _as_held(self, X: Any) -> Any:
        """Points in the form of the items that are there, dense or sparse."""
        held = self._rows("points") if self._columns else X
        if sparse.issparse(X) and isinstance(held, np.ndarray):
            return X.toarray()
        return sparse.csr_array(X) if sparse.issparse(held) and isinstance(X, np.ndarray) else X

    def _new_ids(self, ids: Any, m: int) -> np.ndarray:
        owner = self._owner
        if ids is None:
            return np.arange(self._next_id, self._next_id + m, dtype=np.int64)
        ids = _as_ids(ids, owner)
        if len(ids) != m:
            raise ValueError(f"{owner}: ids must have one entry per point ({m}), got {len(ids)}.")
        values, counts = np.unique(ids, return_counts=True)
        if counts.max(initial=1) > 1:
            raise ValueError(f"{owner}: ids must be distinct, got {values[counts > 1][0]} more than once.")
        known = self._find(ids) >= 0
        if known.any():
            raise ValueError(f"{owner}: ids must be new, got {ids[known][0]}, which the index already holds.")
        return ids

    def _find(self, ids: np.ndarray) -> np.ndarray:
        """Positions of ids, -1 for unknown ones."""
        if len(self) == 0:
            return np.full(len(ids), -1)
        own = self._rows("ids")
        at = np.minimum(np.searchsorted(own, ids), len(own) - 1)
        return np.where(own[at] == ids, at, -1)

    def remove(self, ids: Any) -> "Index":
        """Remove items by id; unknown or repeated ids raise and nothing changes."""
        owner = self._owner
        ids = _as_ids(ids, owner)
        rows = self._find(ids)
        if (rows < 0).any():
            raise ValueError(f"{owner}: ids must be in the index, got {ids[rows < 0][0]}, which it does not hold.")
        if len(np.unique(rows)) < len(rows):
            raise ValueError(f"{owner}: ids must be distinct, got an id to remove more than once.")
        if len(rows):
            keep = np.ones(len(self), bool)
            keep[rows] = False
            self._take(np.flatnonzero(keep))
        return self

    def query(self, X: Any, k: int = 10) -> tuple[np.ndarray, np.ndarray]:
        """Ids and squared distances of the k nearest items, ascending, ties by id.

        Parameters
        ----------
        X : points (m, d)
        k : int
            Neighbors per point; all n items when k > n.

        Returns
        -------
        ids : int64 (m, min(k, n))
        sqdist : float64 (m, min(k, n))
        """
        owner = self._owner
        k = _checks.number(k, owner, "k", low=1, integer=True)
        Q = self._check(X)
        if len(self) == 0:
            raise ValueError(f"{owner}: the index is empty; add points before a query.")
        k = min(k, len(self))
        if _length(Q) == 0:
            return np.zeros((0, k), np.int64), np.zeros((0, k))
        rows, sqdist = self._search(Q, k)
        return self._rows("ids")[rows], sqdist

    def with_metric(self, metric: Metric) -> "Index":
        """Index of the same items under another metric; this one stays as it is."""
        other = self._like(metric)
        d, own = metric.n_features, self._width
        metrics = isinstance(metric, Metric) and isinstance(self.metric, Metric)
        if d != own and (metrics or None not in (d, own)):
            raise ValueError(f"{self._owner}: metric must have {own} features, got {d}.")
        other._next_id = self._next_id
        if len(self):
            other._set({name: self._columns[name].share() for name in ("ids", "points")})
            other._rederive()
        return other

    def _rederive(self) -> None:
        """Compute everything that is derived from the points anew."""
        derived = {name: column(rows) for name, rows in self._derive(self._rows("points")).items()}
        self._set({**{name: self._columns[name] for name in ("ids", "points")}, **derived})

    def _like(self, metric: Metric) -> "Index":
        """Empty index with the same settings and another metric."""
        return type(self)(metric)

    def _state(self) -> dict[str, Any]:
        columns = {name: part.state() for name, part in self._columns.items()}
        return {"metric": self.metric, "next_id": self._next_id, "columns": columns}

    def _restore(self, state: dict[str, Any]) -> Self:
        self._set({name: column(rows) for name, rows in state["columns"].items()})
        self._next_id = state["next_id"]
        if len({part.n for part in self._columns.values()}) > 1:
            raise ValueError("its columns differ in length")
        return self

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "Index":
        return cls(state["metric"])._restore(state)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} items, {type(self.metric).__name__})"


def _own(rows: Any) -> Any:
    """Copy of what the caller passed, so that later changes of it are not seen."""
    return rows.copy() if hasattr(rows, "copy") else list(rows)


def _as_ids(ids: Any, owner: str) -> np.ndarray:
    array = np.asarray(ids)
    array = array.astype(np.int64) if array.size == 0 else array
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(
            f"{owner}: ids must be a 1-D array of integers, got shape {array.shape} and dtype {array.dtype}."
        )
    return array.astype(np.int64)


def smallest(sqdist: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns and values of the k smallest entries of each row, ascending, ties by column."""
    m, n = sqdist.shape
    if k < n:
        edge = np.partition(sqdist, k - 1, axis=1)[:, k - 1 : k]
        # All entries below the k-th value, then the leftmost of those equal to it.
        below, level = sqdist < edge, sqdist == edge
        room = k - below.sum(axis=1, keepdims=True)
        chosen = np.nonzero(below | (level & (np.cumsum(level, axis=1) <= room)))[1].reshape(m, k)
    else:
        chosen = np.broadcast_to(np.arange(n), (m, n))
    values = np.take_along_axis(sqdist, chosen, axis=1)
    order = np.argsort(values, axis=1, kind="stable")
    return np.take_along_axis(chosen, order, axis=1), np.take_along_axis(values, order, axis=1)
