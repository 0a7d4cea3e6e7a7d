"""A million constraints on sparse points of 24,000 dimensions (thesis §4.3.2): time and memory."""

from functools import partial

import numpy as np
from scipy import sparse

import gramian as gm
from benchmarks import harness

TITLE = "A million constraints on sparse points (thesis §4.3.2)"
NOTES = """
The thesis learns from 1,000,000 pairs of poses on features of 24,016 dimensions, of which it prints neither time nor
memory. Here 20,000 drawn points of 24,000 dimensions with 100 that are not zero, and pairs by a hidden direction of 20
of them; `ITML(rank=100)` as it comes, and with `anchor=0`, the problem of the thesis. Each fit is a process of its own:
CPU seconds on one thread, and its largest memory, data and interpreter included.
"""
N, D, NONZERO, RANK = 20_000, 24_000, 100, 100


def points(n=N, d=D):
    """Sparse points, and a number that 20 columns of each decide."""
    rng = np.random.default_rng(0)
    columns = rng.integers(d, size=(n, NONZERO))
    values = rng.exponential(size=(n, NONZERO))
    X = sparse.csr_array((values.ravel(), columns.ravel(), np.arange(0, n * NONZERO + 1, NONZERO)), shape=(n, d))
    X.sum_duplicates()
    return X, np.asarray(X[:, :20].sum(axis=1)).ravel()


def run(quick=False):
    """Rows for 100,000 to a million pairs; quick: small ones."""
    n, d = (1000, 2000) if quick else (N, D)
    X, target = points(n, d)
    rows = []
    for m in (2_000,) if quick else (100_000, 300_000, 1_000_000):
        rng = np.random.default_rng(1)
        left, right = rng.integers(n, size=(2, m))
        pairs = gm.Pairs(left, right, np.abs(target[left] - target[right]) < 0.1)
        for anchor in (0, "auto") if m <= 100_000 else (0,):
            learner = gm.ITML(rank=min(RANK, n // 2), anchor=anchor, random_state=0)
            seconds, peak = harness.process_cost(partial(learner.fit, X, pairs))
            case, method = f"{m:,} pairs", f"anchor={anchor!r}"
            rows.append({"table": "CPU seconds", "case": case, "method": method, "ours": round(seconds, 1)})
            rows.append({"table": "gigabytes", "case": case, "method": method, "ours": round(peak / 2**30, 2)})
    return rows
