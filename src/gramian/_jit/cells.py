"""Search in cells: codes of what is left of an item after the center of its cell, read cell by cell.

``cells`` = (starts, centers, weighed, projected, labels) are the items [starts[c], starts[c + 1]) of each cell, the
rows μ_c, B(μ_c − μ) and Rᵀ(μ_c − μ) of its center, and the cell of every item; items behind the last start have come
since and stand in no order. ``coded`` = (tiles, sizes, lows, highs, allowed, levels) are the codes, |x − μ_c|², the
least and largest |x − μ_c| of each tile, bits of what may be found, and the largest Hamming distance that a cosine
leaves plausible. A query is ``asked`` = (v, w, p, D², blur): q, B(q − μ), Rᵀ(q − μ), squared distances to the centers,
which are made sharp for cells that are visited, and how far rounding may be off. Cell c begins at
s_c = (D_c² − D_a²) / 2|μ_c − μ_a| from the query, μ_a its nearest center.
"""

import math

import numpy as np

from gramian._jit.compiler import njit
from gramian._jit.hamming import FAR, level_of, put
from gramian._jit.ranking import insert, product
from gramian._jit.scan import blurred, plausible
from gramian._jit.vectors import at_most, differing, popcount, prefetch

_FIRST = 2
"""Items compared at first, in multiples of those that are kept."""
_AHEAD = 8
"""Items that are asked for ahead of their use."""
STEPS = 512
"""Steps of the cosine, from 0 to 1, in the table of levels."""


@njit(nogil=True, fastmath={"reassoc", "nnan", "contract"})
def least_of(halves, products):
    """Least of halves − products."""
    low = halves[0] - products[0]
    for c in range(1, len(halves)):
        low = min(low, halves[c] - products[c])
    return low


@njit(nogil=True)
def nearest_centers(products, halves, labels):
    """Label of the center with the least |c|²/2 − xᵀc for each row of products (m, L); the first on ties."""
    for i in range(len(labels)):
        low = least_of(halves, products[i])
        c = 0
        while c < len(halves) - 1 and halves[c] - products[i, c] > low:
            c += 1
        labels[i] = c


@njit(nogil=True)
def code_of(p, center, code):
    """Write the bits [p_j ≥ c_j] as words."""
    for w in range(len(code)):
        word = np.uint64(0)
        for j in range(64 * w, min(64 * w + 64, len(p))):
            word |= np.uint64(p[j] >= center[j]) << np.uint64(j - 64 * w)
        code[w] = word


@njit(nogil=True)
def top_level(low, high, query, bound, levels, n_bits):
    """Largest Hamming distance that is plausible within ``bound`` for any norm between two; −1: for none."""
    widest = math.sqrt(max(query * query - bound, 0.0))
    norm = min(max(widest, low), high)
    twice = 2.0 * norm * query
    gap = norm * norm + query * query - bound
    if gap <= 0.0 or twice == 0.0:
        return n_bits
    return -1 if gap > twice * (1.0 + 1e-9) else levels[int(min(gap / twice, 1.0) * STEPS)]


@njit(nogil=True)
def fill_cell(coded, first, last, code, distances, least):
    """Hamming distances of the items [first, last), from the tile of the first on; FAR for what may not be found."""
    tiles, allowed = coded[0], coded[4]
    flat, size = tiles.reshape(-1), tiles.shape[1] * 64
    start, stop = first // 64, -(-last // 64)
    for t in range(start, stop):
        j = t - start
        least[j] = differing(flat[t * size : (t + 1) * size], code, distances, j * 64)
        if len(allowed) > 0 and allowed[t] != ~np.uint64(0):
            for i in range(64):
                if (allowed[t] >> np.uint64(i)) & np.uint64(1) == 0:
                    distances[64 * j + i] = FAR
    distances[: first - 64 * start] = FAR
    distances[last - 64 * start : 64 * (stop - start)] = FAR


@njit(nogil=True)
def borders(t, first, last):
    """Bits of the items of tile t that are in [first, last)."""
    bits = ~np.uint64(0)
    if 64 * t < first:
        bits <<= np.uint64(first - 64 * t)
    if 64 * (t + 1) > last:
        bits &= ~np.uint64(0) >> np.uint64(64 * (t + 1) - last)
    return bits


