"""The basis of kernel features: pivots of a Cholesky factor, landmarks, or points that are given."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from gramian import linalg
from gramian._arrays import asarray, to_numpy
from gramian.features.cholesky import PivotedCholesky, factorize
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
        picks = rng.choice(len(level), min(k, int(np.count_nonzero(share))), replace=False, p=share)
        rows = level[picks]
        weights = 1 / np.sqrt(np.minimum(k * share[picks], 1.0))
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
    for block in linalg.blocks(len(level), 24 * len(rows), of=X):
        G = kernel._gram(take(X, level[block]), basis)
        scores[block] = diagonal[block] - to_numpy(linalg.row_norms(G @ turn))
    return np.maximum(scores, 1e-12 * max(diagonal.max(), np.finfo(float).tiny))


Choice = Literal["cholesky", "random-cholesky", "kmeans", "uniform", "leverage", "all"]
OWNER = "KernelFeatures"


@dataclass(frozen=True, eq=False)
class Basis:
    """Basis points, the factor of their Gram matrix, and the training coordinates where these come for free."""

    points: Any
    factor: PivotedCholesky
    coordinates: np.ndarray | None = None


def choose(kernel: Kernel, X: Any, basis: Any, size: int | None, tol: float, rng: np.random.RandomState) -> Basis:
    """The basis that a word asks for, or the points that are given."""
    if not isinstance(basis, str):
        points = given(kernel, X, basis)
        return Basis(points, factorize(kernel, points))
    if basis in ("cholesky", "random-cholesky"):
        outer = factorize(kernel, X, size, tol, greedy=basis == "cholesky", rng=rng)
        L = take(outer.factor, outer.pivots)
        inner = PivotedCholesky(L, np.arange(L.shape[0]), outer.residual, outer.trace)
        return Basis(take(X, outer.pivots), inner, outer.factor)
    points = drawn(kernel, X, basis, size, rng)
    return Basis(points, factorize(kernel, points))


def given(kernel: Kernel, X: Any, points: Any) -> Any:
    """A copy of the caller's points, which may change later."""
    points = kernel.check(points, "basis")
    if kernel.on_vectors and points.shape[1] != X.shape[1]:
        raise ValueError(f"{OWNER}: basis must have {X.shape[1]} features, got {points.shape[1]}.")
    return take(points, np.arange(count(points)))


def drawn(kernel: Kernel, X: Any, basis: str, size: int | None, rng: np.random.RandomState) -> Any:
    """Landmarks: all points, centers of clusters, or some points."""
    if basis == "all":
        return take(X, np.arange(count(X)))
    if size is None:
        raise ValueError(f"{OWNER}: basis={basis!r} needs rank or n_basis, got None for both.")
    if basis == "kmeans":
        if not kernel.on_vectors:
            raise ValueError(f"{OWNER}: basis='kmeans' needs a kernel on vectors; use 'random-cholesky'.")
        return kmeans_centers(X, size, rng)
    if basis == "leverage":
        return take(X, leverage(kernel, X, size, rng))
    return take(X, uniform(count(X), size, rng))
