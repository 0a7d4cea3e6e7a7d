"""Algorithm 4 of Jain 2009 from given labels, and where it begins.

Labels are those of k-means for one clustering, random ones or what the others leave for the rest. A good place to
start is the best of several short tries on some of the points.
"""

from itertools import cycle, islice
from typing import Any

import numpy as np

from gramian import linalg
from gramian.clustering.base import Run, lowest
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


SEED_POINTS = 10_000
"""Points among which seeds are drawn."""

TURNS = 2
"""How often each clustering is found again, orthogonal to the others."""

KINDS = ("orthogonal", "independent", "random")
"""How tries begin, by turns."""

LEAST, PER_CLUSTER = 500, 50
"""Points of a try: so many for each cluster, and no fewer in all."""

TRIES, MOST, WORK = 3, 6, 3000
"""Tries of a start; more of them, up to a limit, while all together see no more than some thousand points."""

STEPS = 15
"""Steps of a try with the penalty itself."""

ROUNDS, REPEATS = (2, 4), 3
"""Rounds in which each clustering is found in the complement of the others, more of them when points are few, and the
number of seeds each time.
"""

HEAT, WARMUP = 10.0, 10
"""The first steps have a heavier penalty, which pulls the clusterings apart."""


def directions(means: np.ndarray) -> np.ndarray:
    """Orthonormal rows that span the means."""
    _, sizes, V = np.linalg.svd(means, full_matrices=False)
    rows: np.ndarray = V[sizes > 1e-10 * sizes.max(initial=1e-300)]
    return rows


def seeds(points: Points, k: int, off: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Greedy k-means++ centers (Arthur and Vassilvitskii 2007) of the points projected off the rows of ``off``."""
    points = points.sample(SEED_POINTS, rng)
    norms = np.maximum(points.norms - linalg.row_norms(points.inner(off)), 0)
    centers, nearest = np.empty((k, off.shape[1])), np.full(len(points), np.inf)
    shares = rng.random_sample((k, 2 + int(np.log(k))))
    for i in range(k):
        weight = nearest if i and nearest.sum() > 0 else np.ones_like(nearest)
        C = project_off(points.dense(drawn(weight, shares[i])), off)  # (trials, d)
        sqdist = np.minimum(nearest[:, None], norms[:, None] - 2 * points.inner(C) + linalg.row_norms(C))
        best = sqdist.sum(axis=0).argmin()
        centers[i], nearest = C[best], np.maximum(sqdist[:, best], 0)
    return centers


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
    off = np.zeros((0, points.X.shape[1])) if off is None else off
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
    labels = np.empty((len(points), len(k)), np.int32)
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
    labels = np.zeros((len(points), len(k)), np.int32)
    means: dict[int, np.ndarray] = {}
    for turn in range(turns):
        t, last = int(order[turn % len(k)]), labels.copy()
        rest = [means[s] for s in means if s != t]
        off = directions(np.vstack(rest)) if rest else None
        labels[:, t], means[t] = (
            best_kmeans(points, k[t], rng, n_init, off) if n_init else kmeans(points, k[t], rng, off)
        )
        if n_init and turn >= len(k) and np.array_equal(last, labels):
            break
    return labels


def best_kmeans(
    points: Points, k: int, rng: np.random.RandomState, n_init: int, off: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Labels and means of the best of several runs of k-means on the points projected off the rows of ``off``.

    A run that is better by rounding only does not replace an earlier one.
    """
    most, best = 0.0, None
    for _ in range(n_init):
        labels, means = kmeans(points, k, rng, off, max_iter=100)
        centers = means if off is None else project_off(means, off)
        # Σ_i n_i ‖μ_i‖²: the most of it is the least error
        explained = float(np.bincount(labels, minlength=k) @ linalg.row_norms(centers))
        if best is None or explained - most > 1e-10 * most:
            most, best = explained, (labels, means)
    assert best is not None
    return best


def project_off(C: np.ndarray, off: np.ndarray) -> np.ndarray:
    """Rows of C without their components along the orthonormal rows of ``off``."""
    rest: np.ndarray = C - (C @ off.T) @ off
    return rest


def attempt(points: Points, labels: np.ndarray, k: tuple[int, ...], lam: float, max_iter: int, tol: float = 0.0) -> Run:
    """Descent from given labels, first with 10 λ and then with λ."""
    warm = descend(points, refill(points, labels, k), k, HEAT * lam, WARMUP)
    return descend(points, warm.labels, k, lam, max_iter, tol)


def promising(points: Points, k: tuple[int, ...], lam: float, rng: np.random.RandomState) -> np.ndarray:
    """Labels (n, T) of all points from the try on a subsample with the lowest (8.1); short runs first, as in the
    starts of EM by Biernacki, Celeux and Govaert (2003).
    """
    sample = _sample(points, k, rng)
    lam = lam * len(sample) / len(points)  # it stands beside a sum over the points
    number = int(np.clip(WORK // len(points), TRIES, MOST)) if len(k) > 1 else 1
    starts = (first_labels(sample, k, rng, rest) for rest in islice(cycle(KINDS), number))
    best = lowest(attempt(sample, start, k, lam, STEPS) for start in starts)
    return _labels_of_all(points, sample, best.labels, best.centers, k)


def projected(points: Points, k: tuple[int, ...], lam: float, rng: np.random.RandomState) -> np.ndarray:
    """Labels (n, T) of all points from k-means on a subsample, each clustering in the complement of the others.

    This is the second heuristic of §8.3 of Jain 2009; many clusters are seeded better by it than by a try.
    """
    sample = _sample(points, k, rng)
    rounds = int(np.clip(WORK // len(points), *ROUNDS))
    labels = refill(sample, in_turn(sample, k, rng, rng.permutation(len(k)), rounds * len(k), REPEATS), k)
    _, centers = representatives(*sample.sums(labels, k), k, HEAT * lam * len(sample) / len(points))
    return _labels_of_all(points, sample, labels, centers, k)


def _labels_of_all(
    points: Points, sample: Points, labels: np.ndarray, centers: np.ndarray, k: tuple[int, ...]
) -> np.ndarray:
    """Labels of the sample where it is all points, otherwise those of the nearest centers."""
    return points.nearest(centers, k) if len(sample) < len(points) else labels


def _sample(points: Points, k: tuple[int, ...], rng: np.random.RandomState) -> Points:
    return points.sample(max(LEAST, PER_CLUSTER * sum(k)), rng)
