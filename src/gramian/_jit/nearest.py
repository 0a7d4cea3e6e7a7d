"""Distances to listed rows, inner products with all of them, and nearest centers of several clusterings."""

import numpy as np

from gramian._jit.compiler import njit
from gramian._jit.selection import NEARLY, insert


@njit(nogil=True, fastmath={"reassoc", "contract"})
def sqdist(a, b):
    """|a − b|² by differences, in double precision: no cancellation."""
    total = 0.0
    for t in range(a.shape[0]):
        total += (np.float64(a[t]) - np.float64(b[t])) ** 2
    return total


@njit(nogil=True)
def listed_sqdist(Q, X, ids, lower, k):
    """Squared Euclidean distance of row i of Q to the rows ids[i] of X, (n, m), as far as needed for the k nearest.

    ``lower`` (n, m) bounds them from below, ascending; what is ruled out by its bound is left at infinity, unless k is
    so large that this would cost more than it saves.
    """
    D = np.full(ids.shape, np.inf)
    best, places = np.empty(k), np.empty(k, np.int64)
    for i in range(ids.shape[0]):
        q = Q[i].astype(np.float64)
        best[:] = np.inf
        for s in range(ids.shape[1]):
            if lower[i, s] > best[-1]:
                break
            D[i, s] = sqdist(q, X[ids[i, s]])
            if k <= NEARLY and D[i, s] < best[-1]:
                insert(best, places, D[i, s], s)
    return D


@njit(nogil=True)
def add_postings(q_starts, q_columns, q_data, starts, items, data, out):
    """Add qᵀx of CSR queries with all items, which are given as postings, the items of each column, to out (m, n)."""
    for q in range(len(out)):
        for i in range(q_starts[q], q_starts[q + 1]):
            weight, c = q_data[i], q_columns[i]
            for j in range(starts[c], starts[c + 1]):
                out[q, items[j]] += weight * data[j]


@njit(nogil=True, fastmath={"reassoc", "contract"})
def inner(a, b):
    """aᵀb in single precision, in any order."""
    total = np.float32(0.0)
    for t in range(len(a)):
        total += a[t] * b[t]
    return total


@njit(nogil=True)
def few_products(rows, Z, out):
    """Inner products of a few queries with all rows, each of which is read once, to out (m, n)."""
    for i in range(len(rows)):
        for q in range(len(Z)):
            out[q, i] = inner(rows[i], Z[q])


@njit()
def largest(scores, ends, labels):
    """Place of the largest score of each row in each run of columns, which stop at ``ends``; the first on ties."""
    for i in range(scores.shape[0]):
        start = 0
        for t in range(ends.shape[0]):
            best = start
            for j in range(start + 1, ends[t]):
                if scores[i, j] > scores[i, best]:
                    best = j
            labels[i, t] = best - start
            start = ends[t]
