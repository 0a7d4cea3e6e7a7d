"""The weight of decorrelation, read off the data."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, cycle
from typing import Literal

import numpy as np

from gramian import linalg
from gramian._settings import Size
from gramian.clustering.points import Points, parts
from gramian.clustering.starts import descend, first_labels, objective, refill, representatives

Penalty = Literal["auto", "drop", "average"] | Size
SAMPLE = 1000
"""Points on which the weight is settled."""

TRIED = (100.0, 10.0, 1.0, 0.1, 0.01, 0.0, 0.0, 0.0)
"""Weights for which labelings are found, in units of n² / Σ‖z‖²; with none each clustering is k-means."""

DROP_GRID, DROP_MARGIN = 10.0 ** np.arange(3, -3.5, -0.5), 10.0
PART_GRID, PART_MARGIN = 10.0 ** np.arange(3, -2.25, -0.25), 10.0**0.25
"""Weights that are compared, from large to small, and the factor above the place found."""

DRAWS = 5
"""Subsamples over which drops are averaged."""

SHARED = 0.2
"""Adjusted mutual information above which two clusterings count as the same."""

LEAST = 1 / 3
"""Least strength ξσ² of (8.4) along an average direction: centers lose a quarter of what they have along it."""


@dataclass(frozen=True)
class Trials:
    """Labelings of a subsample for many weights, and what (8.1) needs of each."""

    labels: list[np.ndarray]
    stats: list[tuple[np.ndarray, np.ndarray]]
    energy: float
    unit: float
    k: tuple[int, ...]

    @classmethod
    def of(cls, points: Points, k: tuple[int, ...], rng: np.random.RandomState) -> "Trials":
        """Trials on at most 1,000 points, started in all three ways."""
        points = points.sample(SAMPLE, rng)
        energy = float(points.norms.sum())
        unit = len(points) ** 2 / energy
        kinds = [rest if weight else "independent" for weight, rest in zip(TRIED, cycle(("orthogonal", "random")))]
        starts = [refill(points, first_labels(points, k, rng, rest), k) for rest in kinds]
        labels = [descend(points, start, k, weight * unit, 30).labels for weight, start in zip(TRIED, starts)]
        return cls(labels, [points.sums(columns, k) for columns in labels], energy, unit, k)

    def lowest(self, weight: float) -> tuple[float, int]:
        """Lowest (8.1) over *all* labelings for a weight, and which it is.

        A labeling found for one weight may be the best for another: this removes the noise of local minima.
        """
        lam = weight * self.unit
        values = [
            objective(self.energy, S, counts, representatives(S, counts, self.k, lam)[1], self.k, lam)
            for S, counts in self.stats
        ]
        return min(values), int(np.argmin(values))


def choose(penalty: Penalty, points: Points, k: tuple[int, ...], rng: np.random.RandomState) -> float:
    """λ as given, or by the rule that is named."""
    if not isinstance(penalty, str):
        return float(penalty)
    return RULES[penalty](points, k, rng)


def parting(points: Points, k: tuple[int, ...], rng: np.random.RandomState) -> float:
    """λ a little above the weight at which the clusterings part.

    With a small λ the labelings of lowest (8.1) are all the same, with a larger one they have nothing to do with each
    other, and the change is sudden (adjusted mutual information from above 0.4 to 0). Beyond it λ only biases: when the
    means of two true clusterings are not orthogonal, (8.1) with a large λ is lower for a wrong labeling. So λ is set
    one step of the grid above the change. Views of equal strength part already near λ = 0; so that λ does something
    in the search, centers shall lose at least a quarter of their components along the means of the others, on average
    over the directions of those: ξσ² ≥ ⅓ in (8.4). The weight is free of the units of the data and grows with n, as
    the error terms do.
    """
    if len(k) == 1 or not points.norms.any():
        return 0.0
    trials = Trials.of(points, k, rng)
    shared = [_shared(labels) for labels in trials.labels]  # 1 where all clusterings are one
    parted = PART_GRID[0]
    for weight in PART_GRID:
        if shared[trials.lowest(weight)[1]] > SHARED:
            break
        parted = weight
    strength = _strength(*trials.stats[trials.lowest(parted)[1]], k) * trials.unit
    return _scaled(max(PART_MARGIN * parted, LEAST / max(strength, 1e-300)), points)


def largest_drop(points: Points, k: tuple[int, ...], rng: np.random.RandomState) -> float:
    """λ one decade above the largest drop of (8.1) as λ falls: the heuristic of Jain 2009, §8.1.1.2.

    The thesis does not say which end of the drop; at the drop itself the clusterings begin to merge.
    """
    if len(k) == 1 or not points.norms.any():
        return 0.0
    trials = Trials.of(points, k, rng)
    drop = int(np.argmin(np.diff([trials.lowest(weight)[0] for weight in DROP_GRID])))
    return _scaled(DROP_MARGIN * DROP_GRID[drop], points)


def average_drop(points: Points, k: tuple[int, ...], rng: np.random.RandomState) -> float:
    """λ one decade above the largest average drop of (8.1), over five draws of half of the points.

    Jain 2009, §8.1.1.2, names an average change for noisy data and leaves open of what: here the drop between two
    weights, in units of Σ‖z‖², is averaged over the draws before the largest is taken.
    """
    if len(k) == 1 or not points.norms.any():
        return 0.0
    half = min(SAMPLE, max(len(points) // 2, 2 * sum(k)))
    trials = [Trials.of(points.sample(half, rng), k, rng) for _ in range(DRAWS)]
    path = np.mean([[trial.lowest(w)[0] / trial.energy for w in DROP_GRID] for trial in trials], axis=0)
    return _scaled(DROP_MARGIN * DROP_GRID[int(np.argmin(np.diff(path)))], points)


RULES: dict[str, Callable[..., float]] = {"auto": parting, "drop": largest_drop, "average": average_drop}


def _scaled(weight: float, points: Points) -> float:
    return float(weight * len(points) ** 2 / points.norms.sum())


def _strength(S: np.ndarray, counts: np.ndarray, k: tuple[int, ...]) -> float:
    """ξσ² of (8.4) for λ = 1 and clusters of average size, on average over directions; of the weakest clustering."""
    squares = linalg.row_norms(S) / np.maximum(counts, 1) ** 2  # (K,): ‖mean‖²
    n = counts.sum() / len(k)
    means = [
        np.delete(squares, block).sum() / max(sum(k) - size - len(k) + 1, 1) * size / n
        for size, block in zip(k, parts(k))
    ]
    return float(min(means))


def _shared(labels: np.ndarray) -> float:
    """Adjusted mutual information of the two clusterings that have most in common."""
    from sklearn.metrics import adjusted_mutual_info_score

    return max(float(adjusted_mutual_info_score(a, b)) for a, b in combinations(labels.T, 2))
