"""Selection of the smallest entries, fused with the bound that they are selected by.

A short list is kept in order. A longer one is gathered in any order: what is below a level is added, and when it is
twice too long, the smallest ones move to the front, and the largest of these is the next level.
"""

import numpy as np

from gramian._jit.compiler import njit

CHUNK = 512
"""Bounds that are compared with a level at once."""
SHORT, NEARLY = 48, 128
"""Lists up to this length are kept in order: of entries that come in any order, or nearly in theirs."""
_LANES = 256
"""Groups of bounds, of which the smallest ones tell below which level enough bounds lie."""


@njit(nogil=True)
def insert(values, ids, value, i):
    """Put (value, i) in its place of an ascending list, whose last pair leaves it."""
    place = len(values) - 1
    while place > 0 and (values[place - 1] > value or (values[place - 1] == value and ids[place - 1] > i)):
        values[place] = values[place - 1]
        ids[place] = ids[place - 1]
        place -= 1
    values[place] = value
    ids[place] = i


@njit(nogil=True)
def before(value, i, other, j):
    """Whether (value, i) comes before (other, j): a smaller value, or the same and a smaller id."""
    return value < other or (value == other and i < j)


@njit(nogil=True)
def move_below(values, first, stop, level, equal):
    """Move those of values[first:stop] to its front that are below a level, or equal to it; returns where they end.

    Without a branch: nobody can foresee which way a value goes.
    """
    end = first
    for j in range(first, stop):
        value = values[j]
        values[j] = values[end]
        values[end] = value
        end += (value < level) | (equal & (value == level))
    return end


