"""Moves out of local minima: two clusters become one, and another becomes two."""

import numpy as np

from gramian import linalg
from gramian.clustering.points import Points, parts
from gramian.clustering.starts import directions, kmeans, project_off


def merge_costs(C: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Rise of the error when clusters i and j share one center, n_i n_j / (n_i + n_j) ‖μ_i − μ_j‖² (Ward 1963)."""
    total = np.maximum(counts[:, None] + counts[None, :], 1)
    cost = counts[:, None] * counts[None, :] / total * linalg.sqdist(C)
    np.fill_diagonal(cost, np.inf)
    return cost


def cheapest(cost: np.ndarray, without: int) -> tuple[float, int, int]:
    """The lowest cost of two clusters other than ``without``, and which they are."""
    out = linalg.numbers(len(cost), cost) == without
    cost = np.where(out[:, None] | out[None, :], np.inf, cost)
    i, j = divmod(int(np.argmin(cost.ravel())), len(cost))
    return float(cost[i, j]), i, j


def split(points: Points, rows: np.ndarray, off: np.ndarray, rng: np.random.RandomState) -> tuple[float, np.ndarray]:
    """Fall of the error when the points at ``rows`` get two centers off ``off``, and the rows of the second."""
    if len(rows) < 2:
        return 0.0, rows[:0]
    labels, means = kmeans(points.take(rows), 2, rng, off, max_iter=4)
    counts = np.bincount(labels, minlength=2)
    gap = float(linalg.row_norms(project_off(means[:1] - means[1:], off))[0])
    return float(counts[0] * counts[1]) / len(rows) * gap, rows[labels == 1]


def relocated(
    points: Points, labels: np.ndarray, centers: np.ndarray, k: tuple[int, ...], t: int, rng: np.random.RandomState
) -> np.ndarray | None:
    """Labels after the best merge and split in clustering t, None when no such move promises to pay.

    Splits are judged in what the centers of the other clusterings leave, since the spread that those explain is not a
    reason to split.
    """
    part = parts(k)[t]
    off = directions(np.delete(centers, part, axis=0))
    if k[t] < 3 or len(off) == points.X.shape[1]:
        return None
    counts = np.bincount(labels[:, t], minlength=k[t])
    splits = [split(points, np.flatnonzero(labels[:, t] == b), off, rng) for b in range(k[t])]
    cost, moves = merge_costs(centers[part], counts), []
    for b, (gain, _) in enumerate(splits):
        rise, i, j = cheapest(cost, without=b)
        moves.append((gain - rise, i, j, b))
    promise, i, j, b = max(moves, key=lambda move: move[0])
    if promise <= 0:
        return None
    moved = labels.copy()
    moved[labels[:, t] == j, t] = i
    moved[splits[b][1], t] = j
    return moved
