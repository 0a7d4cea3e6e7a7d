"""Search by a pass over all codes: exact comparison of what the Hamming distances leave plausible.

``coded`` = (tiles, n, allowed, sqnorms, edges, masks) are the codes of the items, |x|² as the bits see it, and its
classes; ``kept`` is what :mod:`gramian._jit.ranking` compares; ``limits`` are those of
:func:`gramian.search.codes.angle_limits`.
"""

import math

import numpy as np

from gramian._jit.compiler import njit
from gramian._jit.hamming import beyond, hamming_tiles, level_of, within
from gramian._jit.ranking import distance, outside_dot, product, rank, table_of

_GROUPS = (4, 8)
"""Queries that share one pass over the codes: few while their Hamming distances stay in the cache, else more."""
_CACHED = 1 << 18
_FIRST = 2
"""Items compared at first, in multiples of those that are kept: their distances bound that of the k-th neighbor."""
_STEP = 16
"""Items that are compared before the bound is looked at again."""


@njit(nogil=True)
def plausible(norm, query, bound, limit):
    """Whether cos θ_max ≤ limit, θ_max the widest angle to the query of an item with this norm and d² ≤ bound."""
    return norm * norm + query * query - bound <= 2.0 * norm * query * limit


@njit(nogil=True)
def blurred(bound, blur):
    """(D + 2b)²: D² seen through points that were computed to b, both the query and the item."""
    root = math.sqrt(bound) + 2.0 * blur
    return root * root


@njit(nogil=True)
def first_level(distances, least, count, n_bits):
    """A Hamming distance within which ``count`` items lie, or a little more: by the least ones of the tiles if many."""
    return level_of(least if len(least) >= 2 * count else distances, count, n_bits)


@njit(nogil=True)
def last_levels(sqnorm, bound, edges, limits):
    """Largest Hamming distance of each class of norms that is plausible at any norm between its edges.

    θ_max is widest where the norm is the root of |q|² − D², or at the end next to it.
    """
    levels = np.empty(len(edges) - 1, np.int64)
    widest, query = math.sqrt(max(sqnorm - bound, 0.0)), math.sqrt(sqnorm)
    for c in range(len(levels)):
        norm = min(max(widest, math.sqrt(edges[c])), math.sqrt(edges[c + 1]))
        level = len(limits) - 1
        while level > 0 and not plausible(norm, query, bound, limits[level]):
            level -= 1
        levels[c] = level
    return levels


@njit(nogil=True)
def keep_plausible(chosen, start, stop, distances, sqnorms, sqnorm, bound, limits, kept):
    """Those of chosen[start:stop] that are plausible within ``bound``; returns how many."""
    query, size = math.sqrt(sqnorm), 0
    for j in range(start, stop):
        i = chosen[j]
        kept[size] = i
        size += plausible(math.sqrt(sqnorms[i]), query, bound, limits[distances[i]])
    return size


@njit(nogil=True)
def sort_by_distance(chosen, count, distances, n_bits, ordered):
    """Items by Hamming distance, ties by position: a counting sort."""
    ends = np.zeros(n_bits + 2, np.int64)
    for j in range(count):
        ends[distances[chosen[j]] + 1] += 1
    ends = np.cumsum(ends)
    for j in range(count):
        h = distances[chosen[j]]
        ordered[ends[h]] = chosen[j]
        ends[h] += 1


@njit(nogil=True)
def confident(distances, least, coded, sqnorm, blur, kept, query, unit, limits, k, rows, values, scratch):
    """Search one query until no item left out is plausibly among the k nearest; return the number compared.

    First the items with the smallest Hamming distances give an upper bound D² on the k-th distance. Then an item at
    Hamming distance h is compared unless the angle that D² allows it would make h improbable,
    cos θ_max > limits[h]. The nearest codes come first, so that D² falls early.
    """
    sqnorms, edges, masks = coded[3], coded[4], coded[5]
    candidates, ordered, pending = scratch
    n_bits = len(limits) - 1
    level = first_level(distances, least, _FIRST * len(rows), n_bits)
    compared = within(distances, least, level, candidates)
    size = rank(candidates, compared, kept, query, unit, rows, values, 0)
    levels = last_levels(sqnorm, blurred(values[k - 1], blur), edges, limits)
    count = beyond(distances, least, level, levels, masks, candidates)
    # A large part of all items is better read in the order of memory.
    if 8 * count < len(candidates):
        sort_by_distance(candidates, count, distances, n_bits, ordered)
        candidates = ordered
    for start in range(0, count, len(pending)):
        stop, bound = min(start + len(pending), count), blurred(values[k - 1], blur)
        more = keep_plausible(candidates, start, stop, distances, sqnorms, sqnorm, bound, limits, pending)
        size = rank(pending, more, kept, query, unit, rows, values, size)
        compared += more
    return compared


