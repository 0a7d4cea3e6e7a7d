"""Class probabilities as constraints."""

import numpy as np

import gramian as gm
from tests.solvers.problems import points


def test_a_ceiling_bounds_the_probability_of_other_classes():
    """The linear form holds just where the Parzen estimate is at most the ceiling."""
    X, y = points()
    X = abs(X)  # so that the denominator is positive
    wishes = gm.Probabilities.from_labels(y, level=0.3, ceiling=0.45)
    metric = gm.Mahalanobis.euclidean(3)
    K = metric.kernel(X)
    share = np.stack([K[:, y == c].sum(axis=1) / K.sum(axis=1) for c in (0, 1)], axis=1)
    p = share[wishes.point, wishes.target]
    holds = np.where(wishes.at_least, p >= wishes.level, p <= wishes.level)
    assert np.array_equal(wishes.violation(metric, X) == 0, holds) and holds.any() and not holds.all()
