"""Sparse points whose entries are repeated or out of order are the sums of them, and nobody writes to them."""

import inspect

import numpy as np
import pytest
from scipy import sparse

import gramian as gm
from gramian import linalg
from gramian.kernels import Kernel


def repeated(X):
    """X with every entry in two halves, the second half in front: neither sorted nor each once."""
    S = sparse.csr_array(X)
    parts = [(np.concatenate([S[[i]].data[::-1]] * 2) / 2, np.tile(S[[i]].indices[::-1], 2)) for i in range(len(X))]
    data, indices = (np.concatenate(column) for column in zip(*parts))
    return sparse.csr_array((data, indices, 2 * S.indptr), shape=S.shape)


@pytest.fixture
def points(rng):
    X = rng.integers(0, 3, (40, 6)) * 2.0
    X[:, 0] += np.arange(40) % 4 + 2
    return X


class Watched:
    """A sparse matrix with its three arrays as they were, which may not even be written to."""

    def __init__(self, X):
        self.S = repeated(X)
        self.arrays = (self.S.data, self.S.indices, self.S.indptr)
        self.before = [array.copy() for array in self.arrays]
        for array in self.arrays:
            array.flags.writeable = False

    def check(self):
        for array, before in zip((self.S.data, self.S.indices, self.S.indptr), self.before):
            np.testing.assert_array_equal(array, before)


def public(base):
    values = {name: getattr(gm, name) for name in gm._registry.HOME}
    return {n: v for n, v in values.items() if inspect.isclass(v) and issubclass(v, base) and v is not base}


def bare(cls):
    try:
        return cls()
    except TypeError:
        return cls(1.0) if cls is gm.Laplacian else None


KERNELS = {name: made for name, cls in public(Kernel).items() if (made := bare(cls)) is not None and made.on_vectors}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels(name, points):
    kernel = KERNELS[name].bound(points)
    try:
        kernel(sparse.csr_array(points[:2]))
    except TypeError:
        pytest.skip("takes no sparse points")
    watched = Watched(points)
    np.testing.assert_allclose(kernel(watched.S), kernel(points), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(kernel(watched.S, watched.S), kernel(points), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(kernel.diag(watched.S), kernel.diag(points), rtol=1e-9, atol=1e-9)
    watched.check()


def test_a_learner(points):
    watched, y = Watched(points), np.arange(40) % 4
    learned, expected = (gm.ITML(random_state=0).fit(S, y).metric_ for S in (watched.S, sparse.csr_array(points)))
    np.testing.assert_allclose(learned.sqdist(watched.S), expected.sqdist(sparse.csr_array(points)), rtol=1e-6)
    watched.check()


def test_an_index(points):
    watched = Watched(points)
    index = gm.ExactIndex(gm.Mahalanobis.euclidean(6)).add(watched.S)
    sqdist = np.sort(((points[:, None] - points[None]) ** 2).sum(axis=2), axis=1)[:, :3]
    np.testing.assert_allclose(index.query(watched.S, 3)[1], sqdist, atol=1e-9)
    watched.check()


def test_the_manhattan_distance_of_what_a_product_gave(points):
    watched = Watched(points)
    expected = np.abs(points[:, None] - points[None]).sum(axis=2)
    np.testing.assert_allclose(linalg.manhattan(watched.S, watched.S), expected)
    watched.check()


def test_graphs_and_penalties(points):
    A = (np.abs(np.subtract.outer(np.arange(40), np.arange(40))) <= 2).astype(float) - np.eye(40)
    watched, y = Watched(A), np.where(np.arange(40) < 6, np.arange(40) % 2, -1)
    learned = gm.TDL(penalty=watched.S).fit(points, y).embedding_
    np.testing.assert_allclose(np.abs(learned), np.abs(gm.TDL(penalty=A).fit(points, y).embedding_), atol=1e-6)
    watched.check()
