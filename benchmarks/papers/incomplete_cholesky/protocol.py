"""USPS as the paper must have used it: pixels in [0, 1], file order, noise clipped to [0, 1], threshold 0.1 K."""

import numpy as np

from benchmarks import harness

ROWS = {"100%": 7291, "50%": 3645, "10%": 720}
TOL = 0.1


def usps(noisy: bool = False, seed: int = 0):
    """Training and test images in [0, 1] and their labels."""
    data = harness.load("usps")
    X = (data.X + 1) / 2
    if noisy:
        X = np.clip(X + np.random.default_rng(seed).normal(scale=0.5, size=X.shape), 0, 1)
    return X[data.train_idx], data.y[data.train_idx], X[data.test_idx], data.y[data.test_idx]
