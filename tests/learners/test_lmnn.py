"""LMNN: the conic optimum with a certificate, targets, comparisons."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from benchmarks.speed.lmnn_loss import lmnn_loss
from sklearn.datasets import load_iris

import gramian as gm
from gramian.constraints import Labels
from gramian.learners import neighbor_targets as targets
from gramian.learners.impostors import State
from gramian.learners.lmnn import PATIENCE, Watch
from tests.learners.problems import classes_apart, comparisons, outer_products, violations


@pytest.mark.parametrize("push, reg", [(1.0, 0.0), (0.4, 0.0), (1.0, 0.5)])
def test_lmnn_reaches_the_conic_optimum_and_certifies_it(rng, push, reg):
    X, y = classes_apart(rng)
    lmnn = gm.LMNN(n_neighbors=2, push=push, reg=reg, tol=1e-6, max_iter=5000, anchor=0).fit(X, y)
    near = targets.same_class(X, Labels.from_array(y, ""), 2)
    M = cp.Variable((3, 3), PSD=True)
    triplets = np.array([(i, j, l) for i in range(len(X)) for j in near[i] for l in np.flatnonzero(y != y[i])]).T
    pairs = np.repeat(np.arange(len(X)), 2), near.ravel()
    hinges = cp.pos(
        1 + (outer_products(X, *triplets[:2]) - outer_products(X, triplets[0], triplets[2])) @ cp.vec(M, order="C")
    )
    pull = cp.sum(outer_products(X, *pairs) @ cp.vec(M, order="C"))
    best = cp.Problem(cp.Minimize(pull + push * cp.sum(hinges) + reg * cp.trace(M))).solve(solver=cp.CLARABEL)
    assert lmnn.objective_ == pytest.approx(best, rel=1e-5)
    assert lmnn.objective_ == pytest.approx(
        lmnn_loss(lmnn.components_, X, y, near, push)[0] + reg * np.trace(lmnn.metric_.matrix)
    )
    np.testing.assert_allclose(lmnn.metric_.matrix, M.value, atol=2e-3 * np.abs(M.value).max())
    assert -1e-9 * best <= lmnn.solution_.gap <= 1e-3 * best
    assert lmnn.objective_ - lmnn.solution_.gap <= best * (1 + 1e-6)


def test_classes_smaller_than_the_neighborhood_use_what_they_have(rng):
    X = rng.standard_normal((9, 2))
    near = targets.same_class(X, Labels.from_array([0] * 5 + [1] * 3 + [2], ""), 3)
    assert (near[:5] != np.arange(5)[:, None]).all()
    assert (near[5:8, 2] == np.arange(5, 8)).all() and (near[5:8, :2] != np.arange(5, 8)[:, None]).all()
    assert (near[8] == 8).all()


def test_reselected_targets_lower_the_pull(rng):
    X, y = load_iris(return_X_y=True)
    fixed, again = gm.LMNN(tol=1e-4, anchor=0).fit(X, y), gm.LMNN(reselect=2, tol=1e-4, anchor=0).fit(X, y)
    assert again.objective_ <= fixed.objective_ * (1 + 1e-6)
    assert not np.array_equal(fixed.targets_, again.targets_)


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


def test_lmnn_on_comparisons_is_its_conic_program(rng):
    X, side = comparisons(rng, margin=rng.uniform(1, 3))
    pairs = np.unique(np.stack(side.near_ends, axis=1), axis=0)
    V = X[pairs[:, 0]] - X[pairs[:, 1]]
    M = cp.Variable((3, 3), PSD=True)
    hinges = cp.sum(cp.multiply(side.weight, cp.pos(violations(M, X, side))))
    best = cp.Problem(cp.Minimize(cp.sum(cp.multiply(V.T @ V, M)) + 4 * hinges)).solve(solver="CLARABEL")
    found = gm.LMNN(push=4.0, anchor=0, tol=1e-5, max_iter=5000).fit(X, side)
    assert best * (1 - 1e-7) <= found.objective_ <= best * (1 + 1e-3)
    assert found.objective_ - found.solution_.gap <= best * (1 + 1e-7)


def test_lmnn_on_its_own_triplets_is_lmnn():
    """All triplets of targets and points of other classes are the problem of the labels."""
    X, y = load_iris(return_X_y=True)
    X, y = X[::5], y[::5]
    whole = gm.LMNN(2, anchor=0, tol=1e-6, max_iter=5000).fit(X, y)
    rows = [
        (i, j, l) for i, near in enumerate(whole.targets_) for j in near for l in np.flatnonzero(y != y[i]) if j != i
    ]
    found = gm.LMNN(anchor=0, tol=1e-6, max_iter=5000).fit(X, gm.Triplets(*np.array(rows).T))
    assert found.objective_ == pytest.approx(whole.objective_, rel=1e-3)


def test_a_margin_of_zero_says_nothing_to_lmnn(rng):
    X, side = comparisons(rng, margin=0.0)
    with pytest.raises(ValueError, match="LMNN: margin must be positive"):
        gm.LMNN().fit(X, side)
