"""TDL against its definition, its special cases, and its behavior at the edges."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.decomposition import KernelPCA
from sklearn.manifold import Isomap
from sklearn.manifold import SpectralEmbedding as SklearnEmbedding
from sklearn.utils.estimator_checks import parametrize_with_checks

import gramian as gm
from gramian.manifold import GaussianGraph, NeighborGraph, eigen, laplacian
from gramian.manifold.eigen import Search, smallest_eigenvectors
from gramian.manifold.penalties import cost_matrix, on_gram
from gramian.manifold.transductive import vote

pytestmark = pytest.mark.filterwarnings("ignore:.*connected components", "ignore:.*held-out labels")


def moons(n=120, noise=0.05, seed=0):
    rng = np.random.default_rng(seed)
    t = np.linspace(0, np.pi, n // 2)
    X = np.vstack([np.c_[np.cos(t), np.sin(t)], np.c_[1 - np.cos(t), 0.6 - np.sin(t)]])
    return X + noise * rng.normal(size=X.shape), np.repeat([0, 1], n // 2)


def hide(y, keep):
    out = np.full(len(y), -1)
    out[keep] = y[keep]
    return out


def projector(F):
    Q = np.linalg.qr(F)[0]
    return Q @ Q.T


def naive_cost(X, y, k):
    """Equation (6) by loops."""
    n, C = len(y), np.zeros((len(y), len(y)))
    D = cdist(X, X)
    for i in np.flatnonzero(y >= 0):
        for sign, group in ((1, (y == y[i])), (-1, (y >= 0) & (y != y[i]))):
            others = np.flatnonzero(group & (np.arange(n) != i))
            chosen = others[np.argsort(D[i, others], kind="stable")[:k]]
            C[i, chosen] += sign / max(len(chosen), 1)
    return C


def test_cost_and_proposition_3(rng):
    X, y = rng.normal(size=(40, 3)), rng.integers(-1, 3, size=40)
    C, naive = cost_matrix(X, y, 4).toarray(), naive_cost(X, y, 4)
    np.testing.assert_allclose(C, (naive + naive.T) / 2, atol=1e-15)
    F = rng.normal(size=(40, 5))
    D = cdist(F, F, "sqeuclidean")
    np.testing.assert_allclose(np.trace(on_gram(cost_matrix(X, y, 4)) @ (F @ F.T)), np.sum(naive * D))


@pytest.mark.parametrize("penalty", ["laplacian", "normalized", "matrix"])
def test_embedding_solves_the_eigenproblem(rng, penalty):
    X, truth = moons()
    y = hide(truth, rng.permutation(120)[:12])
    A = NeighborGraph(6)(X)
    L, t = laplacian(A, penalty == "normalized")
    model = gm.TDL(4, lam=3.0, n_neighbors=6, penalty=L if penalty == "matrix" else penalty).fit(X, y)
    C = naive_cost(X, y, 6)
    C = (C + C.T) / 2
    S = 2 * (np.diag(C.sum(axis=1)) - C) + 3.0 * L.toarray()
    N = np.linalg.svd(t[None])[2][1:].T  # the complement of t
    values, vectors = np.linalg.eigh(N.T @ S @ N)
    np.testing.assert_allclose(model.eigenvalues_, values[:4], atol=1e-9)
    np.testing.assert_allclose(projector(model.embedding_), projector(N @ vectors[:, :4]), atol=1e-7)
    assert values[0] < 0 or penalty == "normalized"  # indefinite: the constant vector is not the first one


@pytest.mark.parametrize("penalty", ["laplacian", "normalized"])
def test_rank_is_the_problem_on_the_smoothest_eigenvectors(rng, penalty):
    X, truth = moons()
    y = hide(truth, rng.permutation(120)[:12])
    options = {"n_components": 4, "lam": 0.05, "n_neighbors": 6, "penalty": penalty}
    full, whole = gm.TDL(**options).fit(X, y), gm.TDL(**options, rank=119).fit(X, y)
    np.testing.assert_allclose(whole.eigenvalues_, full.eigenvalues_, atol=1e-8)
    np.testing.assert_allclose(projector(whole.embedding_), projector(full.embedding_), atol=1e-6)
    model = gm.TDL(**options, rank=10).fit(X, y)
    L, _ = laplacian(NeighborGraph(6)(X), penalty == "normalized")
    V = np.linalg.eigh(L.toarray())[1][:, 1:11]
    S = (on_gram(cost_matrix(X, y, 6)) + 0.05 * L).toarray()
    values, a = np.linalg.eigh(V.T @ S @ V)
    np.testing.assert_allclose(model.eigenvalues_, values[:4], atol=1e-8)
    np.testing.assert_allclose(projector(model.embedding_), projector(V @ a[:, :4]), atol=1e-6)


def test_rank_keeps_labeled_points_with_their_neighbors_and_places_new_points():
    """With a small λ the printed problem tears labeled points off; in the smooth span it cannot."""
    X, truth = moons()
    y = hide(truth, np.arange(3, 120, 10))
    options = {"n_components": 3, "n_neighbors": 8}
    free, smooth = gm.TDL(lam=0.01, **options).fit(X, y), gm.TDL(lam=0.01, rank=12, **options).fit(X, y)
    L = laplacian(NeighborGraph(8)(X))[0]

    def roughness(model):
        return np.trace(model.embedding_.T @ (L @ model.embedding_))

    assert roughness(smooth) < 0.5 * roughness(free)
    assert np.mean(smooth.predict() == truth) >= np.mean(free.predict() == truth)
    new, labels = moons(80, seed=4)
    assert np.mean(smooth.predict(new) == labels) > np.mean(smooth.predict() == truth) - 0.05
    grid = gm.TDL(lam=[0.01, 1.0, 100.0], rank=12, random_state=0, **options).fit(X, y)
    assert grid.lam_ in (0.01, 1.0, 100.0) and np.mean(grid.predict() == truth) > 0.9


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


@pytest.mark.parametrize("penalty", ["laplacian", "normalized", gm.Gaussian(0.3)])
def test_new_points_are_labeled_like_training_points(penalty):
    X, truth = moons(300)
    y = hide(truth, np.arange(0, 300, 15))
    model = gm.TDL(3, lam=10.0, n_neighbors=8, penalty=penalty).fit(X, y)
    assert np.mean(model.predict() == truth) > 0.95
    new, labels = moons(300, seed=1)
    assert np.mean(model.predict(new) == labels) > np.mean(model.predict() == truth) - 0.03
    np.testing.assert_allclose(model.transform(X[:5]), model.embedding_[:5], atol=1e-8)


def test_metric_is_the_distance_in_the_embedding_and_is_stored(tmp_path):
    X, truth = moons()
    for penalty in ("normalized", gm.Gaussian(0.3)):
        model = gm.TDL(3, n_neighbors=8, penalty=penalty).fit(X, hide(truth, [0, 10, 60, 119]))
        expected = cdist(model.embedding_, model.embedding_, "sqeuclidean")
        np.testing.assert_allclose(model.metric_.sqdist(X), expected, atol=1e-7)
        model.metric_.save(tmp_path / "metric")
        new = moons(seed=3)[0]
        np.testing.assert_allclose(gm.load(tmp_path / "metric").sqdist(new), model.metric_.sqdist(new))


def test_lam_is_chosen_by_cross_validation():
    X, truth = moons(200, 0.1)
    y = hide(truth, np.arange(0, 200, 8))
    model = gm.TDL(2, lam=[1e-3, 1.0, 100.0], n_neighbors=8, random_state=0).fit(X, y)
    assert model.lam_ in (1e-3, 1.0, 100.0)
    by_hand = {lam: gm.TDL(2, lam=lam, n_neighbors=8).fit(X, y) for lam in (1e-3, 1.0, 100.0)}
    np.testing.assert_allclose(model.embedding_, by_hand[model.lam_].embedding_)


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


def test_few_labels(rng):
    X, truth = moons()
    one = gm.TDL(2, n_neighbors=6).fit(X, hide(truth, [7]))
    assert (one.predict() == truth[7]).all() and (one.predict(X[:3] + 0.01) == truth[7]).all()
    same = gm.TDL(2, n_neighbors=6).fit(X, hide(truth, [1, 2, 3]))
    assert (same.predict() == 0).all()
    missing = gm.TDL(2, n_neighbors=6).fit(X, hide(truth, [1, 2, 100]))  # one label of a class: no k of its kind
    assert set(missing.predict()) == {0, 1}
    none = gm.TDL(2, n_neighbors=6).fit(X, np.full(120, -1))
    with pytest.raises(ValueError, match="at least one labeled point"):
        none.predict()


def test_duplicates_strings_pieces_float32_and_isolated_points(rng):
    X, truth = moons()
    X = np.vstack([X, X[:40], [[50.0, 50.0]]])
    y = np.append(np.append(truth, truth[:40]), 1)
    words = np.array(["left", "right"])[y]
    model = gm.TDL(3, n_neighbors=3, n_votes=3).fit(X.astype(np.float32), words)
    assert np.isfinite(model.embedding_).all() and np.array_equal(model.predict(), words)
    graph = gm.manifold.BallGraph(0.3)
    with pytest.warns(UserWarning, match="connected components"):
        model = gm.TDL(2, graph=graph, penalty="normalized").fit(X, hide(y, [0, 100]))
    assert model.n_connected_components_ > 1 and set(model.predict()) == {0, 1}
    assert np.isfinite(model.transform([[-80.0, 3.0], [0.5, 0.5]])).all()


@pytest.mark.parametrize("penalty", ["laplacian", "normalized", "lle", "isomap", gm.Gaussian(2.0)], ids=str)
@pytest.mark.parametrize("copies", [12, 60])
def test_copies_of_few_points(rng, penalty, copies):
    """Pieces of equal points, and nothing but one point, under every penalty."""
    X = np.repeat(rng.random((60 // copies, 4)), copies, axis=0)
    y = hide(np.arange(60) % 2, np.arange(10))
    model = gm.TDL(3, n_neighbors=5, penalty=penalty).fit(X, y)
    assert np.isfinite(model.embedding_).all() and set(model.predict()) <= {0, 1}
    assert np.array_equal(model.predict()[:10], y[:10]) and set(model.predict(X[:2] + 0.1)) <= {0, 1}


def test_row_order_and_units_do_not_matter(rng):
    X, truth = moons()
    y = hide(truth, [0, 30, 60, 90])
    order = rng.permutation(120)
    a = gm.TDL(2, n_neighbors=7).fit(X, y)
    b = gm.TDL(2, n_neighbors=7).fit(1000 * X[order], y[order])
    np.testing.assert_allclose(a.metric_.sqdist(X)[np.ix_(order, order)], b.metric_.sqdist(1000 * X[order]), atol=1e-7)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"penalty": "ridge"}, "penalty must be one of"),
        ({"penalty": np.eye(3)}, "a Kernel or a matrix"),
        ({"graph": np.ones((120, 3))}, "graph must be a Graph"),
        ({"lam": 0.0}, "lam must be"),
        ({"lam": []}, "several to choose from, got none"),
        ({"n_components": 0}, "n_components must be"),
        ({"cost_neighbors": 0}, "cost_neighbors must be"),
    ],
)
def test_errors_name_the_argument(change, message):
    X, truth = moons()
    with pytest.raises(ValueError, match=message):
        gm.TDL(**change).fit(X, truth)


@parametrize_with_checks([gm.TDL(), gm.LaplacianEigenmaps()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_as_3_prints_it_the_trace_is_one(rng):
    """Tr(XᵀX) = 1 and Xᵀ1 = 0: no X (n, 3) that obeys both is lower, and the best has one column."""
    X = rng.normal(size=(40, 3))
    y = np.where(np.arange(40) < 8, np.arange(40) % 2, -1)
    model = gm.TDL(3, lam=0.5, n_neighbors=6, normalization="trace").fit(X, y)
    F = model.embedding_
    assert F.shape == (40, 1) and np.sum(F**2) == pytest.approx(1) and abs(F.sum()) < 1e-8
    A = NeighborGraph(6).adjacency_of(X)
    A = A.toarray() if hasattr(A, "toarray") else A
    C = cost_matrix(X, y, 6)
    C = C.toarray() if hasattr(C, "toarray") else C
    S = 2 * (np.diag(C.sum(axis=0)) - C) + 0.5 * (np.diag(A.sum(axis=0)) - A)  # Proposition 3, and L
    value = np.trace(F.T @ S @ F)
    for _ in range(200):
        trial = rng.normal(size=(40, 3))
        trial -= trial.mean(axis=0)
        assert np.trace(trial.T @ S @ trial) / np.sum(trial**2) >= value - 1e-9
    values = np.linalg.eigvalsh(S + 1e3 * np.ones((40, 40)))
    assert value == pytest.approx(values[0])
