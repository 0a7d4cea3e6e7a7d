"""Costs and penalties of transductive distance learning, each against its definition."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.decomposition import KernelPCA
from sklearn.manifold import Isomap
from tests.manifold.problems import hide, moons, naive_cost, projector

import gramian as gm
from gramian.manifold import NeighborGraph, laplacian
from gramian.manifold.penalties import constraint_cost, cost_matrix, on_gram

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*connected components", "ignore:.*held-out labels", "ignore::sklearn.exceptions.ConvergenceWarning"
)


def test_pairs_and_triplets_are_costs(rng):
    """tr(C'G) is the mean over each point's pairs, or each anchor's triplets, written out with distances."""
    F = rng.normal(size=(20, 3))
    D, G = cdist(F, F, "sqeuclidean"), F @ F.T
    pairs = gm.Pairs(rng.integers(0, 10, 30), rng.integers(10, 20, 30), rng.random(30) < 0.5)
    total = 0.0
    for i in range(20):
        for kind, sign in ((True, 1), (False, -1)):
            ends = [(a, b) for a, b, s in zip(pairs.left, pairs.right, pairs.similar) if s == kind and i in (a, b)]
            total += sign * np.mean([D[a, b] for a, b in ends]) if ends else 0.0
    np.testing.assert_allclose(np.trace(constraint_cost(pairs, 20) @ G), total)
    triplets = gm.Triplets(rng.integers(0, 5, 25), rng.integers(5, 12, 25), rng.integers(12, 20, 25))
    total = sum(
        np.mean(D[i, triplets.near[triplets.anchor == i]]) - np.mean(D[i, triplets.far[triplets.anchor == i]])
        for i in np.unique(triplets.anchor)
    )
    np.testing.assert_allclose(np.trace(constraint_cost(triplets, 20) @ G), total)


def test_pairs_of_all_neighbors_are_the_cost_of_the_paper(rng):
    X, y = rng.normal(size=(24, 2)), np.arange(24) % 2
    i, j = np.triu_indices(24, 1)
    pairs = gm.Pairs(i, j, y[i] == y[j])
    wanted = on_gram(cost_matrix(X, y, 50)).toarray()
    np.testing.assert_allclose(constraint_cost(pairs, 24).toarray(), wanted, atol=1e-12)
    by_pairs = gm.TDL(2, lam=3.0, n_neighbors=6).fit(X, pairs)
    by_labels = gm.TDL(2, lam=3.0, n_neighbors=6, cost_neighbors=50).fit(X, y)
    np.testing.assert_allclose(by_pairs.metric_.sqdist(X), by_labels.metric_.sqdist(X), atol=1e-8)
    with pytest.raises(ValueError, match="predict needs labels"):
        by_pairs.predict()
    with pytest.raises(ValueError, match="lam must be one number with constraints"):
        gm.TDL(lam=[1.0, 2.0]).fit(X, pairs)


def test_a_cost_of_ones_own(rng):
    X, truth = moons(60)
    y = hide(truth, rng.permutation(60)[:10])
    default = gm.TDL(3, lam=2.0, n_neighbors=5).fit(X, y)
    C = cost_matrix(X, default.codes_, 5).toarray()
    for cost in (C, lambda points, codes: cost_matrix(points, codes, 5)):
        np.testing.assert_allclose(
            gm.TDL(3, lam=2.0, n_neighbors=5, cost=cost).fit(X, y).embedding_, default.embedding_, atol=1e-9
        )
    chain = np.eye(60, k=1) + np.eye(60, k=-1)  # consecutive points near: a path
    path = gm.TDL(1, lam=1e-6, cost=chain).fit(X, np.full(60, -1)).embedding_[:, 0]
    assert np.all(np.diff(path) > 0) or np.all(np.diff(path) < 0)
    np.testing.assert_array_equal(gm.TDL(1, lam=1e-6, cost=chain).fit(X).embedding_[:, 0], path)
    with pytest.raises(ValueError, match="TDL: requires y to be passed"):
        gm.TDL(1).fit(X)
    with pytest.raises(ValueError, match="TDL: cost must be symmetric"):
        gm.TDL(cost=np.triu(np.ones((60, 60)))).fit(X, y)


def test_m_of_ones_own_in_problem_7(rng):
    X, truth = moons(60)
    y = hide(truth, rng.permutation(60)[:10])
    L = laplacian(NeighborGraph(5)(X))[0]
    options = {"n_components": 3, "lam": 0.5, "n_neighbors": 5, "penalty": gm.Gaussian(0.3)}
    named, given = (gm.TDL(smoothness=s, **options).fit(X, y) for s in (0.2, 0.2 * L))
    np.testing.assert_allclose(named.embedding_, given.embedding_, atol=1e-8)
    B = rng.normal(size=(60, 60))
    M = B @ B.T
    model = gm.TDL(smoothness=M, **options).fit(X, y)
    H = np.eye(60) - 1 / 60
    values, V = np.linalg.eigh(H @ gm.Gaussian(0.3)(X) @ H)
    keep = values > 1e-10 * values[-1]
    V, values = V[:, keep], values[keep]
    S = V.T @ (on_gram(cost_matrix(X, y, 5)).toarray() + 0.5 * M) @ V + 0.5 * np.diag(1 / values)
    np.testing.assert_allclose(model.eigenvalues_, np.linalg.eigvalsh(S)[:3], rtol=1e-5)


def test_cost_and_proposition_3(rng):
    X, y = rng.normal(size=(40, 3)), rng.integers(-1, 3, size=40)
    C, naive = cost_matrix(X, y, 4).toarray(), naive_cost(X, y, 4)
    np.testing.assert_allclose(C, (naive + naive.T) / 2, atol=1e-15)
    F = rng.normal(size=(40, 5))
    D = cdist(F, F, "sqeuclidean")
    np.testing.assert_allclose(np.trace(on_gram(cost_matrix(X, y, 4)) @ (F @ F.T)), np.sum(naive * D))


def test_pseudo_inverse_penalty_is_kernel_pca(rng):
    X = rng.normal(size=(60, 3))
    kernel = gm.Gaussian(1.5)
    model = gm.TDL(4, lam=2.0, penalty=kernel).fit(X, np.full(60, -1))
    pca = KernelPCA(4, kernel="precomputed").fit(kernel(X))
    ours, theirs = model.embedding_, pca.transform(kernel(X))
    theirs = theirs / np.linalg.norm(theirs, axis=0)
    np.testing.assert_allclose(np.abs(np.sum(ours * theirs, axis=0)), 1, atol=1e-8)
    np.testing.assert_allclose(model.eigenvalues_, 2.0 / pca.eigenvalues_, rtol=1e-6)
    Q = rng.normal(size=(7, 3))  # new points: problem (7) is kernel PCA's own projection
    theirs = pca.transform(kernel(Q, X)) / np.linalg.norm(pca.transform(kernel(X)), axis=0)
    np.testing.assert_allclose(np.abs(model.transform(Q)), np.abs(theirs), atol=1e-7)


def test_kernel_penalty_is_theorem_4(rng):
    """Problem (7) in coordinates against eigenvectors of C' + λ(K⁺ + HMH) on the range of the centered K."""
    X, truth = moons(60)
    y = hide(truth, rng.permutation(60)[:10])
    kernel = gm.Gaussian(0.3)
    model = gm.TDL(3, lam=0.5, n_neighbors=5, penalty=kernel, smoothness=0.2).fit(X, y)
    H = np.eye(60) - 1 / 60
    values, V = np.linalg.eigh(H @ kernel(X) @ H)
    V, values = V[:, values > 1e-10 * values[-1]], values[values > 1e-10 * values[-1]]
    L = laplacian(NeighborGraph(5)(X))[0]
    S = V.T @ (on_gram(cost_matrix(X, y, 5)) + 0.5 * 0.2 * L).toarray() @ V + 0.5 * np.diag(1 / values)
    w, U = np.linalg.eigh(S)
    np.testing.assert_allclose(model.eigenvalues_, w[:3], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(projector(model.embedding_), projector(V @ U[:, :3]), atol=1e-4)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-6)


def test_isomap_and_lle_penalties(rng):
    t = np.sort(rng.uniform(0, 3, 80))
    X = np.c_[np.cos(t), np.sin(t), 0.2 * rng.normal(size=80)]
    blank = np.full(80, -1)
    ours = gm.TDL(2, n_neighbors=8, penalty="isomap").fit(X, blank).embedding_
    theirs = Isomap(n_neighbors=8, n_components=2).fit_transform(X)
    theirs /= np.linalg.norm(theirs, axis=0)
    np.testing.assert_allclose(np.abs(np.sum(ours * theirs, axis=0)), 1, atol=1e-6)
    lle = gm.TDL(1, n_neighbors=8, penalty="lle").fit(X, blank)
    assert abs(np.corrcoef(lle.embedding_[:, 0], t)[0, 1]) > 0.9
    assert lle.eigenvalues_[0] >= -1e-12
