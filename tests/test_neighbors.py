"""The road to exact neighbors against brute force in double precision: dense, sparse, hard scales, ties, threads."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist

import gramian as gm
from gramian import _threads, lower_bounds, neighbors


def brute(X, k, Q=None):
    D = cdist(X if Q is None else Q, X, "sqeuclidean")
    if Q is None:
        np.fill_diagonal(D, np.inf)
    ids = np.argsort(D, axis=1, kind="stable")[:, :k]
    return ids, np.take_along_axis(D, ids, 1)


def images(rng, n, d=200):
    """Rows whose spread falls off, so that a projection pays."""
    return rng.normal(size=(n, d)) * np.exp(-np.arange(d) / 12)


def agree(found, true, scale=1.0):
    assert np.array_equal(found[0], true[0])
    np.testing.assert_allclose(found[1], true[1], rtol=1e-12, atol=1e-13 * scale)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 10, 200])
def test_dense_rows_are_found_exactly(rng, dtype, k):
    X, Q = rng.normal(size=(1500, 20)).astype(dtype), rng.normal(size=(60, 20)).astype(dtype)
    agree(neighbors.nearest(X, k, Q), brute(X.astype(float), k, Q.astype(float)))
    agree(neighbors.nearest(X[:300], k), brute(X[:300].astype(float), k))


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


def test_threads_change_nothing(rng):
    X = rng.normal(size=(2000, 30))
    one, two = neighbors.nearest(X, 5), neighbors.nearest(X, 5, threads=3)
    assert np.array_equal(one[0], two[0])
    np.testing.assert_allclose(one[1], two[1], rtol=1e-13)


def test_the_limit_of_the_linear_algebra_is_taken_back(rng):
    from threadpoolctl import threadpool_info, threadpool_limits

    known = {part["filepath"] for part in _threads._libraries().info()}  # packages of other tests may bring their own

    def threads():
        return {part["num_threads"] for part in threadpool_info() if part["filepath"] in known}

    X = rng.normal(size=(500, 8))
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        workers = [threading.Thread(target=neighbors.nearest, args=(X, 3)) for _ in range(6)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert threads() == before
        with _threads.one_blas_thread():
            assert threads() == {1}


def test_n_jobs_counts_threads():
    assert _threads.count(None, "x") == 1 and _threads.count(3, "x") == 3
    assert _threads.count(-1, "x") >= _threads.count(-2, "x") >= 1
    for bad in (0, 1.5, "all", True):
        with pytest.raises(ValueError, match="x: n_jobs must be"):
            _threads.count(bad, "x")


@given(st.integers(1, 12), st.integers(1, 30), st.integers(1, 30), st.integers(0, 10**6))
@settings(deadline=None)
def test_smallest_is_a_stable_sort(n, m, k, seed):
    rng = np.random.default_rng(seed)
    D, k = rng.integers(0, 4, size=(n, m)).astype(float), min(k, m)
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    ids, values = neighbors.smallest(D, k)
    assert np.array_equal(ids, order) and np.array_equal(values, np.take_along_axis(D, order, 1))
    names = np.array([rng.permutation(100)[:m] for _ in range(n)])
    want = [sorted(zip(row, line))[:k] for row, line in zip(D.tolist(), names.tolist())]
    assert [list(zip(v, i)) for v, i in zip(*(part.tolist() for part in neighbors.smallest(D, k, names)[::-1]))] == want


def test_smallest_leaves_out_names_infinity_and_nan():
    D = np.array([[3.0, np.nan, 1.0, np.inf], [2.0, 2.0, 2.0, 2.0]])
    ids, values = neighbors.smallest(D, 3, skip=np.array([2, 0]))
    assert ids.tolist() == [[0, -1, -1], [1, 2, 3]] and values[0].tolist() == [3.0, np.inf, np.inf]


def test_learners_take_the_threads_of_the_joblib_configuration(rng, monkeypatch):
    import joblib

    X, y, asked = rng.normal(size=(60, 4)), np.arange(60) % 3, []
    each = _threads.each
    monkeypatch.setattr(
        _threads, "each", lambda function, pieces, threads: asked.append(threads) or each(function, pieces, threads)
    )
    alone = gm.LMNN(max_iter=5, anchor=0).fit(X, y).metric_.matrix
    assert asked and max(asked) <= 1  # 0 is small work, done without a limit on threads
    asked.clear()
    with joblib.parallel_config(n_jobs=2):
        assert _threads.count(None, "Test") == 2 and _threads.count(3, "Test") == 3
        np.testing.assert_allclose(gm.LMNN(max_iter=5, anchor=0).fit(X, y).metric_.matrix, alone)
    assert set(asked) - {0} == {2} and _threads.count(None, "Test") == 1


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


def test_a_projection_gives_long_lists_too(rng):
    X, Q = images(rng, 2600), images(rng, 20)
    scan = lower_bounds.DenseScan.of(X)
    assert scan.frame.directions is not None
    agree(neighbors.search(scan, Q, neighbors.dense_distances(Q, X), 300), brute(X, 300, Q))


@given(st.integers(129, 300), st.integers(1, 900), st.integers(1, 40), st.integers(0, 10**6))
@settings(deadline=None)
def test_many_smallest_are_a_stable_sort(k, m, different, seed):
    draw = np.random.default_rng(seed)
    D = draw.integers(different, size=(3, m)).astype(float)
    D[draw.random((3, m)) < 0.1] = np.inf
    D[draw.random((3, m)) < 0.1] = np.nan
    names, skip = np.array([draw.permutation(1000)[:m] for _ in range(3)]), draw.integers(1000, size=3)
    found, values = neighbors.smallest(D, k, names, skip)
    for i in range(3):
        want = sorted((d, name) for d, name in zip(D[i], names[i]) if d < np.inf and name != skip[i])[:k]
        assert list(zip(values[i], found[i])) == want + [(np.inf, -1)] * (k - len(want))


@given(st.integers(1, 400), st.integers(1, 12), st.integers(0, 10**6))
@settings(deadline=None)
def test_a_value_of_a_rank_is_that_of_the_sorted_values(n, different, seed):
    from gramian._jit.selection import ranked

    values = np.random.default_rng(seed).integers(different, size=n).astype(np.float32)
    k = seed % n
    assert ranked(values.copy(), k) == np.sort(values)[k]


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
