"""What every public index promises, enrolled by walking the public names."""

import copy
import inspect
import pickle

import numpy as np
import pytest
from scipy import sparse

import gramian as gm
from gramian.search import Index

D = 6
SPREAD = np.diag(np.linspace(0.5, 2.0, D))
METRICS = {"plain": np.eye(D), "spread": SPREAD, "low rank": np.diag([1.0, 2.0, 0.0, 0.0, 0.0, 0.0])}


def _mahalanobis(name):
    return gm.Mahalanobis.from_matrix(METRICS[name])


def _linear(name):
    """The same metric through a linear kernel and a basis that spans the space."""
    features = gm.KernelFeatures(gm.Linear(), basis=np.eye(D), coordinates="symmetric").fit(np.eye(D))
    return gm.KernelMetric(features, METRICS[name], alpha=1.0)


def _subspace(name):
    """The same metric on a subspace, with a part outside of it."""
    M = METRICS[name]
    return gm.SubspaceMahalanobis(np.eye(D)[:, :3], M[:3, :3], alpha=float(M[4, 4]))


def _learner(name):
    """A learner that stands at the metric, or next to it."""
    return gm.LEGO(prior=METRICS[name] + 1e-6 * np.eye(D))


MAKE = {
    "ExactIndex": lambda name: gm.ExactIndex(_mahalanobis(name)),
    "HashIndex": lambda name: gm.HashIndex(_mahalanobis(name), n_bits=64, random_state=0),
    "KernelHashIndex": lambda name: gm.KernelHashIndex(_linear(name), n_bits=64, random_state=0),
    "OnlineHashIndex": lambda name: gm.OnlineHashIndex(_learner(name), n_bits=64, random_state=0),
}
"""How to make each public index for one of the metrics; add a line for a new one."""
MORE = {
    "ExactIndex, subspace": lambda name: gm.ExactIndex(_subspace(name)),
    "HashIndex, subspace": lambda name: gm.HashIndex(_subspace(name), n_bits=64, random_state=0),
    "ExactIndex, kernel": lambda name: gm.ExactIndex(_linear(name)),
    "HashIndex, orders": lambda name: gm.HashIndex(_mahalanobis(name), searcher="orders", epsilon=0.1, random_state=0),
    "OnlineHashIndex, rank": lambda name: gm.OnlineHashIndex(gm.LEGO(rank=3), n_bits=64, random_state=0),
}
"""The same indexes under other metrics and settings."""

PUBLIC = [
    name
    for name in gm._registry.HOME
    if inspect.isclass(value := getattr(gm, name)) and issubclass(value, Index) and value is not Index
]
indexes = pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in {**MAKE, **MORE}.items()])


@pytest.fixture
def X():
    return np.random.default_rng(1).normal(size=(300, D))


def test_every_public_index_is_enrolled():
    assert set(PUBLIC) == set(MAKE)


def _brute(metric, Q, X, ids, k):
    D2 = metric.sqdist(Q, X)
    order = [np.lexsort((ids, row))[:k] for row in D2]
    return np.array([ids[o] for o in order]), np.array([row[o] for row, o in zip(D2, order)])


@indexes
@pytest.mark.parametrize("name", METRICS)
def test_neighbors_are_the_metric_s_own(make, name, X):
    index = make(name).add(X)
    ids, sqdist = index.query(X[:20] + 0.01, k=7)
    want, values = _brute(index.metric, X[:20] + 0.01, X, np.arange(300), 7)
    assert ids.dtype == np.int64 and sqdist.dtype == np.float64 and ids.shape == sqdist.shape == (20, 7)
    assert np.mean(ids == want) > 0.97
    assert (np.diff(sqdist, axis=1) >= 0).all()
    same = ids == want
    np.testing.assert_allclose(sqdist[same], values[same], rtol=1e-9, atol=1e-12)


@indexes
def test_a_copy_is_at_distance_zero_and_ties_go_by_id(make, X):
    ids = np.random.default_rng(2).permutation(60)
    index = make("spread").add(np.repeat(X[:3], 20, axis=0), ids=ids)
    found, sqdist = index.query(X[:3], k=20)
    for i in range(3):
        assert found[i].tolist() == sorted(ids[20 * i : 20 * i + 20].tolist())
    assert np.allclose(sqdist, 0, atol=1e-12)


