"""Where the iterations begin: k-means for one clustering, random labels or what the others leave for the rest."""

import numpy as np

from gramian import linalg
from gramian.clustering.points import Points

SEED_POINTS = 10_000
"""Points among which seeds are drawn."""


def directions(means: np.ndarray) -> np.ndarray:
    """Orthonormal rows that span the means."""
    _, sizes, V = np.linalg.svd(means, full_matrices=False)
    return V[sizes > 1e-10 * sizes.max(initial=1e-300)]


def seeds(points: Points, k: int, off: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Greedy k-means++ centers (Arthur and Vassilvitskii 2007) of the points projected off the rows of ``off``."""
    points = points.sample(SEED_POINTS, rng)
    norms = np.maximum(points.norms - linalg.row_norms(points.inner(off)), 0)
    chosen, nearest = np.empty((k, off.shape[1])), np.full(len(points), np.inf)
    for i in range(k):
        weight = nearest if i and nearest.sum() > 0 else np.ones(len(points))
        rows = rng.choice(len(points), 2 + int(np.log(k)), p=weight / weight.sum())
        C = _project_off(points.dense(rows), off)
        near = np.minimum(nearest[:, None], norms[:, None] - 2 * points.inner(C) + linalg.row_norms(C))
        best = near.sum(axis=0).argmin()
        chosen[i], nearest = C[best], np.maximum(near[:, best], 0)
    return chosen


def kmeans(
    points: Points, k: int, rng: np.random.RandomState, off: np.ndarray | None = None, max_iter: int = 10
) -> tuple[np.ndarray, np.ndarray]:
    """Labels (n,) and means of a few Lloyd steps on the points projected off the rows of ``off``.

    The projected points are never formed: their means are the projected means, and a center in the projected space has
    the same inner product with a point and with its projection.
    """
    off = np.zeros((0, points.X.shape[1])) if off is None else off
    centers, labels = seeds(points, k, off, rng), None
    for _ in range(max_iter):
        last, labels = labels, points.nearest(centers, (k,))
        S, counts = points.sums(labels, (k,))
        full = counts > 0
        means = S / np.maximum(counts, 1)[:, None]
        centers[full] = _project_off(means[full], off)
        if last is not None and np.array_equal(labels, last):
            break
    return labels[:, 0], means


def first_labels(points: Points, k: tuple[int, ...], rng: np.random.RandomState, rest: str) -> np.ndarray:
    """Labels (n, T) to start from: k-means for the first clustering (step 1 of Algorithm 4 of Jain 2009).

    The others are ``rest="random"``, as there; ``rest="orthogonal"``: k-means on what is orthogonal to the means of
    those before, the better start when clusterings are many or clusters are many; or ``rest="independent"``: k-means.
    """
    off = np.zeros((0, points.X.shape[1]))
    labels = np.empty((len(points), len(k)), dtype=np.int32)
    for t, size in enumerate(k):
        if t == 0 or rest != "random":
            labels[:, t], means = kmeans(points, size, rng, off)
            off = directions(np.vstack([off, means])) if rest == "orthogonal" else off
        else:
            labels[:, t] = rng.randint(size, size=len(points))
    return labels


def _project_off(C: np.ndarray, off: np.ndarray) -> np.ndarray:
    return C - (C @ off.T) @ off
