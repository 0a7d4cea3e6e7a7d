"""Random sequences of everything that an index can do, against a dictionary of points."""

import copy
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

import gramian as gm

D = 3
POINTS = np.random.default_rng(0).integers(-3, 4, size=(400, D)).astype(float)
KINDS = {
    "exact": lambda: gm.ExactIndex(gm.Mahalanobis.euclidean(D)),
    "exact, metric": lambda: gm.ExactIndex(gm.Mahalanobis([[1.0, 0.5, 0.0], [0.0, 2.0, 0.0]])),
    "hash": lambda: gm.HashIndex(gm.Mahalanobis.euclidean(D), 64, recall=1 - 1e-9, random_state=0),
    "subspace": lambda: gm.HashIndex(
        gm.SubspaceMahalanobis(np.eye(D)[:, :1], [[4.0]], alpha=1.0), 64, recall=1 - 1e-9, random_state=0
    ),
    "online": lambda: gm.OnlineHashIndex(gm.LEGO(eta=1e-3), 64, recall=1 - 1e-9, random_state=0),
}


class Sequences(RuleBasedStateMachine):
    """The index and the points that it should hold."""

    @initialize(kind=st.sampled_from(sorted(KINDS)))
    def begin(self, kind):
        self.index, self.model, self.top = KINDS[kind](), {}, 0

    @rule(rows=st.lists(st.integers(0, 399), min_size=1, max_size=70), given=st.booleans(), seed=st.integers(0, 99))
    def add(self, rows, given, seed):
        ids = None
        if given:
            ids = np.random.default_rng(seed).permutation(np.arange(self.top, self.top + 3 * len(rows)))[: len(rows)]
        self.index.add(POINTS[rows], ids)
        names = np.arange(self.top, self.top + len(rows)) if ids is None else ids
        self.model |= {int(name): POINTS[row] for name, row in zip(names, rows)}
        self.top = max(self.top, int(names.max()) + 1)

    @precondition(lambda self: self.model)
    @rule(seed=st.integers(0, 99), share=st.sampled_from([0.1, 0.5, 1.0]))
    def remove(self, seed, share):
        ids = np.random.default_rng(seed).permutation(sorted(self.model))
        gone = ids[: max(1, int(share * len(ids)))]
        self.index.remove(gone)
        for name in gone.tolist():
            del self.model[name]

    @rule(row=st.integers(0, 398), wanted=st.floats(0, 4))
    def learn(self, row, wanted):
        if isinstance(self.index, gm.OnlineHashIndex):
            self.index.learn_one(POINTS[row], POINTS[row + 1], wanted)

    @rule()
    def duplicate(self):
        other = copy.copy(self.index)
        if self.model:
            self.index.add(POINTS[:1] + 100, [10**6])
        self.index = other

    @rule(mmap=st.booleans())
    def store(self, mmap):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "index.gram"
            self.index.save(path)
            self.index = gm.load(path, mmap=mmap)

    @precondition(lambda self: self.model)
    @rule(row=st.integers(0, 399), k=st.integers(1, 80), share=st.sampled_from([None, 0.2, 0.9]))
    def query(self, row, k, share):
        ids = np.array(sorted(self.model))
        assert np.array_equal(self.index.ids, ids)
        within = None if share is None else ids[np.random.default_rng(row).random(len(ids)) < share]
        ids = ids if within is None else within
        found, sqdist = self.index.query(POINTS[[row]] + 0.25, k, within=within)
        assert found.shape == (1, min(k, len(ids)))
        if len(ids):
            X = np.array([self.model[name] for name in ids.tolist()])
            true = self.index.metric.sqdist(POINTS[[row]] + 0.25, X)[0]
            order = np.argsort(true.round(9), kind="stable")[: found.shape[1]]
            np.testing.assert_allclose(sqdist[0], true[order], rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(true[np.searchsorted(ids, found[0])], sqdist[0], rtol=1e-9, atol=1e-9)


Sequences.TestCase.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)
test_any_sequence_of_calls = Sequences.TestCase
