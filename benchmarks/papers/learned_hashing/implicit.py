"""Figures 4.3, 4.6 and 4.7: implicit hashing of sparse, high-dimensional data."""

import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

import gramian as gm
from benchmarks import harness
from benchmarks.papers.learned_hashing import error, picture
from benchmarks.speed.newsgroups import tfidf

TITLE = "Learned hashing, sparse and high-dimensional (thesis Figures 4.3, 4.6, 4.7)"
NOTES = """
Hashing keeps the error of the scan here, but learning gains nothing on documents, and a scan that keeps norms and
coordinates is faster than hashing. Caltech-101 and Flickr scenes are not to be had. *newsgroups20* (18,846 documents
× 29,055 words, tf-idf) has a linear kernel on sparse histograms: `ITML(rank=100)`, 3-NN error of 600 test documents
of the by-date split against the training documents. *coil20* takes the place of the pyramid match on local features:
every image is the set of its 8 × 8 patches (stride 4, variance above a tenth of the mean), six principal components
and the position each, `PyramidMatch` in 2²⁰ dimensions. *coil20, PDK* has the same patches as words of a codebook of
40 (k-means on training patches) with their places, `ProximityDistribution` with 8 ranks. Both with `Kernelized(ITML)`
on 50 basis images, 15 images per object in the database as in the thesis, 200 queries, 1-NN, two draws of images (one
with the PDK). Keys of 512 bits; ε sets the number of candidates, the 2N^{1/(1+ε)} nearest codes. Notes have the
standard error over queries, and CPU time of the scan over that of hashing, all queries in one call, medians of three:
our exact scan, and on documents also a scan that keeps norms and learned coordinates and makes two products. No
number of the thesis applies to these data.
"""
EPSILONS = (0.5, 1.0, 1.5, 2.5)


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Errors and shares on all sets, and their pictures."""
    warnings.simplefilter("ignore")
    rows = []
    for name in ("newsgroups20", "coil20", "coil20, PDK"):
        draws = []
        for seed in range(1 if quick or name != "coil20" else 2):
            work = partial(newsgroups, quick) if name == "newsgroups20" else partial(coil, seed, quick, name)
            draws.append(work() if quick else harness.remembered("implicit", (__file__, name, seed), work))
        rows += told(name, draws, 3 if name == "newsgroups20" else 1)
    return rows


def newsgroups(quick: bool) -> dict[str, list]:
    """Documents as sparse vectors."""
    data = harness.load("newsgroups20_counts")
    X, step = tfidf(data.X), 6 if quick else 1
    full = np.diff(X.indptr) > 0
    train, test = data.train_idx[full[data.train_idx]][::step], data.test_idx[full[data.test_idx]]
    test = np.random.default_rng(0).permutation(test)[: 50 if quick else 600]
    learned = gm.ITML(rank=100, n_pairs=5000, random_state=0, anchor=0).fit(X[train], data.y[train]).metric_
    plain = gm.SubspaceMahalanobis(learned.basis, np.eye(len(learned.core)), alpha=1.0)
    split = X[train], data.y[train], X[test], data.y[test]
    return compare({"original": plain, "learned": learned}, split, 3, timed=True)


def coil(seed: int, quick: bool, name: str) -> dict[str, list]:
    """Images as sets of patches: one draw of database and queries."""
    data = harness.load("coil20_32x32")
    order = np.random.default_rng(seed).permutation(len(data.y))
    chosen = [order[data.y[order] == c] for c in np.unique(data.y)]
    train = np.concatenate([rows[:15] for rows in chosen])
    test = np.concatenate([rows[15 : 18 if quick else 25] for rows in chosen])
    sets = patches(np.asarray(data.X, dtype=float).reshape(-1, 32, 32), train)
    kernel: Any = gm.PyramidMatch(side=0.25, n_levels=7, n_grids=2)
    if "PDK" in name:
        sets, kernel = words(sets, train), gm.ProximityDistribution(40, 8)
    base, queries = [sets[i] for i in train], [sets[i] for i in test]
    learner = gm.Kernelized(gm.ITML(random_state=0, n_pairs=2000, anchor=0), kernel, rank=50, random_state=0)
    learned = learner.fit(base, data.y[train]).metric_
    plain = gm.KernelMetric(learned.features, np.eye(len(learned.core)), alpha=1.0)
    split = base, data.y[train], queries, data.y[test]
    return compare({"original": plain, "learned": learned}, split, 1)


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


def words(sets: list[np.ndarray], train: np.ndarray, n_words: int = 40) -> list[np.ndarray]:
    """Sets of (word, place): the nearest of k-means centers of training patches."""
    book = KMeans(n_words, n_init=1, random_state=0).fit(np.concatenate([sets[i][:, :-2] for i in train]))
    return [np.column_stack([book.predict(A[:, :-2]), A[:, -2:]]) if len(A) else np.zeros((0, 3)) for A in sets]


def compare(metrics: dict, split: tuple, k: int, timed: bool = False) -> dict[str, list]:
    """Metric and ε → error, share compared, speeds; ε = 0 is the scan. Speeds where ``timed``."""
    X, y, Q, truth = split
    found: dict[str, list] = {"queries": [len(truth)]}
    for label, metric in metrics.items():
        exact = gm.ExactIndex(metric).add(X)
        found[f"{label}, 0.0"] = [error(exact, y, Q, truth, k), 1.0, None]
        scan = harness.cpu_time(lambda exact=exact: exact.query(Q, k)) if timed else 0.0
        kept = harness.cpu_time(kept_norms(metric, X, Q, k)) if timed else 0.0
        index = gm.KernelHashIndex(metric, 512, epsilon=1.0, random_state=0).add(X)
        for epsilon in EPSILONS:
            index.epsilon = epsilon  # it sets the number of candidates of a query, not the codes
            wrong, part = error(index, y, Q, truth, k), float(index.compared(Q[:1], k)[0]) / len(index)
            seconds = harness.cpu_time(lambda index=index: index.query(Q, k)) if timed else None
            speed = None if seconds is None else [scan / seconds, kept / seconds]
            found[f"{label}, {epsilon}"] = [wrong, part, speed]
    return found


def kept_norms(metric: Any, X: Any, Q: Any, k: int) -> Any:
    """A scan under αI + U(C − αI)Uᵀ that keeps norms and coordinates of the items, and makes two products."""
    U, core = metric.basis, metric.core - metric.alpha * np.eye(len(metric.core))
    Z = np.asarray(X @ U)
    norms = metric.alpha * np.asarray(X.multiply(X).sum(axis=1)).ravel() + np.einsum("ij,ij->i", Z @ core, Z)

    def search() -> np.ndarray:
        near = []
        for begin in range(0, Q.shape[0], 100):
            q = Q[begin : begin + 100]
            inner = metric.alpha * np.asarray((q @ X.T).todense()) + np.asarray(q @ U) @ (core @ Z.T)
            near.append(np.argpartition(norms - 2 * inner, k, axis=1)[:, :k])
        return np.concatenate(near)

    return search


def told(name: str, draws: list[dict[str, list]], k: int) -> list[dict[str, Any]]:
    """Rows of one set, and its picture."""
    asked = sum(found["queries"][0] for found in draws)
    rows, errors, shares = [], {}, {}
    for label in ("original", "learned"):
        means = {e: float(np.mean([found[f"{label}, {e}"][0] for found in draws])) for e in (0.0, *EPSILONS)}
        parts = {e: draws[0][f"{label}, {e}"][1] for e in (0.0, *EPSILONS)}
        for epsilon, value in means.items():
            note = f"± {np.sqrt(value * (1 - value) / asked):.3f}, {parts[epsilon]:.1%} searched"
            speed = draws[0][f"{label}, {epsilon}"][2]
            if speed is not None:
                note += f", {speed[0]:.1f} times our exact scan, {speed[1]:.1f} times the scan that keeps norms"
            case = f"{name}, {label}" + (f", ε = {epsilon}" if epsilon else "")
            method = "hashing" if epsilon else "linear scan"
            rows.append({"case": case, "method": method, "ours": value, "note": note})
        errors[f"{label}, linear scan"] = (list(EPSILONS), [means[0.0]] * len(EPSILONS))
        errors[f"{label}, hashing"] = (list(EPSILONS), [means[e] for e in EPSILONS])
        shares[f"{label}, hashing"] = (list(EPSILONS), [parts[e] for e in EPSILONS])
    title = "learned_hashing_" + name.replace(", ", "_").lower()
    picture(title, [(name, "ε", f"{k}-NN error", errors), (name, "ε", "share searched", shares)])
    return [{"table": f"error, {name}", "paper": None, **row} for row in rows]
