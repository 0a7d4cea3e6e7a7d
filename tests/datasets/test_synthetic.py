"""Each synthetic problem shows what it says it shows."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

import gramian as gm

GENERATORS = [gm.datasets.moons, gm.datasets.nuisance, gm.datasets.rings, gm.datasets.stretched, gm.datasets.xor]


def knn(X, y, k=3):
    return cross_val_score(KNeighborsClassifier(k), X, y, cv=5).mean()


@pytest.mark.parametrize("make", GENERATORS, ids=lambda make: make.__name__)
def test_generators_are_seeded_balanced_and_checked(make):
    a, b, c = make(n=60, random_state=1), make(n=60, random_state=1), make(n=60, random_state=2)
    assert np.array_equal(a.X, b.X) and np.array_equal(a.y, b.y) and not np.array_equal(a.X, c.X)
    counts = np.bincount(a.y)
    assert counts.max() - counts.min() <= 1 and a.name == make.__name__
    with pytest.raises(ValueError, match="n must be an integer"):
        make(n=0)


def test_nuisance_features_hurt_and_dropping_them_helps():
    data = gm.datasets.nuisance(random_state=0)
    assert knn(data.X[:, data.informative], data.y) > knn(data.X, data.y) + 0.2


def test_the_given_metric_of_stretched_clusters_is_the_inverse_within_covariance():
    data = gm.datasets.stretched(n=6000, d=3, random_state=0)
    within = np.vstack([data.X[data.y == c] - data.X[data.y == c].mean(axis=0) for c in range(3)])
    white = gm.Mahalanobis.from_matrix(data.metric).transform(within)
    assert np.allclose(np.cov(white.T), np.eye(3), atol=0.1)
    better = gm.Mahalanobis.from_matrix(data.metric).transform(data.X[:300])
    assert knn(better, data.y[:300]) > knn(data.X[:300], data.y[:300])


def test_xor_classes_share_mean_and_covariance():
    data = gm.datasets.xor(n=4000, random_state=0)
    a, b = data.X[data.y == 0], data.X[data.y == 1]
    assert np.abs(a.mean(axis=0) - b.mean(axis=0)).max() < 0.1
    assert np.abs(np.diag(np.cov(a.T)) - np.diag(np.cov(b.T))).max() < 0.1
    assert knn(data.X[:300], data.y[:300]) > 0.95


def test_rings_have_their_radii():
    data = gm.datasets.rings(n=900, n_classes=3, random_state=0)
    radius = np.linalg.norm(data.X, axis=1)
    assert np.allclose([radius[data.y == c].mean() for c in range(3)], [1, 2, 3], atol=0.05)
