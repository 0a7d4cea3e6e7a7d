"""Which hash bits may have flipped when their directions move, from one byte for each bit.

Bit j of x is [h_jᵀ(v − μ) ≥ 0]. Let h_j turn to h'_j, and let e be h'_j, scaled to be as near to h_j as possible, less
h_j. A positive scale flips nothing, so the bit can have flipped only where

    |h_jᵀ(v − μ)| ≤ |eᵀ(v − μ)| ≤ |Se| · |S⁻¹(v − μ)|          (Cauchy–Schwarz, S = Σ^{1/2} of the items)

The margin of a bit, the left side over |S h_j| |S⁻¹(v − μ)|, is kept as one byte, rounded down, and compared with
sin θ_j = |Se| / |S h_j|: a filter that misses no flip. In p dimensions eᵀ(v − μ) is mostly about √p times smaller than
its bound; ``likely`` compares with 2.5 such standard deviations instead and misses about one flip in 200.
"""

import numpy as np

from gramian import linalg

FINEST = 127.5
"""Margin levels per standard deviation of a margin, 1/√p: a byte reaches two of them."""
LIKELY = 2.5
SAMPLE = 2000
"""Items that the spread and the expected share of touched bits are read from."""
_TINY = np.finfo(np.float32).tiny


def spread(V: np.ndarray, center: np.ndarray) -> np.ndarray:
    """S = Σ^{1/2} (p, p) of a sample of rows."""
    C = V[:: max(1, len(V) // SAMPLE)] - center
    S = C.T @ C / len(C)
    size = np.trace(S) / len(S)
    return linalg.psd_sqrt(S + 1e-3 * size * np.eye(len(S))) if size > 0 else np.eye(len(S))


def cosines(H: np.ndarray, others: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Cosines between directions, the columns of H and of others, as the items see them: in the norm |S·|."""
    A, B = S @ H, S @ others
    norms = np.sqrt(linalg.row_norms(A.T) * linalg.row_norms(B.T))
    return np.clip(np.einsum("ij,ij->j", A, B) / np.maximum(norms, _TINY), -1, 1)


def margin_levels(V: np.ndarray, center: np.ndarray, H: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Levels (n, b) of the margins of rows; one part in a thousand less covers the rounding of the products."""
    from gramian._jit.upkeep import scaled_levels

    p, b = H.shape
    typical = np.sqrt(np.mean(S**2))
    size = np.maximum(np.sqrt(linalg.row_norms((S @ H).T)) / typical, _TINY)
    factors = np.hstack([H / size, np.linalg.inv(S / typical)]).astype(np.float32)
    levels, unit = np.empty((len(V), b), np.uint8), 0.999 * FINEST * np.sqrt(p)
    for block in linalg.blocks(len(V), 4 * factors.shape[1], 16 << 20):
        P = ((V[block] - center) / typical).astype(np.float32) @ factors
        norms = np.sqrt(linalg.row_norms(P[:, b:]))
        # An item at the center has margin 0: its bits are always computed.
        scales = np.divide(unit, norms, out=np.zeros_like(norms), where=norms > 1e-18)
        scaled_levels(P[:, :b], scales, levels[block])
    return levels


def drift_levels(sines: np.ndarray, p: int, likely: bool) -> np.ndarray:
    """Levels (b,) up to which a margin may have been passed by directions that turned by θ."""
    return np.minimum(sines * (LIKELY if likely else np.sqrt(p)) * FINEST, 255).astype(np.uint8)
