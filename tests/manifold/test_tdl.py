"""TDL against its definition, its special cases, and its behavior at the edges."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.manifold.problems import hide, moons, naive_cost, projector

import gramian as gm
from gramian.manifold import NeighborGraph, laplacian
from gramian.manifold.penalties import cost_matrix, on_gram

pytestmark = pytest.mark.filterwarnings("ignore:.*connected components", "ignore:.*held-out labels")


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


def test_lam_is_chosen_by_cross_validation():
    X, truth = moons(200, 0.1)
    y = hide(truth, np.arange(0, 200, 8))
    model = gm.TDL(2, lam=[1e-3, 1.0, 100.0], n_neighbors=8, random_state=0).fit(X, y)
    assert model.lam_ in (1e-3, 1.0, 100.0)
    by_hand = {lam: gm.TDL(2, lam=lam, n_neighbors=8).fit(X, y) for lam in (1e-3, 1.0, 100.0)}
    np.testing.assert_allclose(model.embedding_, by_hand[model.lam_].embedding_)


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
