"""Compiled loops of hashed search: counter-based Gaussian draws, the popcount scan, and the exact re-rank."""

import math

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

GROUP = 4
"""Queries that share one pass over the codes."""


@intrinsic
def popcount(typing_context, x):  # noqa: D103
    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


@numba.njit(cache=True)
def mix(x):
    """One 64-bit word scrambled into another (the finalizer of SplitMix64, a bijection)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@numba.njit(cache=True)
def gaussians(seed, features, n_bits):
    """Standard normal r[f, b] for given features: a function of (seed, feature, bit) alone (Box–Muller)."""
    out = np.empty((len(features), n_bits))
    step = np.uint64(0x9E3779B97F4A7C15)
    unit = 2.0**-53
    for i in range(len(features)):
        key = mix(mix(np.uint64(seed) + step) ^ (np.uint64(features[i]) * step + step))
        for b in range(0, n_bits, 2):
            first = mix(key + np.uint64(b + 1) * step)
            second = mix(key + np.uint64(b + 2) * step)
            radius = math.sqrt(-2.0 * math.log((np.float64(first >> np.uint64(11)) + 0.5) * unit))
            angle = 2.0 * math.pi * np.float64(second >> np.uint64(11)) * unit
            out[i, b] = radius * math.cos(angle)
            if b + 1 < n_bits:
                out[i, b + 1] = radius * math.sin(angle)
    return out


@numba.njit(cache=True)
def hamming_tiles(tiles, n, codes, distances, least):
    """Hamming distances of every item to a few query codes, and the least one of each tile.

    ``tiles`` (t, words, 64), ``codes`` (m, words), ``distances`` (m, 64 t) uint16, ``least`` (m, t) uint16.
    """
    n_tiles, n_words, _ = tiles.shape
    total = np.empty(64, np.uint64)
    for t in range(n_tiles):
        for q in range(codes.shape[0]):
            for w in range(0, n_words - 3, 4):
                # Four words at a time: written out, this loop compiles to vector popcounts.
                a, b, c, d = tiles[t, w], tiles[t, w + 1], tiles[t, w + 2], tiles[t, w + 3]
                qa, qb, qc, qd = codes[q, w], codes[q, w + 1], codes[q, w + 2], codes[q, w + 3]
                keep = np.uint64(w > 0)
                for i in range(64):
                    s = popcount(a[i] ^ qa) + popcount(b[i] ^ qb) + popcount(c[i] ^ qc) + popcount(d[i] ^ qd)
                    total[i] = s + keep * total[i]
            for w in range(n_words - n_words % 4, n_words):
                a, qa, keep = tiles[t, w], codes[q, w], np.uint64(w > 0)
                for i in range(64):
                    total[i] = popcount(a[i] ^ qa) + keep * total[i]
            if (t + 1) * 64 > n:
                total[n - t * 64 :] = np.uint64(65535)
            h, smallest = distances[q, t * 64 : t * 64 + 64], total[0]
            for i in range(64):
                h[i] = total[i]
                smallest = min(smallest, total[i])
            least[q, t] = smallest


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
def sqdist_to(i, X, center, sqnorms, w, sqnorm, unit):
    """d² = |x|² + |q|² − 2 xᵀMq for centered x and q, or 2 − 2 cos when ``unit``; ``w`` is Mq, or Mq/|q|."""
    dot = centered_dot(X[i], center, w)
    if unit:
        return 2.0 - 2.0 * dot / math.sqrt(sqnorms[i]) if sqnorms[i] > 0 else 2.0
    return max(sqnorms[i] + sqnorm - 2.0 * dot, 0.0)


@numba.njit(cache=True)
def plausible(norm, query, bound, limit):
    """Whether cos θ_max ≤ limit, θ_max the widest angle to the query of an item with this norm and d² ≤ bound."""
    return norm * norm + query * query - bound <= 2.0 * norm * query * limit


@numba.njit(cache=True)
def within(distances, reach, slots):
    """Slots of a tile of 64 with h ≤ reach; returns how many."""
    level, found, count = np.uint16(reach), np.uint64(0), 0
    for i in range(64):
        found |= np.uint64(distances[i] <= level) << np.uint64(i)  # compiles to vector compares
    while found != 0:
        lowest = found & (~found + np.uint64(1))
        slots[count] = popcount(lowest - np.uint64(1))
        found ^= lowest
        count += 1
    return count


@numba.njit(cache=True)
def first_reach(least, count, n_bits):
    """Hamming distance within which at least ``count`` items lie, all of them when there are few tiles."""
    return np.int64(np.partition(least, count - 1)[count - 1]) if len(least) > count else np.int64(n_bits)


@numba.njit(cache=True)
def widest_norm(low, high, sqnorm, bound):
    """Norm in [low, high] at which θ_max is widest: the root of |q|² − D², or the end next to it."""
    return min(max(math.sqrt(max(sqnorm - bound, 0.0)), low), high)


@numba.njit(cache=True)
def farthest(reach, norm, query, bound, limits):
    """Largest Hamming distance, from ``reach`` down, that is plausible at this norm."""
    while reach > 0 and not plausible(norm, query, bound, limits[reach]):
        reach -= 1
    return reach


@numba.njit(cache=True)
def rank(pending, count, ranking, rows, values, size, touched):
    """Insert pending items by exact distance; return the new size.

    Their rows are scattered in memory: reading one number per cache line of all of them first, with no step waiting
    for another, overlaps the delays, which otherwise take most of the time.
    """
    X, center, sqnorms, w, sqnorm, unit = ranking
    stride = 64 // X.itemsize
    for j in range(count):
        for c in range(0, X.shape[1], stride):
            touched[0] += X[pending[j], c]
    for j in range(count):
        i = pending[j]
        size = insert(rows, values, size, i, sqdist_to(i, X, center, sqnorms, w, sqnorm, unit))
    return size


@numba.njit(cache=True)
def confident(distances, least, ranking, ranges, limits, k, rows, values):
    """Search one query until no item left out is plausibly among the k nearest; return the number compared.

    First the items with the smallest Hamming distances give an upper bound D² on the k-th distance. Then an item at
    Hamming distance h is compared unless the angle that D² allows it would make h improbable,
    cos θ_max > limits[h]. A tile is left out as a whole when this holds for its least h and every norm in its range.
    """
    sqnorms, sqnorm, unit = ranking[2], ranking[4], ranking[5]
    near = first_reach(least, k + len(rows), len(limits) - 1)
    slots, pending, touched = np.empty(65, np.int64), np.empty(128, np.int64), np.zeros(1)
    size = seen = waiting = 0
    for t in range(len(least)):
        if least[t] <= near:
            for j in range(within(distances[t * 64 : t * 64 + 64], near, slots)):
                pending[waiting] = t * 64 + slots[j]
                waiting += 1
        if waiting >= 64 or t == len(least) - 1:
            size = rank(pending, waiting, ranking, rows, values, size, touched)
            seen, waiting = seen + waiting, 0
    query, low, high = math.sqrt(sqnorm), ranges[:, 0].min(), ranges[:, 1].max()
    bound, reach, root = np.inf, len(limits) - 1, 0.0
    for t in range(len(least)):
        if values[k - 1] < bound:
            bound = values[k - 1]
            root = widest_norm(0.0, np.inf, sqnorm, bound)
            reach = farthest(reach, min(max(root, low), high), query, bound, limits)
        if least[t] <= reach:
            norm = min(max(root, ranges[t, 0]), ranges[t, 1])
            if plausible(norm, query, bound, limits[least[t]]):
                for j in range(within(distances[t * 64 : t * 64 + 64], reach, slots)):
                    i = t * 64 + slots[j]
                    h = distances[i]
                    norm = 1.0 if unit else math.sqrt(sqnorms[i])
                    if h > near and plausible(norm, query, bound, limits[h]):
                        pending[waiting] = i
                        waiting += 1
        if waiting >= 64 or t == len(least) - 1:
            size = rank(pending, waiting, ranking, rows, values, size, touched)
            seen, waiting = seen + waiting, 0
    return seen


@numba.njit(cache=True)
def nearest_first(distances, least, count, n_bits, chosen):
    """Items within the first reach, ``count`` or more; returns their number and the reach."""
    near, size = first_reach(least, count, n_bits), 0
    for i in range(len(distances)):
        chosen[size] = i
        size += distances[i] <= near
    return size, near


@numba.njit(cache=True)
def plausible_rest(distances, least, near, sqnorms, ranges, sqnorm, bound, limits, chosen):
    """Items beyond the first reach that are plausible within ``bound``; returns their number."""
    slots, size, query = np.empty(65, np.int64), 0, math.sqrt(sqnorm)
    for t in range(len(least)):
        norm = widest_norm(ranges[t, 0], ranges[t, 1], sqnorm, bound)
        if least[t] >= len(limits) or not plausible(norm, query, bound, limits[least[t]]):
            continue
        for j in range(within(distances[t * 64 : t * 64 + 64], len(limits) - 1, slots)):
            i = t * 64 + slots[j]
            h = distances[i]
            if h > near and plausible(math.sqrt(sqnorms[i]), query, bound, limits[h]):
                chosen[size] = i
                size += 1
    return size


@numba.njit(cache=True)
def nearest_codes(distances, n, n_bits, count, chosen):
    """Positions of the ``count`` smallest Hamming distances, ties by position."""
    histogram = np.zeros(n_bits + 2, np.int64)
    for i in range(n):
        histogram[distances[i]] += 1
    edge, below = 0, 0
    while below + histogram[edge] < count:
        below += histogram[edge]
        edge += 1
    level, size = count - below, 0
    for i in range(n):
        if distances[i] < edge or (distances[i] == edge and level > 0):
            level -= distances[i] == edge
            chosen[size] = i
            size += 1


@numba.njit(cache=True)
def scan(tiles, n, codes, X, center, sqnorms, W, qnorms, unit, ranges, limits, budget, k, rows, values, seen):
    """Rank by exact distance what the Hamming scan lets through: by confidence, or the ``budget`` nearest codes."""
    m, n_tiles = len(codes), len(tiles)
    distances = np.empty((GROUP, n_tiles * 64), np.uint16)
    least = np.empty((GROUP, n_tiles), np.uint16)
    chosen, touched = np.empty(max(budget, 1), np.int64), np.zeros(1)
    for start in range(0, m, GROUP):
        stop = min(start + GROUP, m)
        hamming_tiles(tiles, n, codes[start:stop], distances, least)
        for q in range(start, stop):
            h, low, ranking = distances[q - start], least[q - start], (X, center, sqnorms, W[q], qnorms[q], unit)
            if budget > 0:
                nearest_codes(h, n, len(limits) - 1, budget, chosen)
                rank(chosen, budget, ranking, rows[q], values[q], 0, touched)
                seen[q] = budget
            else:
                seen[q] = confident(h, low, ranking, ranges, limits, k, rows[q], values[q])


@numba.njit(cache=True)
def walk(keys, items, queries, budget, stamp, mark, chosen):
    """Items met when going out from the query's place in each sorted order, longest common prefix first.

    ``keys`` (l, n) sorted, ``items`` (l, n) their positions, ``queries`` (l,). Ends after ``budget`` distinct items,
    and after all whose key agrees as far as the last one's; returns how many stand in ``chosen``.
    """
    l, n = keys.shape
    left, right = np.empty(l, np.int64), np.empty(l, np.int64)
    for p in range(l):
        right[p] = np.searchsorted(keys[p], queries[p])
        left[p] = right[p] - 1
    none, last, size = np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(0), 0
    while True:
        gap, order, up = none, -1, False
        for p in range(l):
            if left[p] >= 0 and (keys[p, left[p]] ^ queries[p] < gap or order < 0):
                gap, order, up = keys[p, left[p]] ^ queries[p], p, False
            if right[p] < n and (keys[p, right[p]] ^ queries[p] < gap or order < 0):
                gap, order, up = keys[p, right[p]] ^ queries[p], p, True
        if order < 0 or (size >= budget and gap != last):
            return size
        last = gap
        i = items[order, right[order] if up else left[order]]
        right[order] += up
        left[order] -= not up
        if stamp[i] != mark:
            stamp[i] = mark
            chosen[size] = i
            size += 1


@numba.njit(cache=True)
def walk_all(keys, items, queries, budget, X, center, sqnorms, W, qnorms, unit, rows, values, seen):
    """Rank by exact distance what :func:`walk` meets, for every query."""
    n = keys.shape[1]
    stamp, chosen, touched = np.full(n, -1, np.int64), np.empty(n, np.int64), np.zeros(1)
    for q in range(len(queries)):
        count = walk(keys, items, queries[q], budget, stamp, q, chosen)
        ranking = (X, center, sqnorms, W[q], qnorms[q], unit)
        rank(chosen, count, ranking, rows[q], values[q], 0, touched)
        seen[q] = count
