"""Votes of neighbors: counts by hand, and one rule for ties everywhere."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import gramian as gm
from gramian import lower_bounds, neighbors
from gramian.manifold.transductive import vote
from gramian.neighbors import tally, winners
from gramian.search import knn_classify
from tests.brute_force import agree, brute, images


@given(st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=1, max_size=8))
def test_votes_are_counted_and_ties_go_to_the_nearest_voter(rows):
    codes = np.array(rows)
    votes = tally(codes, 5)
    for row, found, winner in zip(rows, votes, winners(codes, 5)):
        count = Counter(row)
        assert [count[c] for c in range(5)] == found.tolist()
        most = max(count.values())
        assert winner == next(c for c in row if count[c] == most)


def test_weights_decide_before_nearness():
    assert winners(np.array([[0, 1, 1]]), 2, np.array([[1.0, 0.4, 0.5]])).tolist() == [0]
    assert winners(np.array([[1, 0, 0]]), 2, np.array([[1.0, 0.5, 0.5]])).tolist() == [1]  # a tie


def test_every_room_has_the_same_rule():
    X, y = np.array([[0.0], [3.0], [1.0], [2.5]]), np.array([1, 1, 0, 0])
    index = gm.ExactIndex(gm.Mahalanobis.euclidean(1)).add(X)
    queries = np.array([[0.2], [2.9], [1.4]])
    assert np.array_equal(knn_classify(index, y, queries, k=4), vote(X, y, queries, 4))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 10, 200])
def test_dense_rows_are_found_exactly(rng, dtype, k):
    X, Q = rng.normal(size=(1500, 20)).astype(dtype), rng.normal(size=(60, 20)).astype(dtype)
    agree(neighbors.nearest(X, k, Q), brute(X.astype(float), k, Q.astype(float)))
    agree(neighbors.nearest(X[:300], k), brute(X[:300].astype(float), k))


@pytest.mark.parametrize("scale", [1e-140, 1e-30, 1e-12, 1e12, 1e30, 1e140])
def test_units_do_not_matter(rng, scale):
    X, Q = rng.normal(size=(400, 6)), rng.normal(size=(20, 6))
    ids, values = neighbors.nearest(scale * X, 5, scale * Q)
    true, sqdist = brute(X, 5, Q)
    assert np.array_equal(ids, true)
    np.testing.assert_allclose(values / scale / scale, sqdist, rtol=1e-9)


def test_far_offsets_wide_ranges_and_far_queries(rng):
    X = rng.normal(size=(500, 4))
    agree(neighbors.nearest(X + 2.0**30, 5), brute(X + 2.0**30, 5), 2.0**30)
    wide = X * 10.0 ** rng.integers(-40, 40, size=(500, 1))
    agree(neighbors.nearest(wide, 7), brute(wide, 7))
    lonely = np.vstack([X, 1e40 * X[:3]])
    agree(neighbors.nearest(lonely, 7), brute(lonely, 7))
    Q = 1e40 * rng.normal(size=(5, 4))
    assert np.array_equal(neighbors.nearest(wide, 3, Q)[0], brute(wide, 3, Q)[0])


@given(st.integers(2, 40), st.integers(1, 45), st.integers(1, 4), st.integers(0, 10**6))
@settings(deadline=None)
def test_ties_go_to_the_lower_id(n, k, d, seed):
    X = np.random.default_rng(seed).integers(0, 3, size=(n, d)).astype(float)
    k = min(k, n - 1)
    agree(neighbors.nearest(X, k), brute(X, k))
    agree(neighbors.nearest(X, k, X), brute(X, k, X))


def test_more_ties_than_the_short_list_holds():
    X = np.repeat([[0.0, 0.0], [1.0, 0.0]], 3000, axis=0)
    ids, D = neighbors.nearest(X, 3, X[[0, 3000]])
    assert ids.tolist() == [[0, 1, 2], [3000, 3001, 3002]] and (D == 0).all()


@pytest.mark.parametrize("m", [1, 5, 16, 17, 300])
def test_batches_of_any_size_have_the_same_answers(rng, m):
    X, Q = rng.normal(size=(3000, 70)).astype(np.float32), rng.normal(size=(m, 70)).astype(np.float32)
    agree(neighbors.nearest(X, 10, Q), brute(X.astype(float), 10, Q.astype(float)))


def test_many_queries_that_the_bounds_leave_undecided_are_answered_exactly(rng):
    X = np.vstack([1e-3 * rng.normal(size=(3000, 5)), [1e3 * np.ones(5)]])  # one far row spoils the digits of all
    scan = lower_bounds.DenseScan.of(X)
    lower = scan.shortlist(scan.lift(X[:60]), 16)[1]
    assert (lower[:, -1] < brute(X, 10, X[:60])[1][:, -1]).all()
    agree(neighbors.nearest(X, 10, X[:60]), brute(X, 10, X[:60]))


@pytest.mark.parametrize("k", [1, 8, 300])
def test_sparse_rows_are_found_exactly(rng, k):
    X = sparse.random_array((400, 900), density=0.02, random_state=rng, format="csr")
    Q = sparse.random_array((30, 900), density=0.02, random_state=rng, format="csr")
    agree(neighbors.nearest(X, k, Q), brute(X.toarray(), k, Q.toarray()))
    agree(neighbors.nearest(X, k), brute(X.toarray(), k))
    agree(neighbors.nearest(X, k, Q.toarray()), brute(X.toarray(), k, Q.toarray()))


def test_rows_that_are_left_out_are_never_found(rng):
    X, Q = rng.normal(size=(900, 5)), rng.normal(size=(20, 5))
    mask = rng.random(900) < 0.1
    scan = lower_bounds.DenseScan.of(X).only(mask)
    ids, values = neighbors.search(scan, Q, neighbors.dense_distances(Q, X), 6)
    true, sqdist = brute(X[mask], 6, Q)
    agree((ids, values), (np.flatnonzero(mask)[true], sqdist))


def test_no_entry_is_asked_for_and_none_is_touched():
    values = np.arange(6.0).reshape(2, 3)
    names, found = neighbors.smallest(values, 0)
    assert names.shape == found.shape == (2, 0)


@pytest.mark.parametrize("k", [101, 700, 2400, 2600])
def test_long_lists_take_all_directions_and_are_exact(rng, k):
    X, Q = images(rng, 2600), images(rng, 20)
    frame = lower_bounds.Frame.around(X)
    assert frame.suits(100, 2600) and not frame.suits(k, 2600) and frame.suits(k, 500 * k)
    agree(neighbors.nearest(X, k, Q), brute(X, k, Q))


@pytest.mark.parametrize("k", [10, 60, 200, 999])
def test_single_precision_far_from_the_origin_with_copies(rng, k):
    X = (rng.integers(0, 12, size=(900, 3)) + 2.0**20).astype(np.float32)  # many ties, and few digits left
    Q = X[:25] + np.float32(0.5)
    index = gm.ExactIndex(gm.Mahalanobis.euclidean(3)).add(X)
    agree(index.query(Q, k), brute(X.astype(float), min(k, 900), Q.astype(float)))
    within = rng.permutation(900)[:500]
    ids, sqdist = index.query(Q, k, within=within)
    true = brute(X[np.sort(within)].astype(float), min(k, 500), Q.astype(float))
    agree((ids, sqdist), (np.sort(within)[true[0]], true[1]))


def test_a_radius_without_items_and_one_with_all(rng):
    X = rng.normal(size=(700, 6)).astype(np.float32)
    index = gm.ExactIndex(gm.Mahalanobis.euclidean(6)).add(X)
    ids, sqdist = index.query_radius(X[:2] + np.float32(50), 1.0)
    assert [len(row) for row in (*ids, *sqdist)] == [0, 0, 0, 0]
    ids, sqdist = index.query_radius(X[:2], 100.0)
    agree((np.array(ids), np.array(sqdist)), brute(X.astype(float), 700, X[:2].astype(float)))


def test_distances_that_rounding_alone_tells_apart_are_tied():
    """Also where more are tied with the last one than lists have room for."""
    rng = np.random.default_rng(0)
    D = rng.integers(1, 4, size=(20, 60)) * (1 + 1e-15 * rng.normal(size=(20, 60)))
    for k in (1, 5, 30, 60):
        names, values = neighbors.smallest(D, k)
        np.testing.assert_array_equal(names, np.argsort(np.round(D), axis=1, kind="stable")[:, :k])
        np.testing.assert_allclose(values, np.sort(np.round(D), axis=1)[:, :k], rtol=1e-13)


def test_a_radius_that_is_a_distance_reaches_it():
    X = np.arange(12)[:, None] * 0.1
    ids, _ = gm.ExactIndex(gm.Mahalanobis.euclidean(1)).add(X).query_radius(X, 0.3)
    assert [row.tolist() for row in map(np.sort, ids)] == [[j for j in range(12) if abs(i - j) <= 3] for i in range(12)]