@njit(nogil=True)
def chosen_in_cell(coded, first, last, code, query, bound, limits, line, chosen, apart):
    """Positions and Hamming distances of a cell's items that are plausible within ``bound``; returns how many.

    A tile whose lengths are all too far from |q − μ_c| is not read.
    """
    tiles, sizes, lows, highs, allowed, levels = coded
    flat, size, n_bits, root = tiles.reshape(-1), tiles.shape[1] * 64, len(limits) - 1, math.sqrt(bound)
    count = 0
    for t in range(first // 64, -(-last // 64) if last > first else 0):
        if lows[t] - query > root or query - highs[t] > root:
            continue
        level = top_level(lows[t], highs[t], query, bound, levels, n_bits)
        if level < 0 or differing(flat[t * size : (t + 1) * size], code, line, 0) > level:
            continue
        bits = at_most(line, 0, np.uint16(level)) & borders(t, first, last)
        if len(allowed) > 0:
            bits &= allowed[t]
        end = put(bits, 64 * t, chosen, count)
        for place in range(count, end):
            i = chosen[place]
            chosen[count], apart[count] = i, line[i - 64 * t]
            count += plausible(math.sqrt(sizes[i]), query, bound, limits[apart[count]])
    return count


@njit(nogil=True)
def nearest_in_cell(start, stop, wanted, n_bits, distances, least, chosen):
    """Positions of some ``wanted`` items with the smallest Hamming distances, which are then FAR; returns how many."""
    width = 64 * (stop - start)
    level, count = np.uint16(level_of(distances[:width], wanted, n_bits)), 0
    for j in range(stop - start):
        if least[j] <= level:
            count = put(at_most(distances, 64 * j, level), 64 * (start + j), chosen, count)
    return count


@njit(nogil=True)
def distance_in_cell(kept, places, i, size, center, w, own):
    """d² = |x − μ_c|² + |q − μ_c|² − 2(x − μ_c)ᵀB(q − μ_c)."""
    row = places[i] if len(places) > 0 else i
    return max(size + own - 2.0 * product((kept[0], center, kept[1], 0, kept[1]), row, w), 0.0)


@njit(nogil=True, fastmath={"reassoc", "contract"})
def toward(v, w, center, weighed, direction):
    """Write B(q − μ_c); returns (q − μ_c)ᵀB(q − μ_c)."""
    own = 0.0
    for j in range(len(w)):
        direction[j] = w[j] - weighed[j]
        own += (v[j] - center[j]) * direction[j]
    return max(own, 0.0)


@njit(nogil=True)
def rank_in_cell(chosen, count, apart, coded, kept, center, w, own, blur, limits, k, rows, values, size):
    """Compare items of a cell, with k > 0 those still plausible; returns the size of the list, and how many."""
    sizes, query, seen, places = coded[1], math.sqrt(own), 0, kept[2]
    flat, d, line = kept[0].reshape(-1), kept[0].shape[1], 64 // kept[0].itemsize
    for place in range(-_AHEAD, count):
        if place + _AHEAD < count:
            i = chosen[place + _AHEAD]
            row = places[i] if len(places) > 0 else i
            for j in range(0, d, line):
                prefetch(flat, row * d + j)
        if place < 0:
            continue
        i = chosen[place]
        if k > 0 and not plausible(math.sqrt(sizes[i]), query, blurred(values[k - 1], blur), limits[apart[place]]):
            continue
        size = insert(rows, values, size, i, distance_in_cell(kept, places, i, sizes[i], center, w, own))
        seen += 1
    return size, seen


@njit(nogil=True)
def hamming_one(tiles, i, code):
    """Hamming distance of item i."""
    total = 0
    for w in range(len(code)):
        total += popcount(tiles[i // 64, w, i % 64] ^ code[w])
    return total


@njit(nogil=True)
def may_be_found(allowed, i):
    """Whether item i is allowed."""
    return len(allowed) == 0 or (allowed[i // 64] >> np.uint64(i % 64)) & np.uint64(1) == 1


@njit(nogil=True)
def not_compared(start, stop, distances, chosen, apart, count, every):
    """Those of the chosen items, or of ``every`` item of a cell, whose distance is not FAR; returns how many."""
    size = 0
    for place in range(64 * (stop - start) if every else count):
        i = 64 * start + place if every else chosen[place]
        chosen[size], apart[size] = i, 0 if every else apart[place]
        size += distances[i - 64 * start] != FAR
    return size


@njit(nogil=True)
def visit(c, cells, coded, asked, kept, limits, k, rows, values, size, codes, scratch):
    """Compare what is plausible in a cell; returns the size of the list, and how many were compared.

    As long as there are no k items, those of the nearest codes come first: their distances bound the k-th.
    """
    v, w, p, own, blur = asked
    distances, least, chosen, apart, direction, line = scratch
    first, last, center, code = cells[0][c], cells[0][c + 1], cells[1][c], codes[c]
    code_of(p, cells[3][c], code)
    own[c] = toward(v, w, center, cells[2][c], direction)
    if first == last:
        return size, 0
    start, stop, seen, new = first // 64, -(-last // 64), 0, size < k
    for second in range(0 if new else 1, 2):
        again = 0
        if second == 0:
            fill_cell(coded, first, last, code, distances, least)
            wanted = min(_FIRST * len(rows), last - first)
            count = nearest_in_cell(start, stop, wanted, len(limits) - 1, distances, least, chosen)
            for place in range(count):
                distances[chosen[place] - 64 * start] = FAR
        elif size < k:
            count = not_compared(start, stop, distances, chosen, apart, 0, True)
        else:
            again, bound = k, blurred(values[k - 1], blur)
            query = math.sqrt(own[c])
            count = chosen_in_cell(coded, first, last, code, query, bound, limits, line, chosen, apart)
            if new:
                count = not_compared(start, stop, distances, chosen, apart, count, False)
        size, more = rank_in_cell(
            chosen, count, apart, coded, kept, center, direction, own[c], blur, limits, again, rows, values, size
        )
        seen += more
    return size, seen


@njit(nogil=True)
def rest(cells, coded, asked, kept, limits, k, rows, values, size, codes, visited, scratch):
    """The same for items that have come since, of the cells that were visited."""
    v, w, p, own, blur = asked
    tiles, sizes, allowed, labels, direction = coded[0], coded[1], coded[4], cells[4], scratch[4]
    seen = 0
    for i in range(cells[0][-1], len(labels)):
        c = labels[i]
        if visited[c] and may_be_found(allowed, i):
            bound = blurred(values[k - 1], blur)
            if plausible(math.sqrt(sizes[i]), math.sqrt(own[c]), bound, limits[hamming_one(tiles, i, codes[c])]):
                toward(v, w, cells[1][c], cells[2][c], direction)
                value = distance_in_cell(kept, kept[2], i, sizes[i], cells[1][c], direction, own[c])
                size = insert(rows, values, size, i, value)
                seen += 1
    return size, seen


@njit(nogil=True)
def scores_of(own, apart, a, scores):
    """s_c of each cell, where ``apart`` are |μ_c − μ_a|²."""
    for c in range(len(own)):
        gap = max(own[c] - own[a], 0.0)
        scores[c] = 0.5 * gap / math.sqrt(apart[c]) if apart[c] > 0.0 else (np.inf if gap > 0.0 else 0.0)


@njit(nogil=True)
def within_reach(scores, visited, limit, order):
    """Cells that were not visited with s_c ≤ limit, the least first, by Shell's sort; returns how many."""
    count = 0
    for c in range(len(scores)):
        order[count] = c
        count += (scores[c] <= limit) & (not visited[c])
    gap = 1
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for place in range(gap, count):
            c, free = order[place], place
            while free >= gap and scores[order[free - gap]] > scores[c]:
                order[free] = order[free - gap]
                free -= gap
            order[free] = c
        gap //= 3
    return count


@njit(nogil=True)
def scan_cells(cells, coded, V, W, P, own, apart, first, blurs, kept, limits, reach, k, rows, values, seen):
    """The nearest items of each query, in cells with s_c ≤ reach · d_k.

    ``first`` (m, 2) are cells that are visited in any case; ``kept`` = (rows, scales, places).
    """
    L, widest = len(cells[0]) - 1, 0
    for c in range(L):
        widest = max(widest, cells[0][c + 1] - cells[0][c])
    room = 64 * (widest // 64 + 3)
    scratch = (
        np.empty(room, np.uint16),
        np.empty(room // 64, np.uint16),
        np.empty(room, np.int64),
        np.empty(room, np.int64),
        np.empty(W.shape[1]),
        np.empty(64, np.uint16),
    )
    codes = np.empty((L, coded[0].shape[1]), np.uint64)
    scores, order, visited = np.empty(L), np.empty(L + 1, np.int64), np.zeros(L, np.bool_)
    for q in range(len(W)):
        asked = V[q], W[q], P[q], own[q], blurs[q]
        visited[:] = False
        size = 0
        count = len(first[q])
        order[:count] = first[q]
        for chosen in range(2):
            if chosen == 1:
                scores_of(own[q], apart[q], first[q, 0], scores)
                count = within_reach(scores, visited, reach * math.sqrt(values[q, k - 1]), order)
            for c in order[:count]:
                if visited[c] or (chosen == 1 and scores[c] > reach * math.sqrt(values[q, k - 1])):
                    continue
                visited[c] = True
                size, more = visit(c, cells, coded, asked, kept, limits, k, rows[q], values[q], size, codes, scratch)
                seen[q] += more
        size, more = rest(cells, coded, asked, kept, limits, k, rows[q], values[q], size, codes, visited, scratch)
        seen[q] += more


@njit(nogil=True)
def cells_within(cells, coded, p, own, gaps, first, limits, reach, bound):
    """Positions of items that are plausible within a squared distance of one query, in cells with s_c ≤ reach · d."""
    starts, labels, L = cells[0], cells[4], len(cells[0]) - 1
    scores, visited, n_words = np.empty(L), np.zeros(L, np.bool_), coded[0].shape[1]
    scores_of(own, gaps, first[0], scores)
    codes, line = np.empty((L, n_words), np.uint64), np.empty(64, np.uint16)
    found, size = np.empty(1024, np.int64), 0
    for c in range(L):
        visited[c] = scores[c] <= reach * math.sqrt(bound) or c == first[0] or c == first[1]
        if not visited[c]:
            continue
        code_of(p, cells[3][c], codes[c])
        room = 64 * ((starts[c + 1] - starts[c]) // 64 + 3)
        chosen, apart = np.empty(room, np.int64), np.empty(room, np.int64)
        query = math.sqrt(own[c])
        count = chosen_in_cell(coded, starts[c], starts[c + 1], codes[c], query, bound, limits, line, chosen, apart)
        found, size = appended(found, size, chosen[:count])
    one = np.empty(1, np.int64)
    for i in range(starts[-1], len(labels)):
        c = labels[i]
        if visited[c] and may_be_found(coded[4], i):
            h = hamming_one(coded[0], i, codes[c])
            if plausible(math.sqrt(coded[1][i]), math.sqrt(own[c]), bound, limits[h]):
                one[0] = i
                found, size = appended(found, size, one)
    return found[:size].copy()


@njit(nogil=True)
def appended(found, size, more):
    """A list with room behind its entries, and more of them."""
    if size + len(more) > len(found):
        wider = np.empty(2 * (size + len(more)), np.int64)
        wider[:size] = found[:size]
        found = wider
    found[size : size + len(more)] = more
    return found, size + len(more)


@njit(nogil=True)
def listed_in_cells(chosen, cells, sizes, kept, v, w):
    """Squared distances of listed items to one query."""
    out, direction = np.empty(len(chosen)), np.empty(len(w))
    for place in range(len(chosen)):
        i = chosen[place]
        c = cells[4][i]
        own = toward(v, w, cells[1][c], cells[2][c], direction)
        out[place] = distance_in_cell(kept, kept[2], i, sizes[i], cells[1][c], direction, own)
    return out
