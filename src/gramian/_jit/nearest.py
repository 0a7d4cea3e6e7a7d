"""Selection of the smallest entries, fused with the bound that they are selected by, and distances to listed rows."""

import numba
import numpy as np

_CHUNK = 64
"""Bounds that are compared with the threshold at once."""


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
def smallest(D, columns, skip, k):
    """Names and values of the k smallest entries of each row of D, ascending, ties by name.

    ``columns`` (n, m) are the names of the entries; ``skip[i]`` is a name to leave out of row i. Where fewer than k
    entries are below infinity, the name −1 and the value infinity fill the row.
    """
    n, m = D.shape
    names, values = np.full((n, k), -1, np.int64), np.full((n, k), np.inf)
    for i in range(n):
        for j in range(m):
            d = D[i, j]
            if d > values[i, 0] or d == np.inf:
                continue
            name = columns[i, j]
            if (d < values[i, 0] or name < names[i, 0]) and name != skip[i]:
                sink(values[i], names[i], d, name)
        sort_heap(values[i], names[i])
    return names, values


@numba.njit(cache=True, nogil=True)
def any_below(halves, products, level):
    """Whether any of halves − products is below a level; without a branch, so that it fills vector registers."""
    found = np.int32(0)
    for j in range(len(halves)):
        found |= np.int32(halves[j] - products[j] < level)
    return found != 0


@numba.njit(cache=True, nogil=True)
def keep_lowest(products, halves, first, values, ids):
    """Keep the smallest |x|²/2 − qᵀx of each query in heaps ``values``, ``ids`` (m, size).

    ``products`` (m, n) are the qᵀx of the items ``first``, ``first`` + 1, … and ``halves`` (n,) their |x|²/2.
    """
    n = products.shape[1]
    for q in range(len(products)):
        for start in range(0, n, _CHUNK):
            stop = min(start + _CHUNK, n)
            if any_below(halves[start:stop], products[q, start:stop], values[q, 0]):
                for j in range(start, stop):
                    bound = halves[j] - products[q, j]
                    if bound < values[q, 0]:
                        sink(values[q], ids[q], bound, first + j)


@numba.njit(cache=True, nogil=True)
def sort_heaps(values, ids):
    """Sort each row, a heap, in place."""
    for q in range(len(values)):
        sort_heap(values[q], ids[q])


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
    best, places = np.empty(k), np.empty(k, np.int64)
    for i in range(ids.shape[0]):
        best[:] = np.inf
        for s in range(ids.shape[1]):
            if lower[i, s] > best[0]:
                break
            D[i, s] = sqdist(Q[i], X[ids[i, s]])
            if D[i, s] < best[0]:
                sink(best, places, D[i, s], s)
    return D


@numba.njit(cache=True, nogil=True)
def add_postings(q_starts, q_columns, q_data, starts, items, data, out):
    """Add qᵀx of CSR queries with all items, which are given as postings, the items of each column, to out (m, n)."""
    for q in range(len(out)):
        for i in range(q_starts[q], q_starts[q + 1]):
            weight, c = q_data[i], q_columns[i]
            for j in range(starts[c], starts[c + 1]):
                out[q, items[j]] += weight * data[j]
