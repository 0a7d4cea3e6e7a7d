"""Quadruplets, and margins that are left to the data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

import gramian as gm
from gramian.constraints.comparisons import MARGIN
from tests.constraints.problems import label_lists


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def test_triplets_are_quadruplets_with_a_shared_end(rng):
    X = rng.normal(size=(10, 3))
    t = gm.Triplets([0, 1], [2, 3], [4, 5], margin=[0.5, 2.0])
    q = gm.Quadruplets([0, 1], [2, 3], [0, 1], [4, 5], margin=[0.5, 2.0])
    metric = gm.Mahalanobis.from_matrix(np.diag([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(t.violation(metric, X), q.violation(metric, X))
    np.testing.assert_allclose(t.matrix([1.0, 3.0]).toarray(), q.matrix([1.0, 3.0]).toarray())


def test_values_are_differences_of_squared_distances(rng):
    X = rng.normal(size=(8, 2))
    q = gm.Quadruplets([0, 1], [2, 3], [4, 5], [6, 7], margin=1.0, weight=[1.0, 5.0])
    near, far = ((X[a] - X[b]) ** 2 for a, b in (([0, 1], [2, 3]), ([4, 5], [6, 7])))
    expected = np.array([1.0, 5.0]) * (near.sum(axis=1) - far.sum(axis=1))
    np.testing.assert_allclose(q.values(gm.Mahalanobis.euclidean(2), X), expected)
    np.testing.assert_allclose(q.bound, [-1.0, -5.0])


def test_labels_give_pairs_of_one_class_against_pairs_of_two(iris):
    X, y = iris
    q = gm.Quadruplets.from_labels(y, 100, random_state=0)
    assert len(q) == 100
    assert (y[q.near_left] == y[q.near_right]).all() and (y[q.far_left] != y[q.far_right]).all()
    assert (q.near_left != q.near_right).all()


def test_tuples_and_indices_say_the_same(iris):
    X, y = iris
    q = gm.Quadruplets.from_labels(y, 30, random_state=0)
    T = np.stack([X[ends] for ends in (*q.near_ends, *q.far_ends)], axis=1)
    points, found = gm.Quadruplets.from_tuples(T, weight=2.0)
    metric = gm.Mahalanobis.euclidean(4)
    np.testing.assert_allclose(found.values(metric, points), 2 * q.values(metric, X))


@pytest.mark.parametrize("kind", [gm.Triplets, gm.Quadruplets])
def test_a_margin_that_is_not_given_follows_the_data(iris, kind):
    X, y = iris
    wishes = kind.from_labels(y, 50, random_state=0, margin=None)
    assert wishes.from_data and (wishes.bound == -1).all()
    a, b = wishes.check(X, "test").margin, wishes.check(10 * X, "test").margin
    np.testing.assert_allclose(100 * a, b)


@pytest.mark.parametrize("size", [3, 4])
def test_the_framework_takes_tuples_softly_and_without_units(iris, size):
    X, y = iris
    kind = {3: gm.Triplets, 4: gm.Quadruplets}[size]
    wishes = kind.from_labels(y, 150, random_state=0)
    places = (wishes.anchor, wishes.near, wishes.far) if size == 3 else (*wishes.near_ends, *wishes.far_ends)
    T = np.stack([X[place] for place in places], axis=1)
    M = gm.Framework(prior="covariance", tol=1e-5, anchor=0, random_state=0).fit(T).metric_.matrix
    again = gm.Framework(prior="covariance", tol=1e-5, anchor=0, random_state=0).fit(10 * T).metric_.matrix
    np.testing.assert_allclose(100 * again, M, atol=5e-3 * np.abs(M).max())  # two ends of one tolerance
    before = (wishes.values(gm.Mahalanobis.from_matrix(np.linalg.inv(np.cov(X.T))), X) < 0).mean()
    assert (wishes.values(gm.Mahalanobis.from_matrix(M), X) < 0).mean() > before


def test_weights_must_be_positive():
    with pytest.raises(ValueError, match="weight must be positive"):
        gm.Quadruplets([0], [1], [2], [3], weight=0.0)


@given(label_lists, st.integers(0, 5))
def test_triplets_from_labels(y, seed):
    y = np.array(y)
    classes, sizes = np.unique(y, return_counts=True)
    if len(classes) < 2 or sizes.max() < 2:
        with pytest.raises(ValueError, match="two classes"):
            gm.Triplets.from_labels(y, random_state=seed)
        return
    t = gm.Triplets.from_labels(y, random_state=seed)
    assert (y[t.anchor] == y[t.near]).all() and (y[t.anchor] != y[t.far]).all() and (t.anchor != t.near).all()
    assert set(y[t.anchor]) == set(classes[sizes > 1])


def test_triplets_from_targets(rng):
    y = rng.random(60)
    triplets = gm.Triplets.from_targets(y, 5, n_triplets=200, random_state=0)
    near, far = abs(y[triplets.anchor] - y[triplets.near]), abs(y[triplets.anchor] - y[triplets.far])
    assert len(triplets) == 200 and (near < far).all()
    assert len({*zip(triplets.anchor, triplets.near, triplets.far)}) == 200
    assert set(triplets.anchor) == set(range(60))


def test_a_margin_that_was_left_open_follows_the_unit_of_the_data(rng):
    X = rng.normal(size=(40, 3))
    triplets = gm.Triplets([0, 1], [2, 3], [4, 5], margin=None)
    D = ((X[:, None] - X[None]) ** 2).sum(-1)[np.triu_indices(40, 1)]
    assert triplets.bound.tolist() == [-1, -1]
    filled, scaled = triplets.with_bounds(X), triplets.with_bounds(10 * X)
    assert filled.margin == pytest.approx(MARGIN * np.median(D) * np.ones(2))
    assert scaled.margin == pytest.approx(100 * filled.margin)
    assert gm.Triplets([0], [1], [2], margin=2.0).with_bounds(X).margin.tolist() == [2.0]
