"""Whole streams: the loss bound, definiteness, coordinates, the choice of η."""

import numpy as np
import pytest

import gramian as gm
from gramian.online import LegoRule


def test_pairs_in_a_list_are_taken_again_and_again(rng):
    pairs, y = rng.standard_normal((10, 2, 3)), [1, -1] * 5
    one, other = gm.LEGO(eta=0.1), gm.LEGO(eta=0.1)
    for _ in range(2):
        one.partial_fit(pairs, y)
        other.partial_fit(pairs.tolist(), y)
    np.testing.assert_array_equal(one.metric_.matrix, other.metric_.matrix)


def test_a_million_steps_stay_positive_definite(rng):
    """Random, contradictory targets: M symmetric and positive definite, hash rows R G still R G."""
    d, rule = 16, LegoRule(0.1)
    state, R = rule.init(d), rng.standard_normal((6, d))
    H = R.copy()
    for _ in range(10):
        V, targets = rng.standard_normal((100_000, d)), rng.uniform(0, 2 * d, 100_000)
        state, _ = rule.stream(state, V, targets, np.zeros(100_000, int), H)
        M = rule.metric(state).matrix
        assert np.array_equal(M, M.T)
        assert np.linalg.eigvalsh(M)[0] > 0
        assert np.abs(R @ state.G - H).max() <= 1e-8 * np.abs(H).max()


def test_kernel_space_with_a_linear_kernel_is_the_dense_learner(rng):
    X = rng.standard_normal((50, 4))
    features = gm.KernelFeatures(gm.Linear()).fit(X)
    dense, kernel = gm.LEGO(eta=0.1), gm.LEGO(eta=0.1, features=features)
    for i in range(20):
        dense.learn_one(X[i], X[49 - i], 2.0, "at_most")
        kernel.learn_one(X[i], X[49 - i], 2.0, "at_most")
    assert np.allclose(kernel.metric_.sqdist(X), dense.metric_.sqdist(X), atol=1e-8)
    assert np.isclose(kernel.loss_, dense.loss_)


def test_kernel_space_keeps_the_part_outside_of_the_landmarks(rng):
    X = rng.standard_normal((50, 4))
    features = gm.KernelFeatures(gm.Gaussian(2.0), rank=5).fit(X)
    learner = gm.LEGO(eta=5.0, features=features)
    kernel = features.kernel_.sqdist(X)
    assert np.allclose(learner.start().metric_.sqdist(X), kernel, atol=1e-10)
    before = abs(kernel[0, 1] - 0.2)
    learner.learn_one(X[0], X[1], 0.2)
    assert abs(learner.metric_.sqdist(X[:2])[0, 1] - 0.2) < before


def test_online_learning_helps_on_wine(data_folder):
    data = np.load(data_folder / "wine.npz")
    X, y = data["X"], data["y"]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    plain = gm.LEGO(eta=1e-12, random_state=0).fit(X, y).score(X, y)
    for cls in (gm.LEGO, gm.OnlineITML, gm.OnlinePOLA):
        assert cls(random_state=0).fit(X, y).score(X, y) > plain


def test_pola_with_a_learned_threshold_needs_bounds(rng):
    pola = gm.OnlinePOLA(margin=1.0)
    with pytest.raises(ValueError, match="kind"):
        pola.learn_one(np.zeros(2), np.ones(2), 1.0, "equal")
    pola.learn_one(np.zeros(2), np.ones(2), 0.0, "at_most")
    assert pola.threshold_ > 1
