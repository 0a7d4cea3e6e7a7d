"""The weight of decorrelation, read off the data."""

from itertools import cycle

import numpy as np

from gramian.clustering.points import Points

SAMPLE = 1000
"""Points on which the weight is settled."""

GRID = 10.0 ** np.arange(3, -3.5, -0.5)
"""Weights that are tried, in units of n² / Σ‖z‖², from large to small."""

MARGIN = 10.0
"""Factor above the drop at which the weight is set."""


def largest_drop(points: Points, k: tuple[int, ...], rng: np.random.RandomState) -> float:
    """λ one decade above the largest drop of (8.1) as λ falls (Jain 2009, §8.1.1.2).

    Clusterings are found on a subsample for weights a decade apart, and for λ = 0, where each clustering is k-means and
    all are much the same. The lowest objective is then evaluated on a finer
    grid over *all* labelings found, since a labeling found for one λ may be the best for another: this removes the
    noise of local minima and makes the curve monotone. The weight is free of the units of the data and grows with n, as
    the error terms do.

    At the drop itself the clusterings begin to merge, so λ is set a factor of ten above it, where all of a wide range
    gives the same clusterings.
    """
    from gramian.clustering.decorrelated import descend, objective, representatives
    from gramian.clustering.starts import first_labels

    n, points = len(points), points.sample(SAMPLE, rng)
    energy = points.norms.sum()
    if energy == 0 or len(k) == 1:
        return 0.0
    unit = len(points) ** 2 / energy
    starts = [*zip(GRID[::2], cycle(("orthogonal", "random"))), *3 * [(0.0, "independent")]]
    found = [descend(points, first_labels(points, k, rng, rest), k, weight * unit, 50) for weight, rest in starts]
    stats = [points.sums(run.labels, k) for run in found]
    curve = [
        min(objective(energy, S, c, representatives(S, c, k, lam)[1], k, lam) for S, c in stats) for lam in GRID * unit
    ]
    drop = int(np.argmin(np.diff(curve)))
    return float(MARGIN * GRID[drop] * unit * n / len(points))
