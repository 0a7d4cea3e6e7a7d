"""Kernels made of Laplacian eigenvectors alone: what geometry-aware learning starts from and is compared with."""

from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression, nnls

from gramian import _checks
from gramian._settings import Count, Size, checked
from gramian.constraints import Labels
from gramian.manifold.eigen import Eigenvectors, smallest_eigenvectors
from gramian.manifold.families import diffusion
from gramian.manifold.graph import laplacian


@checked
def graph_basis(A: Any, n_eigenvectors: Count = 200, *, normalized: bool = False) -> Eigenvectors:
    """The smoothest eigenvectors of a graph's Laplacian, constant left out, to share between the kernels below."""
    L, trivial = laplacian(A, normalized)
    return smallest_eigenvectors(L, n_eigenvectors, trivial)


@checked
def diffusion_factor(A: Any, t: Size = 0.1, *, n_eigenvectors: Count = 200, normalized: bool = False) -> np.ndarray:
    """F (n, r) with FFᵀ = exp(−tL) on the smoothest eigenvectors, constant left out (Kondor and Lafferty, 2002).

    ``A`` is an adjacency matrix, or its :func:`graph_basis`.
    """
    values, V = _basis(A, n_eigenvectors, normalized)
    return V * np.sqrt(diffusion(values, t))


@checked
def order_constrained_factor(A: Any, y: Any, *, n_eigenvectors: Count = 200, normalized: bool = False) -> np.ndarray:
    """F (n, r) with FFᵀ = Σ α_i v_i v_iᵀ, α₁ ≥ … ≥ α_r ≥ 0, best aligned with the labels (Zhu et al., 2004).

    max ⟨K_ll, T⟩ / ‖K_ll‖ with T_ij = 1 for equal labels and −1/(C − 1) otherwise, over labeled points; −1 in y is
    unlabeled. In steps s_i = α_i − α_{i+1} ≥ 0 the alignment of Σ s_i V_i V_iᵀ (V_i the first i vectors) is a
    nonnegative least-squares fit of T, so no quadratic program is needed. The constant vector is left out, their
    "improved order". ``A`` is an adjacency matrix, or its :func:`graph_basis`.
    """
    _, V = _basis(A, n_eigenvectors, normalized)
    rank_one, target = alignment_entries(V, y, "order_constrained_factor")
    steps, _ = nnls(np.cumsum(rank_one, axis=1), target, maxiter=50 * V.shape[1])
    return V * np.sqrt(np.cumsum(steps[::-1])[::-1])


@checked
def maximal_alignment_factor(A: Any, y: Any, *, n_eigenvectors: Count = 200, normalized: bool = False) -> np.ndarray:
    """F (n, r) with FFᵀ = Σ α_i v_i v_iᵀ, α ≥ 0 in any order, best aligned with the labels (Lanckriet et al., 2004).

    The rival of :func:`order_constrained_factor` without its order; arguments are the same.
    """
    _, V = _basis(A, n_eigenvectors, normalized)
    rank_one, target = alignment_entries(V, y, "maximal_alignment_factor")
    alpha, _ = nnls(rank_one, target, maxiter=50 * V.shape[1])
    return V * np.sqrt(alpha)


@checked
def gaussian_process_factor(A: Any, y: Any, *, n_eigenvectors: Count = 200, normalized: bool = False) -> np.ndarray:
    """F (n, r) with FFᵀ = M, the spectral kernel nearest to K = yyᵀ (Jain 2009, §6.3.2): step B alone.

    y holds numbers, or ±1 of two classes, at all points; M maximizes the likelihood of y under a Gaussian process.
    """
    _, V = _basis(A, n_eigenvectors, normalized)
    target = _checks.vector(y, "gaussian_process_factor", "y", len(V))
    alpha = isotonic_regression((V.T @ target) ** 2, increasing=False).x
    return V * np.sqrt(alpha)


def alignment_entries(V: np.ndarray, y: Any, owner: str) -> tuple[np.ndarray, np.ndarray]:
    """Entries of the v_i v_iᵀ and of T at pairs of labeled points, as columns and a vector."""
    labels = Labels.from_array(y, owner, len(V), unknown=-1)
    known = np.flatnonzero(labels.codes >= 0)
    if len(known) < 2:
        raise ValueError(f"{owner}: needs at least two labeled points, got {len(known)}.")
    if V.shape[1] == 0:
        raise ValueError(f"{owner}: A must have eigenvectors beside the constant one, got {len(V)} point(s).")
    C = max(len(labels.classes), 2)
    same = labels.codes[known][:, None] == labels.codes[known]
    T = np.where(same, 1.0, -1.0 / (C - 1))
    upper = np.triu_indices(len(known))
    return V[known][upper[0]] * V[known][upper[1]], T[upper]


def _basis(A: Any, r: int, normalized: bool) -> tuple[np.ndarray, np.ndarray]:
    values, V, _ = A if isinstance(A, Eigenvectors) else graph_basis(A, r, normalized=normalized)
    return values[:r], V[:, :r]