@njit(nogil=True)
def ranked(values, k):
    """The value with k others before it, by Hoare's selection; the values change places."""
    begin, stop = 0, len(values)
    while True:
        a, b, c = values[begin], values[(begin + stop) // 2], values[stop - 1]
        level = max(min(a, b), min(max(a, b), c))  # the median of three
        end = move_below(values, begin, stop, level, False)
        if k < end:
            stop = end
            continue
        begin = move_below(values, end, stop, level, True)
        if k < begin:
            return level


@njit(nogil=True)
def cut(values, ids, count, size):
    """Move the ``size`` smallest of the first ``count`` pairs to the front; returns the largest of their values."""
    level, end = ranked(values[:count].copy(), size - 1), 0
    for j in range(count):
        value, i = values[j], ids[j]
        values[end], ids[end] = value, i
        end += value <= level
    if end > size:
        drop_ties(values[:end], ids[:end], level, size)
    return level


@njit(nogil=True)
def drop_ties(values, ids, level, size):
    """Of the pairs that have the largest value, keep those with the smallest ids: ``size`` are left in front."""
    tied, end = np.sort(ids[values == level]), 0
    for j in range(len(values)):
        if values[j] < level:
            values[end], ids[end] = values[j], ids[j]
            end += 1
    values[end:size] = level
    ids[end:size] = tied[: size - end]


@njit(nogil=True)
def in_order(values, names, skip, k):
    """Names and values of the k smallest entries of each row, ascending, in lists that are kept in order."""
    ids, best = np.full((len(values), k), -1, np.int64), np.full((len(values), k), np.inf)
    for i in range(len(values) if k > 0 else 0):
        for j in range(values.shape[1]):
            value = values[i, j]
            if value > best[i, -1] or value == np.inf:
                continue
            name = names[i, j]
            if before(value, name, best[i, -1], ids[i, -1]) and name != skip[i]:
                insert(best[i], ids[i], value, name)
    return ids, best


@njit(nogil=True)
def gathered(values, names, skip, k):
    """Names and values of the k smallest entries of each row, and of some more of them, in any order."""
    room = max(k, min(2 * k, values.shape[1]))  # a list is cut when twice its length is reached
    ids, best = np.full((len(values), room), -1, np.int64), np.full((len(values), room), np.inf)
    for i in range(len(values)):
        count, level = 0, np.inf
        for j in range(values.shape[1]):
            value, name = values[i, j], names[i, j]
            if value > level or value == np.inf or value != value or name == skip[i]:
                continue
            best[i, count], ids[i, count] = value, name
            count += 1
            if count == 2 * k:
                level, count = cut(best[i], ids[i], count, k), k
        best[i, count:], ids[i, count:] = np.inf, -1
    return ids, best


@njit(nogil=True)
def arranged(values, names, order):
    """Rows in the order of their values, which is given, and where these are equal in that of the names."""
    n, m = order.shape
    best, ids = np.empty((n, m), values.dtype), np.empty((n, m), names.dtype)
    for i in range(n):
        start = 0
        for j in range(m):
            best[i, j], ids[i, j] = values[i, order[i, j]], names[i, order[i, j]]
            if best[i, j] != best[i, start]:
                sort_names(ids[i, start:j])
                start = j
        sort_names(ids[i, start:])
    return ids, best


@njit(nogil=True)
def sort_names(names):
    """Sort in place; mostly there is but one."""
    if len(names) > 1:
        names[:] = np.sort(names)


@njit(nogil=True)
def level_ties(values, names, k, share, cut):
    """Give each run of ascending values with gaps within a share of them its first value, and sort its names, in place.

    ``cut`` (n,) says of which rows a run that begins among the first k goes on to the end, and perhaps beyond.
    """
    n, m = values.shape
    for i in range(n):
        start = 0
        for j in range(1, m + 1):
            if j < m and values[i, j] < np.inf and values[i, j] - values[i, j - 1] <= share * values[i, j - 1]:
                continue
            if j > start + 1:
                values[i, start:j] = values[i, start]
                sort_names(names[i, start:j])
            cut[i] = j == m and start < k and values[i, start] < np.inf
            start = j


@njit(nogil=True)
def flag_below(halves, products, level, flags):
    """Mark the halves − products that are below a level; without a branch, so that it fills vector registers."""
    for j in range(len(halves)):
        flags[j] = halves[j] - products[j] < level


@njit(nogil=True)
def lower_lanes(lanes, halves, products):
    """Make each lane the smaller of itself and its halves − products."""
    for j in range(len(lanes)):
        bound = halves[j] - products[j]
        lanes[j] = bound if bound < lanes[j] else lanes[j]


@njit(nogil=True)
def enough_below(halves, products, lanes, count):
    """A level below which at least ``count`` of the halves − products lie, and seldom many more.

    The items are dealt to lanes, as far as they fill them. A lane whose smallest is below the level holds one at least.
    """
    lanes[:] = np.inf
    for start in range(0, len(halves) - len(lanes) + 1, len(lanes)):
        stop = start + len(lanes)
        lower_lanes(lanes, halves[start:stop], products[start:stop])
    size = len(lanes)
    while size >= 8 * count:
        size //= 2
        for j in range(size):
            lanes[j] = min(lanes[j], lanes[size + j])
    return np.nextafter(ranked(lanes[:size], count - 1), halves.dtype.type(np.inf))


@njit(nogil=True)
def keep_lowest(products, halves, first, values, ids, counts, levels, size):
    """Keep the ``size`` smallest |x|²/2 − qᵀx of each query in lists ``values``, ``ids`` (m, room).

    ``products`` (m, n) are the qᵀx of the items ``first``, ``first`` + 1, … and ``halves`` (n,) their |x|²/2. Short
    lists are in order; of longer ones, which have room for twice the size and a chunk, the first ``counts`` pairs are
    there. What is not below ``levels`` has no place any more.
    """
    n = products.shape[1]
    lanes, flags = np.empty(_LANES, halves.dtype), np.zeros(CHUNK, np.uint8)
    for q in range(len(products)):
        row, level = products[q], levels[q]
        if level == np.inf and 2 * size <= _LANES <= n:
            level = enough_below(halves, row, lanes, size)
        for start in range(0, n, CHUNK):
            stop = min(start + CHUNK, n)
            piece, theirs = halves[start:stop], row[start:stop]
            flag_below(piece, theirs, level, flags)
            if size <= SHORT:
                level = insert_flagged(flags, piece, theirs, first + start, level, values[q], ids[q])
                continue
            counts[q] = append_flagged(flags, piece, theirs, first + start, values[q], ids[q], counts[q])
            if counts[q] >= 2 * size:
                level, counts[q] = cut(values[q], ids[q], counts[q], size), size
        levels[q] = level


@njit(nogil=True)
def insert_flagged(flags, halves, products, first, level, values, ids):
    """Put flagged items that are below the level into a list in order; returns the level that is left."""
    eights = flags.view(np.uint64)
    for e in range((len(halves) + 7) // 8):
        if eights[e] == 0:
            continue
        for j in range(8 * e, min(8 * e + 8, len(halves))):
            bound = halves[j] - products[j]
            if flags[j] and bound < level:
                insert(values, ids, bound, first + j)
                level = min(level, values[-1])
    return level


@njit(nogil=True)
def append_flagged(flags, halves, products, first, values, ids, count):
    """Add flagged items to the first ``count`` of a list, without a branch for each; returns how many there are."""
    eights = flags.view(np.uint64)
    for e in range((len(halves) + 7) // 8):
        if eights[e] == 0:
            continue
        for j in range(8 * e, min(8 * e + 8, len(halves))):
            values[count] = halves[j] - products[j]
            ids[count] = first + j
            count += flags[j]
    return count


@njit(nogil=True)
def cut_lists(values, ids, counts, size):
    """Move the ``size`` smallest pairs of each list to its front; what is missing is infinite."""
    for q in range(len(values)):
        if counts[q] > size:
            cut(values[q], ids[q], counts[q], size)
        values[q, counts[q] :] = np.inf


@njit(nogil=True)
def squared_lists(values, own, scale):
    """Squared distances from lists of halves − products; infinity stays."""
    D = np.full(values.shape, np.inf)
    for q in range(len(values)):
        for j in range(values.shape[1]):
            if values[q, j] < np.inf:
                D[q, j] = (own[q] + 2.0 * values[q, j]) * scale
    return D
