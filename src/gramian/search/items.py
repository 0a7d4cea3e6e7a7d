"""What an index holds at one moment."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _arrays
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