@indexes
def test_more_neighbors_than_items_gives_all_items(make, X):
    ids, sqdist = make("plain").add(X[:4]).query(X[:2], k=9)
    assert ids.shape == sqdist.shape == (2, 4)
    assert sorted(ids[0].tolist()) == [0, 1, 2, 3]


@indexes
def test_no_item_comes_twice(make):
    X = np.random.default_rng(3).normal(size=(4000, D))
    index = make("spread").add(X)
    for k in (1, 3, 12):
        ids, _ = index.query(X[:50], k=k)
        assert all(len(set(row)) == k for row in ids.tolist())


@indexes
def test_batches_and_one_call_agree(make, X):
    whole, parts = make("spread").add(X), make("spread")
    for start in range(0, 300, 70):
        parts.add(X[start : start + 70])
    assert np.array_equal(whole.ids, parts.ids)
    one, two = whole.query(X, k=3), parts.query(X, k=3)
    assert np.mean(one[0] == two[0]) > 0.98
    same = one[0] == two[0]
    np.testing.assert_allclose(one[1][same], two[1][same], rtol=1e-9, atol=1e-12)


@indexes
def test_removed_items_are_gone_and_their_ids_are_not_reused(make, X):
    index = make("plain").add(X).remove(np.arange(0, 300, 2))
    ids, _ = index.query(X[:10], k=150)
    assert len(index) == 150 and (ids % 2 == 1).all()
    with pytest.raises(ValueError, match="got 4, which it does not hold"):
        index.remove([5, 4])
    assert len(index) == 150
    index.remove([299]).add(X[:1])
    assert index.ids[-1] == 300 and 299 not in index.ids
    index.add(X[:1], ids=[299])
    assert len(index) == 151 and (np.diff(index.ids) > 0).all()


@indexes
def test_ids_may_come_in_any_order(make, X):
    ids = np.random.default_rng(0).permutation(1000)[:300]
    index = make("spread").add(X[:100], ids=ids[:100]).add(X[100:], ids=ids[100:])
    found, _ = index.query(X, k=1)
    assert np.array_equal(found[:, 0], ids)


@indexes
def test_bad_ids_are_refused_and_nothing_changes(make, X):
    index = make("plain").add(X[:5])
    for bad, words in (([7, 7], "distinct"), ([3, 9], "new"), ([1], "one entry"), ([0.5, 1.5], "integers")):
        with pytest.raises(ValueError, match=words):
            index.add(X[:2], ids=bad)
    for bad, words in (([99], "99"), ([1, 1], "distinct"), ([[1]], "1-D")):
        with pytest.raises(ValueError, match=words):
            index.remove(bad)
    assert index.ids.tolist() == [0, 1, 2, 3, 4]


@indexes
def test_bad_queries_are_refused(make, X):
    index = make("plain")
    with pytest.raises(ValueError, match="empty"):
        index.query(X[:1], k=1)
    index.add(X)
    with pytest.raises(ValueError, match=f"{D} features, got 2"):
        index.query(X[:, :2], k=1)
    with pytest.raises(ValueError, match="NaN"):
        index.query(np.full((1, D), np.nan), k=1)
    with pytest.raises(ValueError, match="NaN"):
        index.add(np.full((1, D), np.inf))
    for k in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="k must be"):
            index.query(X[:1], k=k)
    assert index.query(X[:0], k=3)[0].shape == (0, 3)
    assert len(index.add(X[:0])) == 300


@indexes
def test_a_new_metric_gives_a_new_index(make, X):
    index = make("plain").add(X).remove([5])
    before = index.query(X, k=5)
    fresh = make("spread").add(X).remove([5])
    other = index.with_metric(fresh.metric)
    assert np.array_equal(before[0], index.query(X, k=5)[0])
    assert np.mean(other.query(X, k=5)[0] == fresh.query(X, k=5)[0]) > 0.98
    other.add(X[:3])
    index.add(X[7:9])
    assert len(other) == 302 and len(index) == 301
    np.testing.assert_allclose(other.query(X[:1], k=2)[1], 0, atol=1e-12)
    np.testing.assert_allclose(index.query(X[7:8], k=2)[1], 0, atol=1e-12)


