"""Learners of metric-learn on given pairs, chunks and bounds; run in its own environment."""

import time
import warnings


def main(arrays):
    """Fit the learner that ``arrays["learner"]`` names; returns CPU seconds, the factor L and the iterations."""
    warnings.simplefilter("ignore")
    fit = {"itml": itml, "mmc": mmc, "rca": rca}[str(arrays["learner"])](arrays)
    seconds = []
    for _ in range(int(arrays["repeats"])):
        start = time.process_time()
        learner = fit()
        seconds.append(time.process_time() - start)
    L, n_iter = learner.components_, getattr(learner, "n_iter_", 0)
    return {"seconds": sorted(seconds)[len(seconds) // 2], "components": L, "n_iter": int(n_iter)}


def pairs(arrays):
    """Pairs (m, 2, d) and their signs."""
    X, left, right, similar = (arrays[k] for k in ("X", "left", "right", "similar"))
    import numpy as np

    return np.stack([X[left], X[right]], axis=1), np.where(similar, 1, -1)


def itml(arrays):
    """Its bounds are compared with squared distances: given as such, it solves the same problem."""
    from metric_learn import ITML

    P, y = pairs(arrays)
    learner = ITML(gamma=float(arrays["gamma"]), max_iter=int(arrays["max_iter"]), prior="identity")
    return lambda: learner.fit(P, y, bounds=arrays["bounds"])


def mmc(arrays):
    """Full matrix from the identity, its default limits."""
    from metric_learn import MMC

    P, y = pairs(arrays)
    return lambda: MMC(init="identity").fit(P, y)


def rca(arrays):
    """Whole chunks, no reduction."""
    from metric_learn import RCA

    return lambda: RCA().fit(arrays["X"], arrays["chunks"])
