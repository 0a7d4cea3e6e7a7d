"""Triplets of the nearest of both kinds."""

import numpy as np

from gramian.constraints import Labels
from gramian.learners import neighbor_targets as targets


def test_neighbor_triplets_join_the_nearest_of_both_kinds(rng):
    X, y = rng.normal(size=(12, 2)), np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 2])
    found = targets.neighbor_triplets(X, Labels.from_array(y, "test"), 2, 3)
    D = ((X[:, None] - X[None]) ** 2).sum(-1)
    expected = set()
    for i in range(12):
        order = [j for j in np.argsort(D[i]) if j != i]
        near, far = [j for j in order if y[j] == y[i]][:2], [j for j in order if y[j] != y[i]][:3]
        expected |= {(i, j, k) for j in near for k in far}
    assert set(zip(found.anchor.tolist(), found.near.tolist(), found.far.tolist())) == expected
