"""Selection of the smallest entries, fused with the bound that they are selected by, and distances to listed rows."""

import numba
import numpy as np

_CHUNK = 512
"""Bounds that are compared with a level at once."""
SHORT = 128
"""Lists up to this length are kept in order, longer ones as heaps."""
_LANES = 256
"""Groups of bounds, of which the smallest ones tell below which level enough bounds lie."""


@numba.njit(cache=True, nogil=True)
def sink(values, ids, value, i):
    """Put (value, i) in the place of the largest pair of a heap, which stands first."""
    size, place = len(values), 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and after(values, ids, child + 1, child):
            child += 1
        if values[child] < value or (values[child] == value and ids[child] < i):
            break
        values[place] = values[child]
        ids[place] = ids[child]
        place = child
    values[place] = value
    ids[place] = i


@numba.njit(cache=True, nogil=True)
def after(values, ids, a, b):
    """Whether pair a comes after pair b: a larger value, or the same and a larger id."""
    return values[a] > values[b] or (values[a] == values[b] and ids[a] > ids[b])


@numba.njit(cache=True, nogil=True)
def sort_heap(values, ids):
    """Sort a heap in place, ascending."""
    for last in range(len(values) - 1, 0, -1):
        value, i = values[last], ids[last]
        values[last], ids[last] = values[0], ids[0]
        sink(values[:last], ids[:last], value, i)


@numba.njit(cache=True, nogil=True)
def insert(values, ids, value, i):
    """Put (value, i) in its place of an ascending list, whose last pair leaves it."""
    place = len(values) - 1
    while place > 0 and (values[place - 1] > value or (values[place - 1] == value and ids[place - 1] > i)):
        values[place] = values[place - 1]
        ids[place] = ids[place - 1]
        place -= 1
    values[place] = value
    ids[place] = i


@numba.njit(cache=True, nogil=True)
def last_of(size):
    """Where the largest pair of a list of the smallest ones stands: short lists are ascending, long ones heaps."""
    return size - 1 if size <= SHORT else 0


@numba.njit(cache=True, nogil=True)
def put(values, ids, value, i):
    """Put (value, i) in the place of the largest pair of a list."""
    if len(values) <= SHORT:
        insert(values, ids, value, i)
    else:
        sink(values, ids, value, i)


@numba.njit(cache=True, nogil=True)
def sort_list(values, ids):
    """Sort a list in place, ascending: a heap, unless it is short."""
    if len(values) > SHORT:
        sort_heap(values, ids)


@numba.njit(cache=True, nogil=True)
def smallest(D, columns, skip, k):
    """Names and values of the k smallest entries of each row of D, ascending, ties by name.

    ``columns`` (n, m) are the names of the entries; ``skip[i]`` is a name to leave out of row i. Where fewer than k
    entries are below infinity, the name −1 and the value infinity fill the row.
    """
    n, m = D.shape
    names, values, last = np.full((n, k), -1, np.int64), np.full((n, k), np.inf), last_of(k)
    if k == 0:
        return names, values
    for i in range(n):
        for j in range(m):
            d = D[i, j]
            if d > values[i, last] or d == np.inf:
                continue
            name = columns[i, j]
            if (d < values[i, last] or name < names[i, last]) and name != skip[i]:
                put(values[i], names[i], d, name)
        sort_list(values[i], names[i])
    return names, values


@numba.njit(cache=True, nogil=True)
def flag_below(halves, products, level, flags):
    """Mark the halves − products that are below a level; without a branch, so that it fills vector registers."""
    for j in range(len(halves)):
        flags[j] = halves[j] - products[j] < level


@numba.njit(cache=True, nogil=True)
def lower_lanes(lanes, halves, products):
    """Make each lane the smaller of itself and its halves − products."""
    for j in range(len(lanes)):
        bound = halves[j] - products[j]
        lanes[j] = bound if bound < lanes[j] else lanes[j]


@numba.njit(cache=True, nogil=True)
def enough_below(halves, products, lanes, heap):
    """A level below which at least as many halves − products lie as the heap has places, and seldom many more.

    The items are dealt to lanes, as far as they fill them. A lane whose smallest is below the level holds one at least.
    """
    lanes[:] = np.inf
    for start in range(0, len(halves) - len(lanes) + 1, len(lanes)):
        stop = start + len(lanes)
        lower_lanes(lanes, halves[start:stop], products[start:stop])
    size = len(lanes)
    while size >= 8 * len(heap):
        size //= 2
        for j in range(size):
            lanes[j] = min(lanes[j], lanes[size + j])
    heap[:] = np.inf
    for j in range(size):
        if lanes[j] < heap[0]:
            replace_largest(heap, lanes[j])
    return np.nextafter(heap[0], halves.dtype.type(np.inf))


