"""Search in sorted orders of permuted keys, and in buckets, which are equal first bits in them (Jain 2009, §4.2).

``runs`` = (keys, late keys), (items, late items) are two parts of each of l orders, the large one and what was inserted
since: keys (l, m) ascending and the positions of their items. Only positions in [first, first + n) count, of those that
``allowed`` has, as bits from ``first`` on.
"""

import numpy as np

from gramian._jit.compiler import njit
from gramian._jit.ranking import rank
from gramian._jit.scan import query_table

_ONE = np.uint64(1)


@njit(nogil=True)
def permuted_keys(words, bits, keys):
    """Write key p of each code: its bits ``bits[p]``, the first one highest; −1 is a bit that no code has."""
    for i in range(len(words)):
        for p in range(len(bits)):
            key = np.uint64(0)
            for j in bits[p]:
                key = (key << _ONE) | ((words[i, j >> 6] >> np.uint64(j & 63)) & _ONE if j >= 0 else np.uint64(0))
            keys[p, i] = key


@njit(nogil=True)
def merge(keys, items, more_keys, more_items, out_keys, out_items):
    """Merge two sorted runs of each order."""
    for p in range(len(keys)):
        i, j, n, m = 0, 0, keys.shape[1], more_keys.shape[1]
        for place in range(n + m):
            if j == m or (i < n and keys[p, i] <= more_keys[p, j]):
                out_keys[p, place], out_items[p, place] = keys[p, i], items[p, i]
                i += 1
            else:
                out_keys[p, place], out_items[p, place] = more_keys[p, j], more_items[p, j]
                j += 1


@njit(nogil=True)
def first_at_least(keys, key):
    """Place of the first of the sorted keys that is not below ``key``."""
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if keys[middle] < key else (low, middle)
    return low


@njit(nogil=True)
def gap(key, query):
    """2^h + |k − q| / 2, h the highest bit in which they differ: least for a long common prefix, then a near key.

    It grows on both sides of the query, so that a walk by it does not depend on how the orders came about.
    """
    differing = key ^ query
    for shift in (1, 2, 4, 8, 16, 32):
        differing |= differing >> np.uint64(shift)
    highest = differing - (differing >> _ONE)
    return highest + ((key - query if key > query else query - key) >> _ONE)


@njit(nogil=True)
def sift(gaps, sides, size, place):
    """Restore a heap of (gap, side) from one place on down."""
    least, side = gaps[place], sides[place]
    while 2 * place + 1 < size:
        child = 2 * place + 1
        other = child + 1
        if other < size and (gaps[other] < gaps[child] or (gaps[other] == gaps[child] and sides[other] < sides[child])):
            child = other
        if gaps[child] > least or (gaps[child] == least and sides[child] > side):
            break
        gaps[place], sides[place] = gaps[child], sides[child]
        place = child
    gaps[place], sides[place] = least, side


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
def widened(table):
    """The same items in a hash table of four times the size."""
    wider = np.full(4 * len(table), -1, np.int64)
    for i in table:
        if i >= 0:
            met(wider, i)
    return wider


