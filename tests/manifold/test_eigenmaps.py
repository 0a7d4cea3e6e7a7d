"""Laplacian eigenmaps: what distance learning is without labels."""

import numpy as np
import pytest
from sklearn.manifold import SpectralEmbedding as SklearnEmbedding
from tests.manifold.problems import hide, moons, projector

import gramian as gm
from gramian.manifold import GaussianGraph, NeighborGraph
from gramian.manifold.transductive import vote

pytestmark = pytest.mark.filterwarnings("ignore:.*connected components", "ignore:.*held-out labels")


def test_without_labels_it_is_laplacian_eigenmaps_and_spectral_embedding():
    X, _ = moons()
    for normalized in (False, True):
        maps = gm.LaplacianEigenmaps(3, n_neighbors=8, normalized=normalized).fit(X)
        penalty = "normalized" if normalized else "laplacian"
        tdl = gm.TDL(3, lam=1.0, n_neighbors=8, penalty=penalty).fit(X, np.full(len(X), -1))
        np.testing.assert_allclose(tdl.embedding_, maps.embedding_, atol=1e-8)
    A = NeighborGraph(8)(X)
    theirs = SklearnEmbedding(3, affinity="precomputed", eigen_solver="arpack").fit_transform(A.toarray())
    ours = maps.embedding_ / np.sqrt(A.sum(axis=1))[:, None]
    np.testing.assert_allclose(projector(ours), projector(theirs), atol=1e-6)


def test_two_moons_too_near_for_eigenmaps(rng):
    """The paper's point (Fig. 1): the first eigenvector mixes the moons, TDL's tells them apart."""
    X, truth = moons(200, 0.08)
    y = hide(truth, rng.permutation(200)[:30])
    graph = GaussianGraph(np.sqrt(0.05 / 2))
    model = gm.TDL(1, lam=16.0, penalty="normalized", graph=graph).fit(X, y)
    ours = np.mean(model.predict() == truth)
    maps = gm.LaplacianEigenmaps(1, normalized=True, graph=graph).fit_transform(X)
    known = y >= 0
    assert ours > 0.93 and ours > np.mean(vote(maps[known], y[known], maps, 1) == truth) + 0.05
