"""The index that keeps up with a learner."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gramian as gm
from gramian.search import online_hashing
from gramian.search.anchored import draw_rows
from gramian.search.second_level import SecondLevel


@pytest.fixture(autouse=True)
def always_hash(monkeypatch):
    """Small indexes would be scanned; here they are hashed."""
    monkeypatch.setattr(online_hashing, "SCAN_BELOW", 0)


def cloud(rng, n=1500, d=8):
    return rng.standard_normal((40, d))[rng.integers(0, 40, n)] * 3 + rng.standard_normal((n, d))


def teach(index, X, rng, n):
    target = gm.Mahalanobis.from_matrix(np.diag(np.linspace(2, 0.1, X.shape[1])))
    for i, j in rng.integers(0, len(X), (n, 2)):
        index.learn_one(X[i], X[j], target.pair_sqdist(X[[i]], X[[j]])[0])


def bits(packed):
    return np.unpackbits(packed, axis=1, bitorder="little").astype(bool)


def stored_bits(index):
    packed = index._index._columns["codes"].rows.view(np.uint8)
    return bits(packed)[:, : index.n_bits]


def recall(index, Q, k=10):
    wanted, _ = gm.ExactIndex(index.metric_).add(index._index._rows("points"), index.ids).query(Q, k)
    found, _ = index.query(Q, k)
    return np.mean([len(set(a) & set(b)) / k for a, b in zip(found, wanted)])


@pytest.mark.parametrize("learner", [gm.LEGO(eta=1e-3), gm.OnlineITML(eta=1e-4), gm.OnlinePOLA(eta=1e-3), gm.LEGO()])
def test_queries_rank_by_the_live_metric(learner, rng):
    X = cloud(rng)
    index = gm.OnlineHashIndex(learner, n_bits=128, random_state=0).add(X)
    Q = X[:20] + 0.3
    for _ in range(4):
        teach(index, X, rng, 15)
        ids, sqdist = index.query(Q, 10)
        live = index.metric_.sqdist(Q, X)
        assert np.allclose(sqdist, np.take_along_axis(live, ids, axis=1))
        assert (np.diff(sqdist, axis=1) >= 0).all()
        assert recall(index, Q) > 0.97
    assert index.stats_["updates"] == 60


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_margin_filter_misses_no_flip(rng, dtype):
    """Two roads: bits recomputed where the margin allows a flip, and all bits hashed from scratch."""
    X = cloud(rng).astype(dtype)
    settings = {"detector": "margin", "rehash_share": 0.99, "tolerance": 0, "random_state": 1}
    index = gm.OnlineHashIndex(gm.LEGO(eta=1e-4), n_bits=64, **settings).add(X[:1000])
    touched = 0
    for step in range(6):
        teach(index, X, rng, 2)
        if step == 3:
            index.add(X[1000:])
        counts = index.upkeep(force=True)
        touched += counts["touched"] * (1 - counts["rehashed"])
        P = (index._index._rows("points") - index._index.center) @ index._rows.T
        clear = np.abs(P) > 1e-4 * np.abs(P).max()
        assert np.array_equal((P >= 0)[clear], stored_bits(index)[clear])
    assert 0 < touched < 5 * 64 * 1500


def test_the_likely_filter_touches_fewer_and_misses_few(rng):
    X = cloud(rng, 3000, 16)
    flips, touched, wrong = {}, {}, {}
    for detector in ("margin", "likely"):
        settings = {"detector": detector, "rehash_share": 0.99, "random_state": 1}
        index = gm.OnlineHashIndex(gm.LEGO(eta=1e-6), n_bits=128, **settings).add(X)
        teach(index, X, np.random.default_rng(5), 5)
        counts = index.upkeep(force=True)
        assert counts["rehashed"] == 0
        flips[detector], touched[detector] = counts["flipped"], counts["touched"]
        wrong[detector] = ((X - index._index.center) @ index._rows.T >= 0) != stored_bits(index)
    assert wrong["margin"].sum() == 0
    assert touched["likely"] < 0.8 * touched["margin"]
    assert wrong["likely"].sum() <= 0.05 * flips["margin"]


def test_directions_are_random_rows_of_the_factor(rng):
    """The corrections a_t (rᵀG_t v)(M_t v)ᵀ add up to R G_t."""
    X = cloud(rng)
    index = gm.OnlineHashIndex(gm.LEGO(eta=1e-3), n_bits=64, random_state=0).add(X)
    teach(index, X, rng, 200)
    G = index.metric_.components
    wanted = draw_rows(index.seed, X.shape[1], 64) @ G
    assert np.allclose(index._rows, wanted, atol=1e-8 * np.abs(wanted).max())
    assert np.allclose(G.T @ G, index.metric_.matrix, atol=1e-8)


def test_the_flip_share_is_what_flips(rng):
    X = cloud(rng, 4000, 16)
    index = gm.OnlineHashIndex(gm.LEGO(eta=1e-5), n_bits=256, random_state=0).add(X)
    before = stored_bits(index)
    teach(index, X, rng, 10)
    expected = index._index.flip_share(index._rows)
    index.upkeep(force=True)
    assert np.isclose((stored_bits(index) != before).mean(), expected, rtol=0.3)


def test_stale_codes_move_at_the_tolerance(rng):
    X = cloud(rng)
    index = gm.OnlineHashIndex(gm.LEGO(eta=1e-9), n_bits=64, tolerance=0.05, random_state=0).add(X)
    teach(index, X, rng, 3)
    index.query(X[:1], 3)
    assert index.stats_["moves"] == 0
    index.learner.progress_ = gm.LEGO(eta=10.0).learn_one(X[0], X[40], 0.0).progress_
    index.learn_one(X[0], X[40], 0.0)
    index._rows = draw_rows(index.seed, X.shape[1], 64) @ index.metric_.components
    index.query(X[:1], 3)
    assert index.stats_["moves"] == 1


@given(st.integers(0, 10**6))
def test_interleaving_gives_what_a_new_index_gives(seed):
    """Adds, removes, lessons and queries in any order: same items, same metric, same distances as from scratch."""
    rng = np.random.default_rng(seed)
    X = cloud(rng, 300, 4)
    index = gm.OnlineHashIndex(gm.LEGO(eta=1e-3), n_bits=256, recall=1 - 1e-9, tolerance=0, random_state=0).add(X[:50])
    held, top = set(range(50)), 50
    for _ in range(12):
        action = rng.integers(0, 4)
        if action == 0:
            index.add(X[top : top + 20])
            held |= set(range(top, top + 20))
            top += 20
        elif action == 1 and len(held) > 30:
            gone = rng.choice(sorted(held), 5, replace=False)
            index.remove(gone)
            held -= set(gone.tolist())
        elif action == 2:
            teach(index, X, rng, 3)
        ids, sqdist = index.query(X[:3] + 0.1, 5)
        items = np.array(sorted(held))
        wanted, exact = gm.ExactIndex(index.metric_).add(X[items], items).query(X[:3] + 0.1, 5)
        assert np.array_equal(index.ids, items)
        assert np.allclose(sqdist, exact)


def test_second_level_finds_most_flips(rng):
    X, H = rng.standard_normal((4000, 24)), rng.standard_normal((32, 24))
    moved = 0.5 * (H + 0.03 * rng.standard_normal(H.shape))
    second = SecondLevel(X, np.zeros(24), H, 0)
    found = touched = flips = 0
    for j in second.bits:
        flipped = np.flatnonzero((X @ H[j] >= 0) != (X @ moved[j] >= 0))
        listed = second.candidates(j, moved[j])
        flips, touched, found = (
            flips + len(flipped),
            touched + len(listed),
            found + len(np.intersect1d(flipped, listed)),
        )
    assert found > 0.8 * flips
    assert touched < 0.3 * len(X) * len(second.bits)


def test_second_level_index_keeps_its_recall(rng):
    X = cloud(rng, 3000, 16)
    index = gm.OnlineHashIndex(gm.LEGO(eta=1e-6), detector="second_level", tolerance=0.001, random_state=0).add(X)
    for _ in range(3):
        teach(index, X, rng, 10)
        assert recall(index, X[:30] + 0.2) > 0.95
    assert index.stats_["moves"] > 0


@pytest.mark.parametrize("learned", [0, 25])
def test_save_and_load(rng, tmp_path, learned):
    X = cloud(rng)
    index = gm.OnlineHashIndex(gm.LEGO(eta=1e-3), n_bits=64, random_state=0).add(X)
    teach(index, X, rng, learned)
    index.query(X[:2], 3)
    teach(index, X, rng, learned)
    index.save(tmp_path / "index")
    again = gm.load(tmp_path / "index")
    for own in (index, again):
        own.learn_one(X[0], X[1], 1.0)
    for a, b in zip(index.query(X[:9] + 0.1, 5), again.query(X[:9] + 0.1, 5)):
        assert np.array_equal(a, b)
    assert np.array_equal(index.metric_.matrix, again.metric_.matrix)
    assert index.stats_ == again.stats_


def test_the_learner_is_copied(rng):
    X = cloud(rng, 100)
    lego = gm.LEGO(eta=0.1).learn_one(X[0], X[1], 1.0)
    index = gm.OnlineHashIndex(lego, n_bits=64).add(X)
    assert np.array_equal(index.metric_.matrix, lego.metric_.matrix)
    index.learn_one(X[2], X[3], 0.0)
    assert lego.n_seen_ == 1
    assert index.learner.n_seen_ == 2


def test_batches_and_kernel_coordinates(rng):
    X = cloud(rng, 400)
    features = gm.KernelFeatures(gm.Gaussian(4.0), rank=12).fit(X)
    index = gm.OnlineHashIndex(gm.LEGO(eta=0.5, features=features, alpha=0), n_bits=128, random_state=0).add(X)
    index.partial_fit(X, gm.Pairs.from_labels(rng.integers(0, 3, 400), n_pairs=50, X=X, random_state=0))
    ids, sqdist = index.query(X[:5], 4)
    assert np.allclose(sqdist, np.take_along_axis(index.metric_.sqdist(X[:5], X), ids, axis=1), atol=1e-9)
    assert (ids[:, 0] == np.arange(5)).all()


def test_errors_change_nothing(rng):
    X = cloud(rng, 100)
    index = gm.OnlineHashIndex(gm.LEGO(eta=0.1), n_bits=64, random_state=0)
    with pytest.raises(ValueError, match="empty"):
        index.query(X, 3)
    index.add(X)
    before, rows = index.learner.progress_, index._rows.copy()
    for bad in ((X[0], X[1], -1.0), (X[0], X[1][:3], 1.0), (X[0] * 1e300, X[1], 1.0)):
        with pytest.raises(ValueError, match="LEGO"):
            index.learn_one(*bad)
    with pytest.raises(ValueError, match="features"):
        index.add(X[:, :3])
    with pytest.raises(ValueError, match="already holds"):
        index.add(X[:1], [5])
    with pytest.raises(ValueError, match="does not hold"):
        index.remove([1000])
    assert index.learner.progress_ is before
    assert np.array_equal(index._rows, rows)
    assert len(index) == 100
    with pytest.raises(ValueError, match="dense"):
        gm.OnlineHashIndex(gm.LEGO(rank=3))
    with pytest.raises(TypeError, match="learner"):
        gm.OnlineHashIndex(gm.Mahalanobis.euclidean(2))


def test_learning_before_the_first_point(rng):
    X = cloud(rng, 50)
    index = gm.OnlineHashIndex(gm.LEGO(eta=0.1), n_bits=64).learn_one(X[0], X[1], 1.0).add(X)
    assert np.isclose(index.query(X[:1], 2)[1][0, 0], 0)
    assert index.query(X[:1], 99)[0].shape == (1, 50)
    assert index.query(X[:0], 3)[0].shape == (0, 3)


def test_small_indexes_are_scanned(rng, monkeypatch):
    monkeypatch.setattr(online_hashing, "SCAN_BELOW", 2048)
    X = cloud(rng, 300)
    index = gm.OnlineHashIndex(gm.LEGO(eta=1e-3), n_bits=8, random_state=0).add(X)
    teach(index, X, rng, 20)
    assert recall(index, X[:50] + 0.5) == 1.0
