"""Kernel features of 30,000 images and of a million rows: time, memory, and scikit-learn beside them."""

import json
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.decomposition import KernelPCA
from sklearn.kernel_approximation import Nystroem

import gramian as gm
from benchmarks import harness

TITLE = "Kernel features at size"
NOTES = """Rank-500 features of 30,000 MNIST images (Gaussian of width 2000 on pixels 0–255) and, in the same run,
scikit-learn's KernelPCA on 5,000 of them and Nystroem on all; a million synthetic rows of 50 features in 50 clusters
at rank 200. `peak_gb` is the largest resident size of the process that loads the data and fits. `ratio` is CPU time
divided by the first row of the case."""

WIDTH = 2000.0


def mnist(n):
    """The first n images as stored."""
    with np.load(harness.data_folder() / "mnist.npz") as stored:
        return stored["X"][:n]


def clusters(n, d=50, seed=0):
    """Rows around 50 centers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X += 3 * rng.normal(size=(50, d))[rng.integers(50, size=n)]
    return X


def measured(make, fit):
    """CPU seconds of the fit, what it returned, and the peak memory of a process that does both."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "answer.json")

        def work():
            X = make()
            gm.KernelFeatures(rank=1).fit(np.eye(2))  # imports are not part of the time
            start = time.process_time()
            error = fit(X)
            target.write_text(json.dumps([time.process_time() - start, error]))

        peak = harness.peak_memory(work)
        cpu, error = json.loads(target.read_text())
    return {"cpu_s": cpu, "trace_error": error, "peak_gb": peak / 1e9}


def ours(kernel, rank, basis):
    """Relative trace error of KernelFeatures."""
    return lambda X: 1 - gm.KernelFeatures(kernel, rank, basis=basis, random_state=0).fit(X).explained_variance_ratio_


def kernel_pca(rank):
    """Trace error of scikit-learn's KernelPCA (centered), of the rows it was given."""

    def fit(X):
        model = KernelPCA(rank, kernel="rbf", gamma=0.5 / WIDTH**2, random_state=0).fit(X.astype(float))
        centered = model._centerer.K_fit_all_  # mean of K: the trace of the centered Gram matrix is n (1 − mean)
        return 1 - float(model.eigenvalues_.sum() / (len(X) * (1 - centered)))

    return fit


def nystroem(rank):
    """scikit-learn's Nystroem on uniform landmarks."""

    def fit(X):
        X = X.astype(float)
        model = Nystroem(kernel="rbf", gamma=0.5 / WIDTH**2, n_components=rank, random_state=0).fit(X)
        Z = model.transform(X)
        return 1 - float((Z**2).sum() / len(X))

    return fit


def run(quick=False):
    """Rows; quick: 3,000 images at rank 100 and 20,000 synthetic rows."""
    n, rank, few, many = (3000, 100, 1000, 20_000) if quick else (30_000, 500, 5000, 1_000_000)
    images = f"MNIST {n} × 784, rank {rank}"
    kernel = gm.Gaussian(WIDTH)
    work = [
        (images, "random-cholesky", lambda: mnist(n), ours(kernel, rank, "random-cholesky")),
        (images, "cholesky (greedy)", lambda: mnist(n), ours(kernel, rank, "cholesky")),
        (images, f"scikit-learn KernelPCA, {few} rows", lambda: mnist(few), kernel_pca(rank)),
        (images, "scikit-learn Nystroem, fit and transform", lambda: mnist(n), nystroem(rank)),
        (
            f"synthetic {many} × 50, rank 200",
            "cholesky (greedy)",
            lambda: clusters(many),
            ours(gm.Gaussian(10.0), 200, "cholesky"),
        ),
    ]
    rows, base = [], {}
    for case, method, make, fit in work:
        row = measured(make, fit)
        base.setdefault(case, row["cpu_s"])
        rows.append({"case": case, "method": method} | row | {"ratio": row["cpu_s"] / base[case]})
    return rows
