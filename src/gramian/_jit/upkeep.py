"""Keeping hash codes true while their directions move: recompute only the bits that may have changed."""

import numpy as np

from gramian._jit.compiler import njit
from gramian._jit.ranking import centered_dot


@njit(nogil=True, error_model="numpy")
def scaled_levels(P, scales, levels):
    """Fill ``levels`` with min(|P_ij| · scale_i, 255), rounded down."""
    for i in range(P.shape[0]):
        c = scales[i]
        for j in range(P.shape[1]):
            levels[i, j] = np.uint8(min(abs(P[i, j]) * c, np.float32(255.0)))


@njit(nogil=True, error_model="numpy")
def refresh_bits(margins, levels, points, center, rows, tiles):
    """Recompute each bit whose margin level is at most the level of its drift; returns (recomputed, flipped).

    ``margins`` (n, b) and ``levels`` (b,) are uint8; ``rows`` (b, d) are the directions now, and bit j of x is
    [rows_j · (x − μ) ≥ 0]; the codes in ``tiles`` change in place.
    """
    n, b = margins.shape
    picks = np.empty(b + 1, np.int64)
    touched = flipped = 0
    for i in range(n):
        count = 0
        for j in range(b):
            picks[count] = j
            count += margins[i, j] <= levels[j]
        touched += count
        for c in range(count):
            flipped += set_bit(tiles, i, picks[c], points[i], center, rows)
    return touched, flipped


@njit(nogil=True, error_model="numpy")
def set_bit(tiles, i, j, x, center, rows):
    """Write bit j of item i; returns whether it flipped."""
    mask = np.uint64(1) << np.uint64(j % 64)
    old = tiles[i // 64, j // 64, i % 64]
    new = old | mask if centered_dot(x, center, rows[j]) >= 0 else old & ~mask
    tiles[i // 64, j // 64, i % 64] = new
    return new != old
