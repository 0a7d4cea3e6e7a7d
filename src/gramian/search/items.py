"""What an index holds at one moment."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _arrays, _validate
from gramian._arrays import asarray, foreign

NEXT = "next:"
"""Columns so named are still growing, to take the place of others one day."""


@dataclass(frozen=True, eq=False)
class Items:
    """An immutable snapshot: ids, points and what is derived from them, aligned.

    They are in the order of the ids, or, where there is a column ``cells``, cell by cell.

    A query takes the snapshot once and works on it alone, so it sees the index before or after a change, never between.
    ``settled`` holds what was chosen once for ``settled_on`` items, a center for example; ``cache`` what a query
    computed from the snapshot and the next one may use.
    """

    columns: dict[str, Any] = field(default_factory=dict)
    next_id: int = 0
    settled: dict[str, Any] = field(default_factory=dict)
    settled_on: int = 0
    cache: dict[Any, Any] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "cache": {}}

    @property
    def n(self) -> int:
        """Number of items."""
        return self.columns["ids"].n if self.columns else 0

    def __getitem__(self, name: str) -> Any:
        return self.columns[name].rows

    @property
    def in_cells(self) -> bool:
        """Whether the items stand cell by cell."""
        return "cells" in self.columns

    @property
    def order(self) -> np.ndarray | None:
        """Positions of the items by their ids, None where they stand so."""
        return self.cached("order", lambda: np.argsort(self["ids"])) if self.in_cells else None

    @property
    def ids(self) -> np.ndarray:
        """Ids, ascending."""
        ids = self["ids"] if self.columns else np.zeros(0, np.int64)
        return ids if self.order is None else ids[self.order]

    def find(self, ids: np.ndarray) -> np.ndarray:
        """Positions of ids, −1 for unknown ones."""
        if self.n == 0:
            return np.full(len(ids), -1)
        at = np.minimum(np.searchsorted(self["ids"], ids, sorter=self.order), self.n - 1)
        at = at if self.order is None else self.order[at]
        return np.where(self["ids"][at] == ids, at, -1)

    def take(self, rows: np.ndarray) -> "Items":
        """The items at these positions, ascending."""
        columns = {
            name: part.take(rows if part.n == self.n else rows[rows < part.n]) for name, part in self.columns.items()
        }
        settled = self.settled
        if self.in_cells:
            settled = {**settled, "laid": int((rows < settled["laid"]).sum())}
        return replace(self, columns=columns, settled=settled, cache={})

    def part(self, start: int, stop: int, names: dict[str, str]) -> "Items":
        """The items between two positions, the first a multiple of the size of a tile; a view of some of the columns.

        ``names`` are the columns under the names that they have here.
        """
        columns = {name: self.columns[own].part(start, stop) for own, name in names.items()}
        return replace(self, columns=columns, cache={})

    def held(self, X: Any) -> Any:
        """Points in the form of those that are there, dense or sparse."""
        points = self["points"] if self.columns else X
        if foreign(points):
            return asarray(X, points)
        if sparse.issparse(X) and isinstance(points, np.ndarray):
            return X.toarray()
        return sparse.csr_array(X) if sparse.issparse(points) and isinstance(X, np.ndarray) else X

    def unchanged(self, owner: str) -> None:
        """Points in a file are those that were added."""
        source = getattr(self.columns["points"], "source", None)
        if source is not None:
            source.check(owner)

    def same_place(self, X: Any, owner: str) -> None:
        """Points on a device need items there; NumPy points are sent to where the items are."""
        if self.n and foreign(X):
            _arrays.same_place(owner, self["points"], X)

    def unmoved(self) -> "Items":
        """The same items without columns that are still growing."""
        columns = {name: part for name, part in self.columns.items() if not name.startswith(NEXT)}
        settled = {**self.settled, "move": None} if "move" in self.settled else self.settled
        return replace(self, columns=columns, settled=settled, cache={})

    def cached(self, name: Any, compute: Any) -> Any:
        """A value of this snapshot, computed on first use; twice, when two threads ask at once."""
        if name not in self.cache:
            self.cache[name] = compute()
        return self.cache[name]


def as_ids(ids: Any, owner: str, name: str = "ids") -> np.ndarray:
    """Ids as a row of int64."""
    array = _validate.plain(ids, owner, name)
    array = array.astype(np.int64) if array.size == 0 else array
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(
            f"{owner}: {name} must be a 1-D array of integers, got shape {array.shape} and dtype {array.dtype}."
        )
    if array.size and array.max() > np.iinfo(np.int64).max:
        raise ValueError(f"{owner}: {name} must be below 2**63, got {array.max()}.")
    return array.astype(np.int64)


def new_ids(items: Items, ids: Any, m: int, owner: str) -> np.ndarray:
    """Ids of m new items: those given, or the numbers after the largest id ever used."""
    if ids is None:
        if items.next_id + m > np.iinfo(np.int64).max:
            raise ValueError(f"{owner}: no ids are left after {items.next_id - 1}; give ids.")
        return np.arange(items.next_id, items.next_id + m, dtype=np.int64)
    ids = as_ids(ids, owner)
    if len(ids) != m:
        raise ValueError(f"{owner}: ids must have one entry per point ({m}), got {len(ids)}.")
    values, counts = np.unique(ids, return_counts=True)
    if counts.max(initial=1) > 1:
        raise ValueError(f"{owner}: ids must be distinct, got {values[counts > 1][0]} more than once.")
    known = items.find(ids) >= 0
    if known.any():
        raise ValueError(f"{owner}: ids must be new, got {ids[known][0]}, which the index already holds.")
    return ids


def positions(items: Items, ids: Any, owner: str, name: str = "ids") -> np.ndarray:
    """Positions of ids that must be there."""
    ids = as_ids(ids, owner, name)
    rows = items.find(ids)
    if (rows < 0).any():
        unknown = ids[rows < 0][0]
        raise ValueError(f"{owner}: {name} must be in the index, got {unknown}, which it does not hold.")
    return rows


def mask_of(items: Items, within: Any, owner: str) -> np.ndarray | None:
    """Which items ids or a mask allow, bool (n,); None for all."""
    if within is None:
        return None
    given = _validate.plain(within, owner, "within")
    if given.dtype == bool:
        if given.shape != (items.n,):
            raise ValueError(f"{owner}: within must be ids or a mask of shape ({items.n},), got shape {given.shape}.")
        if items.order is None:
            return given
        mask = np.empty(items.n, bool)
        mask[items.order] = given
        return mask
    mask = np.zeros(items.n, bool)
    mask[positions(items, given, owner, "within")] = True
    return mask
