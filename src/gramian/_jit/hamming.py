"""The pass over packed codes: Hamming distances, and the items within one of them."""

import numpy as np

from gramian._jit.compiler import njit
from gramian._jit.vectors import at_most, differing, popcount, prefetch, weighted

_AHEAD = 2
"""Tiles that are asked for ahead of their use."""
FAR = np.uint16(65535)
"""Distance of a slot that holds no item, or one that may not be found."""


@njit(nogil=True)
def hamming_tiles(tiles, n, allowed, codes, distances, least):
    """Hamming distances of every item to a few query codes, and the least one of each tile.

    ``tiles`` (t, words, 64), ``codes`` (m, words), ``distances`` (m, 64 t) uint16, ``least`` (m, t) uint16. Bit j of
    ``allowed[t]`` says whether item j of tile t may be found; all may where it is empty.
    """
    n_tiles, n_words, _ = tiles.shape
    flat, size = tiles.reshape(-1), n_words * 64
    for t in range(n_tiles):
        tile = flat[t * size : (t + 1) * size]
        for line in range(0, size, 8):
            prefetch(flat, (t + _AHEAD) * size + line)
        for q in range(len(codes)):
            least[q, t] = differing(tile, codes[q], distances[q], t * 64)
    for q in range(len(codes)):
        only_items(n, allowed, distances[q], least[q])


@njit(nogil=True)
def weighted_tiles(tiles, n, allowed, codes, planes, distances, least):
    """As :func:`hamming_tiles`, but a bit j that differs from query q counts as the planes (m, planes · words) say."""
    n_tiles, n_words, _ = tiles.shape
    flat, size = tiles.reshape(-1), n_words * 64
    for t in range(n_tiles):
        tile = flat[t * size : (t + 1) * size]
        for line in range(0, size, 8):
            prefetch(flat, (t + _AHEAD) * size + line)
        for q in range(len(codes)):
            least[q, t] = weighted(tile, codes[q], planes[q], distances[q], t * 64)
    for q in range(len(codes)):
        only_items(n, allowed, distances[q], least[q])


@njit(nogil=True)
def only_items(n, allowed, distances, least):
    """Put slots that hold no item, or one that is not allowed, far away."""
    distances[n : 64 * len(least)] = FAR
    if len(allowed) > 0:
        forbid(allowed, distances, least)
    else:
        least[len(least) - 1] = lowest(distances[64 * (len(least) - 1) :])


@njit(nogil=True)
def lowest(values):
    """Least of some values of uint16."""
    low = FAR
    for value in values:
        low = min(low, value)
    return low


@njit(nogil=True)
def forbid(allowed, distances, least):
    """Put what is not allowed far away."""
    for t in range(len(least)):
        if allowed[t] != ~np.uint64(0):
            for j in range(64):
                if (allowed[t] >> np.uint64(j)) & np.uint64(1) == 0:
                    distances[64 * t + j] = FAR
        least[t] = lowest(distances[64 * t : 64 * t + 64])


@njit(nogil=True)
def level_of(values, count, high):
    """Smallest level ≤ ``high`` that at least ``count`` of the values of uint16 do not exceed, by halving."""
    low, whole = 0, len(values) - len(values) % 64  # words of 64 values first, what is left one by one
    while low < high:
        middle, bits = (low + high) // 2, 0
        for i in range(0, whole, 64):
            bits += popcount(at_most(values, i, np.uint16(middle)))
        for i in range(whole, len(values)):
            bits += values[i] <= middle
        low, high = (low, middle) if bits >= count else (middle + 1, high)
    return low


@njit(nogil=True)
def put(marks, start, chosen, size):
    """Append the positions of the ones of a 64-bit word to ``chosen``; return its new size."""
    while marks != 0:
        lowest_one = marks & (~marks + np.uint64(1))  # x & −x
        chosen[size] = start + popcount(lowest_one - np.uint64(1))
        marks ^= lowest_one
        size += 1
    return size


@njit(nogil=True)
def within(distances, least, level, chosen):
    """Positions of the items with h ≤ level, ascending; returns how many."""
    size = 0
    for t in range(len(least)):
        if least[t] <= level:
            size = put(at_most(distances, t * 64, np.uint16(level)), t * 64, chosen, size)
    return size


@njit(nogil=True)
def beyond(distances, least, near, levels, masks, chosen):
    """Positions of the items with near < h ≤ the level of their class, ascending; returns how many.

    Bit j of ``masks[t, c]`` says whether item j of tile t is of class c; ``near`` may be −1.
    """
    size, top = 0, 0
    for level in levels:
        top = max(top, level)
    for t in range(len(least)):
        if least[t] <= top:
            bits = np.uint64(0)
            for c in range(len(levels)):
                if least[t] <= levels[c]:
                    bits |= at_most(distances, t * 64, np.uint16(levels[c])) & masks[t, c]
            if near >= 0 and least[t] <= near:
                bits &= ~at_most(distances, t * 64, np.uint16(near))
            size = put(bits, t * 64, chosen, size)
    return size


@njit(nogil=True)
def class_masks(values, edges):
    """Masks (tiles, classes) of the classes edges[c] ≤ value ≤ edges[c + 1]; a value on an edge is in the lower one."""
    masks = np.zeros((-(-len(values) // 64), len(edges) - 1), np.uint64)
    for i in range(len(values)):
        c = 0
        while c < len(edges) - 2 and values[i] > edges[c + 1]:
            c += 1
        masks[i // 64, c] |= np.uint64(1) << np.uint64(i % 64)
    return masks