@indexes
@pytest.mark.parametrize("mmap", [False, True])
def test_saved_and_loaded_answers_are_identical(make, X, tmp_path, mmap):
    index = make("spread").add(X).remove([3, 4])
    index.save(tmp_path / "index.gram")
    loaded = gm.load(tmp_path / "index.gram", mmap=mmap)
    assert type(loaded) is type(index)
    for one, two in zip(index.query(X, k=4), loaded.query(X, k=4)):
        assert np.array_equal(one, two)
    loaded.add(X[:2]).remove([0])
    assert len(index) == 298 and len(loaded) == 299 and loaded.ids[-1] == 301


@indexes
def test_queries_within_some_items_find_only_these(make, X):
    index, rng = make("spread").add(X, ids=np.arange(300) * 3), np.random.default_rng(4)
    for share in (0.01, 0.3, 0.95):
        mask = rng.random(300) < share
        mask[7] = True
        some = np.flatnonzero(mask)
        want, values = _brute(index.metric, X[:20] + 0.01, X[some], 3 * some, 5)
        for within in (mask, rng.permutation(3 * some)):
            ids, sqdist = index.query(X[:20] + 0.01, k=5, within=within)
            assert ids.shape == want.shape and np.isin(ids, 3 * some).all()
            assert np.mean(ids == want) > 0.97
            np.testing.assert_allclose(sqdist[ids == want], values[ids == want], rtol=1e-9, atol=1e-12)
    assert index.query(X[:2], k=5, within=np.zeros(300, bool))[0].shape == (2, 0)
    for bad, words in ((mask[:-1], "mask of shape"), ([1], "got 1, which it does not hold"), ([0.5], "integers")):
        with pytest.raises(ValueError, match=words):
            index.query(X[:2], within=bad)


@indexes
def test_a_radius_finds_all_items_inside(make, X):
    index = make("spread").add(X)
    D2 = index.metric.sqdist(X[:20] + 0.01, X)
    r = float(np.sqrt(np.quantile(D2, 0.05)))
    ids, sqdist = index.query_radius(X[:20] + 0.01, r)
    assert len(ids) == len(sqdist) == 20
    found = wanted = 0
    for own, values, row in zip(ids, sqdist, D2):
        assert own.dtype == np.int64 and (np.diff(values) >= 0).all() and (row[own] <= r * r * (1 + 1e-9)).all()
        np.testing.assert_allclose(values, row[own], rtol=1e-9, atol=1e-12)
        found, wanted = found + len(own), wanted + (row <= r * r).sum()
    assert found > 0.97 * wanted > 100
    only = index.query_radius(X[:3], 1e6, within=[4, 9])[0]
    assert [sorted(row.tolist()) for row in only] == [[4, 9]] * 3
    assert index.query_radius(X[:0], r) == ([], [])
    assert all(len(own) == 0 for own in index.query_radius(X[:2] + 1e6, r)[0])
    for bad in (-1.0, np.nan, "1"):
        with pytest.raises(ValueError, match="r must be"):
            index.query_radius(X[:2], bad)


@indexes
def test_threads_change_no_answer(make, X):
    one, two = make("spread").add(X), make("spread").add(X, n_jobs=2)
    for a, b in zip(one.query(X, k=4), two.query(X, k=4, n_jobs=3)):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="n_jobs must be"):
        one.query(X, n_jobs=0)


@indexes
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda index: pickle.loads(pickle.dumps(index))])
def test_copies_share_no_change(make, X, duplicate):
    index = make("spread").add(X[:100]).add(X[100:103])
    other = duplicate(index)
    index.add(X[200:201])
    other.add(X[201:202])
    for own, row in ((index, 200), (other, 201)):
        ids, sqdist = own.query(X[row : row + 1], k=1)
        assert ids.tolist() == [[103]]
        np.testing.assert_allclose(sqdist, 0, atol=1e-12)
    other.remove([0])
    assert len(index) == 104 and len(other) == 103


