"""The second level of hashing of Jain 2009, §5.2.1: which items may have flipped a bit, without looking at them all.

Bit j of x flips when (hᵀx)² + (hᵀx)(Δᵀx) ≤ 0, h the old direction and Δ its change. With

    x̄ = [τ (hᵀx)²; (hᵀx) x],   q̄ = [−1/τ; −Δ]

that is q̄ᵀx̄ ≥ 0, a search for large inner products, which sign hashes of x̄ answer approximately. (The thesis has
τ = 1, which leaves all x̄ nearly orthogonal to q̄ in high dimension, and swaps G and W in its q̄.)
"""

import numpy as np

from gramian.search import codes

_N_BITS = 64


class SecondLevel:
    """Signatures of x̄ for a random subset of the bits, as the thesis does to save work.

    Parameters
    ----------
    points : array (n, d)
    center : array (d,)
    base : array (b, d)
        Directions h.
    seed : int
    n_checked : int
        Bits in the subset.

    Notes
    -----
    At τ = 5 typical |x| / |hᵀx|, a search finds some 93% of the flips, in 4% of the items when 0.6% of them flip and in
    19% when 2% do.
    """

    def __init__(
        self, points: np.ndarray, center: np.ndarray, base: np.ndarray, seed: int, n_checked: int = 32
    ) -> None:
        rng = np.random.default_rng(seed)
        self.bits = np.sort(rng.permutation(len(base))[:n_checked])
        X = (points - center).astype(np.float32)
        P = X @ base[self.bits].T.astype(np.float32)
        typical = np.median(np.abs(P)) + np.finfo(np.float32).tiny
        self.tau = np.float32(5 * np.median(np.linalg.norm(X, axis=1)) / typical)
        self.plane = rng.standard_normal((_N_BITS, X.shape[1]), dtype=np.float32)
        self.first = rng.standard_normal(_N_BITS, dtype=np.float32)
        self.base = base
        shadow = X @ self.plane.T
        self.signatures = np.stack([self._sign(p, shadow) for p in P.T])

    def _sign(self, p: np.ndarray, shadow: np.ndarray) -> np.ndarray:
        values = p[:, None] * (self.tau * p[:, None] * self.first + shadow)
        return codes.words(codes.pack(values))[:, 0]

    def candidates(self, bit: int, row: np.ndarray) -> np.ndarray:
        """Items whose signature is no further from that of q̄ than a right angle would put it, and a little more.

        The direction ``row`` is first scaled to be near the old one, which flips nothing and shortens Δ.
        """
        at, old = int(np.searchsorted(self.bits, bit)), self.base[bit]
        change = row * max(old @ row / (row @ row), 0.0) - old
        asked = codes.words(codes.pack((-self.first / self.tau - self.plane @ change)[None]))[0, 0]
        distance = np.bitwise_count(self.signatures[at] ^ asked)
        return np.flatnonzero(distance <= _N_BITS // 2 + 4)