@njit(nogil=True)
def nearest_codes(distances, least, n_bits, count, chosen):
    """Positions of the ``count`` smallest Hamming distances, ascending, ties by position."""
    edge = level_of(distances, count, n_bits)
    below = within(distances, least, edge - 1, chosen) if edge > 0 else 0
    size, room = within(distances, least, edge, chosen), count - below
    n_kept = 0
    for j in range(size):
        level = distances[chosen[j]] == edge
        chosen[n_kept] = chosen[j]
        n_kept += not level or room > 0
        room -= level


@njit(nogil=True)
def scan(coded, codes, qnorms, blurs, kept, W, sizes, outside, unit, limits, budget, k, rows, values, seen):
    """Rank by exact distance what the Hamming scan lets through: by confidence, or the ``budget`` nearest codes.

    Queries have ``codes`` (m, words), |q|² as the bits see it and how far rounding may move that, weights W (m, d),
    |q|² as it ranks, and sparse entries ``outside`` = (pointers, columns, data).
    """
    tiles, n, allowed = coded[0], coded[1], coded[2]
    m, n_tiles, n_bits = len(codes), len(tiles), len(limits) - 1
    group = _GROUPS[0] if n <= _CACHED else _GROUPS[1]
    distances = np.empty((group, n_tiles * 64), np.uint16)
    least = np.empty((group, n_tiles), np.uint16)
    scratch = np.empty(n_tiles * 64, np.int64), np.empty(n_tiles * 64, np.int64), np.empty(_STEP, np.int64)
    for start in range(0, m, group):
        stop = min(start + group, m)
        hamming_tiles(tiles, n, allowed, codes[start:stop], distances, least)
        for q in range(start, stop):
            h, low = distances[q - start], least[q - start]
            query = W[q], sizes[q], query_table(outside, q)
            if budget > 0:
                nearest_codes(h, low, n_bits, budget, scratch[0])
                rank(scratch[0], budget, kept, query, unit, rows[q], values[q], 0)
                seen[q] = budget
            else:
                answer = rows[q], values[q]
                seen[q] = confident(h, low, coded, qnorms[q], blurs[q], kept, query, unit, limits, k, *answer, scratch)


@njit(nogil=True)
def query_table(outside, q):
    """Sparse entries of query q as a table, empty without them."""
    pointers, columns, data = outside
    start, stop = (pointers[q], pointers[q + 1]) if len(pointers) > 0 else (0, 0)
    return table_of(columns[start:stop], data[start:stop])


@njit(nogil=True)
def compare_all(chosen, kept, W, sizes, outside, unit, rows, values):
    """Rank the same items for every query."""
    for q in range(len(W)):
        query = W[q], sizes[q], query_table(outside, q)
        rank(chosen, len(chosen), kept, query, unit, rows[q], values[q], 0)


@njit(nogil=True)
def listed(chosen, kept, W, sizes, outside, unit, q):
    """Distances of listed items to query q."""
    columns, rows = kept[2], kept[3]
    table, out = query_table(outside, q), np.empty(len(chosen))
    for j in range(len(chosen)):
        i = chosen[j]
        inner = product(kept, i, W[q]) + outside_dot(i, rows, table)
        out[j] = distance(inner, columns[i], sizes[q], unit)
    return out


@njit(nogil=True)
def plausible_within(coded, code, sqnorm, bound, limits):
    """Positions of the items that are plausible within a squared distance of one query, ascending."""
    tiles, n, allowed, sqnorms, edges, masks = coded
    distances, least = np.empty((1, len(tiles) * 64), np.uint16), np.empty((1, len(tiles)), np.uint16)
    hamming_tiles(tiles, n, allowed, code.reshape(1, -1), distances, least)
    candidates, levels = np.empty(len(tiles) * 64, np.int64), last_levels(sqnorm, bound, edges, limits)
    count = beyond(distances[0], least[0], -1, levels, masks, candidates)
    count = keep_plausible(candidates, 0, count, distances[0], sqnorms, sqnorm, bound, limits, candidates)
    return candidates[:count].copy()
