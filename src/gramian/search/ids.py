"""Ids of items: what a caller may give, and the positions that they mean."""

from typing import Any

import numpy as np

from gramian import _validate
from gramian.search.items import Items


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
