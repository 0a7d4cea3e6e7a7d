"""ITML in high dimension: 20 newsgroups as sparse tf-idf, d × d never formed."""

import warnings
from typing import Any

import numpy as np
from scipy import sparse

import gramian as gm
from benchmarks import harness

TITLE = "ITML on 20 newsgroups, 29,055 dimensions"
NOTES = """
18,846 documents × 29,055 words as sparse tf-idf, rows of unit length; 10,000 pairs from the labels of the training part
(by date), ``ITML(rank=r)`` with the subspace of a truncated SVD and weight 1 outside of it. Peak memory is that of a
whole process that holds the data and fits. Accuracy is 3-NN from the training to the test documents.
"""


def run(quick: bool = False) -> list[dict[str, Any]]:
    """One row per rank, after one for the Euclidean distance."""
    warnings.simplefilter("ignore")
    data = harness.load("newsgroups20_counts")
    X, train, test = tfidf(data.X), data.train_idx, data.test_idx
    y, y_test = data.y[train], data.y[test]
    if quick:
        train, test, y, y_test = train[:2000], test[:500], y[:2000], y_test[:500]
    rows = [{"case": "Euclidean", "method": "-", "accuracy": accuracy(None, X[train], y, X[test], y_test)}]
    for rank in (50,) if quick else (100, 200):
        fit = lambda r=rank: gm.ITML(rank=r, n_pairs=10_000, random_state=0).fit(X[train], y)  # noqa: E731
        seconds, learner = harness.timed(fit, repeats=1, warmup=1)
        row = {
            "case": f"rank {rank}",
            "method": "gramian",
            "cpu_s": seconds,
            "ratio": 1.0,
            "iterations": learner.n_iter_,
        }
        row["peak_GB"] = harness.peak_memory(fit) / 1e9
        rows.append(row | {"accuracy": accuracy(learner.metric_, X[train], y, X[test], y_test)})
    return rows


def tfidf(counts: sparse.csr_array) -> sparse.csr_array:
    """log(1 + count) · (log((1 + n)/(1 + df)) + 1), rows scaled to unit length."""
    n = counts.shape[0]
    df = np.bincount(counts.indices, minlength=counts.shape[1])
    X = counts.copy()
    X.data = np.log1p(X.data) * (np.log((1 + n) / (1 + df)) + 1)[X.indices]
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return sparse.csr_array(sparse.diags_array(1 / np.maximum(norms, 1e-12)) @ X)


def accuracy(metric: Any, X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray, k: int = 3) -> float:
    """Accuracy of k-NN, in blocks of test documents."""
    hits = 0
    for start in range(0, len(y_test), 500):
        part = slice(start, start + 500)
        D = gm.linalg.sqdist(X_test[part], X) if metric is None else metric.sqdist(X_test[part], X)
        near = y[np.argpartition(D, k, axis=1)[:, :k]]
        votes = (near[:, :, None] == np.arange(20)).sum(axis=1)
        hits += int((votes.argmax(axis=1) == y_test[part]).sum())
    return hits / len(y_test)
