"""Bases that are not pivots: k-means centers, uniform draws, ridge leverage scores."""

from typing import Any

import numpy as np
from scipy import sparse

from gramian import linalg
from gramian._arrays import asarray, to_numpy
from gramian.kernels.base import Kernel
from gramian.linalg import count, take


def uniform(n: int, k: int, rng: np.random.RandomState) -> np.ndarray:
    """Draw k distinct rows, each equally likely."""
    return rng.choice(n, min(k, n), replace=False)


def kmeans_centers(X: Any, k: int, rng: np.random.RandomState, sample: int = 20_000) -> Any:
    """The k centers of k-means in the input space, fitted on at most ``sample`` points (Zhang, Tsang and Kwok 2008)."""
    from sklearn.cluster import KMeans

    rows = uniform(X.shape[0], sample, rng) if X.shape[0] > sample else slice(None)
    points = to_numpy(take(X, rows))
    if not sparse.issparse(points) and (distinct := np.unique(points, axis=0)).shape[0] <= k:
        return distinct.astype(np.float64)
    model = KMeans(min(k, points.shape[0]), n_init=1, max_iter=30, random_state=rng).fit(points)
    centers = model.cluster_centers_.astype(np.float64)
    return sparse.csr_array(centers) if sparse.issparse(X) else centers


def leverage(kernel: Kernel, X: Any, k: int, rng: np.random.RandomState) -> np.ndarray:
    """Draw k rows by approximate ridge leverage scores, halving the data recursively (Musco and Musco 2017, Alg. 3).

    The score of point i is ℓ_i = (K (K + λI)⁻¹)_ii with λ = (1/k) Σ_{j > k/2} λ_j(K), the eigenvalues in falling order;
    it is estimated from the sample of the half-sized problem, never from K itself.
    """
    n = count(X)
    levels = [rng.permutation(n)]
    while len(levels[-1]) > 4 * k:
        levels.append(levels[-1][: len(levels[-1]) // 2])
    smallest = levels.pop() if len(levels) > 1 else levels[0]
    rows = smallest[:k]
    weights = np.full(len(rows), np.sqrt(len(smallest) / len(rows)))
    for level in reversed(levels):
        scores = leverage_scores(kernel, X, level, rows, weights, k)
        share = scores / scores.sum()
        chosen = rng.choice(len(level), min(k, int(np.count_nonzero(share))), replace=False, p=share)
        rows = level[chosen]
        weights = 1 / np.sqrt(np.minimum(k * share[chosen], 1.0))
    return rows


def leverage_scores(
    kernel: Kernel, X: Any, level: np.ndarray, rows: np.ndarray, weights: np.ndarray, k: int
) -> np.ndarray:
    """Ridge leverage scores of the points of a level, from weighted sample points."""
    basis = take(X, rows)
    K = to_numpy(kernel._gram(basis, basis)) * weights[:, None] * weights
    diagonal = to_numpy(kernel._diag(take(X, level)))
    values, vectors = linalg.eigh(linalg.symmetrize(K))
    values = np.maximum(values, 0)
    tail = max(diagonal.sum() - values[-max(k // 2, 1) :].sum(), 1e-8 * abs(diagonal.sum()))
    ridge = max(tail / k, np.finfo(float).tiny)
    root = vectors / np.sqrt(values + ridge)
    scores = np.empty(len(level))
    turn = asarray(weights[:, None] * root, X)
    for part in linalg.blocks(len(level), 24 * len(rows), of=X):
        G = kernel._gram(take(X, level[part]), basis)
        scores[part] = diagonal[part] - to_numpy(linalg.row_norms(G @ turn))
    return np.maximum(scores, 1e-12 * max(diagonal.max(), np.finfo(float).tiny))
