"""Which rows a fit sees in memory: those that constraints speak of, and a sample by class."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.random import sample_without_replacement

from gramian import linalg
from gramian.constraints import Chunklets, Constraints, Labels, Mixed
from gramian.dask.sources import OWNER
from gramian.learners import subsample

TYPICAL = 1000
"""Rows of which percentiles of distances are taken: see :func:`gramian.constraints.pairs.typical_sqdist`."""


def some_rows(y: Any, n: int, most: int, by_class: bool, rng: np.random.RandomState) -> tuple[np.ndarray, Any]:
    """Rows, and what is known of them: all that constraints speak of, and of others ``most`` in all.

    Classes and chunklets are drawn in proportion; ``y`` may be None where nothing is known.
    """
    if isinstance(y, Labels):
        rows = subsample.some(y, most, rng) if by_class else among(np.flatnonzero(y.codes >= 0), most, rng)
        return rows, y.of(rows)
    if isinstance(y, Chunklets):
        ids = np.unique(y.ids, return_inverse=True)[1] - int((y.ids < 0).any())  # 0 … g − 1, −1 in none
        rows = filled(subsample.some(Labels(ids, np.arange(ids.max() + 1)), most, rng), n, most, rng)
        weight = None if y.weight is None else y.weight[rows]
        return rows, replace(y, ids=y.ids[rows], weight=weight)
    if isinstance(y, Constraints):
        rows = arranged(filled(touched(y, n), n, most, rng), n)
        return rows, renumbered(y, rows)
    return among(np.arange(n), most, rng), None


def among(rows: np.ndarray, most: int, rng: np.random.RandomState) -> np.ndarray:
    """Some of the rows, ascending."""
    return rows if len(rows) <= most else rows[np.sort(sample_without_replacement(len(rows), most, random_state=rng))]


def filled(rows: np.ndarray, n: int, most: int, rng: np.random.RandomState) -> np.ndarray:
    """Rows and some others, ascending, as many as are wanted in all."""
    if len(rows) >= most:
        return rows
    free = np.ones(n, dtype=bool)
    free[rows] = False
    return np.union1d(rows, among(np.flatnonzero(free), most - len(rows), rng))


def arranged(rows: np.ndarray, n: int) -> np.ndarray:
    """Rows, and those of which a fit of all takes percentiles of distances: these are evenly spaced again, so that it
    takes the same.
    """
    typical = linalg.spread(n, TYPICAL)  # (at most 1000,)
    rest = np.setdiff1d(rows, typical)
    order = np.empty(len(typical) + len(rest), dtype=np.intp)  # rows by their new place
    place = linalg.spread(len(order), TYPICAL)  # where a fit of these rows looks
    order[place] = typical
    order[np.delete(np.arange(len(order)), place)] = rest
    return order


def touched(side: Constraints, n: int) -> np.ndarray:
    """The rows, of n, that constraints speak of."""
    rows = np.zeros(n, dtype=bool)  # (n,)
    for one in side.parts if isinstance(side, Mixed) else [side]:
        for ends in index_fields(one).values():
            rows[ends] = True
    return np.flatnonzero(rows)


def renumbered(side: Constraints, rows: np.ndarray) -> Constraints:
    """The same constraints on these rows alone."""
    if isinstance(side, Mixed):
        return Mixed(tuple(renumbered(one, rows) for one in side.parts))
    order = np.argsort(rows)
    fields: Any = {name: order[np.searchsorted(rows[order], ends)] for name, ends in index_fields(side).items()}
    return replace(side, **fields)  # type: ignore[type-var]  # dataclasses


def index_fields(side: Any) -> dict[str, np.ndarray]:
    """The fields that hold numbers of rows."""
    values = {name: getattr(side, name) for name in side.__dataclass_fields__}
    fields = {
        name: value
        for name, value in values.items()
        if isinstance(value, np.ndarray) and value.dtype == np.intp and value.shape == (len(side),)
    }
    if not fields:
        raise TypeError(
            f"{OWNER}: y must be labels or constraints of row numbers, got {type(side).__name__}; "
            "give sample= at least the number of rows."
        )
    return fields
