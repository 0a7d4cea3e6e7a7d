"""Readers beside a writer: every answer is that of the items before or after a change, never between."""

import inspect
import threading

import numpy as np
import pytest

import gramian as gm
from gramian.dask import ShardedIndex
from gramian.online.learner import OnlineLearner
from gramian.search import Index, online_hash_index, rehash

D = 5


def _kernel(X):
    return gm.KernelMetric(
        gm.KernelFeatures(gm.Gaussian(4.0), rank=15).fit(X), np.diag(np.linspace(1, 2, 15)), alpha=0.5
    )


MAKE = {
    "ExactIndex": lambda X: gm.ExactIndex(gm.Mahalanobis.from_matrix(np.diag(np.linspace(0.5, 2, D)))),
    "HashIndex": lambda X: gm.HashIndex(gm.Mahalanobis.euclidean(D), 64, recall=1 - 1e-9, random_state=0),
    "orders": lambda X: gm.HashIndex(gm.Mahalanobis.euclidean(D), 64, searcher="orders", epsilon=0.01, random_state=0),
    "KernelHashIndex": lambda X: gm.KernelHashIndex(_kernel(X), 64, recall=1 - 1e-9, random_state=0),
    "kernel": lambda X: gm.HashIndex(_kernel(X), 64, recall=1 - 1e-9, random_state=0),
    "shards": lambda X: ShardedIndex(None, gm.Mahalanobis.euclidean(D), gm.ExactIndex, n_shards=3),
    "OnlineHashIndex": lambda X: gm.OnlineHashIndex(gm.LEGO(eta=1e-4), 64, recall=1 - 1e-9, random_state=0),
}


class Model:
    """What is true of every state of an index whose items come and go: ids name points for ever, some items stay."""

    def __init__(self, index, X):
        self.index, self.X, self.kept = index, X, np.arange(200)
        index.add(X[:200])
        self.failures = []

    def reads(self, seed, stop):
        rng = np.random.default_rng(seed)
        while not stop.is_set():
            try:
                self.read(rng)
            except Exception as error:
                self.failures.append(repr(error))
                return

    def read(self, rng):
        before = self.metric()
        Q = self.X[rng.integers(200, size=3)] + 0.05
        ids, sqdist = self.index.query(Q, k=6)
        after = self.metric()
        assert ids.shape == (3, 6) and (np.diff(sqdist, axis=1) >= 0).all()
        assert all(len(set(row)) == 6 for row in ids.tolist())
        if before is not after:
            return  # learned in between: either metric is right
        true = after.sqdist(Q, self.X)
        np.testing.assert_allclose(sqdist, np.take_along_axis(true, ids, axis=1), rtol=1e-6, atol=1e-9)
        for row, own, last in zip(true, ids, sqdist[:, -1]):
            nearer = self.kept[row[self.kept] < last * (1 - 1e-9)]
            assert np.isin(nearer, own).all(), "an item that was always there is missing"

    def metric(self):
        return self.index.metric

    def writes(self, n_updates, learn):
        top = 200
        rng = np.random.default_rng(0)
        for step in range(n_updates):
            if learn and step % 3 == 2:
                i, j = rng.integers(200, size=2)
                self.index.learn_one(self.X[i], self.X[j], 1.0)
                continue
            m = int(rng.integers(1, 12))
            ids = np.arange(top, top + m)
            self.index.add(self.X[ids], ids)
            if step % 2:
                self.index.remove(rng.permutation(ids)[: max(1, m // 2)])
            top = 200 + (top + m - 200) % 2000
            gone = np.setdiff1d(self.index.ids, self.kept)
            if top < 220 or len(gone) > 1500:
                self.index.remove(gone)
                top = 200


def run(name, n_readers, n_updates):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2300, D))
    model, stop = Model(MAKE[name](X), X), threading.Event()
    readers = [threading.Thread(target=model.reads, args=(seed, stop)) for seed in range(n_readers)]
    for reader in readers:
        reader.start()
    try:
        model.writes(n_updates, learn=name == "OnlineHashIndex")
    finally:
        stop.set()
        for reader in readers:
            reader.join()
    assert not model.failures, model.failures[0]


@pytest.mark.parametrize("name", MAKE)
def test_readers_see_whole_states(name, monkeypatch):
    monkeypatch.setattr(online_hash_index, "SCAN_BELOW", 0)
    monkeypatch.setattr(rehash, "STEP", (64, 64))
    run(name, 8, 60)


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKE)
def test_eight_readers_during_ten_thousand_updates(name):
    run(name, 8, 10_000)


def online_learners():
    """All public online learners."""
    return [
        value
        for value in map(gm.__getattr__, gm._registry.HOME)
        if inspect.isclass(value) and issubclass(value, OnlineLearner)
    ]


def test_every_index_and_every_online_learner_is_read_beside_a_writer():
    indexes = {
        value for value in map(gm.__getattr__, gm._registry.HOME) if inspect.isclass(value) and issubclass(value, Index)
    }
    X = np.random.default_rng(1).normal(size=(60, D))
    assert indexes | {ShardedIndex} <= {type(make(X)) for make in MAKE.values()}
    assert {gm.LEGO, gm.OnlineITML, gm.OnlinePOLA, gm.OnlineVonNeumann} <= set(online_learners())


@pytest.mark.parametrize("cls", online_learners())
def test_eight_readers_of_a_learner_see_whole_states(cls):
    X = np.random.default_rng(0).normal(size=(61, D))
    alone, seen = cls(), set()
    for u, v in zip(X, X[1:]):
        seen.add(alone.learn_one(u, v, 1.0).metric_.matrix.tobytes())
    learner, stop, found = cls().learn_one(X[0], X[1], 1.0), threading.Event(), set()

    def read():
        while not stop.is_set():
            found.add(learner.metric_.matrix.tobytes())

    readers = [threading.Thread(target=read) for _ in range(8)]
    for reader in readers:
        reader.start()
    for u, v in zip(X[1:], X[2:]):
        learner.learn_one(u, v, 1.0)
    stop.set()
    for reader in readers:
        reader.join()
    assert found <= seen and learner.metric_.matrix.tobytes() == alone.metric_.matrix.tobytes()


def test_two_copies_grow_in_two_threads():
    X = np.random.default_rng(0).normal(size=(3000, D))
    index = gm.HashIndex(gm.Mahalanobis.euclidean(D), 64, random_state=0).add(X[:1000]).add(X[1000:1001])
    import copy

    copies = [copy.copy(index) for _ in range(4)]

    def grow(own, start):
        for i in range(start, start + 200):
            own.add(X[i : i + 1])

    threads = [threading.Thread(target=grow, args=(own, 1001 + 200 * c)) for c, own in enumerate(copies)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for c, own in enumerate(copies):
        start = 1001 + 200 * c
        ids, sqdist = own.query(X[start : start + 200], k=1)
        assert np.array_equal(ids[:, 0], np.arange(1001, 1201)) and (sqdist == 0).all()
        assert np.array_equal(own.points[:1001], X[:1001])


@pytest.mark.parametrize("order", ["C", "F"])
def test_items_that_threads_copied_are_those_that_were_given(rng, order):
    X = np.asarray(rng.normal(size=(100_003, D)), order=order)
    index = gm.ExactIndex(gm.Mahalanobis.euclidean(D)).add(X, n_jobs=3)
    kept, X[:] = X.copy(), 0
    assert np.array_equal(index.points, kept)
