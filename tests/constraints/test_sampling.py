"""Draws of pairs from labels and targets: right, distinct, of every class, and not too many."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import gramian as gm
from tests.constraints.problems import label_lists


@given(label_lists, st.integers(0, 5), st.integers(1, 200))
def test_pairs_from_labels_are_right_and_distinct(y, seed, count):
    y = np.array(y)
    pairs = gm.Pairs.from_labels(y, count, random_state=seed)
    assert np.array_equal(y[pairs.left] == y[pairs.right], pairs.similar)
    assert (pairs.left != pairs.right).all()
    keys = {frozenset(p) for p in zip(pairs.left.tolist(), pairs.right.tolist())}
    assert len(keys) == len(pairs)


@given(label_lists, st.integers(0, 5))
def test_every_class_is_drawn(y, seed):
    """Also the last one, and classes with a negative name."""
    y = np.array(y)
    pairs = gm.Pairs.from_labels(y, random_state=seed)
    classes, sizes = np.unique(y, return_counts=True)
    drawn = set(y[pairs.left[pairs.similar]])
    assert drawn == set(classes[sizes > 1])
    if len(classes) > 1:
        apart = ~pairs.similar
        assert set(y[pairs.left[apart]]) | set(y[pairs.right[apart]]) == set(classes)


@given(label_lists, st.integers(0, 5))
def test_unknown_labels_are_left_out(y, seed):
    y = np.array(y)
    if (y != -1).sum() < 2:
        return
    pairs = gm.Pairs.from_labels(y, unknown=-1, random_state=seed)
    assert (y[pairs.left] != -1).all() and (y[pairs.right] != -1).all()


def test_counts_grow_with_n():
    sizes = [len(gm.Pairs.from_labels(np.arange(n) % 3, random_state=0)) for n in (50, 500, 5000)]
    assert sizes[0] >= 250 and sizes[1] >= 2500 and sizes[2] >= 25000
    assert len(gm.Triplets.from_labels(np.arange(500) % 3, random_state=0)) >= 2000


@given(st.integers(0, 50), st.integers(1, 12), st.sampled_from([None, 0.3]))
def test_pairs_from_targets_are_near_and_far_in_the_target(seed, n_near, threshold):
    rng = np.random.default_rng(seed)
    Y = rng.random((30, 2))
    Y[rng.integers(0, 30, 3)] = np.nan
    pairs = gm.Pairs.from_targets(Y, n_near, threshold=threshold, random_state=seed)
    D = np.sqrt(((Y[:, None] - Y[None]) ** 2).sum(-1))
    known = ~np.isnan(Y[:, 0])
    limit = np.median(D[np.ix_(known, known)][np.triu_indices(known.sum(), 1)]) if threshold is None else threshold
    rank = np.argsort(np.argsort(np.where(np.isnan(D) | np.eye(30, dtype=bool), np.inf, D), axis=1), axis=1)
    gap = D[pairs.left, pairs.right]
    assert known[pairs.left].all() and known[pairs.right].all() and (pairs.left != pairs.right).all()
    assert (rank[pairs.left, pairs.right][pairs.similar] < n_near).all()
    assert (gap[~pairs.similar] >= limit * (1 - 1e-12)).all()
    assert pairs.similar.any() and not pairs.similar.all()
    keys = {(frozenset(p), s) for *p, s in zip(pairs.left.tolist(), pairs.right.tolist(), pairs.similar.tolist())}
    assert len(keys) == len(pairs)


def test_continuous_targets_teach_a_metric(rng):
    """Only the first column says anything about the target."""
    X = rng.normal(size=(150, 4))
    pairs = gm.Pairs.from_targets(X[:, 0], n_near=5, X=X, random_state=0)
    M = gm.ITML(random_state=0, anchor=0).fit(X, pairs).metric_.matrix
    assert M[0, 0] > 3 * M.diagonal()[1:].max()


def test_copies_among_targets_never_pair_a_point_with_itself():
    pairs = gm.Pairs.from_targets(np.repeat([0.0, 5.0], 15), n_near=3, random_state=0)
    assert (pairs.left != pairs.right).all()


def test_the_number_of_pairs_does_not_grow_with_the_square_of_many_classes():
    few, many = (len(gm.Pairs.from_labels(np.repeat(np.arange(C), 3), random_state=0)) for C in (20, 400))
    assert few == 20 * 3 + 20 * 19 * 9 // 2 and 50_000 < many <= 100_000
