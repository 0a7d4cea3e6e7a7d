"""Bounds below distances: they are below, nearly as large, and lists keep the lowest."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from gramian import lower_bounds, neighbors
from tests.brute_force import agree, brute, images


def test_a_projection_is_used_where_it_pays_and_the_answer_stays_exact(rng):
    X, Q = images(rng, 2600), images(rng, 40)
    assert lower_bounds.Frame.around(X).directions is not None
    assert lower_bounds.Frame.around(rng.normal(size=(2600, 200))).directions is None
    agree(neighbors.nearest(X, 9, Q), brute(X, 9, Q))
    far = Q + rng.normal(size=Q.shape)  # most of such a query lies outside of the directions
    agree(neighbors.nearest(X, 9, far), brute(X, 9, far))


@pytest.mark.parametrize("projected", [False, True])
def test_bounds_are_below_the_distances_and_nearly_as_large(rng, projected):
    X, Q = images(rng, 2500), images(rng, 30)
    frame = lower_bounds.Frame.around(X)
    frame = frame if projected else lower_bounds.Frame(frame.center, frame.unit)
    scan = lower_bounds.DenseScan.of(X, frame)
    Z, own = scan.lift(Q)
    ids, lower = scan.shortlist((Z, own), len(X))
    assert (np.sort(ids, axis=1) == np.arange(len(X))).all()
    true = np.take_along_axis(cdist(Q, X, "sqeuclidean"), ids, axis=1)
    assert (lower <= true).all()
    assert (true - lower).max() < (0.2 if projected else 1e-4) * true.max()


@pytest.mark.parametrize("size", [1, 16, 48, 49, 129, 400, 2300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lists_hold_the_lowest_bounds_of_all_blocks(rng, size, dtype):
    from gramian._jit.selection import squared_lists

    products, halves = rng.integers(-9, 9, size=(7, 3000)).astype(dtype), rng.integers(0, 9, size=3000).astype(dtype)
    halves[::5] = np.inf
    lists = lower_bounds.Lists(7, size, 3000, dtype)
    for start in range(0, 3000, 1100):
        some = slice(start, min(start + 1100, 3000))
        lists.keep(np.ascontiguousarray(products[:, some]), halves[some], start)
    ids, values = lists.ascending()
    own = rng.normal(size=7)
    D = squared_lists(values, own, 4.0)
    assert all(len(set(row)) == size for row in ids)
    bounds = halves - products
    np.testing.assert_array_equal(values, np.sort(bounds, axis=1)[:, :size])
    np.testing.assert_array_equal(values, np.take_along_axis(bounds, ids, axis=1))
    np.testing.assert_allclose(D, (own[:, None] + 2.0 * values) * 4.0, rtol=1e-14, atol=1e-12)


@given(st.integers(1, 128), st.integers(256, 2000), st.integers(1, 30), st.integers(0, 10**6))
@settings(deadline=None)
def test_below_a_level_lie_at_least_as_many_bounds_as_a_list_has_places(size, n, values, seed):
    from gramian._jit.selection import enough_below

    draw = np.random.default_rng(seed)
    products, halves = draw.integers(values, size=(2, n)).astype(np.float32)
    level = enough_below(halves, products, np.empty(256, np.float32), size)
    assert (halves - products < level).sum() >= size


def test_a_projection_gives_long_lists_too(rng):
    X, Q = images(rng, 2600), images(rng, 20)
    scan = lower_bounds.DenseScan.of(X)
    assert scan.frame.directions is not None
    agree(neighbors.search(scan, Q, neighbors.dense_distances(Q, X), 300), brute(X, 300, Q))
