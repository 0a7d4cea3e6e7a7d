"""What the points of a class count: closed forms, sums over all triplets, finite differences, repetition."""

from functools import partial

import numpy as np
import pytest
from scipy.optimize import check_grad

import gramian as gm
from gramian.constraints import Labels
from gramian.learners import neighbor_targets as targets
from gramian.learners.class_weights import class_weights
from gramian.learners.impostors import Triplets
from gramian.learners.nca import nca_loss, truncated_nca_loss


@pytest.fixture
def uneven(rng):
    y = np.repeat([0, 1, 2], [30, 12, 6])
    X = rng.normal(size=(48, 3)) * [1.0, 2.0, 0.5] + y[:, None] * [1.0, 0.0, 0.5]
    return X, y


def test_balanced_classes_count_the_same_and_the_mean_is_one(uneven):
    _, y = uneven
    labels = Labels.from_array(y, "test")
    w = class_weights("balanced", labels, "test")
    assert np.allclose([w[y == c].sum() for c in range(3)], 16) and np.isclose(w.mean(), 1)
    named = class_weights({0: 1.0, 2: 5.0}, labels, "test")
    assert named[-1] == pytest.approx(5 * named[0]) and named[0] == named[35]
    assert class_weights(None, labels, "test") is None
    with pytest.raises(ValueError, match="ITML: class_weight must be None, 'balanced' or a dict, got 'even'"):
        gm.ITML(class_weight="even").fit(*uneven)
    for bad in ({0: -1.0}, {9: 1.0}):
        with pytest.raises(ValueError, match="class_weight must"):
            class_weights(bad, labels, "test")


def test_rca_averages_the_scatter_of_classes(uneven):
    X, y = uneven
    found = gm.RCA(anchor=0, class_weight="balanced").fit(X, y).metric_.matrix
    mean = sum(np.cov(X[y == c].T, bias=True) for c in range(3)) / 3
    np.testing.assert_allclose(found, np.linalg.inv(mean), rtol=1e-8)


def test_weighted_chunklets_are_repeated_points(uneven):
    X, y = uneven
    count = np.array([1, 2, 3])[y]
    once = gm.Chunklets(y, weight=count.astype(float))
    twice = gm.Chunklets(np.repeat(y, count))
    metric = gm.Mahalanobis.from_matrix(np.diag([1.0, 2.0, 3.0]))
    many = np.repeat(X, count, axis=0)
    np.testing.assert_allclose(once.values(metric, X), twice.values(metric, many))
    for one, other in zip(once.moments(X), twice.moments(many)):
        np.testing.assert_allclose(one, other)


def test_the_gradient_of_weighted_nca_is_that_of_its_value(uneven, rng):
    X, y = uneven
    w = rng.uniform(0.5, 2, len(y))
    L = rng.normal(size=(2, 3))
    near = targets.everywhere(X, len(y) - 1)
    plain = sum(w[i] * -nca_loss(L, X, y, slice(i, i + 1))[0] for i in range(len(y)))
    whole = partial(nca_loss, X=X, codes=y, weight=w)
    truncated = partial(truncated_nca_loss, X=X, codes=y, near=near, weight=w)
    for loss in (whole, truncated):
        assert loss(L)[0] == pytest.approx(-plain)
        assert slope_error(loss, L) < 1e-5


def slope_error(loss, L):
    """How far a gradient is from finite differences."""
    return check_grad(lambda a: loss(a.reshape(L.shape))[0], lambda a: loss(a.reshape(L.shape))[1].ravel(), L.ravel())


def brute_force(L, X, y, near, push, w):
    """Σ w_i (pull + push · hinges), triplet by triplet."""
    Z, total = X @ L.T, 0.0
    for i in range(len(X)):
        for j in near[i][near[i] != i]:
            d = ((Z[i] - Z[j]) ** 2).sum()
            hinges = [max(0, 1 + d - ((Z[i] - Z[l]) ** 2).sum()) for l in np.flatnonzero(y != y[i])]
            total += w[i] * (d + push * sum(hinges))
    return total


def test_weighted_lmnn_is_at_the_optimum_of_the_weighted_sum(uneven):
    X, y = uneven
    w = class_weights("balanced", Labels.from_array(y, "test"), "test")
    lmnn = gm.LMNN(2, anchor=0, class_weight="balanced", tol=1e-4, max_iter=5000).fit(X, y)
    value = brute_force(lmnn.components_, X, y, lmnn.targets_, 1.0, w)
    assert lmnn.converged_ and lmnn.objective_ == pytest.approx(value, rel=1e-6)
    assert 0 <= lmnn.solution_.gap < 0.01 * value
    even = gm.LMNN(2, anchor=0, tol=1e-4, max_iter=5000).fit(X, y)
    assert value < brute_force(even.components_, X, y, lmnn.targets_, 1.0, w)


def test_the_gradient_of_weighted_hinges_is_that_of_their_value(uneven, rng):
    X, y = uneven
    labels = Labels.from_array(y, "test")
    near = targets.same_class(X, labels, 2)
    L = rng.normal(size=(3, 3)) * 0.3
    triplets = Triplets.none(X, near, 1.5, rng.uniform(0.5, 2, len(y))).renewed(L, labels)
    triplets = triplets.updated(L * 1.1)
    assert slope_error(triplets.smoothed, L) < 1e-3 * np.abs(triplets.smoothed(L)[1]).max()


def test_weighted_pairs_of_itml_are_repeated_pairs(uneven, rng):
    X, y = uneven
    pairs = gm.Pairs.from_labels(y, 40, X=X, random_state=0)
    count = rng.integers(1, 3, len(pairs))
    weighted = gm.Pairs(pairs.left, pairs.right, pairs.similar, bounds=pairs.bounds, weight=count.astype(float))
    again = np.repeat(np.arange(len(pairs)), count)
    bounds = tuple(np.broadcast_to(b, len(pairs))[again] for b in pairs.bounds)
    repeated = gm.Pairs(pairs.left[again], pairs.right[again], pairs.similar[again], bounds=bounds)
    found = [gm.ITML(anchor=0, tol=1e-9).fit(X, side).metric_.matrix for side in (weighted, repeated)]
    np.testing.assert_allclose(*found, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("learner", [gm.RCA, gm.NCA, gm.LMNN, gm.ITML])
def test_balanced_learners_differ_from_plain_ones_and_keep_string_labels(learner, uneven):
    X, y = uneven
    names = np.array(["a", "b", "c"])[y]
    extra = {} if learner is gm.RCA else {"max_iter": 200}
    plain, even = (learner(anchor=0, class_weight=w, random_state=0, **extra).fit(X, names) for w in (None, "balanced"))
    assert not np.allclose(plain.metric_.matrix, even.metric_.matrix, rtol=1e-3)
    learner(class_weight={"a": 2.0}, random_state=0).fit(X, names)
