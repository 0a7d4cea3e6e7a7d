"""Random sequences of everything that an index can do, right and wrong calls, against a dictionary of points."""

import copy
import pickle
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

import gramian as gm
from gramian.dask import ShardedIndex
from gramian.search import cells, online_hash_index

D = 3
POINTS = np.random.default_rng(0).integers(-3, 4, size=(400, D)).astype(float)
SLANTED = gm.Mahalanobis([[1.0, 0.5, 0.0], [0.0, 2.0, 0.0], [0.1, 0.0, 0.3]])
KERNEL = gm.KernelMetric(gm.KernelFeatures(gm.Gaussian(4.0), rank=9).fit(POINTS[:99]), np.eye(9), alpha=0.5)
SURE = {"n_bits": 64, "recall": 1 - 1e-9, "random_state": 0}
KINDS = {
    "exact": lambda: gm.ExactIndex(gm.Mahalanobis.euclidean(D)),
    "exact, low rank": lambda: gm.ExactIndex(gm.Mahalanobis([[1.0, 0.5, 0.0], [0.0, 2.0, 0.0]])),
    "hash": lambda: gm.HashIndex(gm.Mahalanobis.euclidean(D), **SURE),
    "hash, products": lambda: gm.HashIndex(SLANTED, estimate="products", **SURE),
    "hash, rounded": lambda: gm.HashIndex(SLANTED, store="float32", **SURE),
    "hash, cells": lambda: gm.HashIndex(gm.Mahalanobis.euclidean(D), cells=5, **SURE),
    "hash, cells, rounded": lambda: gm.HashIndex(SLANTED, cells=3, store="float16", **SURE),
    "hash, orders": lambda: gm.HashIndex(SLANTED, 128, searcher="orders", epsilon=0.01, random_state=0),
    "hash, buckets": lambda: gm.HashIndex(SLANTED, 128, searcher="buckets", n_orders=3, random_state=0),
    "subspace": lambda: gm.HashIndex(gm.SubspaceMahalanobis(np.eye(D)[:, :1], [[4.0]], alpha=1.0), **SURE),
    "kernel": lambda: gm.KernelHashIndex(KERNEL, **SURE),
    "online": lambda: gm.OnlineHashIndex(gm.LEGO(eta=1e-3), **SURE),
    "online, rank": lambda: gm.OnlineHashIndex(gm.LEGO(eta=1e-3, rank=2), **SURE),
    "online, orders": lambda: gm.OnlineHashIndex(gm.LEGO(eta=1e-3), searcher="orders", n_orders=2, **SURE),
    "shards": lambda: ShardedIndex(None, SLANTED, gm.ExactIndex, n_shards=3),
    "shards, cells": lambda: ShardedIndex(None, SLANTED, n_shards=3, placed="cells", **SURE),
}
APPROXIMATE = {"hash, orders", "hash, buckets", "online", "online, rank", "online, orders"}
"""Answers may miss an item here, but name no wrong one and no wrong distance."""
BAD_ADDS = {
    "NaN": lambda ids: (np.full((2, D), np.nan), None),
    "another width": lambda ids: (np.zeros((2, D + 1)), None),
    "one dimension": lambda ids: (np.zeros(D), None),
    "ids twice": lambda ids: (POINTS[:2], [10**7, 10**7]),
    "ids that are there": lambda ids: (POINTS[:1], ids[:1]),
    "too few ids": lambda ids: (POINTS[:2], [10**7]),
    "ids that are no integers": lambda ids: (POINTS[:2], [0.5, 1.5]),
    "complex": lambda ids: (POINTS[:2] + 1j, None),
    "masked": lambda ids: (np.ma.masked_less(POINTS[:5], 0.0), None),
    "masked ids": lambda ids: (POINTS[:2], np.ma.masked_equal([10**7, 10**7 + 1], 10**7)),
    "words": lambda ids: (np.array([["a"] * D]), None),
    "dates": lambda ids: (np.full((2, D), np.datetime64("2020-01-01")), None),
}
ODD_ADDS = {
    "no points": (lambda X: X[:0], "nothing is added"),
    "numbers as text": (lambda X: X.astype(str).astype(object), "each says which number it is; words are refused"),
    "half precision": (lambda X: X.astype(np.float16), "the same numbers"),
    "small integers": (lambda X: X.astype(np.int8), "the same numbers"),
    "a mask that hides nothing": (lambda X: np.ma.array(X, mask=False), "the same numbers"),
    "a table": (lambda X: pd.DataFrame(X), "the same numbers"),
}
"""Adds that look odd and are legal, with the reason."""


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("how", ODD_ADDS)
def test_odd_adds_that_are_legal_add_the_numbers_that_they_say(kind, how):
    X = POINTS[:30]
    plain, odd = KINDS[kind]().add(X), KINDS[kind]().add(X)
    more = ODD_ADDS[how][0](POINTS[30:50])
    odd.add(more)
    plain.add(POINTS[30 : 30 + len(more)])
    (ids, sqdist), (true, wanted) = (index.query(POINTS[:9] + 0.25, 60) for index in (odd, plain))
    np.testing.assert_allclose(sqdist, wanted, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(np.sort(ids), np.sort(true))  # ties may change places by rounding


@pytest.mark.parametrize("kind", sorted(set(KINDS) - APPROXIMATE))
@pytest.mark.parametrize("n", [1, 3, 8])
def test_a_filter_on_few_items_leaves_out_those_alone(kind, n):
    """Items that are filtered out ruled out others, in lists of all items."""
    index = KINDS[kind]().add(POINTS[:n])
    for bits in range(1, 2**n):
        inside = np.flatnonzero([bits >> i & 1 for i in range(n)])
        ids, sqdist = index.query(POINTS[:2] + 0.25, 2, within=inside)
        true = index.metric.sqdist(POINTS[:2] + 0.25, POINTS[inside])
        np.testing.assert_allclose(sqdist, np.sort(true)[:, :2], rtol=1e-9, atol=1e-9)
        assert np.isin(ids, inside).all()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_tiny_points_are_as_near_to_each_other_as_numbers_can_say(kind):
    """Their squares are 0, and so are their distances; those to other points are right."""
    index = KINDS[kind]().add(POINTS[:20]).add(POINTS[20:24] * 1e-200)
    ids, sqdist = index.query(np.zeros((1, D)), 4)
    zero = np.flatnonzero((POINTS[:20] == 0).all(axis=1))
    assert sqdist.max() == 0 and set(ids[0].tolist()) <= {20, 21, 22, 23, *zero.tolist()}


class Sequences(RuleBasedStateMachine):
    """The index and the points that it should hold."""

    @initialize(kind=st.sampled_from(sorted(KINDS)), hashed=st.booleans())
    def begin(self, kind, hashed):
        self.before = online_hash_index.SCAN_BELOW
        online_hash_index.SCAN_BELOW = 0 if hashed else self.before
        self.late, cells.LATE = cells.LATE, 0.5 if hashed else cells.LATE
        self.kind, self.index, self.model, self.top = kind, KINDS[kind](), {}, 0
        self.folders = []

    def teardown(self):
        for folder in getattr(self, "folders", ()):
            shutil.rmtree(folder)
        online_hash_index.SCAN_BELOW = getattr(self, "before", online_hash_index.SCAN_BELOW)
        cells.LATE = getattr(self, "late", cells.LATE)

    @property
    def ids(self):
        return np.array(sorted(self.model), dtype=np.int64)

    @rule(rows=st.lists(st.integers(0, 399), max_size=70), given=st.booleans(), seed=st.integers(0, 99))
    def add(self, rows, given, seed):
        ids = None
        if given:
            ids = np.random.default_rng(seed).permutation(np.arange(self.top, self.top + 3 * len(rows)))[: len(rows)]
        X = POINTS[rows]
        self.index.add(X, ids)
        names = np.arange(self.top, self.top + len(rows)) if ids is None else ids
        self.model |= {int(name): POINTS[row] for name, row in zip(names, rows)}
        self.top = max(self.top, int(names.max(initial=-1)) + 1)
        X[...] = -999.0  # what the caller does later is not seen

    @precondition(lambda self: self.model)
    @rule(how=st.sampled_from(sorted(BAD_ADDS)))
    def add_badly(self, how):
        X, ids = BAD_ADDS[how](self.ids)
        with pytest.raises((ValueError, TypeError)):
            self.index.add(X, ids)

    @precondition(lambda self: self.model)
    @rule(seed=st.integers(0, 99), share=st.sampled_from([0.1, 0.5, 1.0]))
    def remove(self, seed, share):
        ids = np.random.default_rng(seed).permutation(self.ids)
        gone = ids[: max(1, int(share * len(ids)))]
        self.index.remove(gone)
        for name in gone.tolist():
            del self.model[name]

    @precondition(lambda self: self.model)
    @rule(twice=st.booleans())
    def remove_badly(self, twice):
        some = self.ids[:2].tolist()
        with pytest.raises(ValueError):
            self.index.remove([*some, some[0]] if twice else [*some, 10**9])

    @rule(row=st.integers(0, 398), wanted=st.floats(0, 4))
    def learn(self, row, wanted):
        if isinstance(self.index, gm.OnlineHashIndex):
            self.index.learn_one(POINTS[row], POINTS[row + 1], wanted)

    @rule(wanted=st.sampled_from([-1.0, np.nan, np.inf, None]))
    def learn_badly(self, wanted):
        if isinstance(self.index, gm.OnlineHashIndex):
            with pytest.raises((ValueError, TypeError)):
                self.index.learn_one(POINTS[0], POINTS[1], wanted)

    @rule(how=st.sampled_from([copy.copy, copy.deepcopy, lambda index: pickle.loads(pickle.dumps(index))]))
    def duplicate(self, how):
        if isinstance(self.index, ShardedIndex) and how is not copy.copy:
            return
        other = how(self.index)
        if self.model:
            self.index.add(POINTS[:1] + 100, [10**6])
            self.index.remove(self.ids[:1])
        self.index = other

    @rule(mmap=st.booleans())
    def store(self, mmap):
        path = Path(tempfile.mkdtemp()) / "index.gram"
        self.folders.append(path.parent)
        self.index.save(path)
        self.index = ShardedIndex.open(None, path) if self.kind.startswith("shards") else gm.load(path, mmap=mmap)

    @precondition(lambda self: self.model)
    @rule(slanted=st.booleans())
    def turn(self, slanted):
        if self.kind == "kernel":
            return
        other = self.index.with_metric(SLANTED if slanted else gm.Mahalanobis.euclidean(D))
        self.index.add(POINTS[:1] + 100, [10**6])
        if not isinstance(self.index, gm.OnlineHashIndex):
            with pytest.raises((ValueError, TypeError)):
                other.with_metric(gm.Mahalanobis.euclidean(D + 1))
        self.index = other

    @precondition(lambda self: self.model)
    @rule(row=st.integers(0, 399), k=st.integers(1, 80), share=st.sampled_from([None, 0.2, 0.9]), masked=st.booleans())
    def query(self, row, k, share, masked):
        ids, within = self.ids, None
        assert np.array_equal(self.index.ids, ids) and len(self.index) == len(ids)
        if share is not None:
            inside = np.random.default_rng(row).random(len(ids)) < share
            within, ids = (inside if masked else ids[inside]), ids[inside]
        found, sqdist = self.index.query(POINTS[[row]] + 0.25, k, within=within)
        assert found.shape == (1, min(k, len(ids)))
        self.check(row, ids, found[0], sqdist[0])

    @precondition(lambda self: self.model)
    @rule(row=st.integers(0, 399), r=st.sampled_from([0.0, 0.5, 1.5, 4.0, 50.0]))
    def query_radius(self, row, r):
        found, sqdist = self.index.query_radius(POINTS[[row]] + 0.25, r)
        true = self.distances(row, self.ids)
        sure = int((true < r * r * (1 - 1e-6)).sum())
        assert len(found[0]) >= (0 if self.kind in APPROXIMATE else sure)
        assert len(found[0]) <= int((true <= r * r * (1 + 1e-6) + 1e-12).sum())
        self.check(row, self.ids, found[0], sqdist[0])

    @precondition(lambda self: self.model)
    @rule(how=st.sampled_from(["k", "width", "NaN", "within", "r"]))
    def query_badly(self, how):
        X = {"width": np.zeros((1, D + 1)), "NaN": np.full((1, D), np.nan)}.get(how, POINTS[:1])
        with pytest.raises(ValueError):
            if how == "r":
                self.index.query_radius(X, -1.0)
            else:
                self.index.query(X, 0 if how == "k" else 1, within=[10**9] if how == "within" else None)

    def distances(self, row, ids):
        X = np.array([self.model[name] for name in ids.tolist()])
        return self.index.metric.sqdist(POINTS[[row]] + 0.25, X)[0]

    def check(self, row, ids, found, sqdist):
        """Distances are those of the items that are named, and no other item is nearer."""
        assert len(set(found.tolist())) == len(found) and np.isin(found, ids).all()
        if len(found) == 0:
            return
        true = self.distances(row, ids)
        close = {"rtol": 1e-9, "atol": 1e-9}
        np.testing.assert_allclose(true[np.searchsorted(ids, found)], sqdist, **close)
        assert (np.diff(sqdist) >= 0).all()
        if self.kind not in APPROXIMATE:
            np.testing.assert_allclose(sqdist, np.sort(true)[: len(found)], **close)


Sequences.TestCase.settings = settings(max_examples=12, stateful_step_count=12, deadline=None)
test_any_sequence_of_calls = Sequences.TestCase


class Longer(Sequences):
    """The same, for a night."""


Longer.TestCase.settings = settings(max_examples=1500, stateful_step_count=40, deadline=None, derandomize=False)


@pytest.mark.slow
class TestLonger(Longer.TestCase):
    """Many more sequences, with a new seed each time."""


del Longer
