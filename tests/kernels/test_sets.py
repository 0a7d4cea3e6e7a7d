"""Proximity distributions and correspondences against their definitions in loops."""

import numpy as np
import pytest

import gramian as gm


def images(rng, n=5, words=4):
    return [np.c_[rng.integers(words, size=m), rng.random((m, 2))] for m in rng.integers(2, 9, size=n)]


def distribution(A, words, ranks):
    """H_ijr by loops: for each feature its r nearest, r = 1 … R."""
    H = np.zeros((words, words, ranks))
    for a in range(len(A)):
        others = [b for b in range(len(A)) if b != a]
        others.sort(key=lambda b: ((A[a, 1:] - A[b, 1:]) ** 2).sum())
        for r in range(min(ranks, len(others))):
            for b in others[: r + 1]:
                H[int(A[a, 0]), int(A[b, 0]), r] += 1
    return H


def test_proximity_distributions_are_intersected(rng):
    X = images(rng)
    kernel = gm.ProximityDistribution(4, n_ranks=3, normalize=False)
    H = [distribution(A, 4, 3) for A in X]
    want = np.array([[np.minimum(a, b).sum() for b in H] for a in H])
    np.testing.assert_allclose(kernel(X), want)
    phi = kernel.embed(X)
    np.testing.assert_allclose((phi @ phi.T).toarray(), want)
    size = np.sqrt(np.diag(want))
    np.testing.assert_allclose(gm.ProximityDistribution(4, 3)(X), want / size[:, None] / size, atol=1e-12)
    with pytest.raises(ValueError, match="ProximityDistribution: the first column of X must hold words below 3"):
        gm.ProximityDistribution(3)(X)


def test_proximity_is_learned_and_searched(rng):
    """Two kinds of images that differ in what is near what, not in their words."""

    def image(near):
        centers = rng.random((6, 2)) * 20
        second = centers if near else rng.random((6, 2)) * 20
        places = np.vstack([centers, second + 0.1 * rng.random((6, 2))])
        return np.c_[np.repeat([0, 1], 6), places]

    X, y = [image(i % 2) for i in range(40)], np.arange(40) % 2
    kernel = gm.ProximityDistribution(2, n_ranks=2)
    model = gm.Kernelized(gm.ITML(random_state=0), kernel).fit(X[:30], y[:30])
    nearest = gm.KernelHashIndex(model.metric_, n_bits=64, random_state=0).add(X[:30]).query(X[30:], k=1)[0][:, 0]
    assert np.mean(y[nearest] == y[30:]) >= 0.8


def test_correspondences_are_best_matches(rng):
    A, B = rng.random((4, 5)), rng.random((6, 5))
    distance = gm.Correspondence(n_places=2, weight=0.3)
    cost = [[((a[2:] - b[2:]) ** 2).sum() + 0.3 * ((a[:2] - b[:2]) ** 2).sum() for b in B] for a in A]
    want = (np.mean([min(row) for row in cost]) + np.mean([min(column) for column in zip(*cost)])) / 2
    assert distance(A, B) ** 2 == pytest.approx(want) and distance(B, A) == pytest.approx(distance(A, B))
    assert distance(A, A) == pytest.approx(0, abs=1e-7)
    X = [rng.random((m, 5)) for m in (3, 4, 5)]
    np.testing.assert_allclose(distance.pairwise(X, X), [[distance(a, b) for b in X] for a in X], atol=1e-9)
    kernel = gm.DistanceKernel(distance, g="origin", origin=X[0])
    np.testing.assert_allclose(kernel.sqdist(X), distance.pairwise(X, X) ** 2, atol=1e-9)
    with pytest.raises(ValueError, match="Correspondence: each set must hold features"):
        distance(np.zeros((0, 5)), B)


def test_correspondence_is_a_stored_value(tmp_path):
    distance = gm.Correspondence(3, 0.5)
    distance.save(tmp_path / "d")
    assert gm.load(tmp_path / "d") == distance
