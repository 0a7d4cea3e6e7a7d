"""Triplets and quadruplets for labels and pairs: conic programs for ITML and LMNN, and all that take them."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.datasets import load_iris

import gramian as gm
from gramian.learners import _warnings
from gramian.learners.base import Learner
from gramian.learners.impostors import Hinges

TAKE_THEM = [gm.ITML(), gm.LMNN(), gm.LSML(), gm.SCML(random_state=0), gm.Framework(), gm.LEGO()]
ONLY_PAIRS = [gm.MMC(), gm.GMML(), gm.SDML(), gm.POLA()]


def name(learner):
    return type(learner).__name__


def comparisons(rng, n=30, d=3, m=40, margin=1.0):
    """Comparisons that the identity violates about half of the time."""
    X = rng.normal(size=(n, d)) * np.linspace(0.3, 2, d)
    i, j, k, l = rng.integers(n, size=(4, m))
    real = (i != j) & (k != l)
    return X, gm.Quadruplets(i[real], j[real], k[real], l[real], margin=margin, weight=rng.uniform(0.5, 2, real.sum()))


def violations(M, X, side):
    """margin + d²(near pair) − d²(far pair) as cvxpy expressions."""
    near, far = (X[i] - X[j] for i, j in (side.near_ends, side.far_ends))
    terms = [np.outer(a, a) - np.outer(b, b) for a, b in zip(near, far)]
    return side.margin + cp.hstack([cp.sum(cp.multiply(A, M)) for A in terms])


@pytest.mark.parametrize("gamma", [0.1, 2.0])
def test_itml_on_comparisons_is_its_conic_program(rng, gamma):
    X, side = comparisons(rng)
    M = cp.Variable((3, 3), PSD=True)
    excess = cp.multiply(side.weight, violations(M, X, side)) / np.mean(side.weight * side.margin)
    objective = cp.trace(M) - cp.log_det(M) - 3 + gamma / 2 * cp.sum(cp.square(cp.pos(excess)))
    best = cp.Problem(cp.Minimize(objective)).solve()
    found = gm.ITML(gamma, anchor=0).fit(X, side)
    assert found.objective_ == pytest.approx(best, rel=1e-4)
    np.testing.assert_allclose(found.metric_.matrix, M.value, atol=1e-3)


def test_lmnn_on_comparisons_is_its_conic_program(rng):
    X, side = comparisons(rng, margin=rng.uniform(1, 3))
    pairs = np.unique(np.stack(side.near_ends, axis=1), axis=0)
    V = X[pairs[:, 0]] - X[pairs[:, 1]]
    M = cp.Variable((3, 3), PSD=True)
    hinges = cp.sum(cp.multiply(side.weight, cp.pos(violations(M, X, side))))
    best = cp.Problem(cp.Minimize(cp.sum(cp.multiply(V.T @ V, M)) + 4 * hinges)).solve()
    found = gm.LMNN(push=4.0, anchor=0, tol=1e-5, max_iter=5000).fit(X, side)
    assert best - 1e-6 <= found.objective_ <= best * (1 + 1e-3)
    assert found.objective_ - found.solution_.gap <= best + 1e-6


def test_hinges_have_the_gradient_of_finite_differences(rng):
    X, side = comparisons(rng)
    hinges, L = Hinges.of(X, side, 2.0), 0.5 * rng.normal(size=(2, 3))
    hinges = hinges.updated(1.1 * L)
    value, slope = (lambda x, place=place: hinges.smoothed(x.reshape(2, 3))[place] for place in (0, 1))
    assert check_grad(value, lambda x: slope(x).ravel(), L.ravel()) < 1e-3


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


@pytest.mark.parametrize("learner", TAKE_THEM, ids=name)
@pytest.mark.parametrize("size", [3, 4])
def test_comparisons_are_learned_from_and_predicted(learner, size):
    X, y = load_iris(return_X_y=True)
    kind = {3: gm.Triplets, 4: gm.Quadruplets}[size]
    wishes = kind.from_labels(y, 300, random_state=0)
    fitted = learner.fit(X, wishes)
    fresh = kind.from_labels(y, 300, random_state=1)
    values = [(fresh.values(metric, X) < 0).mean() for metric in (fitted.metric_, gm.Mahalanobis.euclidean(4))]
    assert values[0] >= values[1] - 0.01


@pytest.mark.parametrize("learner", [gm.ITML(anchor=0), gm.LMNN(anchor=0)], ids=name)
def test_units_do_not_matter_where_the_margin_is_left_open(learner, rng):
    X, y = load_iris(return_X_y=True)
    wishes = gm.Triplets.from_labels(y, 200, random_state=0)
    first, again = learner.fit(X, wishes).metric_.sqdist(X), learner.fit(64 * X, wishes).metric_.sqdist(64 * X)
    unit = again.mean() / first.mean()
    np.testing.assert_allclose(again, unit * first, rtol=1e-2, atol=1e-2 * again.mean())


@pytest.mark.parametrize("learner", ONLY_PAIRS, ids=name)
def test_learners_of_pairs_name_what_they_take(learner, rng):
    X, side = comparisons(rng)
    takers = "Quadruplets are taken by .*ITML.*LMNN.*LSML.*SCML"
    with pytest.raises(ValueError, match=f"{name(learner)}: takes labels or Pairs, got Quadruplets; {takers}"):
        learner.fit(X, side)


@pytest.mark.parametrize("kind", [gm.Pairs, gm.Triplets, gm.Chunklets])
def test_those_who_are_said_to_take_something_do(kind):
    X, y = load_iris(return_X_y=True)
    given = kind.from_labels(y, 100) if kind is gm.Triplets else kind.from_labels(y)
    for taker in _warnings.takers(Learner, kind).split(" by ")[1].split(", "):
        assert getattr(gm, taker)().fit(X, given).metric_.matrix.shape == (4, 4)


def test_a_margin_of_zero_says_nothing_to_lmnn(rng):
    X, side = comparisons(rng, margin=0.0)
    with pytest.raises(ValueError, match="LMNN: margin must be positive"):
        gm.LMNN().fit(X, side)
