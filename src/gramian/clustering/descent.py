"""Algorithm 4 of Jain 2009 from given labels: closed-form centers, (8.1), and the descent."""

import numpy as np

from gramian import linalg
from gramian.clustering.base import Run
from gramian.clustering.points import Points, parts

PATIENCE = 10
"""Iterations without a better objective after which a start ends: (8.1) can rise before it falls further."""


def shrink(A: np.ndarray, B: np.ndarray, xi: np.ndarray) -> np.ndarray:
    """Rows (I + ξ_i BᵀB)⁻¹ a_i, with one thin SVD of B (m, d) in place of inverses, O(d m²) (Jain 2009, (8.4), (8.5)).

    With B = UΣR, each row loses the share ξσ² / (1 + ξσ²) of its component along each right singular vector.
    """
    _, sigma, R = np.linalg.svd(B, full_matrices=False)
    weight = xi[:, None] * sigma**2  # (k, m): ξ_i σ_j²
    shrunk: np.ndarray = A - ((A @ R.T) * (weight / (1 + weight))) @ R
    return shrunk


def representatives(S: np.ndarray, counts: np.ndarray, k: tuple[int, ...], lam: float) -> tuple[np.ndarray, np.ndarray]:
    """Means α and the centers μ that minimize (8.1) for fixed labels, stacked (Jain 2009, (8.2), (8.3)).

    The means of all other clusterings take the place of the β_j, so that T ≥ 2 clusterings are one formula.
    """
    means = S / np.maximum(counts, 1)[:, None]  # (K, d)
    centers = means.copy()
    for block in parts(k):
        rest = np.delete(means, block, axis=0)
        if lam > 0 and len(rest):
            centers[block] = shrink(means[block], rest, lam / np.maximum(counts[block], 1))
    return means, centers


def objective(
    energy: float, S: np.ndarray, counts: np.ndarray, centers: np.ndarray, k: tuple[int, ...], lam: float
) -> float:
    """G of (8.1) from the cluster sums S and the energy Σ‖z‖², no pass over the data."""
    means = S / np.maximum(counts, 1)[:, None]
    # Σ‖z − μ‖² = T Σ‖z‖² − 2⟨S, μ⟩ + Σ_i n_i ‖μ_i‖²
    fit = len(k) * energy - 2 * np.vdot(S, centers) + counts @ linalg.row_norms(centers)
    cross = (centers @ means.T) ** 2  # (K, K)
    within = sum(cross[block, block].sum() for block in parts(k))
    return float(fit + lam * (cross.sum() - within))


def descend(
    points: Points, labels: np.ndarray, k: tuple[int, ...], lam: float, max_iter: int = 200, tol: float = 0.0
) -> Run:
    """Steps 2.1–2.5 of Algorithm 4 from given labels; the best iterate, and the running best as the path."""
    energy, since, residual = float(points.norms.sum()), 0, 1.0
    path: list[float] = []
    best = np.inf, labels, np.zeros((sum(k), points.X.shape[1]))
    for _ in range(max_iter):
        S, counts = points.sums(labels, k)
        _, centers = representatives(S, counts, k, lam)
        value = objective(energy, S, counts, centers, k, lam)
        since += 1
        if not path or value < best[0]:
            best, since = (value, labels, centers), 0
        path.append(best[0])
        moved = refill(points, points.nearest(centers, k), k, centers)
        residual = float(np.mean(moved != labels))
        if residual <= tol or since >= PATIENCE:
            residual = min(residual, tol)
            break
        labels = moved
    value, labels, centers = best
    return Run(labels, centers, value, np.array(path), residual, tol)


def refill(points: Points, labels: np.ndarray, k: tuple[int, ...], centers: np.ndarray | None = None) -> np.ndarray:
    """Give each empty cluster the worst fitting point of a cluster that can spare one; labels are changed in place."""
    for t, block in enumerate(parts(k)):
        counts = np.bincount(labels[:, t], minlength=k[t])
        if counts.all():
            continue
        errors = points.norms.copy() if centers is None else points.errors(centers[block], labels[:, t])
        for empty in np.flatnonzero(counts == 0):
            row = np.where(counts[labels[:, t]] > 1, errors, -1.0).argmax()
            counts[labels[row, t]] -= 1
            labels[row, t] = empty
            counts[empty] = 1
            errors[row] = 0.0
    return labels
