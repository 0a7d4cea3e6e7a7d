"""Points with ids: added, removed, and kept with what is derived from them."""

import threading
from dataclasses import replace
from typing import Any, Self

import numpy as np

from gramian import _threads, linalg
from gramian._arrays import foreign, namespace
from gramian.search.columns import ArrangedRows, column
from gramian.search.items import Items, new_ids, positions
from gramian.search.rounded import RoundedRows


class Collection:
    """Points with integer ids, in immutable snapshots that replace each other.

    A subclass gives the hooks of :class:`.Index`: ``_check(X)`` at the door, ``_store(X)`` for the form in which points
    are kept, ``_settle(points)`` and ``_derive(settled, X, threads)`` for what is kept beside them; with cells
    ``_place(settled, points, cells, threads)`` says which item is in which, and ``_arranged(items, threads)`` puts
    them in order.
    """

    _owner: str
    _check: Any
    _store: Any
    _settle: Any
    _derive: Any
    _place: Any
    _arranged: Any
    _doubling = True
    """Whether what is settled is chosen again when the items have doubled."""

    def _begin(self) -> None:
        self._items = Items()
        self._lock = threading.RLock()

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
        if foreign(points):
            return namespace(points).asarray(points, copy=True)
        if isinstance(points, np.ndarray | RoundedRows | ArrangedRows):
            points = points[:] if self._items.order is None else points[self._items.order]
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
            self._items.same_place(X, self._owner)
            new = new_ids(self._items, ids, linalg.count(X), self._owner)
            if len(new):
                with _threads.beside(threads):
                    self._items = grown(self, self._items, new, X, threads)
        return self

    def remove(self, ids: Any) -> Self:
        """Remove items by id; unknown or repeated ids raise and nothing changes."""
        with self._lock:
            rows = positions(self._items, ids, self._owner)
            if len(np.unique(rows)) < len(rows):
                raise ValueError(f"{self._owner}: ids must be distinct, got an id to remove more than once.")
            if len(rows):
                self._items = self._items.take(np.delete(np.arange(len(self)), rows))
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()


def grown(index: Collection, items: Items, ids: np.ndarray, X: Any, threads: int) -> Items:
    """The items of an index and new ones."""
    X, settled = index._store(items.held(X)), None
    if not items.n:
        X, settled = begun(index, X, threads)
    new = {"ids": ids, "points": X}
    columns = {name: items.columns[name].append(rows) if items.n else column(rows) for name, rows in new.items()}
    more = replace(items, columns=columns, next_id=max(items.next_id, int(ids.max()) + 1), cache={})
    if more.n >= 2 * items.settled_on and (index._doubling or not items.settled_on):
        more = rederived(index, more, threads, settled)
    else:
        derived = index._derive(items.settled, X, threads)
        columns.update({name: items.columns[name].append(rows) for name, rows in derived.items()})
    if more.in_cells:
        return index._arranged(more, threads)
    behind = items.n == 0 or ids[0] > items.ids[-1]
    return more if behind and (np.diff(ids) > 0).all() else more.unmoved().take(np.argsort(more.ids))


def begun(index: Collection, X: Any, threads: int) -> tuple[Any, dict[str, Any] | None]:
    """The first points as our own and, where a second thread can do that meanwhile, what is settled for them."""
    if threads < 2 or not isinstance(X, np.ndarray):
        return own(X), None
    copy, settled = _threads.each(lambda work: work(), (lambda: own(X), lambda: index._settle(X)), threads)
    return copy, settled


def rederived(
    index: Collection,
    items: Items,
    threads: int,
    settled: dict[str, Any] | None = None,
    cells: np.ndarray | None = None,
) -> Items:
    """The same points with everything else computed anew; what is settled and the cells too, where they are not given.

    Items that have cells and need them no more, or others, are put in the order of their ids first.
    """
    if items.in_cells and cells is None:
        kept = {name: items.columns[name].take(items.order) for name in ("ids", "points")}
        items = replace(items, columns=kept, cache={})
    points = items["points"]
    settled = index._settle(points) if settled is None else settled
    settled, cells = index._place(settled, points, cells, threads)
    extra = {} if cells is None else {"cells": cells}
    derived = {name: column(rows) for name, rows in index._derive(settled, points, threads, **extra).items()}
    kept = {name: items.columns[name] for name in ("ids", "points")}
    items = replace(items, columns={**kept, **derived}, settled=settled, settled_on=items.n, cache={})
    return items if cells is None else index._arranged(items, threads)


def own(rows: Any) -> Any:
    """Copy of what the caller passed, so that later changes of it are not seen."""
    if foreign(rows):
        return namespace(rows).asarray(rows, copy=True)
    if not isinstance(rows, np.ndarray):
        return rows.copy() if hasattr(rows, "copy") else list(rows)
    if isinstance(rows.base, np.memmap) and not rows.flags.writeable:
        return rows  # of a file that is open for reading only, into which nobody may write
    return np.array(rows, order="C")
