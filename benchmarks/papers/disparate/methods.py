"""The methods of §8.3 under one call, and scores in the order of the true labelings."""

import warnings
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.decomposition import NMF

import gramian as gm
from benchmarks.papers.disparate.heuristics import feature_removal, orthogonal_projection
from gramian.clustering import table
from gramian.clustering.points import Points
from gramian.clustering.starts import objective, representatives

FACTORIAL = {
    "Dec-kmeans": gm.DecorrelatedKMeans,
    "Conv-EM": gm.ConvolutionalEM,
    "CVQ": gm.CooperativeVQ,
    "MCVQ": gm.MultipleCauseVQ,
}


def kmeans(X: np.ndarray, k: tuple[int, int], seed: int, n_init: int) -> np.ndarray:
    """One clustering for each number of clusters: k-means knows of no second one."""
    return np.column_stack([KMeans(size, n_init=n_init, random_state=seed).fit_predict(X) for size in k])


def nmf(X: np.ndarray, k: tuple[int, ...], seed: int, n_init: int) -> np.ndarray:
    """The largest factor of each point, of the best of several starts; data below zero are moved (footnote 2)."""
    X = X - np.minimum(X.min(axis=0), 0)
    columns = []
    for size in k:
        fits = []
        for start in range(n_init):
            init = "nndsvda" if start == 0 else "random"
            model = NMF(size, init=init, random_state=seed + start, max_iter=200)
            weights = model.fit_transform(X)
            # Factors of equal size, or the largest weight would say how large a factor is.
            fits.append((model.reconstruction_err_, weights * np.linalg.norm(model.components_, axis=1)))
        columns.append(min(fits, key=lambda fit: fit[0])[1].argmax(axis=1))
    return np.column_stack(columns)


def labels(method: str, X: np.ndarray, k: tuple[int, int], seed: int, n_init: int = 10) -> np.ndarray:
    """Labels (n, 2) of one method."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method in FACTORIAL:
            return FACTORIAL[method](k, n_init=n_init, random_state=seed).fit(X).labels_
        if method == "FR":
            return feature_removal(X, k, n_init=n_init, random_state=seed)
        if method == "OP":
            return orthogonal_projection(X, k, n_init=n_init, random_state=seed)
        return {"k-means": kmeans, "NNMA": nmf}[method](X, k, seed, n_init)


def scores(found: np.ndarray, truth: np.ndarray, k: tuple[int, int], score: str, method: str) -> Any:
    """Score for each true labeling, by the best one-to-one pairing of clusterings with labelings of their size.

    Methods with a single clustering are held against every labeling.
    """
    values = table(found, truth, score=score)
    if method in ("k-means", "NNMA"):
        return np.diag(values)
    sizes = np.array(k)
    rows, columns = linear_sum_assignment(np.where(sizes[:, None] == sizes, -values, np.inf))
    return values[rows, columns][np.argsort(columns)]


def at_labels(X: np.ndarray, y: np.ndarray, k: tuple[int, int], lam: float) -> float:
    """(8.1) of given labels at their best centers."""
    points = Points.of(X)
    S, counts = points.sums(y, k)
    return objective(points.norms.sum(), S, counts, representatives(S, counts, k, lam)[1], k, lam)


def error(values: np.ndarray) -> float:
    """Standard error of the mean."""
    return float(np.std(values) / np.sqrt(len(values)))
