"""ITML in high dimension: 20 newsgroups as sparse tf-idf, d × d never formed."""

import warnings
from typing import Any

import numpy as np
from scipy import sparse

import gramian as gm
from benchmarks import harness

TITLE = "ITML on 20 newsgroups, 29,055 dimensions"
NOTES = """
18,846 documents × 29,055 words as sparse tf-idf, rows of unit length; `ITML(rank=r)` with 10,000 pairs from the labels,
the subspace of a truncated SVD, and weight 1 outside of it. CPU seconds and peak memory (of a whole process that holds
the data and fits) are of a fit to all documents. Accuracy is 3-NN on the test documents of the by-date split, learned
from and searched in the training documents; the 22 empty ones are left out, because they would be everybody's nearest
neighbors.
"""


def run(quick: bool = False) -> list[dict[str, Any]]:
    """One row per rank, after one for the Euclidean distance; the quick form uses every eighth document."""
    warnings.simplefilter("ignore")
    data = harness.load("newsgroups20_counts")
    X, step = tfidf(data.X), 8 if quick else 1
    train, test = data.train_idx[np.diff(X.indptr)[data.train_idx] > 0][::step], data.test_idx[::step]
    split = X[train], data.y[train], X[test], data.y[test]
    rows = [{"case": "Euclidean", "method": "-", "accuracy": accuracy(None, *split)}]
    for rank in (50,) if quick else (100, 200):
        learner = gm.ITML(rank=rank, n_pairs=10_000, random_state=0, anchor=0)
        fit = lambda learner=learner: learner.fit(X[::step], data.y[::step])  # noqa: E731
        seconds, fitted = harness.timed(fit, repeats=1, warmup=1)
        row = {
            "case": f"rank {rank}",
            "method": "gramian",
            "cpu_s": seconds,
            "ratio": 1.0,
            "iterations": fitted.n_iter_,
        }
        row["peak_GB"] = harness.peak_memory(fit) / 1e9
        rows.append(row | {"accuracy": accuracy(learner.fit(*split[:2]).metric_, *split)})
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