@indexes
def test_a_failed_call_changes_nothing(make, X):
    index = make("plain")
    for bad in (X[:2, :0], np.full((2, D), np.nan), X[0], [["a"]]):
        with pytest.raises((ValueError, TypeError)):
            index.add(bad)
    with pytest.raises(ValueError, match="distinct"):
        index.add(X[:2, :3], ids=[1, 1]) if isinstance(index, gm.OnlineHashIndex) else index.add(X[:2], ids=[1, 1])
    assert len(index) == 0 and len(index.add(X[:5])) == 5 and index.ids.tolist() == [0, 1, 2, 3, 4]
    before = index.query(X[:9], k=3)
    for call in (lambda: index.add(X, ids=[1]), lambda: index.remove([99]), lambda: index.add(X[:, :2])):
        with pytest.raises(ValueError):
            call()
    for one, two in zip(before, index.query(X[:9], k=3)):
        assert np.array_equal(one, two)


@indexes
def test_the_largest_ids_neither_wrap_nor_overflow(make, X):
    index = make("plain").add(X[:2], ids=np.array([5, 2**63 - 1]))
    with pytest.raises(ValueError, match="no ids are left"):
        index.add(X[:1])
    with pytest.raises(ValueError, match="below 2"):
        index.add(X[:1], ids=np.array([2**63 + 5], np.uint64))
    assert index.ids.tolist() == [5, 2**63 - 1]


@indexes
def test_emptied_indexes_take_new_items(make, X):
    index = make("spread").add(X[:50])
    index.remove(index.ids)
    assert len(index) == 0
    index.add(X)
    assert np.array_equal(index.query(X[:40], k=1)[0][:, 0], np.arange(50, 90))


@indexes
def test_a_truncated_file_is_named(make, X, tmp_path):
    make("plain").add(X).save(tmp_path / "index.gram")
    whole = (tmp_path / "index.gram").read_bytes()
    for share in (0.1, 0.5, 0.99):
        (tmp_path / "cut.gram").write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(ValueError, match="not a readable gramian file"):
            gm.load(tmp_path / "cut.gram")


@indexes
def test_inputs_are_neither_changed_nor_aliased(make, X):
    mine, ids = X.copy(), np.arange(300)
    index = make("spread").add(mine, ids=ids)
    before = index.query(X, k=3)
    assert np.array_equal(mine, X)
    mine[:] = 0
    ids[:] = 0
    index.ids[:] = 0
    assert np.array_equal(before[0], index.query(X, k=3)[0])


@indexes
def test_pickles(make, X):
    index = make("spread").add(X)
    copy = pickle.loads(pickle.dumps(index))
    assert np.array_equal(copy.query(X, k=3)[0], index.query(X, k=3)[0])


@indexes
@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scale_of_the_data_does_not_matter(make, X, scale):
    ids, sqdist = make("spread").add(X).query(X[:9] + 0.1, k=4)
    scaled, values = make("spread").add(scale * X).query(scale * (X[:9] + 0.1), k=4)
    assert np.mean(scaled == ids) > 0.95
    np.testing.assert_allclose(values[scaled == ids], scale**2 * sqdist[scaled == ids], rtol=1e-6)


@indexes
def test_float32_far_offset_and_constants(make, X):
    index = make("plain").add(X.astype(np.float32))
    assert np.array_equal(index.query(X[:50].astype(np.float32), k=1)[0][:, 0], np.arange(50))
    far = make("plain").add(X + 1e6)
    assert np.array_equal(far.query(X[:50] + 1e6, k=1)[0][:, 0], np.arange(50))
    same = make("plain").add(np.ones((5, D)))
    assert same.query(np.ones((1, D)), k=3)[0].tolist() == [[0, 1, 2]]


def test_dense_and_sparse_points_may_be_mixed(X):
    S = np.where(np.abs(X) < 0.5, 0, X)
    for first, then in ((S[:200], sparse.csr_array(S[200:])), (sparse.csr_array(S[:200]), S[200:])):
        index = gm.ExactIndex(_mahalanobis("spread")).add(first).add(then)
        ids, sqdist = index.query(S[:9], k=4)
        want, values = _brute(index.metric, S[:9], S, np.arange(300), 4)
        assert np.array_equal(ids, want) and np.allclose(sqdist, values)
