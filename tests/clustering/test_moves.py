"""Moves out of local minima and the simple heuristics."""

import numpy as np
import pytest

from gramian.clustering import match
from gramian.clustering.decorrelated import merge_costs, relocated, split
from gramian.clustering.points import Points
from gramian.clustering.starts import best_kmeans


def error(Z):
    return ((Z - Z.mean(axis=0)) ** 2).sum()


def test_merging_costs_what_the_error_rises(rng):
    Z, labels = rng.normal(size=(30, 3)), np.arange(30) % 3
    C, counts = np.array([Z[labels == i].mean(axis=0) for i in range(3)]), np.bincount(labels)
    rise = error(Z[labels < 2]) - error(Z[labels == 0]) - error(Z[labels == 1])
    assert merge_costs(C, counts)[0, 1] == pytest.approx(rise) and np.isinf(np.diag(merge_costs(C, counts))).all()


def test_splitting_gains_what_the_error_falls(rng):
    Z = np.vstack([rng.normal(size=(20, 3)), rng.normal(size=(20, 3)) + [9, 0, 0]])
    Z[::2, 1] += 50  # the spread that the other clustering explains
    off = np.array([[0.0, 1.0, 0.0]])
    gain, second = split(Points.of(Z, center=False), np.arange(40), off, np.random.RandomState(0))
    P = Z[:, [0, 2]]
    first = np.setdiff1d(np.arange(40), second)
    assert {tuple(first), tuple(second)} == {tuple(range(20)), tuple(range(20, 40))}
    assert gain == pytest.approx(error(P) - error(P[first]) - error(P[second]))


def test_a_cluster_in_the_wrong_place_moves(rng):
    truth = np.arange(60) % 3
    Z = rng.normal(size=(60, 4)) * 0.1 + 10 * np.eye(4)[truth]
    labels = np.where(truth == 2, 1, truth)[:, None]  # two blobs share a cluster, one blob has two
    labels[(truth == 0) & (np.arange(60) < 30)] = 2
    C = np.array([Z[labels[:, 0] == i].mean(axis=0) for i in range(3)])
    moved = relocated(Points.of(Z, center=False), labels, C, (3,), 0, np.random.RandomState(0))
    assert match(moved, truth).scores[0] == pytest.approx(1)
    right = np.array([Z[truth == i].mean(axis=0) for i in range(3)])
    stay = relocated(Points.of(Z, center=False), truth[:, None], right, (3,), 0, np.random.RandomState(0))
    assert stay is None


def test_best_kmeans_is_scikit_learns(rng):
    from sklearn.cluster import KMeans

    Z = rng.normal(size=(90, 3)) + 8 * np.eye(3)[np.arange(90) % 3]
    labels, means = best_kmeans(Points.of(Z, center=False), 3, np.random.RandomState(0), 5)
    theirs = KMeans(3, n_init=5, random_state=0).fit(Z)
    ours = ((Z - means[labels]) ** 2).sum()
    assert ours == pytest.approx(theirs.inertia_)
