"""Items of an index in a file, and whether those of a file are what they say."""

from dataclasses import replace
from typing import Any

import numpy as np

from gramian import linalg
from gramian._arrays import foreign
from gramian.persist import believed
from gramian.search.cell_candidates import KS
from gramian.search.collection import Collection, rederived
from gramian.search.columns import column
from gramian.search.items import NEXT, Items

COMPARED = 256
"""Items of a file that are hashed again, to see whether the codes are theirs."""
ROUNDING, BITS = 1e-5, 0.02
"""By how much what a file holds may differ from what is computed: of the size of the numbers, and share of the bits."""


def state(index: Collection) -> dict[str, Any]:
    """What a file keeps of the items of an index, in NumPy arrays."""
    items = index._items
    if items.n and foreign(items["points"]):
        columns = {name: column(items.columns[name].state()) for name in ("ids", "points")}
        items = rederived(index, replace(items, columns=columns), 1)
    return {
        "next_id": items.next_id,
        "columns": {name: part.state() for name, part in items.columns.items() if name.removeprefix(NEXT) != "orders"},
        "settled": items.settled,
        "settled_on": items.settled_on,
    }


def restore(index: Any, state: dict[str, Any]) -> Any:
    """The index with the items of a file, when they fit together."""
    columns = {name: column(rows) for name, rows in state["columns"].items()}
    items = Items(columns, state["next_id"], state["settled"], state["settled_on"])
    if columns:
        check_items(index, items)
    index._items = index._completed(items)
    return index


def check_items(index: Collection, items: Items) -> None:
    """Refuse columns that belong to no index: compiled loops would read beside them."""
    ids = items["ids"]
    ascending = np.sort(ids) if items.in_cells else ids
    if (
        ids.dtype != np.int64
        or ids.ndim != 1
        or (np.diff(ascending) <= 0).any()
        or items.next_id <= ids.max(initial=-1)
    ):
        raise ValueError("its ids are not distinct and ascending")
    if items.columns["points"].n != items.n:
        raise ValueError("its points are not as many as its ids")
    rows = linalg.spread(items.n, COMPARED)
    some = index._check(linalg.take(items["points"], rows))
    if isinstance(items["points"], np.ndarray) and items["points"].dtype.kind != np.asarray(some).dtype.kind:
        raise ValueError("its points are not stored as numbers")  # text that says numbers passes the door
    extra = {"cells": cells_of(items)[rows]} if items.in_cells else {}
    derived = index._derive(items.settled, some, 1, **extra)
    sample = {name: column(part) for name, part in derived.items() if name != "orders"}
    if not set(items.columns) >= {"ids", "points", *sample}:
        raise ValueError("its columns are those of another index")
    for name in items.columns:
        check_column(items, name, rows, sample)
    if not believed.get():
        index._check(linalg.take(items["points"], slice(None)))


def cells_of(items: Items) -> np.ndarray:
    """The cell of each item, when they are cells of this index and stand in their order."""
    cells, settled = items["cells"], items.settled
    centers, laid = settled.get("centers"), settled.get("laid")
    read = [settled.get(name) for name in ("reach", "sure")]
    whole = isinstance(laid, int) and 0 <= laid <= items.n and isinstance(centers, np.ndarray) and centers.ndim == 2
    if not whole or not isinstance(centers, np.ndarray):
        raise ValueError("its cells do not fit together")
    places = settled.get("places")
    whole &= places is None or (isinstance(places, np.ndarray) and places.ndim == 2 and len(places) == len(centers))
    whole &= all(isinstance(one, np.ndarray) and one.shape == (len(KS),) and one.dtype == np.float64 for one in read)
    if not whole or cells.dtype != np.int32 or cells.shape != (items.n,) or cells.min(initial=0) < 0:
        raise ValueError("its cells do not fit together")
    if cells.max(initial=0) >= len(centers) or (np.diff(cells[:laid]) < 0).any():
        raise ValueError("its items do not stand in the order of their cells")
    return cells


def check_column(items: Items, name: str, rows: np.ndarray, sample: dict[str, Any]) -> None:
    """Refuse a column that does not have the form and, at some rows, the values of what is derived anew."""
    part, own = items.columns[name], name.removeprefix(NEXT)
    growing = own != name
    wanted = sample[own].state() if own in sample else part.state()
    whole = part.n == items.n or (growing and part.n < items.n)
    if not whole or own not in ("ids", "points", *sample) or form(part.state()) != form(wanted):
        raise ValueError(f"its column {name!r} does not fit the others")
    if not growing and name in sample and not alike(part.take(rows).rows, sample[name].rows):
        raise ValueError(f"its column {name!r} is not that of its points")


def alike(rows: Any, others: Any) -> bool:
    """Whether two columns hold the same numbers, but for rounding: a few bits, or the last digits."""
    if not isinstance(rows, np.ndarray) or rows.dtype.kind not in "fiu":
        return True
    if rows.dtype.kind == "f":
        size = max(float(np.abs(others).max(initial=0.0)), np.finfo(rows.dtype).tiny)
        return bool(np.isfinite(rows).all() and np.abs(rows - others).max(initial=0.0) <= ROUNDING * size)
    if rows.dtype != np.uint64:
        return bool((rows == others).mean() > 1 - BITS) if rows.size else True
    return bool(np.bitwise_count(rows ^ others).sum() <= BITS * 64 * rows.size)


def form(rows: Any) -> Any:
    """Type and width of the rows of a column."""
    rows = rows.get("tiles", rows.get("rounded")) if isinstance(rows, dict) else rows
    return (rows.dtype, rows.shape[1:]) if hasattr(rows, "dtype") else type(rows)
