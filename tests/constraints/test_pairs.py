"""Pairs: their bounds from the data, and how they may be given."""

import numpy as np
import pytest

import gramian as gm


def test_bounds_are_percentiles_of_squared_distances(rng):
    X = rng.normal(size=(60, 3))
    D = ((X[:, None] - X[None]) ** 2).sum(-1)[np.triu_indices(60, 1)]
    pairs = gm.Pairs([0], [1], [True]).with_bounds(X)
    np.testing.assert_allclose([b[0] for b in pairs.bounds], np.percentile(D, (5, 95)))
    scaled = gm.Pairs([0], [1], [True]).with_bounds(10 * X)
    np.testing.assert_allclose([b[0] for b in scaled.bounds], 100 * np.percentile(D, (5, 95)))


def test_bounds_of_duplicated_and_constant_data():
    X = np.zeros((6, 2))
    u, l = gm.Pairs([0], [1], [True]).with_bounds(X).bounds
    assert 0 < u[0] < l[0]


def test_signs_of_similar_are_accepted():
    for form in ([True, False], [1, -1], [1, 0], np.array([1.0, -1.0])):
        assert gm.Pairs([0, 1], [1, 2], form).similar.tolist() == [True, False]


def test_copies_do_not_set_the_bounds_where_rounding_parts_them(rng):
    X, kernel = rng.normal(size=(20, 3)), gm.Gaussian(1.0)
    repeated = np.repeat(X, 4, axis=0)  # a twentieth of the pairs are copies, and more
    pairs = gm.Pairs([0], [1], [True])
    least = kernel.sqdist(X)[np.triu_indices(20, 1)].min()
    Z = gm.KernelFeatures(kernel).fit_transform(repeated)
    assert pairs.with_bounds(Z).bounds[0][0] > 0.5 * least
    noisy = pairs.with_bounds(Z, sqdist=lambda rows: kernel.sqdist(repeated[rows], repeated[rows] + 0.0))
    assert noisy.bounds[0][0] > 0.5 * least


def test_tuples_may_be_lists_and_their_shape_is_checked():
    X, pairs = gm.Pairs.from_tuples([[[0.0], [1.0]], [[2.0], [5.0]]], [1, -1])
    assert X.ravel().tolist() == [0, 2, 1, 5] and pairs.right.tolist() == [2, 3]
    X, triplets = gm.Triplets.from_tuples([[[0.0], [1.0], [9.0]]])
    assert X.ravel().tolist() == [0, 1, 9] and triplets.far.tolist() == [2]
    with pytest.raises(ValueError, match=r"Pairs: tuples must have shape \(m, 2, d\), got \(1, 3, 1\)"):
        gm.Pairs.from_tuples([[[0.0], [1.0], [9.0]]], [1])
    with pytest.raises(ValueError, match="Chunklets: limit must be a number in"):
        gm.Chunklets([0, 0], limit=np.nan)


def test_pairs_and_pairs_are_pairs():
    one, two = gm.Pairs([0], [1], [True], bounds=(1.0, 2.0)), gm.Pairs([1, 2], [3, 3], [False, True], bounds=(3.0, 4.0))
    both = one + two
    assert isinstance(both, gm.Pairs)
    assert both.bound.tolist() == [*one.bound, *two.bound] and both.right.tolist() == [1, 3, 3]
    assert (gm.Pairs([0], [1], [True]) + gm.Pairs([1], [2], [False])).bounds is None
