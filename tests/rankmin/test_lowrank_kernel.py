"""LowRankKernel: two settings, one kernel function; the Burg method against the full-rank learner on coordinates."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale
from tests.rankmin.problems import KERNEL, feasible_pairs

import gramian as gm
from gramian.rankmin import lowrank_kernel


@pytest.mark.parametrize("setting", ["inductive", "transductive"])
@pytest.mark.parametrize("method", ["factored", "mw", "ocp", "burg", "svp"])
def test_kernel_function_extends_the_training_matrix(iris, setting, method):
    X, _ = iris
    pairs = feasible_pairs(X)
    model = gm.LowRankKernel(KERNEL, rank=12, method=method, setting=setting, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, pairs)
    K = model.kernel_
    assert model.rank_ <= 12 and np.linalg.matrix_rank(K, tol=1e-9 * np.abs(K).max()) <= 12
    np.testing.assert_allclose(model.metric_.kernel(X), K, atol=1e-6 * np.abs(K).max())
    far = np.random.default_rng(0).normal(scale=5, size=(40, 4))
    values = np.linalg.eigvalsh(model.metric_.kernel(far))
    assert values[0] >= -1e-9 * max(values[-1], 1e-12)
    np.testing.assert_allclose(model.beta_, np.sum(K * KERNEL(X)) / np.sum(KERNEL(X) ** 2), rtol=1e-6)


def test_defaults_and_wrong_arguments(iris):
    X, y = iris
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = gm.LowRankKernel(random_state=0).fit(X, y)
    assert 1 <= model.rank_ < len(X)
    for options, word in [
        ({"method": "x"}, "method"),
        ({"setting": "x"}, "setting"),
        ({"rank": 0}, "rank"),
        ({"beta": 2.0}, "beta"),
    ]:
        with pytest.raises(ValueError, match=word):
            gm.LowRankKernel(KERNEL, random_state=0, **options).fit(X, y)


def test_points_that_are_all_equal():
    model = gm.LowRankKernel(gm.Linear(), random_state=0).fit(np.zeros((6, 2)), [0, 0, 0, 1, 1, 1])
    assert model.rank_ == 0 and np.array_equal(model.metric_.kernel(np.ones((2, 2))), np.zeros((2, 2)))


def test_a_generator_is_a_random_state(iris):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one, two = (
            gm.LowRankKernel(KERNEL, 4, n_pairs=20, random_state=np.random.default_rng(0)).fit(*iris).factor_
            for _ in range(2)
        )
    assert np.array_equal(one, two)


@pytest.mark.parametrize("method", ["factored", "mw", "ocp", "burg"])
@pytest.mark.parametrize("setting", ["inductive", "transductive"])
def test_data_at_the_edges(iris, setting, method):
    X, y = iris
    cases = {
        "strings": (X, np.array(["a", "b", "c"])[y]),
        "float32": (X.astype(np.float32), y),
        "integers": (np.round(10 * X).astype(int), y),
        "one class": (X, np.zeros(len(X))),
        "equal points": (np.ones((10, 3)), np.arange(10) % 2),
        "two points": (X[[0, 20]], [0, 1]),
        "singletons": (X[:6], np.arange(6)),
        "huge": (1e140 * X, y),
        "tiny": (1e-140 * X, y),
        "a point with itself": (X, gm.Pairs([0, 1], [0, 30], [True, False], bounds=(0.1, 0.5))),
    }
    for name, (points, side) in cases.items():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = gm.LowRankKernel(rank=4, method=method, setting=setting, max_iter=5, n_pairs=20, random_state=0)
            K = model.fit(points, side).kernel_
        assert np.isfinite(K).all() and np.isfinite(model.beta_) and model.rank_ <= 4, name


WORDS, GROUPS = ["metric", "meter", "meters", "kernel", "colonel", "kern"], list("aaabbb")


@pytest.mark.parametrize("setting", ["inductive", "transductive"])
@pytest.mark.parametrize("method", ["factored", "mw", "ocp", "burg"])
def test_kernels_of_other_objects(setting, method):
    """Words with a function for a kernel, and row numbers with its matrix: the same kernel twice."""

    def shared(a, b):
        return float(len(set(a) & set(b)))

    matrix = gm.Precomputed(gm.FunctionKernel(shared)(WORDS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        words, rows = (
            gm.LowRankKernel(kernel, 3, method=method, setting=setting, n_pairs=8, random_state=0).fit(points, GROUPS)
            for kernel, points in ((shared, WORDS), (matrix, list(range(6))))
        )
    np.testing.assert_allclose(words.kernel_, rows.kernel_, atol=1e-8)
    np.testing.assert_allclose(words.metric_.kernel(WORDS), words.kernel_, atol=1e-8)
    assert words.metric_.kernel(["net"], WORDS).shape == (1, 6)
    with pytest.raises(ValueError, match="LowRankKernel: requires y"):
        gm.LowRankKernel(shared).fit(WORDS)


def test_defaults_meet_the_pairs_of_scaled_wine():
    """The default rank keeps 90% of the trace, and at that rank the pairs can be met: no warning."""
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = gm.LowRankKernel(random_state=0).fit(X, y)
    lam = np.sort(np.linalg.eigvalsh(model.features_.kernel_(X)))[::-1]
    assert lam[: model.rank_].sum() >= 0.9 * lam.sum() > lam[: model.rank_ - 1].sum()


def test_of_many_labeled_points_a_part_is_learned_from_in_all_of_its_coordinates(monkeypatch):
    monkeypatch.setattr(lowrank_kernel, "MANY", 60)
    monkeypatch.setattr(lowrank_kernel, "MOST_POINTS", 40)
    X, y = load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match=r"LowRankKernel: learns from 39 of the 150 points, drawn by class, since"):
        model = gm.LowRankKernel(gm.Gaussian(1.0), rank=8, n_pairs=40, random_state=0).fit(X, y)
    assert model.factor_.shape == (150, 8) and len(model.features_.basis_) <= 39
    np.testing.assert_allclose(model.metric_.kernel(X), model.kernel_, atol=1e-9)
    for settings in ({"setting": "transductive"}, {"features": gm.KernelFeatures(rank=30)}):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = gm.LowRankKernel(gm.Gaussian(1.0), rank=8, n_pairs=40, random_state=0, **settings).fit(X, y)
        assert found.factor_.shape[0] == 150
