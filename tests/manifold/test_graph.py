"""Neighbors against brute force, graphs and Laplacians against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist

import gramian as gm
from gramian.manifold import BallGraph, GaussianGraph, NeighborGraph, laplacian, n_connected_components, neighbors


def brute(X, k, Q=None):
    D = cdist(X if Q is None else Q, X, "sqeuclidean")
    if Q is None:
        np.fill_diagonal(D, np.inf)
    ids = np.argsort(D, axis=1, kind="stable")[:, :k]
    return ids, np.take_along_axis(D, ids, 1)


def spread(rng, n, d):
    return rng.normal(size=(n, d)) * np.exp(-np.arange(d) / 10)


@pytest.mark.parametrize("n, d", [(40, 3), (2300, 100)])
def test_neighbors_are_exact(rng, n, d):
    X, Q = spread(rng, n, d), spread(rng, 30, d)
    for queries in (None, Q):
        ids, D = neighbors(X, 7, queries=queries)
        truth, values = brute(X, 7, queries)
        assert np.array_equal(ids, truth)
        np.testing.assert_allclose(D, values, rtol=1e-12)


def test_projection_that_bounds_badly_is_still_exact(rng):
    # All variance lies in directions the sample of rows hardly shows: the certificate fails, the answer does not.
    X = np.zeros((2400, 80))
    X[:, :3] = rng.normal(size=(2400, 3)) * 100
    X[:, 3:] = rng.normal(size=(2400, 77))
    assert np.array_equal(neighbors(X, 5)[0], brute(X, 5)[0])


def test_ties_go_to_the_lower_id_and_duplicates_count():
    X = np.repeat([[0.0, 0.0], [1.0, 0.0]], 60, axis=0)
    ids, D = neighbors(X, 3)
    assert np.array_equal(ids[[0, 5, 60]], [[1, 2, 3], [0, 1, 2], [61, 62, 63]])
    assert (D == 0).all()


@given(st.integers(2, 30), st.integers(1, 40), st.integers(0, 5))
def test_neighbors_of_small_sets(n, k, seed):
    X = np.random.default_rng(seed).integers(0, 3, size=(n, 2)).astype(float)
    ids, D = neighbors(X, k)
    assert ids.shape == (n, min(k, n - 1))
    assert (ids != np.arange(n)[:, None]).all()
    np.testing.assert_allclose(D, brute(X, min(k, n - 1))[1])


def test_any_distance_any_index_and_sparse_points_agree(rng):
    X = rng.normal(size=(50, 4))
    M = np.diag([1.0, 4.0, 0.0, 2.0])
    metric = gm.Mahalanobis.from_matrix(M)
    truth = brute(X * np.sqrt(np.diag(M)), 5)[0]

    class Index:
        def add(self, X):
            self.X = X
            return self

        def query(self, Q, k):
            return brute(self.X, k, Q)

    assert np.array_equal(neighbors(X, 5, distance=metric)[0], truth)
    assert np.array_equal(neighbors(X, 5, distance=lambda a, b: metric(a, b))[0], truth)
    assert np.array_equal(neighbors(X, 5, distance=metric, shortlist=49)[0], truth)
    assert np.array_equal(neighbors(X, 5, index=Index())[0], brute(X, 5)[0])
    assert np.array_equal(neighbors(sparse.csr_array(X), 5)[0], brute(X, 5)[0])
    with pytest.raises(TypeError, match="distance must be"):
        neighbors(X, 5, distance=3)


@pytest.mark.parametrize("kind", ["metric", "kernel", "tangent", "callable"])
def test_every_graph_takes_every_distance(rng, kind):
    X = rng.random((20, 16))
    metric = gm.Mahalanobis.from_matrix(np.diag(rng.random(16) + 0.1))
    distances = {
        "metric": metric,
        "kernel": gm.Gaussian(0.8),
        "tangent": gm.TangentDistance((4, 4), tangents=("x", "y")),
        "callable": lambda a, b: float(np.abs(a - b).sum()),
    }
    distance = distances[kind]
    D = cdist(X, X, "cityblock") ** 2 if kind == "callable" else distance.sqdist(X)
    np.fill_diagonal(D, np.inf)
    near = np.zeros((20, 20), bool)
    np.put_along_axis(near, np.argsort(D, axis=1)[:, :4], True, axis=1)
    scale, radius = np.sqrt(np.median(D)), np.sqrt(np.quantile(D, 0.3)) + 1e-9
    W = np.exp(-D / (2 * scale**2))
    A = NeighborGraph(4, scale=scale, distance=distance)(X)
    np.testing.assert_allclose(A.toarray(), np.where(near | near.T, W, 0), atol=1e-9)
    np.testing.assert_array_equal(BallGraph(radius, distance=distance)(X).toarray(), radius**2 >= D)
    np.testing.assert_allclose(GaussianGraph(scale, distance=distance)(X), W, atol=1e-9)


@pytest.mark.parametrize("make", [gm.ExactIndex, gm.HashIndex])
def test_graphs_by_an_index(rng, make):
    X, metric = rng.normal(size=(200, 5)), gm.Mahalanobis.from_matrix(np.diag([4.0, 1.0, 1.0, 0.5, 2.0]))
    by_index, direct = NeighborGraph(6, index=make(metric))(X), NeighborGraph(6, distance=metric)(X)
    assert abs(by_index - direct).sum() <= (0 if make is gm.ExactIndex else 0.1 * direct.sum())


def test_union_and_mutual_graphs(rng):
    X = rng.normal(size=(30, 2))
    directed = np.zeros((30, 30), bool)
    np.put_along_axis(directed, brute(X, 4)[0], True, axis=1)
    assert np.array_equal(NeighborGraph(4)(X).toarray(), directed | directed.T)
    assert np.array_equal(NeighborGraph(4, mutual=True)(X).toarray(), directed & directed.T)


def test_weights_are_gaussian_of_the_squared_distance(rng):
    X = rng.normal(size=(25, 2))
    D = cdist(X, X, "sqeuclidean")
    W = np.exp(-D / (2 * 0.35**2)) - np.eye(25)
    np.testing.assert_allclose(GaussianGraph(0.35)(X), W, atol=1e-12)
    A = NeighborGraph(3, scale=0.35)(X).toarray()
    np.testing.assert_allclose(A[A > 0], W[A > 0])
    ball = BallGraph(1.0)(X).toarray()
    assert np.array_equal(ball, (D <= 1) & ~np.eye(25, dtype=bool))


def test_laplacians_are_positive_and_kill_their_trivial_vector(rng):
    A = NeighborGraph(4, scale=1.0)(rng.normal(size=(40, 3)))
    v = rng.normal(size=40)
    L, t = laplacian(A)
    edges = A.tocoo()
    np.testing.assert_allclose(v @ L @ v, 0.5 * np.sum(edges.data * (v[edges.row] - v[edges.col]) ** 2))
    for normalized in (False, True):
        for B in (A, A.toarray()):
            L, t = laplacian(B, normalized)
            np.testing.assert_allclose(L @ t, 0, atol=1e-12)
            assert np.linalg.eigvalsh(L.toarray() if sparse.issparse(L) else L)[0] > -1e-12
            degree = np.asarray(A.sum(axis=1)).ravel()
            half = degree**-0.5 if normalized else np.ones(40)
            expected = np.eye(40) * half * degree * half - half[:, None] * A.toarray() * half
            np.testing.assert_allclose(L.toarray() if sparse.issparse(L) else L, expected, atol=1e-12)


def test_pieces_and_isolated_vertices():
    X = np.array([[0.0], [0.1], [5.0], [5.1], [99.0]])
    A = BallGraph(1.0)(X)
    assert n_connected_components(A) == 3
    L, t = laplacian(A, normalized=True)
    assert np.isfinite(L.toarray()).all() and t[4] == 0


@pytest.mark.parametrize("k", [3, 9])
def test_local_scales(rng, k):
    X = rng.normal(size=(40, 3)) * np.repeat([1.0, 10.0], 20)[:, None]
    graph = NeighborGraph(k, scale="local")
    D = cdist(X, X)
    s = np.sort(D, axis=1)[:, 7]
    W = np.zeros((40, 40))
    for i in range(40):
        for j in np.argsort(D[i])[1 : k + 1]:
            W[i, j] = W[j, i] = np.exp(-(D[i, j] ** 2) / (s[i] * s[j]))
    np.testing.assert_allclose(graph(X).toarray(), W, atol=1e-12)
    np.testing.assert_allclose(graph(1e3 * X).toarray(), W, atol=1e-10)  # no unit of length
    link = graph.link(X, X[:1] + 1e-9).toarray()[0]  # a new point beside an old one has its weights
    near = np.argsort(D[0])[1:k]
    np.testing.assert_allclose(link[near], np.exp(-(D[0, near] ** 2) / (np.sort(D[0])[6] * s[near])), atol=1e-6)
    copies = np.vstack([np.zeros((12, 2)), np.ones((12, 2)), [[5.0, 5.0]]])
    assert np.isfinite(graph(copies).toarray()).all()  # scales of zero


def test_distances_that_are_not_finite_are_named(rng):
    with pytest.raises(ValueError, match="neighbors: distance must be finite from each point to 2 others"):
        neighbors(rng.normal(size=(6, 2)), 2, distance=lambda a, b: np.inf)
