"""Figures 4.3, 4.6 and 4.7: implicit hashing of sparse, high-dimensional data."""

import warnings
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

import gramian as gm
from benchmarks import harness
from benchmarks.papers.learned_hashing import error, picture
from benchmarks.speed.newsgroups import tfidf

TITLE = "Learned hashing, sparse and high-dimensional (thesis Figures 4.3, 4.6, 4.7)"
NOTES = """
The pose images, Caltech-101 and Flickr scenes of the thesis are not to be had. *newsgroups20* (18,846 documents ×
29,055 words, tf-idf) takes the place of the linear kernel on sparse histograms: `ITML(rank=100)`, 3-NN error of 200
test documents of the by-date split against the training documents. *coil20* takes the place of the pyramid match on
local features: every image is the set of its 8 × 8 patches (stride 4, variance above a tenth of the mean), six
principal components and the position each, `PyramidMatch` in 2²⁰ dimensions, `Kernelized(ITML)` on 50 basis images,
15 images per object in the database as in the thesis, 200 queries, 1-NN. Keys of 512 bits; ε sets the number of
candidates, the 2N^{1/(1+ε)} nearest codes. The speed-up is CPU time of our exact scan over our hashed search, all
queries in one call: a scan of 300 sets is a few sparse products, which hashing cannot beat; on eleven thousand
documents it does. No number of the thesis applies to these data.
"""
EPSILONS = (0.5, 1.0, 1.5, 2.5)


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Errors and shares on both data sets, and their pictures."""
    warnings.simplefilter("ignore")
    return [*newsgroups(quick), *coil(quick)]


def newsgroups(quick: bool) -> list[dict[str, Any]]:
    """Documents as sparse vectors."""
    data = harness.load("newsgroups20_counts")
    X, step = tfidf(data.X), 6 if quick else 1
    full = np.diff(X.indptr) > 0
    train, test = data.train_idx[full[data.train_idx]][::step], data.test_idx[full[data.test_idx]]
    test = np.random.default_rng(0).permutation(test)[: 50 if quick else 200]
    learned = gm.ITML(rank=100, n_pairs=5000, random_state=0, anchor=0).fit(X[train], data.y[train]).metric_
    plain = gm.SubspaceMahalanobis(learned.basis, np.eye(len(learned.core)), alpha=1.0)
    split = X[train], data.y[train], X[test], data.y[test]
    return compare("newsgroups20", {"original": plain, "learned": learned}, *split, k=3)


def coil(quick: bool) -> list[dict[str, Any]]:
    """Images as sets of patches."""
    data = harness.load("coil20_32x32")
    rng = np.random.default_rng(0)
    order = rng.permutation(len(data.y))
    chosen = [order[data.y[order] == c] for c in np.unique(data.y)]
    train = np.concatenate([rows[:15] for rows in chosen])
    test = np.concatenate([rows[15 : 18 if quick else 25] for rows in chosen])
    sets = patches(np.asarray(data.X, dtype=float).reshape(-1, 32, 32), train)
    base, queries = [sets[i] for i in train], [sets[i] for i in test]
    kernel = gm.PyramidMatch(side=0.25, n_levels=7, n_grids=2)
    learner = gm.Kernelized(gm.ITML(random_state=0, n_pairs=2000, anchor=0), kernel, rank=50, random_state=0)
    learned = learner.fit(base, data.y[train]).metric_
    plain = gm.KernelMetric(learned.features, np.eye(len(learned.core)), alpha=1.0)
    return compare("coil20", {"original": plain, "learned": learned}, base, data.y[train], queries, data.y[test], k=1)


def patches(images: np.ndarray, train: np.ndarray) -> list[np.ndarray]:
    """Sets of vectors: components of the patches fitted on training images, and twice the position."""
    windows = np.lib.stride_tricks.sliding_window_view(images, (8, 8), axis=(1, 2))[:, ::4, ::4]
    n, rows, columns = windows.shape[:3]
    flat = windows.reshape(n, rows * columns, 64)
    kept = flat.var(axis=2) > 0.1 * flat.var(axis=2).mean()
    pca = PCA(6, random_state=0).fit(flat[train][kept[train]])
    scale = np.sqrt(pca.explained_variance_.mean())
    place = 2.0 * np.stack(np.meshgrid(range(rows), range(columns), indexing="ij"), axis=-1).reshape(-1, 2) / rows
    return [np.hstack([pca.transform(flat[i][kept[i]]) / scale, place[kept[i]]]) for i in range(n)]


def compare(name: str, metrics: dict, X: Any, y: np.ndarray, Q: Any, y_query: np.ndarray, k: int) -> list[dict]:
    """Linear scan and hashing for several ε, under each metric."""
    rows, errors, shares = [], {}, {}
    for label, metric in metrics.items():
        exact = gm.ExactIndex(metric).add(X)
        scan, flat = harness.timed(lambda exact=exact: error(exact, y, Q, y_query, k), repeats=1, warmup=0)
        rows.append({"case": f"{name}, {label}", "method": "linear scan", "ours": flat, "note": "100% searched"})
        errors[f"{label}, linear scan"] = (list(EPSILONS), [flat] * len(EPSILONS))
        wrong, part = [], []
        for epsilon in EPSILONS:
            index = gm.KernelHashIndex(metric, 512, epsilon=epsilon, random_state=0).add(X)
            index.query(Q[:1], k)  # compile
            seconds, value = harness.timed(lambda i=index: error(i, y, Q, y_query, k), repeats=1, warmup=0)
            wrong.append(value)
            part.append(float(index.compared(Q[:1], k)[0]) / len(index))
            note = f"{part[-1]:.1%} searched, {scan / seconds:.1f} times the speed of the linear scan"
            rows.append({"case": f"{name}, {label}, ε = {epsilon}", "method": "hashing", "ours": value, "note": note})
        errors[f"{label}, hashing"], shares[f"{label}, hashing"] = (list(EPSILONS), wrong), (list(EPSILONS), part)
    picture(f"learned_hashing_{name}", [(name, "ε", f"{k}-NN error", errors), (name, "ε", "share searched", shares)])
    return [{"table": f"error, {name}", "paper": None, **row} for row in rows]
