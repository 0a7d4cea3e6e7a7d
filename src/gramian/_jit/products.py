"""Search by a pass over all codes with queries that are not binarized; see ``gramian.search.products``.

``coded`` = (tiles, n, allowed, sqnorms, alignments, classes) are the codes of the items, |x|² and c = ⟨ō, o⟩ as the
bits see them, and classes (low, high, least c, masks) of them. A query is ``asked`` = (code, planes, weights, sqnorm)
with t_j = |r_jᵀq| / |q| as ``weights`` and, as ``planes``, its multiples a_j of a unit; in a search of its own the
blur of its rounding comes last. ``law`` = (z, slack).
"""

import math

import numpy as np

from gramian._jit.compiler import njit
from gramian._jit.hamming import beyond, level_of, weighted_tiles, within
from gramian._jit.ranking import rank
from gramian._jit.scan import blurred, query_table

_GROUP = 4
"""Queries that share one pass over the codes."""
_STEP = 16
"""Items that are compared before the bound on the k-th distance is looked at again."""
_ROUNDING = 1e-5
"""What single precision may take from an estimate."""


@njit(nogil=True)
def least_cosine(norm, query, bound):
    """The least cosine to the query of an item with this norm and d² ≤ bound; above one there is none."""
    product = 2.0 * norm * query
    return (norm * norm + query * query - bound) / product if product > 0.0 else -1.0


@njit(nogil=True)
def least_product(cosine, c, z):
    """min over x ≥ cosine of c x − z √(1 − c²) √(1 − x²): what ⟨ō, q⟩ exceeds with the probability of z."""
    noise = z * math.sqrt(max(1.0 - c * c, 0.0))
    size = math.sqrt(c * c + noise * noise)
    if size == 0.0 or cosine <= -c / size:
        return -size
    cosine = min(cosine, 1.0)
    return c * cosine - noise * math.sqrt(1.0 - cosine * cosine)


@njit(nogil=True)
def plausible(y, c, norm, query, bound, z):
    """Whether an item with the estimate y may be within the bound."""
    cosine = least_cosine(norm, query, bound)
    if norm * query == 0.0:
        return True
    return cosine <= 1.0 + 1e-9 and y >= least_product(cosine, c, z) - _ROUNDING


@njit(nogil=True)
def class_levels(classes, sqnorm, bound, step, n_bits, law):
    """Largest weighted Hamming distance at which any item of a class is plausible; ``step`` = (unit, Σ a_j)."""
    low, high, align, _ = classes
    unit, total = step
    z, slack = law
    levels = np.empty(len(low), np.int64)
    query, widest = math.sqrt(sqnorm), math.sqrt(max(sqnorm - bound, 0.0))
    for g in range(len(low)):
        norm = min(max(widest, math.sqrt(low[g])), math.sqrt(high[g]))
        cosine = least_cosine(norm, query, bound)
        if cosine <= 0.0 or align[g] <= 0.0:
            levels[g] = total
        elif cosine > 1.0 + 1e-9:
            levels[g] = -1
        else:
            # With x > 0 the product that is exceeded grows with c.
            least = least_product(cosine, align[g], z) - _ROUNDING
            levels[g] = min(int((total + slack - math.sqrt(n_bits) * least / unit) / 2.0), total)
    return levels


@njit(nogil=True)
def byte_table(weights, table):
    """table[i, b]: sum of the weights 8i … 8i + 7 whose bit is set in the byte b."""
    for i in range(len(table)):
        table[i, 0] = 0.0
        for j in range(8):
            for b in range(1 << j):
                table[i, b + (1 << j)] = table[i, b] + weights[8 * i + j]


@njit(nogil=True)
def differing_weight(tiles, i, code, table):
    """Sum of the weights of the bits in which item i differs from the code."""
    t, place, total = i // 64, i % 64, np.float32(0.0)
    for w in range(len(code)):
        bits = tiles[t, w, place] ^ code[w]
        for j in range(min(8, len(table) - 8 * w)):
            total += table[8 * w + j, (bits >> np.uint64(8 * j)) & np.uint64(255)]
    return total


@njit(nogil=True)
def keep_rounded(coded, chosen, count, distances, sqnorm, bound, step, n_bits, law):
    """Keep those of ``chosen`` in place that are plausible by their rounded products; returns how many."""
    sqnorms, alignments, query = coded[3], coded[4], math.sqrt(sqnorm)
    unit, most = step[0] / math.sqrt(n_bits), step[1] + law[1]
    size = 0
    for j in range(count):
        i = chosen[j]
        chosen[size] = i
        size += plausible(
            unit * (most - 2.0 * distances[i]), alignments[i], math.sqrt(sqnorms[i]), query, bound, law[0]
        )
    return size


@njit(nogil=True)
def keep_estimated(coded, chosen, count, asked, table, bound, z, kept, estimates):
    """Those of ``chosen`` that are plausible by their exact products, with these; returns how many."""
    tiles, sqnorms, alignments = coded[0], coded[3], coded[4]
    code, weights, query = asked[0], asked[2], math.sqrt(asked[3])
    whole, root, size = weights.sum(), math.sqrt(len(weights)), 0
    for j in range(count):
        i = chosen[j]
        y = (whole - 2.0 * differing_weight(tiles, i, code, table)) / root
        kept[size] = i
        estimates[size] = y
        size += plausible(y, alignments[i], math.sqrt(sqnorms[i]), query, bound, z)
    return size


