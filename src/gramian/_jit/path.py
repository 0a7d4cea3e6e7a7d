"""Neighbors along the straight path from a learned distance to a plain one, in one pass over each row.

From one weight to the next the nearest hardly change: the last ones, under the new weight, give a level below which all
of the new ones lie, so that few entries of a row are looked at twice.
"""

import numpy as np

from gramian._jit.compiler import njit
from gramian._jit.selection import cut


@njit(nogil=True)
def precisions(learned, step, sizes, codes, asked, k, weights):
    """Share of the k_i nearest others of row asked[i] that are of its class, (asked, weights); ties by place.

    Distances are learned + w · step, (n, n); by angle with ``sizes`` (weights, n), the squared lengths under each
    weight, or as they are where there are none. Infinity and NaN are near to nothing.
    """
    n = len(learned)
    shares = np.empty((len(asked), len(weights)))
    row, flags = np.empty(n), np.zeros((n + 7) // 8 * 8, np.uint8)
    values, ids = np.empty(n), np.empty(n, np.int64)
    roots = inverse_roots(sizes)
    for place in range(len(asked)):
        i, count = asked[place], 0
        for column in range(len(weights)):
            along(learned[i], step[i], weights[column], row)
            if len(sizes):
                turn(row, sizes[column], roots[column], i)
            row[i] = np.inf
            # the last nearest ones, under the new weight, bound the new ones
            level = farthest(row, ids[:count]) if count == k[place] else np.inf
            count = gather(row, level, flags, values, ids)
            if count > k[place]:
                cut(values, ids, count, k[place])
                count = k[place]
            hits = 0
            for j in range(count):
                hits += codes[ids[j]] == codes[i]
            shares[place, column] = hits / k[place]
    return shares


@njit(nogil=True)
def along(learned, step, weight, row):
    """learned + w · step."""
    for j in range(len(row)):
        row[j] = step[j] * weight + learned[j]


@njit(nogil=True)
def inverse_roots(sizes):
    """1/√size, zero where there is no length."""
    roots = np.zeros_like(sizes)
    for w in range(len(sizes)):
        for j in range(sizes.shape[1]):
            if sizes[w, j] > 0:
                roots[w, j] = 1.0 / np.sqrt(sizes[w, j])
    return roots


@njit(nogil=True)
def turn(row, size, root, i):
    """2 − 2 cos from |x − y|² and the lengths, in place; a point of length zero stays at zero."""
    unit_i = 1.0 if size[i] > 0 else 0.0  # squared length of x/|x|
    for j in range(len(row)):
        unit_j = 1.0 if size[j] > 0 else 0.0
        row[j] = (row[j] - size[i] - size[j]) * root[i] * root[j] + unit_i + unit_j  # −2⟨x, y⟩/|x||y| + 2


@njit(nogil=True)
def farthest(row, ids):
    """The largest of some entries, infinity where one is not a number."""
    level = -np.inf
    for i in ids:
        level = max(level, row[i] if row[i] == row[i] else np.inf)
    return level


@njit(nogil=True)
def gather(row, level, flags, values, ids):
    """Entries of a row that are not above a level, in the order of their places; returns how many they are."""
    for j in range(len(row)):
        flags[j] = (row[j] <= level) & (row[j] < np.inf)
    eights, count = flags.view(np.uint64), 0
    for e in range(len(eights)):
        if eights[e] == 0:
            continue
        for j in range(8 * e, min(8 * e + 8, len(row))):
            values[count] = row[j]
            ids[count] = j
            count += flags[j]
    return count
