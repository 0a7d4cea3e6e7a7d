"""Search by a pass over all codes: exact comparison of what the Hamming distances leave plausible."""

import math

import numba
import numpy as np

from gramian._jit.hamming import beyond, hamming_tiles, level_of, within
from gramian._jit.ranking import rank

_GROUPS = (4, 8)
"""Queries that share one pass over the codes: few while their Hamming distances stay in the cache, else more."""
_CACHED = 1 << 18


@numba.njit(cache=True)
def plausible(norm, query, bound, limit):
    """Whether cos θ_max ≤ limit, θ_max the widest angle to the query of an item with this norm and d² ≤ bound."""
    return norm * norm + query * query - bound <= 2.0 * norm * query * limit


@numba.njit(cache=True)
def first_level(distances, least, count, n_bits):
    """A Hamming distance within which ``count`` items lie, or a little more: by the least ones of the tiles if many."""
    return level_of(least if len(least) >= 2 * count else distances, count, n_bits)


@numba.njit(cache=True)
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


@numba.njit(cache=True)
def keep_plausible(chosen, start, stop, distances, sqnorms, unit, sqnorm, bound, limits, kept):
    """Those of chosen[start:stop] that are plausible within ``bound``; returns how many."""
    query, size = math.sqrt(sqnorm), 0
    for j in range(start, stop):
        i = chosen[j]
        kept[size] = i
        norm = 1.0 if unit else math.sqrt(sqnorms[i])
        size += plausible(norm, query, bound, limits[distances[i]])
    return size


@numba.njit(cache=True)
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


@numba.njit(cache=True)
def confident(distances, least, ranking, classes, limits, k, rows, values, scratch):
    """Search one query until no item left out is plausibly among the k nearest; return the number compared.

    First the items with the smallest Hamming distances give an upper bound D² on the k-th distance. Then an item at
    Hamming distance h is compared unless the angle that D² allows it would make h improbable,
    cos θ_max > limits[h]. The nearest codes come first, so that D² falls early.
    """
    sqnorms, sqnorm, unit = ranking[2], ranking[4], ranking[5]
    (edges, masks), (chosen, ordered, pending) = classes, scratch
    n_bits = len(limits) - 1
    near = first_level(distances, least, 4 * (k + len(rows)), n_bits)
    seen = within(distances, least, near, chosen)
    size = rank(chosen, seen, ranking, rows, values, 0)
    levels = last_levels(sqnorm, values[k - 1], edges, limits)
    count = beyond(distances, least, near, levels, masks, chosen)
    # A large part of all items is better read in the order of memory.
    if 8 * count < len(chosen):
        sort_by_distance(chosen, count, distances, n_bits, ordered)
        chosen = ordered
    for start in range(0, count, len(pending)):
        stop, bound = min(start + len(pending), count), values[k - 1]
        some = keep_plausible(chosen, start, stop, distances, sqnorms, unit, sqnorm, bound, limits, pending)
        size = rank(pending, some, ranking, rows, values, size)
        seen += some
    return seen


@numba.njit(cache=True)
def nearest_codes(distances, least, n_bits, count, chosen):
    """Positions of the ``count`` smallest Hamming distances, ascending, ties by position."""
    edge = level_of(distances, count, n_bits)
    below = within(distances, least, edge - 1, chosen) if edge > 0 else 0
    size, room = within(distances, least, edge, chosen), count - below
    kept = 0
    for j in range(size):
        level = distances[chosen[j]] == edge
        chosen[kept] = chosen[j]
        kept += not level or room > 0
        room -= level


@numba.njit(cache=True)
def scan(tiles, n, codes, X, center, sqnorms, W, qnorms, unit, classes, limits, budget, k, rows, values, seen):
    """Rank by exact distance what the Hamming scan lets through: by confidence, or the ``budget`` nearest codes."""
    m, n_tiles, n_bits = len(codes), len(tiles), len(limits) - 1
    group = _GROUPS[0] if n <= _CACHED else _GROUPS[1]
    distances = np.empty((group, n_tiles * 64), np.uint16)
    least = np.empty((group, n_tiles), np.uint16)
    scratch = np.empty(n_tiles * 64, np.int64), np.empty(n_tiles * 64, np.int64), np.empty(64, np.int64)
    for start in range(0, m, group):
        stop = min(start + group, m)
        hamming_tiles(tiles, n, codes[start:stop], distances, least)
        for q in range(start, stop):
            h, low, ranking = distances[q - start], least[q - start], (X, center, sqnorms, W[q], qnorms[q], unit)
            if budget > 0:
                nearest_codes(h, low, n_bits, budget, scratch[0])
                rank(scratch[0], budget, ranking, rows[q], values[q], 0)
                seen[q] = budget
            else:
                seen[q] = confident(h, low, ranking, classes, limits, k, rows[q], values[q], scratch)
