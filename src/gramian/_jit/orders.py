"""Search in sorted orders of permuted keys (Jain 2009, §4.2)."""

import numpy as np

from gramian._jit.compiler import njit
from gramian._jit.ranking import rank
from gramian._jit.scan import query_table


@njit(nogil=True)
def first_at_least(keys, key):
    """Place of the first of the sorted keys that is not below ``key``."""
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if keys[middle] < key else (low, middle)
    return low


@njit(nogil=True)
def walk(keys, items, queries, budget, stamp, mark, allowed, chosen):
    """Items met when going out from the query's place in each sorted order, longest common prefix first.

    ``keys`` (l, n) sorted, ``items`` (l, n) their positions, ``queries`` (l,). Ends after ``budget`` distinct items
    that are allowed, and after all whose key agrees as far as the last one's; returns how many stand in ``chosen``.
    """
    l, n = keys.shape
    left, right = np.empty(l, np.int64), np.empty(l, np.int64)
    for p in range(l):
        right[p] = first_at_least(keys[p], queries[p])
        left[p] = right[p] - 1
    none, last, size = np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(0), 0
    while True:
        gap, order, up = none, -1, False
        for p in range(l):
            if left[p] >= 0 and (keys[p, left[p]] ^ queries[p] < gap or order < 0):
                gap, order, up = keys[p, left[p]] ^ queries[p], p, False
            if right[p] < n and (keys[p, right[p]] ^ queries[p] < gap or order < 0):
                gap, order, up = keys[p, right[p]] ^ queries[p], p, True
        if order < 0 or (size >= budget and gap != last):
            return size
        last = gap
        i = items[order, right[order] if up else left[order]]
        right[order] += up
        left[order] -= not up
        if stamp[i] != mark:
            stamp[i] = mark
            chosen[size] = i
            size += len(allowed) == 0 or (allowed[i // 64] >> np.uint64(i % 64)) & np.uint64(1) == 1


@njit(nogil=True)
def walk_all(keys, items, queries, budget, allowed, kept, W, sizes, outside, unit, rows, values, seen):
    """Rank by exact distance what :func:`walk` meets, for every query."""
    n = keys.shape[1]
    stamp, chosen = np.full(n, -1, np.int64), np.empty(n, np.int64)
    for q in range(len(queries)):
        count = walk(keys, items, queries[q], budget, stamp, q, allowed, chosen)
        query = W[q], sizes[q], query_table(outside, q)
        rank(chosen, count, kept, query, unit, rows[q], values[q], 0)
        seen[q] = count
