"""Colored maximum variance unfolding, a rival of geometry-aware kernels (Song et al., 2007)."""

from typing import Any

import numpy as np

from gramian import _checks, linalg
from gramian._settings import Count, Positive, Size, checked
from gramian.constraints import Labels
from gramian.manifold.eigen import smallest_eigenvectors
from gramian.manifold.graph import adjacency, laplacian
from gramian.manifold.neighbors import neighbors


@checked
def colored_unfolding_factor(
    X: Any,
    y: Any,
    *,
    n_eigenvectors: Count = 20,
    n_neighbors: Count = 10,
    weight: Positive = 100.0,
    max_iter: Count = 500,
    tol: Size = 1e-6,
) -> np.ndarray:
    """F (n, r) with FFᵀ = K: as dependent on the labels as neighbors that keep their distances allow.

    max ⟨K, HTH⟩ − weight · mean over neighbors (K_ii + K_jj − 2K_ij − ‖x_i − x_j‖²)², with T_ij = 1 for equal labels;
    points without a label (−1) have none. K = VBVᵀ with B ⪰ 0 on the smoothest eigenvectors V of the neighbor
    graph, as Weinberger et al. (2007) solve large problems of this kind; both terms are in units in which they are of
    order one. A quadratic problem in B, by accelerated projected gradient.

    Examples
    --------
    >>> import gramian as gm
    >>> from gramian.manifold import colored_unfolding_factor
    >>> moons = gm.datasets.moons(80, random_state=0)
    >>> colored_unfolding_factor(moons.X, moons.y, n_eigenvectors=8).shape
    (80, 8)
    """
    owner = "colored_unfolding_factor"
    X = _checks.points(X, owner)
    labels = Labels.from_array(y, owner, X.shape[0], unknown=-1)
    if len(labels.classes) == 0:
        raise ValueError(f"{owner}: needs labels, got none; −1 stands for unknown.")
    ids, D = neighbors(X, n_neighbors)
    V = smooth_vectors(ids, n_eigenvectors)
    i = np.repeat(np.arange(len(ids)), ids.shape[1])
    edges = (V[i] - V[ids.ravel()]) * np.sqrt(len(V))
    lengths = D.ravel() / max(D.mean(), np.finfo(float).tiny)
    gain = dependence(V, labels.codes)
    B = maximized(gain, edges, lengths, weight, max_iter, tol)
    values, vectors = linalg.eigh(B)
    return linalg.oriented(V @ (vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1])


def smooth_vectors(ids: np.ndarray, r: int) -> np.ndarray:
    """The smoothest vectors of the graph of these neighbors, constant left out."""
    A = adjacency(ids, None, len(ids))
    L, trivial = laplacian(A.maximum(A.T))
    return smallest_eigenvectors(L, r, trivial).vectors


def dependence(V: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """VᵀHTHV of trace one: sums over the points of each class."""
    centered = V - V.mean(axis=0)
    sums = np.array([centered[codes == c].sum(axis=0) for c in range(codes.max(initial=-1) + 1)])
    G = sums.T @ sums
    return G / max(float(np.trace(G)), np.finfo(float).tiny)


def maximized(
    gain: np.ndarray, edges: np.ndarray, lengths: np.ndarray, weight: float, max_iter: int, tol: float
) -> np.ndarray:
    """max ⟨B, gain⟩ − weight/2 · mean (aᵀBa − ℓ)² over B ⪰ 0, a the rows of ``edges``."""
    r = len(gain)
    squares = np.einsum("ei,ej->eij", edges, edges).reshape(len(edges), -1)
    Q = weight * squares.T @ squares / len(edges)
    linear = gain.ravel() + weight * squares.T @ lengths / len(edges)
    step = 1 / max(float(np.linalg.eigvalsh(Q)[-1]), np.finfo(float).tiny)
    B = ahead = np.zeros(r * r)
    momentum = 1.0
    for _ in range(max_iter):
        moved = linalg.project_psd((ahead + step * (linear - Q @ ahead)).reshape(r, r)).ravel()
        faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = moved + (momentum - 1) / faster * (moved - B)
        change = float(np.linalg.norm(moved - B))
        B, momentum = moved, faster
        if change <= tol * max(float(np.linalg.norm(B)), tol):
            break
    return B.reshape(r, r)
