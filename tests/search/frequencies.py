"""What hash bits should do, by definition: Hamming distances one by one, and how often bits collide."""

from typing import Any

import numpy as np


def hamming(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Hamming distances (n, m) between packed codes."""
    total = np.zeros((len(A), len(B)), np.int64)
    for a, b in zip(A.T, B.T):
        total += np.bitwise_count(a[:, None] ^ b[None, :])
    return total


def collision_probability(cosine: Any) -> np.ndarray:
    """Pr[h(x) = h(y)] = 1 − arccos(cos_W(x, y)) / π (Jain 2009, §4.1.1).

    The thesis prints a root over |Gx||Gy| in the cosine; the norms stand there without it.
    """
    return 1 - np.arccos(np.clip(cosine, -1, 1)) / np.pi