@njit(nogil=True)
def may_count(i, n, allowed):
    """Whether a position is one of those that may be found."""
    if i < 0 or i >= n:
        return False
    return len(allowed) == 0 or (allowed[i // 64] >> np.uint64(i % 64)) & _ONE == _ONE


@njit(nogil=True)
def taken(i, table, looked, chosen, count):
    """Take an item that was not met before; the table, how many it holds, the list and its length, with room again."""
    if met(table, i):
        return table, looked, chosen, count
    if 2 * (looked + 1) > len(table):
        table = widened(table)
    if count == len(chosen):
        more = np.empty(2 * count, np.int64)
        more[:count] = chosen
        chosen = more
    chosen[count] = i
    return table, looked + 1, chosen, count + 1


@njit(nogil=True)
def walk(keys, items, queries, budget, first, n, allowed):
    """Items met when going out from the query's place in each sorted order, longest common prefix first.

    ``queries`` (l,). Ends after ``budget`` distinct items that count, and after all whose key is as near as the last
    one's. A heap has the next item on both sides of the query in each order, so that a step costs the logarithm of l,
    and no memory grows with n.
    """
    l = len(queries)
    ends, gaps, sides, size = np.empty(4 * l, np.int64), np.empty(4 * l, np.uint64), np.empty(4 * l, np.int64), 0
    for side in range(4 * l):
        p, own = side >> 2, keys[(side >> 1) & 1]
        ends[side] = first_at_least(own[p], queries[p]) - 1 + (side & 1)
        if 0 <= ends[side] < own.shape[1]:
            gaps[size], sides[size] = gap(own[p, ends[side]], queries[p]), side
            size += 1
    for place in range(size // 2 - 1, -1, -1):
        sift(gaps, sides, size, place)
    table, looked = np.full(64, -1, np.int64), 0
    chosen, count, last = np.empty(32, np.int64), 0, np.uint64(0)
    while size > 0 and (count < budget or gaps[0] == last):
        last, side = gaps[0], sides[0]
        p, own = side >> 2, keys[(side >> 1) & 1]
        i = np.int64(items[(side >> 1) & 1][p, ends[side]]) - first
        ends[side] += 2 * (side & 1) - 1
        if 0 <= ends[side] < own.shape[1]:
            gaps[0] = gap(own[p, ends[side]], queries[p])
        else:
            size -= 1
            gaps[0], sides[0] = gaps[size], sides[size]
        sift(gaps, sides, size, 0)
        if may_count(i, n, allowed):
            table, looked, chosen, count = taken(i, table, looked, chosen, count)
    return chosen[:count]


@njit(nogil=True)
def next_address(mask):
    """The next larger number with as many bits (Gosper)."""
    lowest = mask & (~mask + _ONE)
    ripple = mask + lowest
    return ripple | (((mask ^ ripple) >> np.uint64(2)) // lowest)


@njit(nogil=True)
def collide(keys, items, queries, width, budget, first, n, allowed):
    """Items of the buckets that the query falls into, then of those one bit away, two bits, …

    Bucket a of order p holds the items whose first ``width`` bits in that order are a. Ends with the bucket that
    brings the items that count to ``budget``.
    """
    l, low = len(queries), np.uint64(64 - width)
    table, looked = np.full(64, -1, np.int64), 0
    chosen, count = np.empty(32, np.int64), 0
    for radius in range(width + 1):
        mask = (_ONE << np.uint64(radius)) - _ONE
        while mask >> np.uint64(width) == 0:
            for p in range(l):
                address = (queries[p] >> low) ^ mask
                for run in range(2):
                    own = keys[run][p]
                    place = first_at_least(own, address << low)
                    while place < len(own) and own[place] >> low == address:
                        i = np.int64(items[run][p, place]) - first
                        place += 1
                        if may_count(i, n, allowed):
                            table, looked, chosen, count = taken(i, table, looked, chosen, count)
                if count >= budget:
                    return chosen[:count]
            if radius == 0:
                break
            mask = next_address(mask)
    return chosen[:count]


@njit(nogil=True)
def walk_all(keys, items, queries, width, budget, within, kept, W, sizes, outside, unit, rows, values, seen):
    """Rank by exact distance what :func:`walk` meets, or :func:`collide` where buckets have a width."""
    first, n, allowed = within
    for q in range(len(queries)):
        if width > 0:
            chosen = collide(keys, items, queries[q], width, budget, first, n, allowed)
        else:
            chosen = walk(keys, items, queries[q], budget, first, n, allowed)
        query = W[q], sizes[q], query_table(outside, q)
        rank(chosen, len(chosen), kept, query, unit, rows[q], values[q], 0)
        seen[q] = len(chosen)
