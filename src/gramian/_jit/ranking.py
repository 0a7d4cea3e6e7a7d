"""Exact distances of scattered items to a query, and the best of them.

Items are ``kept`` = (X, μ, sizes, outside, scales): rows x with a center μ, |x|² in the inner product that ranks them,
sparse rows outside of x as (pointers, columns, data, weight), and scale and offset of rows of bytes. A query is
(w, size, table): xᵀw is its inner product with x, ``size`` its own |q|², and ``table`` its sparse entries by column.
"""

import math

import numpy as np
from numba import types
from numba.extending import overload

from gramian._jit.compiler import njit
from gramian._jit.vectors import half, prefetch

_AHEAD = 8
"""Items that are asked for ahead of their use: their delays overlap, which otherwise take most of the time."""


@njit(nogil=True, fastmath={"reassoc", "contract"})
def dot(a, b):
    """Inner product in the precision of its arguments; the sum may be reordered, to fill vector registers."""
    s = a[0] * b[0]
    for j in range(1, a.shape[0]):
        s += a[j] * b[j]
    return s


def value_of(x):
    """A number as it is kept; 16-bit floats are kept as integers."""


@overload(value_of)
def _value_of(x):
    return (lambda x: half(x)) if x == types.uint16 else (lambda x: x)


@njit(nogil=True, fastmath={"reassoc", "contract"})
def centered_dot(x, center, w):
    """(x − μ)ᵀw; the order of the sum is left to the compiler so that it fills vector registers."""
    total = 0.0
    for j in range(x.shape[0]):
        total += (value_of(x[j]) - center[j]) * w[j]
    return total


@njit(nogil=True, fastmath={"reassoc", "contract"})
def scaled_dot(x, scale, offset, center, w):
    """(offset + scale x − μ)ᵀw."""
    total = 0.0
    for j in range(x.shape[0]):
        total += (scale * x[j] + offset - center[j]) * w[j]
    return total


@njit(nogil=True)
def product(kept, i, w):
    """(x_i − μ)ᵀw of a row as it is kept."""
    X, center, scales = kept[0], kept[1], kept[4]
    if len(scales) > 0:
        return scaled_dot(X[i], np.float64(scales[i, 0]), np.float64(scales[i, 1]), center, w)
    return centered_dot(X[i], center, w)


@njit(nogil=True)
def insert(rows, values, size, row, value):
    """Insert into arrays sorted by (value, row) that hold at most len(rows) entries; return their new size."""
    last = len(rows)
    if size == last and (value > values[last - 1] or (value == values[last - 1] and row > rows[last - 1])):
        return size
    i = size if size < last else last - 1
    while i > 0 and (values[i - 1] > value or (values[i - 1] == value and rows[i - 1] > row)):
        values[i], rows[i] = values[i - 1], rows[i - 1]
        i -= 1
    values[i], rows[i] = value, row
    return size + 1 if size < last else size


@njit(nogil=True)
def rank(pending, count, kept, query, unit, rows, values, size):
    """Insert pending items by their distances; return the new size."""
    X, sizes, outside = kept[0], kept[2], kept[3]
    w, norm, table = query
    mixed = len(table[0]) > 0
    flat, d, line = X.reshape(-1), X.shape[1], 64 // X.itemsize
    for j in range(-_AHEAD, count):
        if j + _AHEAD < count:
            start = pending[j + _AHEAD] * d
            for c in range(0, d, line):
                prefetch(flat, start + c)
        if j >= 0:
            i = pending[j]
            inner = product(kept, i, w)
            if mixed:
                inner += outside_dot(i, outside, table)
            size = insert(rows, values, size, i, distance(inner, sizes[i], norm, unit))
    return size


@njit(nogil=True)
def distance(product, size, own, unit):
    """d² = |x|² + |q|² − 2 k(x, q), or 2 − 2 cos when ``unit``: then k(x, q) is that of a query of length one."""
    if unit:
        return 2.0 - 2.0 * product / math.sqrt(size) if size > 0 else 2.0
    return max(size + own - 2.0 * product, 0.0)


@njit(nogil=True)
def table_of(columns, data):
    """Sparse entries in a hash table by column, so that no vector of full width is made: (taken, keys, entries).

    Most columns of an item meet an empty slot of a byte each.
    """
    size = 64 if len(columns) > 0 else 0
    while size < 16 * len(columns):
        size *= 2
    used, keys, entries = np.zeros(size, np.uint8), np.empty(size, np.int64), np.zeros(size)
    for j in range(len(columns)):
        slot = place(used, keys, columns[j])
        used[slot] = 1
        keys[slot] = columns[j]
        entries[slot] += data[j]
    return used, keys, entries


@njit(nogil=True)
def outside_dot(i, outside, table):
    """Weighted product of the sparse row i with the entries of a table."""
    pointers, columns, data, weight = outside
    used, keys, entries = table
    total = 0.0
    if len(used) > 0:
        for j in range(pointers[i], pointers[i + 1]):
            if used[first_slot(columns[j], len(used))] != 0:
                total += data[j] * entries[place(used, keys, columns[j])]
    return weight * total


@njit(nogil=True)
def first_slot(key, size):
    """Where to look for a key in a hash table of 2^p slots."""
    return (np.uint64(key) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(32)) & np.uint64(size - 1)


@njit(nogil=True)
def place(taken, keys, key):
    """Slot of a key in a hash table with room, or the empty slot where it would stand."""
    slot = first_slot(key, len(keys))
    while taken[slot] != 0 and keys[slot] != key:
        slot = (slot + np.uint64(1)) & np.uint64(len(keys) - 1)
    return slot


@njit(nogil=True, fastmath={"reassoc", "contract"})
def image_sqnorm(L, v):
    """|Lv|², four rows of L at a time, which share the reading of v."""
    n_rows, d = L.shape
    total = 0.0
    for r in range(0, n_rows - 3, 4):
        a = b = c = e = 0.0
        for j in range(d):
            a += L[r, j] * v[j]
            b += L[r + 1, j] * v[j]
            c += L[r + 2, j] * v[j]
            e += L[r + 3, j] * v[j]
        total += a * a + b * b + c * c + e * e
    for r in range(n_rows - n_rows % 4, n_rows):
        a = 0.0
        for j in range(d):
            a += L[r, j] * v[j]
        total += a * a
    return total


@njit(nogil=True)
def image_sqnorms(L, V):
    """|Lv|² of each row v: equal rows have equal values, wherever they stand."""
    out = np.empty(len(V))
    for i in range(len(V)):
        out[i] = image_sqnorm(L, V[i])
    return out
