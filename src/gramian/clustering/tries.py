"""A good place to start: the best of several short tries on some of the points."""

from itertools import cycle, islice

import numpy as np

from gramian import linalg
from gramian.clustering.base import Run, lowest
from gramian.clustering.descent import descend, refill, representatives
from gramian.clustering.points import Points
from gramian.clustering.starts import first_labels, in_turn

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


def attempt(points: Points, labels: np.ndarray, k: tuple[int, ...], lam: float, max_iter: int, tol: float = 0.0) -> Run:
    """Descent from given labels, first with 10 λ and then with λ."""
    warm = descend(points, refill(points, labels, k), k, HEAT * lam, WARMUP)
    return descend(points, warm.labels, k, lam, max_iter, tol)


def promising(points: Points, k: tuple[int, ...], lam: float, rng: np.random.RandomState) -> np.ndarray:
    """Labels (n, T) of all points from the try on a subsample with the lowest (8.1); short runs first, as in the
    starts of EM by Biernacki, Celeux and Govaert (2003).
    """
    few = _some(points, k, rng)
    lam = lam * len(few) / len(points)
    number = int(np.clip(WORK // len(points), TRIES, MOST)) if len(k) > 1 else 1
    starts = (first_labels(few, k, rng, rest) for rest in islice(cycle(KINDS), number))
    best = lowest(attempt(few, start, k, lam, STEPS) for start in starts)
    whole = len(few) == len(points)
    return linalg.placed(best.labels, points.X) if whole else points.nearest(best.centers, k)


def projected(points: Points, k: tuple[int, ...], lam: float, rng: np.random.RandomState) -> np.ndarray:
    """Labels (n, T) of all points from k-means on a subsample, each clustering in the complement of the others.

    This is the second heuristic of §8.3 of Jain 2009; many clusters are seeded better by it than by a try.
    """
    few = _some(points, k, rng)
    rounds = int(np.clip(WORK // len(points), *ROUNDS))
    labels = refill(few, in_turn(few, k, rng, rng.permutation(len(k)), rounds * len(k), REPEATS), k)
    if len(few) == len(points):
        return linalg.placed(labels, points.X)
    _, centers = representatives(*few.sums(labels, k), k, HEAT * lam * len(few) / len(points))
    return points.nearest(centers, k)


def _some(points: Points, k: tuple[int, ...], rng: np.random.RandomState) -> Points:
    return points.sample(max(LEAST, PER_CLUSTER * sum(k)), rng).on_host()
