"""Between two models: the maps are those of their problems, and the expected recall is what happens."""

import numpy as np
import pytest

import gramian as gm
from gramian.learners.model_bridge import nearest, roads


def models(n=600, p=10, q=14, seed=0):
    rng = np.random.default_rng(seed)
    T = np.random.default_rng(5).normal(size=(p, q))
    old = rng.normal(size=(n, p))
    return old, np.tanh(old @ T / 3) + 0.1 * rng.normal(size=(n, q))


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def overlap(a, b):
    return np.mean([len(np.intersect1d(x, y)) / len(x) for x, y in zip(a, b)])


@pytest.mark.parametrize("to", ["old", "new"])
def test_the_expected_recall_is_that_of_rows_that_come_later(to, tmp_path):
    old, new = models()
    bridge = gm.ModelBridge(to).fit(old[:300], new[:300])
    n = bridge.n_searched_
    A, B = unit(old[300:]), unit(new[300:])
    some = np.arange(min(n, 300))
    truth = nearest(B[some], B[some], some)
    found = (bridge.transform(new[300:]), A) if to == "old" else (B, bridge.transform(old[300:]))
    recall, error = bridge.recall_
    assert abs(overlap(nearest(found[0][some], found[1][some], some), truth) - recall) < 0.05 + 4 * error
    assert 0 < error < 0.05 < recall < 1
    bridge.save(tmp_path / "bridge.gram")
    again = gm.load(tmp_path / "bridge.gram")
    points = new if to == "old" else old
    np.testing.assert_array_equal(again.transform(points), bridge.transform(points))
    assert again.recall_ == bridge.recall_ and repr(again) == repr(bridge)


def test_a_rotation_is_undone():
    rng = np.random.default_rng(0)
    old = rng.normal(size=(300, 6))
    R = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    bridge = gm.ModelBridge().fit(old, old @ R)
    np.testing.assert_allclose(bridge.transform(old @ R), unit(old), atol=0.01)
    assert bridge.recall_[0] > 0.97


def test_the_roads_are_optima():
    old, new = (unit(X) for X in models(200))
    made = roads(old, new)
    W, w = made["Procrustes"]()
    scale = np.linalg.norm(W, 2)
    np.testing.assert_allclose(W @ W.T / scale**2, np.eye(10), atol=1e-8)
    W, w = made["ridge 0.01"]()
    x, y = old - old.mean(axis=0), new - new.mean(axis=0)
    lam = 0.01 * np.trace(x.T @ x) / 10
    direct = np.linalg.lstsq(np.vstack([x, np.sqrt(lam) * np.eye(10)]), np.vstack([y, np.zeros((10, 14))]), rcond=None)[
        0
    ]
    np.testing.assert_allclose(W, direct, atol=1e-8)
    np.testing.assert_allclose(w, new.mean(axis=0) - old.mean(axis=0) @ W, atol=1e-12)
    cut = next(road for name, road in made.items() if "rank" in name)()[0]
    assert np.linalg.matrix_rank(cut) == 5


@pytest.mark.parametrize("call, words", [
    (lambda A, B: (A, B[:5]), "same number of rows, got 600 and 5"),
    (lambda A, B: (A[:9], B[:9]), "at least 30 rows to hold some out, got 9"),
    (lambda A, B: (np.ones((40, 3)), B[:40]), "old must have rows that differ"),
    (lambda A, B: (np.where(np.arange(600)[:, None] == 3, 0, A), B), "old must have no rows of zeros.*row 3"),
    (lambda A, B: (A, B * np.nan), "NaN"),
])  # fmt: skip
def test_bad_input_is_one_sentence(call, words):
    with pytest.raises(ValueError, match=f"ModelBridge: .*{words}"):
        gm.ModelBridge().fit(*call(*models()))
    with pytest.raises(Exception, match="not fitted yet"):
        gm.ModelBridge().transform([[1.0]])