@numba.njit(cache=True, nogil=True)
def replace_largest(heap, value):
    """Put a value in the place of the largest one, which stands first."""
    size, place = len(heap), 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= value:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = value


@numba.njit(cache=True, nogil=True)
def keep_lowest(products, halves, first, values, ids):
    """Keep the smallest |x|²/2 − qᵀx of each query in lists ``values``, ``ids`` (m, size).

    ``products`` (m, n) are the qᵀx of the items ``first``, ``first`` + 1, … and ``halves`` (n,) their |x|²/2.
    """
    n, size = products.shape[1], values.shape[1]
    last = last_of(size)
    lanes, heap = np.empty(_LANES, halves.dtype), np.empty(size, halves.dtype)
    flags = np.zeros(_CHUNK, np.uint8)
    for q in range(len(products)):
        own, near, names = products[q], values[q], ids[q]
        level = near[last]
        if level == np.inf and 2 * size <= _LANES <= n:
            level = enough_below(halves, own, lanes, heap)
        for start in range(0, n, _CHUNK):
            count = min(_CHUNK, n - start)
            flag_below(halves[start : start + count], own[start : start + count], level, flags)
            level = keep_flagged(flags, count, halves, own, start, first, level, near, names)


@numba.njit(cache=True, nogil=True)
def keep_flagged(flags, count, halves, products, start, first, level, values, ids):
    """Keep those of the first ``count`` flagged items that are below the level; returns the level that is left."""
    eights, last = flags.view(np.uint64), last_of(len(values))
    for e in range((count + 7) // 8):
        if eights[e] == 0:
            continue
        for j in range(8 * e, min(8 * e + 8, count)):
            bound = halves[start + j] - products[start + j]
            if flags[j] and bound < level:
                put(values, ids, bound, first + start + j)
                level = min(level, values[last])
    return level


@numba.njit(cache=True, nogil=True)
def squared_lists(values, ids, own, scale):
    """Sort each row, a list of halves − products, and turn it into squared distances; infinity stays."""
    D = np.full(values.shape, np.inf)
    for q in range(len(values)):
        sort_list(values[q], ids[q])
        for j in range(values.shape[1]):
            if values[q, j] < np.inf:
                D[q, j] = (own[q] + 2.0 * values[q, j]) * scale
    return D


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def sqdist(a, b):
    """|a − b|² by differences, in double precision: no cancellation."""
    total = 0.0
    for t in range(a.shape[0]):
        total += (np.float64(a[t]) - np.float64(b[t])) ** 2
    return total


@numba.njit(cache=True, nogil=True)
def listed_sqdist(Q, X, ids, lower, k):
    """Squared Euclidean distance of row i of Q to the rows ids[i] of X, (n, m), as far as needed for the k nearest.

    ``lower`` (n, m) bounds them from below, ascending; what is ruled out by its bound is left at infinity.
    """
    D = np.full(ids.shape, np.inf)
    best, places, last = np.empty(k), np.empty(k, np.int64), last_of(k)
    for i in range(ids.shape[0]):
        best[:] = np.inf
        for s in range(ids.shape[1]):
            if lower[i, s] > best[last]:
                break
            D[i, s] = sqdist(Q[i], X[ids[i, s]])
            if D[i, s] < best[last]:
                put(best, places, D[i, s], s)
    return D


@numba.njit(cache=True, nogil=True)
def add_postings(q_starts, q_columns, q_data, starts, items, data, out):
    """Add qᵀx of CSR queries with all items, which are given as postings, the items of each column, to out (m, n)."""
    for q in range(len(out)):
        for i in range(q_starts[q], q_starts[q + 1]):
            weight, c = q_data[i], q_columns[i]
            for j in range(starts[c], starts[c + 1]):
                out[q, items[j]] += weight * data[j]


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def inner(a, b):
    """aᵀb in single precision, in any order."""
    total = np.float32(0.0)
    for t in range(len(a)):
        total += a[t] * b[t]
    return total


@numba.njit(cache=True, nogil=True)
def few_products(rows, Z, out):
    """Inner products of a few queries with all rows, each of which is read once, to out (m, n)."""
    for i in range(len(rows)):
        for q in range(len(Z)):
            out[q, i] = inner(rows[i], Z[q])
