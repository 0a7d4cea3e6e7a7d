"""Exact distances of scattered items to a query, and the best of them."""

import math

import numba
import numpy as np

from gramian._jit.vectors import prefetch

_AHEAD = 8
"""Items that are asked for ahead of their use: their delays overlap, which otherwise take most of the time."""


@numba.njit(cache=True, fastmath={"reassoc", "contract"})
def dot(a, b):
    """Inner product in the precision of its arguments; the sum may be reordered, to fill vector registers."""
    s = a[0] * b[0]
    for j in range(1, a.shape[0]):
        s += a[j] * b[j]
    return s


@numba.njit(cache=True, fastmath={"reassoc", "contract"})
def centered_dot(x, center, w):
    """(x − μ)ᵀw; the order of the sum is left to the compiler so that it fills vector registers."""
    total = 0.0
    for j in range(x.shape[0]):
        total += (x[j] - center[j]) * w[j]
    return total


@numba.njit(cache=True)
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


@numba.njit(cache=True)
def rank(pending, count, ranking, rows, values, size):
    """Insert pending items by d² = |x|² + |q|² − 2 xᵀMq, or by 2 − 2 cos; return the new size.

    ``ranking`` is (X, μ, |x|², w, |q|², unit): x and q are centered, and w is Mq, or Mq/|q| when ``unit``.
    """
    X, center, sqnorms, w, sqnorm, unit = ranking
    flat, d, line = X.reshape(-1), X.shape[1], 64 // X.itemsize
    for j in range(-_AHEAD, count):
        if j + _AHEAD < count:
            start = pending[j + _AHEAD] * d
            for c in range(0, d, line):
                prefetch(flat, start + c)
        if j >= 0:
            i = pending[j]
            product = centered_dot(X[i], center, w)
            if unit:
                value = 2.0 - 2.0 * product / math.sqrt(sqnorms[i]) if sqnorms[i] > 0 else 2.0
            else:
                value = max(sqnorms[i] + sqnorm - 2.0 * product, 0.0)
            size = insert(rows, values, size, i, value)
    return size


@numba.njit(cache=True, fastmath={"reassoc", "contract"})
def image_sqnorm(L, v):
    """|Lv|², four rows of L at a time, which share the reading of v; sums in the precision of L, squares in double."""
    n_rows, d = L.shape
    zero, total = L.dtype.type(0), 0.0
    for r in range(0, n_rows - 3, 4):
        a = b = c = e = zero
        for j in range(d):
            a += L[r, j] * v[j]
            b += L[r + 1, j] * v[j]
            c += L[r + 2, j] * v[j]
            e += L[r + 3, j] * v[j]
        total += np.float64(a) ** 2 + np.float64(b) ** 2 + np.float64(c) ** 2 + np.float64(e) ** 2
    for r in range(n_rows - n_rows % 4, n_rows):
        total += np.float64(dot(L[r], v)) ** 2
    return total


@numba.njit(cache=True)
def refine(X, Q, L, sqnorms, rounding, near, ranked, rows, values):
    """The k nearest of each query's candidates by |L(x − q)|², difference first, so that a copy is at zero.

    ``near`` and ``ranked`` (m, k + spare) come from :func:`rank`, whose error is at most ``rounding`` times the
    numbers it adds up: of the spare ones only those are computed that may belong among the first k.
    """
    k, v = rows.shape[1], np.empty(X.shape[1], X.dtype)
    for q in range(len(near)):
        count = k
        slack = 4.0 * rounding * (sqnorms[near[q, k - 1]] + ranked[q, k - 1])
        while count < near.shape[1] and ranked[q, count] <= ranked[q, k - 1] + slack:
            count += 1
        size = 0
        for j in range(count):
            x = X[near[q, j]]
            for c in range(len(v)):
                v[c] = x[c] - Q[q, c]
            size = insert(rows[q], values[q], size, near[q, j], image_sqnorm(L, v))
