"""Sorted orders of permuted hash keys, the search of the thesis (Jain 2009, §4.2, after Charikar 2002)."""

import numpy as np

EPSILON = 1.5
MOST_ORDERS = 32
"""Orders that are kept unless more are asked for: each takes 16 bytes an item."""

HIGHEST_ORDERS = 1024
"""Orders that may be asked for, also by a file."""


def n_candidates(n: int, epsilon: float) -> int:
    """M = 2 n^{1/(1+ε)}: candidates for a (1+ε)-approximate nearest neighbor (Jain 2009, §4.2)."""
    return int(np.ceil(2 * n ** (1 / (1 + epsilon))))


class SortedOrders:
    """l random permutations of the bits of all codes, each with the items sorted by the permuted key.

    Two codes at a small Hamming distance share a long prefix in some of the orders, and there stand side by side.
    The first 64 bits of a permuted key are kept.
    """

    def __init__(self, packed: np.ndarray, n_bits: int, n_orders: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.bits = np.array([rng.permutation(n_bits)[:64] for _ in range(n_orders)])
        keys = self.keys(packed)
        self.items = np.argsort(keys, axis=0, kind="stable").T.copy()
        self.sorted = np.take_along_axis(keys.T, self.items, axis=1)

    def keys(self, packed: np.ndarray) -> np.ndarray:
        """Permuted keys (n, l) as uint64, the first bit of a permutation highest."""
        keys = np.empty((len(packed), len(self.bits)), np.uint64)
        for p, chosen in enumerate(self.bits):
            bits = (packed[:, chosen >> 3] >> (chosen & 7).astype(np.uint8)) & np.uint8(1)
            block = np.zeros((len(packed), 64), np.uint8)
            block[:, : bits.shape[1]] = bits
            keys[:, p] = np.packbits(block, axis=1).view(">u8")[:, 0]
        return keys
