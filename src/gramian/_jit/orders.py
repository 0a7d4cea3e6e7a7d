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
def sift(gaps, sides, size, place):
    """Restore a heap of (gap, side) from one place on down."""
    gap, side = gaps[place], sides[place]
    while 2 * place + 1 < size:
        child = 2 * place + 1
        other = child + 1
        if other < size and (gaps[other] < gaps[child] or (gaps[other] == gaps[child] and sides[other] < sides[child])):
            child = other
        if gaps[child] > gap or (gaps[child] == gap and sides[child] > side):
            break
        gaps[place], sides[place] = gaps[child], sides[child]
        place = child
    gaps[place], sides[place] = gap, side


@njit(nogil=True)
def met(table, i):
    """Whether an item is in a hash table with room, where it is put; −1 is an empty slot."""
    mask = len(table) - 1
    slot = (i * 0x9E3779B1) & mask
    while table[slot] >= 0 and table[slot] != i:
        slot = (slot + 1) & mask
    known = table[slot] == i
    table[slot] = i
    return known


@njit(nogil=True)
def walk(keys, items, queries, budget, allowed):
    """Items met when going out from the query's place in each sorted order, longest common prefix first.

    ``keys`` (l, n) sorted, ``items`` (l, n) their positions, ``queries`` (l,). Ends after ``budget`` distinct items
    that are allowed, and after all whose key agrees as far as the last one's. A heap has the next item on both sides of
    the query in each order, so that a step costs the logarithm of l, and no memory grows with n.
    """
    l, n = keys.shape
    ends, gaps, sides, size = np.empty(2 * l, np.int64), np.empty(2 * l, np.uint64), np.empty(2 * l, np.int64), 0
    for p in range(l):
        right = first_at_least(keys[p], queries[p])
        ends[2 * p], ends[2 * p + 1] = right - 1, right
        for side in range(2 * p, 2 * p + 2):
            if 0 <= ends[side] < n:
                gaps[size], sides[size] = keys[p, ends[side]] ^ queries[p], side
                size += 1
    for place in range(size // 2 - 1, -1, -1):
        sift(gaps, sides, size, place)
    table, looked = np.full(64, -1, np.int64), 0
    chosen, count, last = np.empty(32, np.int64), 0, np.uint64(0)
    while size > 0 and (count < budget or gaps[0] == last):
        last, side = gaps[0], sides[0]
        p = side // 2
        i = items[p, ends[side]]
        ends[side] += 1 if side % 2 else -1
        if 0 <= ends[side] < n:
            gaps[0] = keys[p, ends[side]] ^ queries[p]
        else:
            size -= 1
            gaps[0], sides[0] = gaps[size], sides[size]
        sift(gaps, sides, size, 0)
        if met(table, i):
            continue
        looked += 1
        if 2 * looked > len(table):
            table = widened(table)
        if len(allowed) == 0 or (allowed[i // 64] >> np.uint64(i % 64)) & np.uint64(1) == 1:
            if count == len(chosen):
                more = np.empty(2 * count, np.int64)
                more[:count] = chosen
                chosen = more
            chosen[count] = i
            count += 1
    return chosen[:count]


@njit(nogil=True)
def widened(table):
    """The same items in a hash table of four times the size."""
    wider = np.full(4 * len(table), -1, np.int64)
    for i in table:
        if i >= 0:
            met(wider, i)
    return wider


@njit(nogil=True)
def walk_all(keys, items, queries, budget, allowed, kept, W, sizes, outside, unit, rows, values, seen):
    """Rank by exact distance what :func:`walk` meets, for every query."""
    for q in range(len(queries)):
        chosen = walk(keys, items, queries[q], budget, allowed)
        query = W[q], sizes[q], query_table(outside, q)
        rank(chosen, len(chosen), kept, query, unit, rows[q], values[q], 0)
        seen[q] = len(chosen)
