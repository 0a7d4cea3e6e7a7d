"""A sharded index answers as one index does, through changes, new metrics and lost workers."""

import copy
import gc
import os
import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gramian as gm
from gramian.dask import ShardedIndex, shard
from gramian.dask.shard import ShardLostError

D = 4
PLAIN = gm.Mahalanobis.euclidean(D)
OTHER = gm.Mahalanobis.from_matrix(np.diag([4.0, 1.0, 0.0, 9.0]))


def _points(n=90, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, D))
    X[n // 2] = X[0]  # a tie
    return X


@settings(max_examples=15)
@given(n_shards=st.integers(1, 7), n=st.integers(1, 60), k=st.integers(1, 70), seed=st.integers(0, 100))
def test_answers_are_those_of_one_index(n_shards, n, k, seed):
    X = np.random.default_rng(seed).integers(0, 3, size=(n, D)).astype(float)  # many ties
    one = gm.ExactIndex(OTHER).add(X)
    many = ShardedIndex(None, OTHER, gm.ExactIndex, n_shards=n_shards).add(X)
    ids, sqdist = many.query(X[:5] + 0.25, k)
    expected = one.query(X[:5] + 0.25, k)
    np.testing.assert_array_equal(ids, expected[0])
    np.testing.assert_allclose(sqdist, expected[1])


def test_words_of_an_index():
    X = _points()
    one, many = gm.ExactIndex(PLAIN), ShardedIndex(None, PLAIN, gm.ExactIndex, n_shards=3)
    for index in (one, many):
        index.add(X[:40]).add(X[40:], ids=np.arange(500, 550)).remove([3, 501])
    assert len(many) == len(one) == 88
    np.testing.assert_array_equal(many.ids, one.ids)
    within = one.ids[::3]
    np.testing.assert_array_equal(many.query(X, 5, within=within)[0], one.query(X, 5, within=within)[0])
    mask = one.ids % 2 == 0
    np.testing.assert_array_equal(many.query(X, 5, within=mask)[0], one.query(X, 5, within=mask)[0])
    for mine, theirs in zip(many.query_radius(X[:9], 1.5), one.query_radius(X[:9], 1.5)):
        for a, b in zip(mine, theirs):
            np.testing.assert_allclose(a, b)
    turned = many.with_metric(OTHER)
    np.testing.assert_array_equal(turned.query(X, 4)[0], one.with_metric(OTHER).query(X, 4)[0])
    np.testing.assert_array_equal(many.query(X, 4)[0], one.query(X, 4)[0])


def test_a_change_that_fails_changes_nothing():
    many = ShardedIndex(None, PLAIN, gm.ExactIndex, n_shards=3).add(_points())
    before = many.query(_points(), 3)
    with pytest.raises(ValueError, match="new"):
        many.add(_points(5), ids=[1, 100, 101, 102, 103])
    with pytest.raises(ValueError, match="distinct"):
        many.remove([1, 1])
    with pytest.raises(ValueError, match="in the index"):
        many.remove([1, 4000])
    with pytest.raises(ValueError, match="features"):
        many.add(np.zeros((3, D + 1)))
    with pytest.raises(ValueError, match="within"):
        many.query(_points(), 3, within=[4000])
    with pytest.raises(ValueError, match="empty"):
        ShardedIndex(None, PLAIN, n_shards=1).query(_points(), 1)
    np.testing.assert_array_equal(many.query(_points(), 3)[0], before[0])
    assert len(many) == 90


def test_copies_and_files_live_as_long_as_an_index_needs_them(tmp_path):
    many = ShardedIndex(None, PLAIN, gm.ExactIndex, n_shards=2, folder=tmp_path / "shards").add(_points())
    other = copy.copy(many).remove([0])
    turned = many.with_metric(OTHER)
    many.add(_points(10), ids=np.arange(200, 210))
    assert (len(many), len(other), len(turned)) == (100, 89, 90)
    for index in (many, other, turned):
        shard.drop(list(shard._HELD))  # as if its worker were lost
        assert index.query(_points(), 3)[0].shape == (90, 3)
    np.testing.assert_array_equal(
        turned.query(_points(), 4)[0], gm.ExactIndex(OTHER).add(_points()).query(_points(), 4)[0]
    )
    del many, other, turned, index
    gc.collect()
    assert not list((tmp_path / "shards").glob("*.gram"))


def test_saved_shards_are_read_again_anywhere(tmp_path):
    many = ShardedIndex(None, OTHER, n_shards=3, random_state=0).add(_points())
    many.save(tmp_path / "kept")
    expected = many.query(_points(), 3)
    again = ShardedIndex.open(None, tmp_path / "kept")
    np.testing.assert_array_equal(again.query(_points(), 3)[0], expected[0])
    again.add(_points(4, seed=1))
    assert again.ids.max() == 93
    del again
    gc.collect()
    assert len(ShardedIndex.open(None, tmp_path / "kept")) == 90
    with pytest.raises(FileNotFoundError, match="no shards"):
        ShardedIndex.open(None, tmp_path)


def _kill_holder(client, index, number=0):
    """Kill the worker that holds a shard."""
    held = client.run(lambda key: (key in shard._HELD, os.getpid()), index.standing.shards[number].key)
    (pid,) = [pid for holds, pid in held.values() if holds]
    _forgotten(client)
    os.kill(pid, signal.SIGKILL)
    return pid


def _forgotten(client):
    """Wait until the scheduler keeps no task that made a shard: it would make a lost one again."""
    for _ in range(200):
        gc.collect()
        if not any("prepare" in key for key in client.run_on_scheduler(_keys)):
            return
        time.sleep(0.05)
    raise TimeoutError("the scheduler still keeps tasks")


def _keys(dask_scheduler):
    return [str(key) for key in dask_scheduler.tasks]


def _wait(client):
    time.sleep(0.2)
    client.wait_for_workers(2, timeout=60)


def test_a_lost_shard_is_read_again_and_answered(client, tmp_path):
    X = _points()
    index = ShardedIndex(client, PLAIN, gm.ExactIndex, n_shards=2, folder=tmp_path).add(X)
    expected = gm.ExactIndex(PLAIN).add(X).query(X, 5)[0]
    np.testing.assert_array_equal(index.query(X, 5)[0], expected)
    _kill_holder(client, index)
    np.testing.assert_array_equal(index.query(X, 5)[0], expected)
    _wait(client)


def test_a_lost_shard_without_a_file_is_an_error_that_names_it(client):
    X = _points()
    index = ShardedIndex(client, PLAIN, gm.ExactIndex, n_shards=2).add(X)
    index.query(X, 2)
    _kill_holder(client, index, number=1)
    with pytest.raises(ShardLostError, match="shard 1 was lost"):
        index.query(X, 5)
    _wait(client)


def test_points_of_a_dask_array_go_to_the_workers_themselves(client):
    da = pytest.importorskip("dask.array")
    X = _points()
    index = ShardedIndex(client, OTHER, gm.ExactIndex).add(da.from_array(X, chunks=(20, D)))
    np.testing.assert_array_equal(index.query(X, 4)[0], gm.ExactIndex(OTHER).add(X).query(X, 4)[0])
    assert len(index.standing.shards) == 2
    assert min(index.standing.sizes) >= 40


def test_no_answer_mixes_two_metrics(client):
    X = _points(400)
    index = ShardedIndex(client, PLAIN, gm.ExactIndex, n_shards=2).add(X)
    answers = {name: gm.ExactIndex(metric).add(X).query(X, 6)[0] for name, metric in (("p", PLAIN), ("o", OTHER))}
    current = {"index": index}
    done = threading.Event()
    seen = []

    def ask():
        while not done.is_set():
            asked = current["index"]
            seen.append((asked is index, asked.query(X, 6)[0]))

    reader = threading.Thread(target=ask)
    reader.start()
    for _ in range(3):
        current["index"] = index.with_metric(OTHER)
        current["index"] = index
    current["index"] = index.with_metric(OTHER)
    time.sleep(0.3)
    done.set()
    reader.join()
    assert seen
    for plain, ids in seen:
        np.testing.assert_array_equal(ids, answers["p" if plain else "o"])


def test_replicas_answer_in_turn(client, tmp_path):
    X = _points()
    index = ShardedIndex(client, PLAIN, gm.ExactIndex, n_shards=1, folder=tmp_path, replicas=2).add(X)
    expected = gm.ExactIndex(PLAIN).add(X).query(X, 3)[0]
    for _ in range(3):
        np.testing.assert_array_equal(index.query(X, 3)[0], expected)
    held = client.run(lambda key: key in shard._HELD, index.standing.shards[0].key)
    assert all(held.values())
    with pytest.raises(ValueError, match="folder"):
        ShardedIndex(client, PLAIN, replicas=2)


def test_workers_let_go_of_what_no_index_needs(client):
    index = ShardedIndex(client, PLAIN, gm.ExactIndex, n_shards=2).add(_points())
    keys = {held.key for held in index.standing.shards}
    assert any(client.run(lambda: set(shard._HELD) & keys).values())
    del index
    gc.collect()
    for _ in range(100):
        if not any(client.run(lambda: set(shard._HELD) & keys).values()):
            break
        time.sleep(0.1)
    else:
        pytest.fail("the shards are still held")


def clusters(n=4000, d=8, seed=0):
    rng = np.random.default_rng(seed)
    centers = 3 * rng.normal(size=(60, d))
    return centers[rng.integers(60, size=n)] + rng.normal(size=(n, d))


def asked_shards(index, Q, k):
    """How many shards each query asks."""
    starts = index.placement.beginnings(index.metric, Q, len(index.standing.shards))
    first = index._answers(index.standing, Q, k, None, starts == 0)
    last = np.sqrt(np.sort(np.hstack([D for _, D in first]), axis=1)[:, k - 1])
    return (starts == 0).sum(axis=1) + index.placement.further(starts, last, k).sum(axis=1)


@pytest.mark.parametrize("blocks", [False, True])
def test_cells_are_placed_and_a_query_asks_the_shards_it_needs(blocks, tmp_path):
    import dask.array as da

    X, Q = clusters(), clusters(100, seed=0) + 0.1
    metric, steep = gm.Mahalanobis.euclidean(8), gm.Mahalanobis.from_matrix(np.diag(np.geomspace(1, 100, 8)))
    index = ShardedIndex(None, metric, n_shards=6, placed="cells", random_state=0)
    index.add(da.from_array(X[:3500], chunks=(900, 8)) if blocks else X[:3500]).add(X[3500:])
    assert len(index) == 4000 and max(index.standing.sizes) < 2.5 * min(index.standing.sizes)
    for one in (index, index.with_metric(steep)):
        true = np.sort(one.metric.sqdist(Q, X), axis=1)[:, :10]
        ids, D = one.query(Q, 10)
        assert (true[:, -1:] * (1 + 1e-9) >= D).mean() >= 0.985
        np.testing.assert_allclose(np.take_along_axis(one.metric.sqdist(Q, X), ids, axis=1), D, rtol=1e-9)
        assert asked_shards(one, Q, 10).mean() < 4
    index.save(tmp_path / "kept")
    again = ShardedIndex.open(None, tmp_path / "kept")
    np.testing.assert_array_equal(again.query(Q, 10)[0], index.query(Q, 10)[0])
    some = np.arange(0, 4000, 9)
    ids, D = again.query(Q, 5, within=some)
    assert np.isin(ids, some).all() and np.isfinite(D).all()
    index.remove(np.arange(3990))
    assert index.query(Q, 20)[0].shape == (100, 10) and np.isfinite(index.query(Q, 20)[1]).all()
    r = np.sqrt(np.median(D))
    assert sum(map(len, again.query_radius(Q, r)[0])) >= 0.985 * (metric.sqdist(Q, X) <= r * r).sum()


def test_placement_halves_the_cells_into_shards_of_like_size(rng):
    from gramian.dask.placement import divide

    centers, sizes, homes = rng.normal(size=(96, 3)), rng.integers(1, 9, 96).astype(float), np.full(96, -1)
    divide(centers, sizes, np.arange(96), homes, 0, 7)
    loads = np.bincount(homes, sizes, minlength=7)
    assert loads.min() > 0.6 * sizes.sum() / 7 and loads.max() < 1.5 * sizes.sum() / 7
    with pytest.raises(ValueError, match="placed must be 'evenly'"):
        ShardedIndex(None, PLAIN, gm.ExactIndex, n_shards=2, placed="cells")
