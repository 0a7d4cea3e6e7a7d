"""Rivals of geometry-aware kernels: kernels of Laplacian eigenvectors, and colored maximum variance unfolding."""

from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression, nnls

from gramian import _validate, linalg
from gramian.constraints import Labels
from gramian.manifold import laplacian, neighbors
from gramian.manifold.eigen import smallest_eigenvectors
from gramian.manifold.families import smoothest
from gramian.manifold.graph import adjacency


def order_constrained_factor(A: Any, y: Any, *, n_eigenvectors: int = 200, normalized: bool = False) -> np.ndarray:
    """F (n, r) with FFᵀ = Σ α_i v_i v_iᵀ, α₁ ≥ … ≥ α_r ≥ 0, best aligned with the labels (Zhu et al., 2004).

    max ⟨K_ll, T⟩ / ‖K_ll‖ with T_ij = 1 for equal labels and −1/(C − 1) otherwise, over labeled points; −1 in y is
    unlabeled. In steps s_i = α_i − α_{i+1} ≥ 0 the alignment of Σ s_i V_i V_iᵀ (V_i the first i vectors) is a
    nonnegative least-squares fit of T, so no quadratic program is needed. The constant vector is left out, their
    "improved order". ``A`` is an adjacency matrix, or its :func:`graph_basis`.
    """
    _, V = smoothest(A, n_eigenvectors, normalized)
    rank_one, target = alignment_entries(V, y, "order_constrained_factor")
    steps, _ = nnls(np.cumsum(rank_one, axis=1), target, maxiter=50 * V.shape[1])
    return V * np.sqrt(np.cumsum(steps[::-1])[::-1])


def maximal_alignment_factor(A: Any, y: Any, *, n_eigenvectors: int = 200, normalized: bool = False) -> np.ndarray:
    """F (n, r) with FFᵀ = Σ α_i v_i v_iᵀ, α ≥ 0 in any order, best aligned with the labels (Lanckriet et al., 2004).

    The rival of :func:`order_constrained_factor` without its order; arguments are the same.
    """
    _, V = smoothest(A, n_eigenvectors, normalized)
    rank_one, target = alignment_entries(V, y, "maximal_alignment_factor")
    alpha, _ = nnls(rank_one, target, maxiter=50 * V.shape[1])
    return V * np.sqrt(alpha)


def gaussian_process_factor(A: Any, y: Any, *, n_eigenvectors: int = 200, normalized: bool = False) -> np.ndarray:
    """F (n, r) with FFᵀ = M, the spectral kernel nearest to K = yyᵀ (Jain 2009, §6.3.2): step B alone.

    y holds numbers, or ±1 of two classes, at all points; M maximizes the likelihood of y under a Gaussian process.
    """
    _, V = smoothest(A, n_eigenvectors, normalized)
    target = _validate.vector(y, "gaussian_process_factor", "y", len(V))
    alpha = isotonic_regression((V.T @ target) ** 2, increasing=False).x
    return V * np.sqrt(alpha)


def alignment_entries(V: np.ndarray, y: Any, owner: str) -> tuple[np.ndarray, np.ndarray]:
    """Entries of the v_i v_iᵀ and of T at pairs of labeled points, as columns and a vector."""
    labels = Labels.from_array(y, owner, len(V), unknown=-1)
    labeled = np.flatnonzero(labels.codes >= 0)
    if len(labeled) < 2:
        raise ValueError(f"{owner}: needs at least two labeled points, got {len(labeled)}.")
    if V.shape[1] == 0:
        raise ValueError(f"{owner}: A must have eigenvectors beside the constant one, got {len(V)} point(s).")
    C = max(len(labels.classes), 2)
    same = labels.codes[labeled][:, None] == labels.codes[labeled]
    T = np.where(same, 1.0, -1.0 / (C - 1))
    upper = np.triu_indices(len(labeled))
    return V[labeled][upper[0]] * V[labeled][upper[1]], T[upper]


def colored_unfolding_factor(
    X: Any,
    y: Any,
    *,
    n_eigenvectors: int = 20,
    n_neighbors: int = 10,
    weight: float = 100.0,
    max_iter: int = 500,
    tol: float = 1e-6,
) -> np.ndarray:
    """F (n, r) with FFᵀ = K: as dependent on the labels as neighbors that keep their distances allow.

    max ⟨K, HTH⟩ − weight · mean over neighbors (K_ii + K_jj − 2K_ij − ‖x_i − x_j‖²)², with T_ij = 1 for equal labels;
    points without a label (−1) have none. K = VBVᵀ with B ⪰ 0 on the smoothest eigenvectors V of the neighbor
    graph, as Weinberger et al. (2007) solve large problems of this kind; both terms are in units in which they are of
    order one. A quadratic problem in B, by accelerated projected gradient.
    """
    owner = "colored_unfolding_factor"
    X = _validate.points(X, owner)
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
