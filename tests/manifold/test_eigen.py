"""Smallest eigenvectors: Lanczos and the dense solver agree."""

import numpy as np
import pytest
from tests.manifold.problems import hide, moons

from gramian.manifold import NeighborGraph, eigen, laplacian
from gramian.manifold.eigen import Search, smallest_eigenvectors
from gramian.manifold.penalties import cost_matrix, on_gram

pytestmark = pytest.mark.filterwarnings("ignore:.*connected components", "ignore:.*held-out labels")


def test_lanczos_agrees_with_the_dense_solver(rng, monkeypatch):
    X, truth = moons(400, 0.1)
    y = hide(truth, rng.permutation(400)[:40])
    S = on_gram(cost_matrix(X, y, 5)) + 2.0 * laplacian(NeighborGraph(8)(X))[0]
    t = np.full(400, 400**-0.5)
    dense = smallest_eigenvectors(S, 6, t)
    monkeypatch.setattr(eigen, "DENSE", 0)
    sparse = smallest_eigenvectors(S, 6, t, Search(tol=1e-9))
    np.testing.assert_allclose(dense[0], sparse[0], atol=1e-6)
    np.testing.assert_allclose(np.abs(np.sum(dense[1] * sparse[1], axis=0)), 1, atol=1e-6)
    assert np.abs(sparse[1].T @ t).max() < 1e-9
