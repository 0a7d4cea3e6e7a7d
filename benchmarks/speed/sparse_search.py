"""Implicit hashing against the scan: sparse documents under a metric that is never formed."""

import warnings
from typing import Any

import numpy as np
from scipy import sparse

import gramian as gm
from benchmarks import harness
from benchmarks.speed.newsgroups import tfidf
from gramian.search.evaluation import recall_at_k

TITLE = "Nearest neighbors of sparse documents, implicit hashing"
NOTES = """
20 newsgroups as tf-idf, some 110 of 29,055 words a document, under `ITML(rank=100)` (weight 1 outside of the subspace);
k = 10, 512 bits, 200 queries in one call, CPU time a query with hashing of the queries. *documents* are random parts of
the collection: distances between documents are much alike, and a guarantee of recall costs the comparison of a large
share. *thinned copies* are documents with three words in ten left out at random, some twenty of each, queries too: near
neighbors stand out. `recall = 0.99` is the default; ε asks for the 2n^{1/(1+ε)} nearest codes and promises
nothing. *ratio* is the time of the exact scan, which keeps norms,
coordinates and postings, over that of the row's method: above one hashing wins.
"""
K, N_BITS, N_QUERIES = 10, 512, 200


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Rows for growing numbers of items; the quick form stops at 4,000."""
    warnings.simplefilter("ignore")
    data, rng = harness.load("newsgroups20_counts"), np.random.default_rng(0)
    X = tfidf(data.X)
    full = rng.permutation(np.flatnonzero(np.diff(X.indptr) > 20))
    some = full[:3000]
    metric = (
        gm.ITML(rank=20 if quick else 100, n_pairs=2000, random_state=0, anchor=0).fit(X[some], data.y[some]).metric_
    )
    m, rows = 50 if quick else N_QUERIES, []
    for n in (1000, 4000) if quick else (1000, 2000, 4000, 8000, 16000):
        rows += case(f"documents, n = {n:,}", metric, X[full[m : m + n]], X[full[:m]])
    for n in (4000,) if quick else (10_000, 20_000):
        draw = np.random.default_rng(n)
        items = thinned(X[draw.choice(full[: n // 20], n + m)], draw)
        rows += case(f"thinned copies, n = {n:,}", metric, items[m:], items[:m])
    return rows


def thinned(X: sparse.csr_array, rng: np.random.Generator) -> sparse.csr_array:
    """Rows with three entries in ten left out, of unit length again."""
    kept = rng.random(X.nnz) < 0.7
    pointers = np.concatenate([[0], np.cumsum(kept)])[X.indptr]
    Y = sparse.csr_array((X.data[kept], X.indices[kept], pointers), shape=X.shape)
    norms = np.sqrt(np.asarray(Y.multiply(Y).sum(axis=1)).ravel())
    return sparse.csr_array(sparse.diags_array(1 / np.maximum(norms, 1e-12)) @ Y)


def case(name: str, metric: Any, X: Any, Q: Any) -> list[dict[str, Any]]:
    """The scan, and hashing with and without a guarantee."""
    exact = gm.ExactIndex(metric).add(X)
    scan, (true, _) = harness.timed(lambda: exact.query(Q, K))
    rows = [{"method": "ExactIndex", "recall": 1.0, "share": 1.0, "cpu_s": scan / Q.shape[0], "ratio": 1.0}]
    for label, settings in {"recall = 0.99": {}, "ε = 0.5": {"epsilon": 0.5}, "ε = 1": {"epsilon": 1.0}}.items():
        make = lambda settings=settings: gm.KernelHashIndex(metric, N_BITS, random_state=0, **settings).add(X)  # noqa: E731
        build, index = harness.timed(make, repeats=1, warmup=0)
        index.query(Q[:2], K)  # compile
        seconds, (found, _) = harness.timed(lambda index=index: index.query(Q, K), repeats=3, warmup=0)
        row = {"recall": recall_at_k(found, true), "share": index.compared(Q, K).mean() / len(index)}
        row |= {"cpu_s": seconds / Q.shape[0], "ratio": scan / seconds, "build_s": build}
        rows.append({"method": f"KernelHashIndex, {label}", **row})
    return [{"case": name, **row} for row in rows]
