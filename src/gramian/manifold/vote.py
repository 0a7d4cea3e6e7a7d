"""Nearest-neighbor votes in an embedding."""

import numpy as np

from gramian.manifold.neighbors import neighbors


def vote(voters: np.ndarray, codes: np.ndarray, queries: np.ndarray, k: int) -> np.ndarray:
    """Codes of ``queries`` by the vote of their k nearest ``voters``; of tied classes the one with nearer voters."""
    votes = codes[neighbors(voters, k, queries)[0]]
    # Less than one vote in sum, so that nearness only breaks ties.
    weight = 1 + np.linspace(1, 0, votes.shape[1]) / (votes.shape[1] ** 2 + 1)
    tally = np.zeros((len(queries), codes.max() + 1))
    np.add.at(tally, (np.arange(len(queries))[:, None], votes), weight)
    return tally.argmax(axis=1)
