"""Hinges over impostors and over comparisons: values, gradients, candidates."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.speed.lmnn_loss import lmnn_loss
from scipy.optimize import check_grad

from gramian.constraints import Labels
from gramian.learners import impostors
from gramian.learners import neighbor_targets as targets
from gramian.learners.impostors import Hinges, Triplets
from tests.learners.problems import comparisons


def test_smoothed_hinges_bound_the_loss_and_meet_it_at_exact_multipliers(problem):
    X, codes, L, near = problem
    labels = Labels(codes, np.arange(4))
    exact = lmnn_loss(L, X, codes, near, 0.7)[0]
    triplets = Triplets.none(X, near, 0.7).renewed(L, labels)
    assert triplets.state(L, np.zeros(5)).objective == pytest.approx(exact)
    for _ in range(200):
        assert triplets.smoothed(L)[0] <= exact + 1e-9
        triplets = triplets.updated(L)
    assert triplets.smoothed(L)[0] == pytest.approx(exact)
    np.testing.assert_allclose(triplets.smoothed(L)[1], lmnn_loss(L, X, codes, near, 0.7)[1], atol=1e-8)


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


def test_hinges_have_the_gradient_of_finite_differences(rng):
    X, side = comparisons(rng)
    hinges, L = Hinges.of(X, side, 2.0), 0.5 * rng.normal(size=(2, 3))
    hinges = hinges.updated(1.1 * L)
    value, slope = (lambda x, place=place: hinges.smoothed(x.reshape(2, 3))[place] for place in (0, 1))
    assert check_grad(value, lambda x: slope(x).ravel(), L.ravel()) < 1e-3
