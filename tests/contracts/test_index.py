"""What every public index promises, enrolled by walking the public names."""

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


MAKE = {
    "ExactIndex": lambda name: gm.ExactIndex(_mahalanobis(name)),
    "HashIndex": lambda name: gm.HashIndex(_mahalanobis(name), n_bits=64, random_state=0),
    "KernelHashIndex": lambda name: gm.KernelHashIndex(_linear(name), n_bits=64, random_state=0),
}
"""How to make each public index for one of the metrics; add a line for a new one."""

PUBLIC = [
    name
    for name in gm.__all__
    if inspect.isclass(value := getattr(gm, name)) and issubclass(value, Index) and value is not Index
]
indexes = pytest.mark.parametrize("make", [pytest.param(MAKE[name], id=name) for name in PUBLIC if name in MAKE])


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
    try:
        other = index.with_metric(make("spread").metric)
    except NotImplementedError:
        pytest.skip("the metric belongs to the index")
    fresh = make("spread").add(X).remove([5])
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
