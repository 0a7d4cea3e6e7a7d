"""The index that keeps up with a learner."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import gramian as gm
from gramian.search import codes, online_hash_index, rehash


@pytest.fixture(autouse=True)
def always_hash(monkeypatch):
    """Small indexes would be scanned; here they are hashed."""
    monkeypatch.setattr(online_hash_index, "SCAN_BELOW", 0)


def cloud(rng, n=1500, d=8):
    return rng.standard_normal((40, d))[rng.integers(0, 40, n)] * 3 + rng.standard_normal((n, d))


def teach(index, X, rng, n):
    target = gm.Mahalanobis.from_matrix(np.diag(np.linspace(2, 0.1, X.shape[1])))
    for i, j in rng.integers(0, len(X), (n, 2)):
        index.learn_one(X[i], X[j], target.pair_sqdist(X[[i]], X[[j]])[0])


def bits(packed):
    return np.unpackbits(packed, axis=1, bitorder="little").astype(bool)


def stored_bits(index):
    return bits(index._items["codes"].view(np.uint8))[:, : index.n_bits]


def live_bits(index):
    """Bits of the items under the live metric, from the directions R G, and which of them are clear of rounding."""
    G, X = index.metric_.components, index._items["points"]
    P = (X - index._items.settled["center"]) @ (G.T @ codes.directions(index.seed, np.arange(len(G)), index.n_bits))
    return P >= 0, np.abs(P) > 1e-4 * np.abs(P).max()


def recall(index, Q, k=10):
    wanted, _ = gm.ExactIndex(index.metric_).add(index._items["points"], index.ids).query(Q, k)
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
    settings = {"detector": "margin", "rehash_share": 0.99, "tol": 0, "random_state": 1}
    index = gm.OnlineHashIndex(gm.LEGO(eta=1e-4), n_bits=64, **settings).add(X[:1000])
    touched = 0
    for step in range(6):
        teach(index, X, rng, 2)
        if step == 3:
            index.add(X[1000:])
        counts = index.upkeep(force=True)
        touched += counts["touched"] * (1 - counts["rehashed"])
        wanted, clear = live_bits(index)
        assert np.array_equal(wanted[clear], stored_bits(index)[clear])
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
        wrong[detector] = live_bits(index)[0] != stored_bits(index)
    assert wrong["margin"].sum() == 0
    assert touched["likely"] < 0.8 * touched["margin"]
    assert wrong["likely"].sum() <= 0.05 * flips["margin"]


def test_directions_move_as_the_thesis_says(rng):
    """The corrections a_t (rᵀG_t v)(M_t v)ᵀ of (5.8) add up to the directions of the live factor."""
    X = cloud(rng)
    lego = gm.LEGO(eta=1e-3)
    R = codes.directions(0, np.arange(8), 64)
    H = R.copy()
    for i, j in rng.integers(0, len(X), (50, 2)):
        before = lego.metric_.components if hasattr(lego, "progress_") else np.eye(8)
        lego.learn_one(X[i], X[j], 1.0)
        v = X[i] - X[j]
        p = before @ v
        if p @ p > 0:
            a = (np.sqrt(lego.metric_.pair_sqdist(X[[i]], X[[j]])[0] / (p @ p)) - 1) / (p @ p)
            H += a * np.outer(before.T @ p, v @ H)
    np.testing.assert_allclose(H, lego.metric_.components.T @ R, atol=1e-8 * np.abs(H).max())


def test_the_stale_share_is_what_flips(rng):
    X = cloud(rng, 4000, 16)
    index = gm.OnlineHashIndex(gm.LEGO(eta=1e-5), n_bits=256, random_state=0).add(X)
    before, anchor = stored_bits(index), index.metric_
    teach(index, X, rng, 10)
    expected = index._anchors.stale(anchor, index.metric_, index._items)
    index.upkeep(force=True)
    assert np.isclose((stored_bits(index) != before).mean(), expected, rtol=0.3)


def test_stale_codes_move_at_the_tolerance(rng):
    X = cloud(rng)
    index = gm.OnlineHashIndex(gm.LEGO(eta=1e-9), n_bits=64, tol=0.05, random_state=0).add(X)
    teach(index, X, rng, 3)
    index.query(X[:1], 3)
    assert index.stats_["moves"] == 0 and index._items.settled["move"] is None
    index.learner.progress_ = gm.LEGO(eta=10.0).learn_one(X[0], X[40], 0.0).progress_
    for _ in range(len(X) // 128 + 1):
        index.query(X[:1], 3)
    assert index.stats_["moves"] == 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_move_piece_by_piece_ends_where_a_move_at_once_does(rng, monkeypatch, dtype, share):
    """Queries, new and removed items in the middle of a move; all bits (share 0) or those that may have flipped."""
    monkeypatch.setattr(rehash, "STEP", (200, 64))
    monkeypatch.setattr(rehash, "PACE", 1)
    X = cloud(rng, 2000).astype(dtype)
    settings = {"detector": "margin", "rehash_share": share, "random_state": 1}
    index = gm.OnlineHashIndex(gm.LEGO(eta=1e-3), n_bits=64, tol=0.001, **settings).add(X)
    teach(index, X, rng, 30)
    target = index.metric_
    for step in range(30):
        ids, sqdist = index.query(X[:5] + 0.1, 8)
        np.testing.assert_allclose(sqdist, np.take_along_axis(target.sqdist(X[:5] + 0.1, X), ids, 1), rtol=1e-5)
        assert recall(index, X[:20] + 0.2) > 0.95
        if step == 1:
            assert 0 < rehash.done(index._items) < len(index)
            index.remove(np.arange(100, 177))
        if step == 2:
            index.add(X[100:120], np.arange(100, 120))  # between others: the move begins again
        if step == 3:
            index.add(X[120:177], 2000 + np.arange(57))
            X = np.vstack([X[:120], np.full((57, 8), np.nan), X[177:], X[120:177]])
            X[120:177] = 1e6
    assert index._items.settled["move"] is None and index.stats_["moves"] >= 1
    wanted, clear = live_bits(index)
    assert np.array_equal(wanted[clear], stored_bits(index)[clear])


def test_a_query_moves_a_bounded_number_of_items(rng, monkeypatch):
    monkeypatch.setattr(rehash, "STEP", (50, 64))
    monkeypatch.setattr(rehash, "PACE", 1)
    X = cloud(rng, 1000)
    index = gm.OnlineHashIndex(gm.LEGO(eta=1e-3), n_bits=64, tol=0.001, random_state=0).add(X)
    teach(index, X, rng, 30)
    for step in range(1, 6):
        index.query(X[:1], 3)
        assert rehash.done(index._items) == 50 * step


@pytest.mark.parametrize("kind", ["rank", "rank, sparse", "kernel", "kernel, outside", "linear, outside"])
def test_every_learner_is_followed(rng, kind):
    X = cloud(rng, 600)
    if "sparse" in kind:
        X = sparse.csr_array(np.where(np.abs(X) > 2, X, 0.0))
    learners = {
        "rank": gm.LEGO(eta=1e-3, rank=3),
        "kernel": gm.LEGO(eta=0.5, features=gm.KernelFeatures(gm.Gaussian(4.0), rank=12).fit(X), alpha=0.0),
        "kernel, outside": gm.LEGO(eta=0.5, features=gm.KernelFeatures(gm.Gaussian(4.0), rank=12).fit(X), alpha=1.0),
        "linear, outside": gm.LEGO(eta=1e-3, features=gm.KernelFeatures(gm.Linear(), basis=X[:3]).fit(X), alpha=0.5),
    }
    learner = learners[kind.split(", sparse")[0]]
    index = gm.OnlineHashIndex(learner, tol=0.005, random_state=0).add(X)
    Q, found = X[:15] * 1.05, []
    for _ in range(6):
        for i, j in rng.integers(0, 600, (8, 2)):
            index.learn_one(X[i], X[j], float(rng.uniform(0, 2)))
        ids, sqdist = index.query(Q, 10)
        live = index.metric_.sqdist(Q, X)
        np.testing.assert_allclose(sqdist, np.take_along_axis(live, ids, axis=1), rtol=1e-7, atol=1e-9)
        found += [len(np.intersect1d(a, b)) / 10 for a, b in zip(ids, np.argsort(live, axis=1)[:, :10])]
    assert np.mean(found) > 0.97
    assert index.upkeep(force=True)["touched"] > 0


@given(st.integers(0, 10**6))
def test_interleaving_gives_what_a_new_index_gives(seed):
    """Adds, removes, lessons and queries in any order: same items, same metric, same distances as from scratch."""
    rng = np.random.default_rng(seed)
    X = cloud(rng, 300, 4)
    index = gm.OnlineHashIndex(gm.LEGO(eta=1e-3), n_bits=256, recall=1 - 1e-9, tol=0, random_state=0).add(X[:50])
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
    before = index.learner.progress_
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
    assert len(index) == 100
    with pytest.raises(TypeError, match="dense"):
        index.add(sparse.csr_array(X))
    with pytest.raises(TypeError, match="learner"):
        gm.OnlineHashIndex(gm.Mahalanobis.euclidean(2))


def test_learning_before_the_first_point(rng):
    X = cloud(rng, 50)
    index = gm.OnlineHashIndex(gm.LEGO(eta=0.1), n_bits=64).learn_one(X[0], X[1], 1.0).add(X)
    assert np.isclose(index.query(X[:1], 2)[1][0, 0], 0)
    assert index.query(X[:1], 99)[0].shape == (1, 50)
    assert index.query(X[:0], 3)[0].shape == (0, 3)


def test_small_indexes_are_scanned(rng, monkeypatch):
    monkeypatch.setattr(online_hash_index, "SCAN_BELOW", 2048)
    X = cloud(rng, 300)
    index = gm.OnlineHashIndex(gm.LEGO(eta=1e-3), n_bits=8, random_state=0).add(X)
    teach(index, X, rng, 20)
    assert recall(index, X[:50] + 0.5) == 1.0


def test_a_forced_upkeep_ends_at_the_live_metric(rng):
    """Also where a move to an earlier metric was under way."""
    X = rng.normal(size=(20_000, 6))
    index = gm.OnlineHashIndex(gm.LEGO(eta=0.05), n_bits=64, tol=0.01, random_state=0).add(X)
    turned = 0
    while index._items.settled["move"] is None and turned < 500:
        index.learn_one(X[turned], X[turned + 1], 0.0 if turned % 2 else 9.0).query(X[:1], k=1)
        turned += 1
    assert index._items.settled["move"] is not None
    for i in range(turned, turned + 40):
        index.learn_one(X[i], X[i + 1], 0.0 if i % 2 else 9.0)
    index.upkeep(force=True)
    anchor, live = index._items.settled["anchor"], index.metric
    np.testing.assert_array_equal(anchor.components, live.components)
    assert index._items.settled["move"] is None and index.stale_ == 0.0
