"""The parts of LMNN's descent: pairs as a list and as matrices, and the watch over progress."""

from dataclasses import replace

import numpy as np
import pytest

from gramian.constraints import Labels
from gramian.learners import impostors
from gramian.learners import neighbor_targets as targets
from gramian.learners.impostors import State, Triplets
from gramian.learners.lmnn import PATIENCE, Watch


@pytest.fixture
def pairs(rng):
    """Candidate impostors at some L; the last point is alone in its class and has no targets."""
    X, y = rng.standard_normal((40, 6)), np.arange(40) % 4
    y[-1] = 9
    labels, L = Labels.from_array(y, "test"), 0.5 * rng.standard_normal((3, 6))
    return Triplets.none(X, targets.same_class(X, labels, 2), 0.8).renewed(L, labels), L, labels


def test_lists_and_matrices_of_pairs_are_one_loss(pairs, monkeypatch):
    triplets, L, _ = pairs
    results = {}
    for share, dense in ((0.0, True), (np.inf, False)):
        monkeypatch.setattr(impostors, "DENSE", share)
        fresh = replace(triplets)
        assert (fresh.pairs.places is not None) == dense
        results[dense] = fresh.updated(L).smoothed(1.1 * L)
    assert results[True][0] == pytest.approx(results[False][0], rel=1e-12)
    np.testing.assert_allclose(results[True][1], results[False][1], rtol=1e-9, atol=1e-9)


def test_candidates_are_all_pairs_within_the_margin(pairs):
    triplets, L, labels = pairs
    E = triplets.Z @ L.T
    D = ((E[:, None] - E[None]) ** 2).sum(axis=2)
    farthest = np.take_along_axis(D, triplets.targets, axis=1).max(axis=1)
    inside = (labels.codes[:, None] != labels.codes) & (farthest[:, None] + 1 > D)
    inside[-1] = False
    found = set(zip(triplets.anchor.tolist(), triplets.impostor.tolist()))
    assert set(zip(*np.nonzero(inside))) <= found
    assert all(labels.codes[i] != labels.codes[l] for i, l in found)


def test_watch_counts_searches_without_progress():
    watch, L = Watch(), np.eye(2)
    state = State(objective=1.0, slackness=0.5, dual=0.0, scatter=np.zeros((2, 2)))
    assert watch.see(state, L) == 0.5 and watch.stalled == 0
    for _ in range(PATIENCE - 1):
        watch.see(state, L)
    assert watch.circling and not watch.hopeless
    watch.see(replace(state, slackness=0.4), L)
    assert watch.stalled == 0 and not watch.circling
    for _ in range(10 * PATIENCE + 1):
        watch.see(state, L)
    assert watch.hopeless
