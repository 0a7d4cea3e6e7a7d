"""How much of a kernel each basis leaves unexplained, on four real sets."""

import numpy as np

import gramian as gm
from benchmarks import harness

TITLE = "Bases of KernelFeatures: trace error at equal size"
NOTES = """Share of the trace of K that k basis points leave unexplained, mean over three seeds (greedy is
deterministic), for the Gaussian kernel at the median distance, on 3000 rows of each set (pendigits and satellite
standardized). `to_uniform` is the error divided by that of uniform landmarks; `ratio` is CPU time divided by theirs."""

SETS = ("usps", "mnist", "pendigits", "satellite")
BASES = ("uniform", "cholesky", "random-cholesky", "leverage", "kmeans")


def points(name, n):
    """Rows of a set, drawn once, and the width of the kernel."""
    X = harness.load(name).X
    X = X[np.random.default_rng(0).permutation(len(X))[:n]]
    if name in ("pendigits", "satellite"):
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, float(np.sqrt(np.median(gm.linalg.sqdist(X[:1000]))))


def run(quick=False):
    """Rows; quick: one set, 1000 rows, one seed."""
    rows, seeds = [], range(1 if quick else 3)
    for name in SETS[2:3] if quick else SETS:
        X, scale = points(name, 1000 if quick else 3000)
        for size in (50, 200, 400):
            base = None
            for basis in BASES:
                fits = [_fit(X, scale, size, basis, seed) for seed in (seeds if basis != "cholesky" else [0])]
                cpu, error = (float(np.mean(part)) for part in zip(*fits))
                base = base or (cpu, error)
                row = {"case": f"{name}, k = {size}", "method": basis, "trace_error": error, "cpu_s": cpu}
                rows.append(row | {"to_uniform": error / base[1], "ratio": cpu / base[0]})
    return rows


def _fit(X, scale, size, basis, seed):
    features = gm.KernelFeatures(gm.Gaussian(scale), rank=size, basis=basis, random_state=seed)
    cpu = harness.cpu_time(lambda: features.fit(X), repeats=1, warmup=0)
    return cpu, 1 - features.explained_variance_ratio_
