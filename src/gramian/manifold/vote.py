"""Nearest-neighbor votes in an embedding."""

import numpy as np

from gramian.manifold.neighbors import neighbors
from gramian.neighbors import vote


def voted(voters: np.ndarray, codes: np.ndarray, queries: np.ndarray, k: int) -> np.ndarray:
    """Codes of ``queries`` by the vote of their k nearest ``voters``."""
    return vote(codes[neighbors(voters, k, queries)[0]], codes.max() + 1)
