"""Few labels among very many points: a part is learned as it would be alone, and the others are placed beside it."""

import warnings

import numpy as np
import pytest

import gramian as gm
from gramian.constraints import Labels
from gramian.manifold import NeighborGraph, SpectralFamily, transductive
from gramian.manifold.alternation import suitable


@pytest.fixture
def moons(monkeypatch):
    """Three hundred points, every tenth of them labeled; more than a hundred are many."""
    monkeypatch.setattr(transductive, "MANY", 150)
    data = gm.datasets.moons(300, noise=0.05, random_state=0)
    return data.X, np.where(np.arange(300) % 10 == 0, np.array(["a", "b"])[data.y], "-1"), data.y


MODELS = {
    "TDL": (gm.TDL, {"n_components": 2, "n_neighbors": 8}, {"graph": NeighborGraph(8)}),
    "GeometryAwareKernel": (gm.GeometryAwareKernel, {}, {"family": SpectralFamily()}),
}


def fit(model, X, y):
    """The model, and what it said."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return model.fit(X, y), [str(warning.message) for warning in caught]


@pytest.mark.parametrize("name", MODELS)
def test_a_part_is_learned_as_it_would_be_alone(name, moons):
    X, y, _ = moons
    cls, settings, whole = MODELS[name]
    codes = np.where(y == "-1", -1, (y == "b").astype(int))
    model, said = fit(cls(**settings, random_state=0), X, codes)
    assert any(f"{name}: learns the geometry of 150 of the 300 points" in text for text in said)
    alone, _ = fit(cls(**{**settings, **whole}, random_state=0), X[model.part_], codes[model.part_])
    np.testing.assert_array_equal(model.embedding_[model.part_], alone.embedding_)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    assert model.anchor_ == alone.anchor_ and alone.part_ is None
    assert set(np.flatnonzero(codes >= 0)) <= set(model.part_)


@pytest.mark.parametrize("name", MODELS)
def test_all_points_have_labels_of_their_own_type(name, moons):
    X, y, truth = moons
    cls, settings, _ = MODELS[name]
    numbers = np.where(y == "-1", -1, np.where(y == "b", 70, 30))
    model, _ = fit(cls(**settings, random_state=0), X, numbers)
    found = model.predict()
    assert found.shape == (300,) and set(found) == {30, 70} and model.embedding_.shape[0] == 300
    assert (found[numbers >= 0] == numbers[numbers >= 0]).all()
    assert np.mean(found == np.where(truth == 1, 70, 30)) > 0.95
    assert np.mean(model.predict(X + 1e-3) == found) > 0.95


@pytest.mark.parametrize("name", MODELS)
def test_a_geometry_that_is_given_is_that_of_all_points(name, moons):
    X, _, truth = moons
    cls, settings, whole = MODELS[name]
    y = np.where(np.arange(300) % 10 == 0, truth, -1)
    model, said = fit(cls(**{**settings, **whole}, random_state=0), X, y)
    assert model.part_ is None and not any("learns the geometry" in text for text in said)


def test_a_refused_fit_on_a_part_changes_nothing(moons):
    X, _, truth = moons
    model, _ = fit(gm.TDL(2, n_neighbors=8, random_state=0), X[:100], truth[:100])
    before = dict(vars(model))
    with pytest.raises(ValueError, match="TDL: n_votes must"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.set_params(n_votes=0).fit(X, truth)
    assert {k: v for k, v in vars(model).items() if k != "n_votes"} == {
        k: v for k, v in before.items() if k != "n_votes"
    }


@pytest.mark.parametrize("labeled", [0, 7, 600, 1000])
def test_what_is_drawn(labeled):
    codes = np.where(np.arange(1000) < labeled, np.arange(1000) % 3, -1)
    rows = transductive.drawn(Labels(codes, np.arange(3)), 200, np.random.RandomState(0))
    assert len(rows) == len(set(rows)) <= 200 and len(rows) >= 190 and (np.diff(rows) > 0).all()
    known = (codes[rows] >= 0).sum()
    assert known == labeled if labeled <= 100 else known >= 90
    assert labeled < 600 or np.bincount(codes[rows][codes[rows] >= 0]).min() >= 30


def test_many_pairs_are_solved_on_the_matrix_as_the_projections_solve_them(monkeypatch):
    """Newton's method on B and cyclic projections minimize the same convex function."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3)) + 3 * np.eye(3)[np.arange(80) % 3]
    settings = {"n_pairs": 200, "gamma": 1.0, "max_iter": 1, "anchor": 0.0, "random_state": 0}
    family, solver = SpectralFamily(n_eigenvectors=4), gm.BregmanProjections(max_iter=20_000, tol=1e-10)
    used, choose = [], suitable
    monkeypatch.setattr(
        "gramian.manifold.alternation.suitable", lambda problem: used.append(choose(problem)) or used[-1]
    )
    newton, _ = fit(gm.GeometryAwareKernel(family, **settings), X, np.arange(80) % 3)
    cyclic, _ = fit(gm.GeometryAwareKernel(family, solver=solver, **settings), X, np.arange(80) % 3)
    assert [type(one).__name__ for one in used] == ["PrimalNewton"]
    np.testing.assert_allclose(newton.core_, cyclic.core_, rtol=1e-4, atol=1e-6 * np.abs(cyclic.core_).max())


def test_one_lambda_is_one_sparse_eigenproblem_of_all_points(moons, monkeypatch):
    """The paper's own call learns from all points, unless memory does not hold them."""
    X, _, truth = moons
    y = np.where(np.arange(300) % 10 == 0, truth, -1)
    model, said = fit(gm.TDL(2, lam=10.0, n_neighbors=8), X, y)
    assert model.part_ is None and not any("learns the geometry" in text for text in said)
    whole = gm.TDL(2, lam=10.0, graph=gm.manifold.NeighborGraph(8), n_neighbors=8).fit(X, y)
    np.testing.assert_allclose(np.abs(model.embedding_), np.abs(whole.embedding_), atol=1e-9)
    monkeypatch.setattr("gramian._memory.available", lambda: 1e5)
    model, said = fit(gm.TDL(2, lam=10.0, n_neighbors=8), X, y)
    assert model.part_ is not None
