"""Candidates of many queries in one list, for distances that are computed in blocks by a kernel.

A list has the items of query q at ``items[starts[q] : starts[q + 1]]``.
"""

import numba
import numpy as np

from gramian._jit.hamming import beyond, within
from gramian._jit.orders import walk
from gramian._jit.ranking import dot, insert
from gramian._jit.scan import first_level, keep_plausible, last_levels, nearest_codes


@numba.njit(cache=True)
def extend(items, starts, q, chosen, size):
    """Append what was chosen for query q; the list grows by doubling."""
    start, end = starts[q], starts[q] + size
    if end > len(items):
        shorter, items = items, np.empty(2 * end, np.int64)
        for j in range(start):
            items[j] = shorter[j]
    for j in range(size):
        items[start + j] = chosen[j]
    starts[q + 1] = end
    return items


@numba.njit(cache=True)
def first_candidates(distances, least, count, budget, n_bits):
    """The nearest codes of each query, ``count`` or a few more, or exactly ``budget``: (items, starts, levels)."""
    m, n = distances.shape
    chosen, items = np.empty(n, np.int64), np.empty(m * max(count, budget), np.int64)
    starts, levels = np.zeros(m + 1, np.int64), np.empty(m, np.int64)
    for q in range(m):
        levels[q], size = n_bits, budget
        if budget > 0:
            nearest_codes(distances[q], least[q], n_bits, budget, chosen)
        else:
            levels[q] = first_level(distances[q], least[q], count, n_bits)
            size = within(distances[q], least[q], levels[q], chosen)
        items = extend(items, starts, q, chosen, size)
    return items[: starts[m]], starts, levels


@numba.njit(cache=True)
def plausible_candidates(distances, least, levels, sqnorms, unit, qnorms, bounds, edges, masks, limits):
    """Items beyond the first levels that are plausible within the bound of each query: (items, starts)."""
    m, n = distances.shape
    chosen, items, starts = np.empty(n, np.int64), np.empty(64 * m, np.int64), np.zeros(m + 1, np.int64)
    for q in range(m):
        last = last_levels(qnorms[q], bounds[q], edges, limits)
        size = beyond(distances[q], least[q], levels[q], last, masks, chosen)
        size = keep_plausible(chosen, 0, size, distances[q], sqnorms, unit, qnorms[q], bounds[q], limits, chosen)
        items = extend(items, starts, q, chosen, size)
    return items[: starts[m]], starts


@numba.njit(cache=True)
def walked_candidates(keys, places, queries, budget):
    """What :func:`walk` meets, for every query: (items, starts)."""
    m, n = len(queries), keys.shape[1]
    stamp, chosen = np.full(n, -1, np.int64), np.empty(n, np.int64)
    items, starts = np.empty(m * budget, np.int64), np.zeros(m + 1, np.int64)
    for q in range(m):
        size = walk(keys, places, queries[q], budget, stamp, q, chosen)
        items = extend(items, starts, q, chosen, size)
    return items[: starts[m]], starts


@numba.njit(cache=True)
def keep_best(items, values, starts, rows, best, size):
    """Insert a list into the best of each query, sorted by (value, row), of which ``size`` are there."""
    for q in range(len(rows)):
        kept = size
        for j in range(starts[q], starts[q + 1]):
            kept = insert(rows[q], best[q], kept, items[j], values[j])


@numba.njit(cache=True)
def pair_dots(X, Q, items, starts, scale, total):
    """Add scale · xᵀq of each pair of a list to ``total``."""
    for q in range(len(Q)):
        for j in range(starts[q], starts[q + 1]):
            total[j] += scale * dot(X[items[j]], Q[q])


@numba.njit(cache=True)
def sparse_pair_dots(pointers, columns, data, q_pointers, q_columns, q_data, items, starts, scale, total):
    """Add scale · xᵀq of each pair of CSR rows to ``total``.

    The entries of a query stand in a hash table by column, so that no vector of full width is made. Most columns of
    an item meet an empty slot of a byte each.
    """
    for q in range(len(starts) - 1):
        first, last, size = q_pointers[q], q_pointers[q + 1], 64
        while size < 16 * (last - first):
            size *= 2
        taken, keys, entries = np.zeros(size, np.uint8), np.empty(size, np.int64), np.zeros(size)
        for j in range(first, last):
            slot = place(taken, keys, q_columns[j])
            taken[slot], keys[slot] = 1, q_columns[j]
            entries[slot] += q_data[j]
        for j in range(starts[q], starts[q + 1]):
            s = 0.0
            for i in range(pointers[items[j]], pointers[items[j] + 1]):
                slot = first_slot(columns[i], size)
                if taken[slot] != 0:
                    s += data[i] * entries[place(taken, keys, columns[i])]
            total[j] += scale * s


@numba.njit(cache=True)
def first_slot(key, size):
    """Where to look for a key in a hash table of 2^p slots."""
    return (np.uint64(key) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(32)) & np.uint64(size - 1)


@numba.njit(cache=True)
def place(taken, keys, key):
    """Slot of a key in a hash table with room, or the empty slot where it would stand."""
    slot = first_slot(key, len(keys))
    while taken[slot] != 0 and keys[slot] != key:
        slot = (slot + np.uint64(1)) & np.uint64(len(keys) - 1)
    return slot
