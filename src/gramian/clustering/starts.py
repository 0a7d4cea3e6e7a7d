"""Where the iterations begin: k-means for one clustering, random labels or what the others leave for the rest."""

from typing import Any

import numpy as np

from gramian import linalg
from gramian.clustering.points import Points

SEED_POINTS = 10_000
"""Points among which seeds are drawn."""

TURNS = 2
"""How often each clustering is found again, orthogonal to the others."""


def directions(means: np.ndarray) -> np.ndarray:
    """Orthonormal rows that span the means."""
    _, sizes, V = np.linalg.svd(means, full_matrices=False)
    return V[sizes > 1e-10 * sizes.max(initial=1e-300)]


def seeds(points: Points, k: int, off: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Greedy k-means++ centers (Arthur and Vassilvitskii 2007) of the points projected off the rows of ``off``."""
    points = points.sample(SEED_POINTS, rng)
    norms = np.maximum(points.norms - linalg.row_norms(points.inner(off)), 0)
    chosen, nearest = linalg.empty((k, off.shape[1]), points.X), linalg.full(len(points), np.inf, points.X)
    shares = linalg.placed(rng.random_sample((k, 2 + int(np.log(k)))), points.X)
    for i in range(k):
        weight = nearest if i and nearest.sum() > 0 else np.ones_like(nearest)
        C = project_off(points.dense(drawn(weight, shares[i])), off)
        near = np.minimum(nearest[:, None], norms[:, None] - 2 * points.inner(C) + linalg.row_norms(C))
        best = near.sum(axis=0).argmin()
        chosen[i], nearest = C[best], np.maximum(near[:, best], 0)
    return chosen


def drawn(weight: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Places drawn in proportion to the weights, each where the sum so far exceeds its share of the whole."""
    sums = np.cumsum(weight / weight.sum())
    return np.minimum(np.searchsorted(sums / sums[-1], shares, side="right"), len(sums) - 1)


def kmeans(
    points: Points, k: int, rng: np.random.RandomState, off: np.ndarray | None = None, max_iter: int = 10
) -> tuple[np.ndarray, np.ndarray]:
    """Labels (n,) and means of a few Lloyd steps on the points projected off the rows of ``off``.

    The projected points are never formed: their means are the projected means, and a center in the projected space has
    the same inner product with a point and with its projection.
    """
    off = linalg.full((0, points.X.shape[1]), 0.0, points.X) if off is None else off
    centers = seeds(points, k, off, rng)
    labels: Any = None
    for _ in range(max_iter):
        last, labels = labels, points.nearest(centers, (k,))
        S, counts = points.sums(labels, (k,))
        means = S / np.maximum(counts, 1)[:, None]
        centers = np.where((counts > 0)[:, None], project_off(means, off), centers)
        if last is not None and np.array_equal(labels, last):
            break
    return labels[:, 0], means


def first_labels(points: Points, k: tuple[int, ...], rng: np.random.RandomState, rest: str) -> np.ndarray:
    """Labels (n, T) to start from: k-means for the first clustering (step 1 of Algorithm 4 of Jain 2009).

    The others are ``rest="random"``, as there, or ``rest="independent"``: k-means too. With ``rest="orthogonal"`` each
    is k-means on what is orthogonal to the means of the others, in turn, in a random order, as in the heuristic of
    §8.3.
    """
    if rest == "orthogonal":
        return in_turn(points, k, rng, rng.permutation(len(k)), TURNS * len(k) if len(k) > 1 else 1)
    labels = linalg.empty((len(points), len(k)), points.X, np.int32)
    for t, size in enumerate(k):
        easy = t > 0 and rest == "random"
        labels[:, t] = rng.randint(size, size=len(points)) if easy else kmeans(points, size, rng)[0]
    return labels


def in_turn(
    points: Points, k: tuple[int, ...], rng: np.random.RandomState, order: Any, turns: int, n_init: int = 0
) -> np.ndarray:
    """Labels (n, T): each clustering is k-means on what is orthogonal to the means of the others, in turn.

    With ``n_init=0`` each is a few steps from one start, and no turn is left out; otherwise each is the best of so many
    full runs, and a turn that changes nothing is the last.
    """
    labels = linalg.empty((len(points), len(k)), points.X, np.int32)
    labels[...] = 0
    means: dict[int, np.ndarray] = {}
    for turn in range(turns):
        t, last = int(order[turn % len(k)]), labels.copy()
        others = [means[s] for s in means if s != t]
        off = directions(np.vstack(others)) if others else None
        found = best_kmeans(points, k[t], rng, n_init, off) if n_init else kmeans(points, k[t], rng, off)
        labels[:, t], means[t] = found
        if n_init and turn >= len(k) and np.array_equal(last, labels):
            break
    return labels


def best_kmeans(
    points: Points, k: int, rng: np.random.RandomState, n_init: int, off: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Labels and means of the best of several runs of k-means on the points projected off the rows of ``off``.

    A run that is better by rounding only does not replace an earlier one.
    """
    best, kept = 0.0, None
    for _ in range(n_init):
        labels, means = kmeans(points, k, rng, off, max_iter=100)
        centers = means if off is None else project_off(means, off)
        explained = float(np.bincount(labels, minlength=k) @ linalg.row_norms(centers))
        if kept is None or explained - best > 1e-10 * best:
            best, kept = explained, (labels, means)
    assert kept is not None
    return kept


def project_off(C: np.ndarray, off: np.ndarray) -> np.ndarray:
    """Rows of C without their components along the orthonormal rows of ``off``."""
    return C - (C @ off.T) @ off