@njit(nogil=True)
def nearest_first(coded, chosen, count, estimates, sqnorm):
    """Order of the chosen items by their estimated distances |x|² + |q|² − 2|x||q| y/c."""
    sqnorms, alignments, query = coded[3], coded[4], math.sqrt(sqnorm)
    guess = np.empty(count)
    for j in range(count):
        i = chosen[j]
        cosine = estimates[j] / max(alignments[i], np.float32(1e-6))
        guess[j] = sqnorms[i] - 2.0 * math.sqrt(sqnorms[i]) * query * cosine
    return np.argsort(guess)


@njit(nogil=True)
def search_one(distances, least, coded, asked, step, kept, query, unit, law, k, rows, values, scratch):
    """Search one query until no item left out is plausibly among the k nearest; return the number compared."""
    sqnorms, alignments, classes = coded[3], coded[4], coded[5]
    rows_within, passed, estimates, pending, table = scratch
    total, n_bits = step[1], len(asked[2])
    level = level_of(least if len(least) >= 2 * len(rows) else distances, len(rows), total)
    compared = within(distances, least, level, rows_within)
    size = rank(rows_within, compared, kept, query, unit, rows, values, 0)
    bound = blurred(values[k - 1], asked[4])
    levels = class_levels(classes, asked[3], bound, step, n_bits, law)
    count = beyond(distances, least, level, levels, classes[3], rows_within)
    count = keep_rounded(coded, rows_within, count, distances, asked[3], bound, step, n_bits, law)
    if count == 0:
        return compared
    byte_table(asked[2], table)
    count = keep_estimated(coded, rows_within, count, asked, table, bound, law[0], passed, estimates)
    order = nearest_first(coded, passed, count, estimates, asked[3])
    root = math.sqrt(asked[3])
    for start in range(0, count, _STEP):
        more, bound = 0, blurred(values[k - 1], asked[4])
        for j in order[start : min(start + _STEP, count)]:
            i = passed[j]
            pending[more] = i
            more += plausible(estimates[j], alignments[i], math.sqrt(sqnorms[i]), root, bound, law[0])
        size = rank(pending, more, kept, query, unit, rows, values, size)
        compared += more
    return compared


@njit(nogil=True)
def scan_products(coded, asked, qnorms, blurs, kept, W, sizes, outside, unit, law, k, rows, values, seen):
    """Rank by exact distance what the estimates let through, for every query.

    ``asked`` = (codes, planes, weights, units), with unit and Σ a_j of each query in ``units`` (m, 2).
    """
    codes, planes, weights, units = asked
    tiles, n, allowed = coded[0], coded[1], coded[2]
    m, n_tiles = len(codes), len(tiles)
    distances, least = np.empty((_GROUP, n_tiles * 64), np.uint16), np.empty((_GROUP, n_tiles), np.uint16)
    rows_within, passed = np.empty(n_tiles * 64, np.int64), np.empty(n_tiles * 64, np.int64)
    estimates, table = np.empty(n_tiles * 64, np.float32), np.empty((weights.shape[1] // 8, 256), np.float32)
    scratch = rows_within, passed, estimates, np.empty(_STEP, np.int64), table
    for start in range(0, m, _GROUP):
        stop = min(start + _GROUP, m)
        weighted_tiles(tiles, n, allowed, codes[start:stop], planes[start:stop], distances, least)
        for q in range(start, stop):
            one = codes[q], planes[q], weights[q], qnorms[q], blurs[q]
            query = W[q], sizes[q], query_table(outside, q)
            step = units[q, 0], int(units[q, 1])
            h, low = distances[q - start], least[q - start]
            seen[q] = search_one(h, low, coded, one, step, kept, query, unit, law, k, rows[q], values[q], scratch)


@njit(nogil=True)
def estimated_within(coded, code, plane, weights, units, sqnorm, bound, law):
    """Positions of the items that are plausible within a squared distance of one query, ascending."""
    tiles, n, allowed, classes = coded[0], coded[1], coded[2], coded[5]
    size = len(tiles) * 64
    distances, least = np.empty((1, size), np.uint16), np.empty((1, len(tiles)), np.uint16)
    weighted_tiles(tiles, n, allowed, code.reshape(1, -1), plane.reshape(1, -1), distances, least)
    step = units[0], int(units[1])
    levels = class_levels(classes, sqnorm, bound, step, len(weights), law)
    rows_within, passed, estimates = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.float32)
    count = beyond(distances[0], least[0], -1, levels, classes[3], rows_within)
    count = keep_rounded(coded, rows_within, count, distances[0], sqnorm, bound, step, len(weights), law)
    table = np.empty((len(weights) // 8, 256), np.float32)
    byte_table(weights, table)
    question = code, plane, weights, sqnorm
    count = keep_estimated(coded, rows_within, count, question, table, bound, law[0], passed, estimates)
    return passed[:count].copy()
