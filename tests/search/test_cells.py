"""Cells: a partition that stays when the metric changes, and the recall of a search that visits few of them."""

import numpy as np
import pytest

import gramian as gm
from gramian.search import cells as partition
from gramian.search.cell_candidates import for_list, least_reach, levels_of, ratios
from gramian.search.codes import angle_limits

D = 16


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    centers = 2 * rng.normal(size=(200, D))
    X = (centers[rng.integers(200, size=12_150)] + rng.normal(size=(12_150, D))).astype(np.float32)
    return X[:12_000], X[12_000:]


@pytest.fixture(scope="module")
def index(data):
    return gm.HashIndex(gm.Mahalanobis.euclidean(D), 128, cells=60, random_state=0).add(data[0])


def steep(condition):
    return gm.Mahalanobis.from_matrix(np.diag(np.geomspace(1, condition, D)[np.random.default_rng(1).permutation(D)]))


def share(index, Q, k, X, ids=None):
    """Mean share of the true neighbors that a search finds."""
    ids = np.arange(len(X)) if ids is None else ids
    true = np.argsort(index.metric.sqdist(Q, X), axis=1)[:, :k]
    names = index.query(Q, k)[0]
    return np.mean([np.isin(ids[row], found).mean() for row, found in zip(true, names)])


@pytest.mark.parametrize("condition", [1, 10, 1e4])
@pytest.mark.parametrize("k", [1, 10, 40])
def test_the_promise_is_kept_under_any_metric_with_few_comparisons(index, data, condition, k):
    X, Q = data
    turned = index.with_metric(steep(condition))
    assert share(turned, Q, k, X) >= 0.985
    assert turned.compared(Q, k).mean() < 0.2 * len(X)


def test_a_new_metric_moves_nobody(index):
    turned = index.with_metric(steep(100.0))
    assert turned.n_cells_ == index.n_cells_ == 60
    for name in ("ids", "cells"):
        assert np.array_equal(turned._items[name], index._items[name])
    assert not np.array_equal(turned._items["codes"], index._items["codes"])


def test_items_are_in_the_cell_of_their_nearest_center_and_stand_in_order(index, data):
    items = index._items
    centers = items.settled["centers"]
    gaps = ((items["points"][:, None].astype(float) - centers) ** 2).sum(axis=2)  # (n, L)
    labels = items["cells"]
    assert np.array_equal(labels, partition.nearest_cells(items["points"], centers))
    assert (gaps[np.arange(len(gaps)), labels] <= gaps.min(axis=1) * (1 + 1e-4)).all()
    assert (np.diff(labels) >= 0).all()
    starts = partition.starts_of(items)
    assert np.array_equal(np.diff(starts), np.bincount(labels, minlength=60))
    sizes = items["sqnorms"]
    np.testing.assert_allclose(sizes, gaps[np.arange(len(gaps)), labels], rtol=1e-6)
    assert all((np.diff(sizes[a:b]) >= 0).all() for a, b in zip(starts, starts[1:]))
    assert np.array_equal(index.ids, np.arange(len(data[0]))) and np.array_equal(index.points, data[0])


def test_a_cell_begins_at_the_plane_between_two_centers(rng):
    from gramian._jit.cells import scores_of

    C, q = rng.normal(size=(9, 3)), rng.normal(size=3)
    own = ((C - q) ** 2).sum(axis=1)
    a = int(own.argmin())
    scores = np.empty(9)
    scores_of(own, ((C - C[a]) ** 2).sum(axis=1), a, scores)
    for c in set(range(9)) - {a}:
        normal = (C[c] - C[a]) / np.linalg.norm(C[c] - C[a])
        assert scores[c] == pytest.approx(normal @ ((C[c] + C[a]) / 2 - q))
    X = 3 * rng.normal(size=(2000, 3))
    home = ((X[:, None] - C) ** 2).sum(axis=2).argmin(axis=1)
    assert (np.linalg.norm(X - q, axis=1) >= scores[home] - 1e-12).all()  # no point of a cell is nearer


def test_levels_let_through_what_a_cosine_allows():
    limits = angle_limits(64, 0.99)
    levels = levels_of(limits)
    for i, cosine in enumerate(np.linspace(0, 1, 513)):
        assert limits[levels[i]] >= cosine and (levels[i] == 64 or limits[levels[i] + 1] < cosine)


def test_the_least_reach_is_certain_by_a_standard_error(rng):
    shares = rng.exponential(size=(300, 10))
    reach = least_reach(shares, 0.02)
    missed = (shares > reach).mean(axis=1)
    assert missed.mean() + missed.std(ddof=1) / np.sqrt(300) <= 0.02
    lower = shares[shares < reach].max()
    missed = (shares > lower).mean(axis=1)
    assert missed.mean() + missed.std(ddof=1) / np.sqrt(300) > 0.02
    assert least_reach(np.full((5, 2), np.inf), 0.02) == np.inf


def test_a_ratio_is_the_reach_at_which_a_search_meets_a_neighbor(rng):
    """Two roads: cells visited one by one with the k-th distance so far, for reaches just below and just above."""
    ahead, D = rng.integers(0, 6, size=(8, 40)) * 0.3, np.sort(rng.random((8, 40)) + 0.2, axis=1)
    for k in (1, 3):
        read = ratios(ahead, D, k)
        for row, place in np.ndindex(8, k):
            for reach in (read[row, place] * (1 - 1e-9), read[row, place] * (1 + 1e-9)):
                best, met = np.full(k, np.inf), False
                for s in np.unique(ahead[row]):
                    if s > reach * min(best[-1], D[row, -1]):
                        break
                    met |= s == ahead[row, place]
                    best = np.sort(np.append(best, D[row][ahead[row] == s]))[:k]
                assert met == (reach >= read[row, place])


def test_lists_take_what_was_read_for_lists_like_them():
    values = np.array([0.3, 0.1, 0.2])  # of 1, 10 and 100
    assert [for_list(values, k) for k in (1, 2, 10, 11, 100, 5000)] == [0.3, 0.3, 0.1, 0.2, 0.2, 0.2]


@pytest.mark.parametrize("recall", [0.8, 0.95])
def test_what_is_asked_is_kept_and_no_more_than_that_is_paid_for(index, data, recall):
    X, Q = data
    asked = gm.HashIndex(gm.Mahalanobis.euclidean(D), 128, cells=60, recall=recall, random_state=0).add(X)
    assert recall - 0.02 <= share(asked, Q, 10, X) <= 1 - 0.2 * (1 - recall)
    assert asked.compared(Q).mean() < index.compared(Q).mean()


def test_later_items_are_found_and_laid_out_again(data):
    X, Q = data
    index = gm.HashIndex(steep(5.0), 128, cells=40, random_state=0).add(X[:8000])
    for start in range(8000, 8600, 100):
        index.add(X[start : start + 100], ids=np.arange(start, start + 100)[::-1])
    assert index._items.settled["laid"] == 8000
    ids = np.concatenate([np.arange(8000), *(np.arange(s, s + 100)[::-1] for s in range(8000, 8600, 100))])
    assert share(index, Q, 10, X[:8600], ids) >= 0.985
    index.add(X[8600:10_500])
    assert index._items.settled["laid"] == 10_500
    gone = np.arange(0, 10_500, 3)
    index.remove(gone)
    kept = np.setdiff1d(np.arange(10_500), gone)
    place = np.concatenate([ids, np.arange(8600, 10_500)])  # the id of each point
    left = ~np.isin(place, gone)
    assert share(index, Q, 10, X[:10_500][left], place[left]) >= 0.985
    assert np.array_equal(index.ids, kept)


def test_filters_and_radii(index, data):
    X, Q = data
    some = np.random.default_rng(2).random(len(X)) < 0.3
    true = np.where(some, index.metric.sqdist(Q, X), np.inf)
    ids, sqdist = index.query(Q, 10, within=some)
    assert some[ids].all()
    wanted = np.argsort(true, axis=1)[:, :10]
    assert np.mean([np.isin(a, b).mean() for a, b in zip(wanted, ids)]) >= 0.985
    few = np.flatnonzero(some)[:50]
    np.testing.assert_allclose(index.query(Q, 10, within=few)[1], np.sort(true[:, few])[:, :10], rtol=1e-6)
    r = np.sqrt(np.median(sqdist[:, -1]))
    within = index.query_radius(Q, r)
    wanted, found = (index.metric.sqdist(Q, X) <= r * r).sum(), sum(map(len, within[0]))
    assert 0.985 * wanted <= found <= wanted + 1


@pytest.mark.parametrize("store", [None, "float16", "int8"])
def test_stores_files_and_threads(data, store, tmp_path):
    """A file changes no digit. Threads may, the last: matrix products of other blocks of queries are summed anew."""
    X, Q = data
    metric = gm.Mahalanobis(np.random.default_rng(5).normal(size=(D, D)))
    own = gm.HashIndex(metric, 128, cells=40, store=store, random_state=0).add(X, n_jobs=2)
    true = metric.sqdist(Q, np.asarray(own.points, float))
    answers = {n_jobs: own.query(Q, 5, n_jobs=n_jobs) for n_jobs in (1, 2)}
    np.testing.assert_allclose(answers[1][1], np.take_along_axis(true, answers[1][0], axis=1), rtol=1e-5)
    assert (np.sort(true)[:, 4:5] * (1 + 1e-5) >= answers[1][1]).mean() > 0.985
    own.save(tmp_path / "index.gram")
    for mmap in (False, True):
        twin = gm.load(tmp_path / "index.gram", mmap=mmap)
        for n_jobs, answer in answers.items():
            for one, other in zip(twin.query(Q, 5, n_jobs=n_jobs), answer):
                np.testing.assert_array_equal(one, other)
    assert np.array_equal(answers[1][0], answers[2][0])
    np.testing.assert_allclose(answers[1][1], answers[2][1], rtol=1e-12)
    turned = gm.load(tmp_path / "index.gram", mmap=True).with_metric(metric)
    assert np.array_equal(turned.query(Q, 5)[0], answers[1][0])


def test_points_of_a_mapped_file_stay_there(data, tmp_path):
    X, Q = data
    np.save(tmp_path / "points.npy", X)
    mapped = gm.HashIndex(steep(5.0), 128, cells=40, random_state=0)
    mapped.add(np.load(tmp_path / "points.npy", mmap_mode="r"))
    plain = gm.HashIndex(steep(5.0), 128, cells=40, random_state=0).add(X)
    assert partition.on_disk(mapped._items["points"].data) and np.array_equal(mapped.points, X)
    for one, two in ((mapped, plain), (mapped.with_metric(steep(1.0)), plain.with_metric(steep(1.0)))):
        assert np.array_equal(one.query(Q, 5)[0], two.query(Q, 5)[0])
    mapped.save(tmp_path / "index.gram")
    stored = gm.load(tmp_path / "index.gram", mmap=True)
    assert np.array_equal(stored._items["points"], plain._items["points"])  # cell by cell
    mapped.remove(np.arange(50)).add(X[:50])
    plain.remove(np.arange(50)).add(X[:50])
    assert np.array_equal(mapped.query(Q, 5)[0], plain.query(Q, 5)[0])


def test_kernels_with_features(data):
    X, Q = data
    features = gm.KernelFeatures(gm.Gaussian(6.0), rank=20).fit(X[:500])
    metric = gm.KernelMetric(features, np.diag(np.linspace(0.5, 2, 20)))
    index = gm.HashIndex(metric, 128, cells=40, random_state=0).add(X)
    assert index.n_cells_ == 40 and share(index, Q[:60], 10, X) >= 0.985
    other = index.with_metric(gm.KernelMetric(features, np.eye(20)))
    assert other.n_cells_ == 40 and share(other, Q[:60], 10, X) >= 0.985


def test_ties_go_by_id_wherever_items_stand(rng):
    X = rng.integers(0, 3, size=(3000, 4)).astype(float)
    ids = rng.permutation(3000)
    index = gm.HashIndex(gm.Mahalanobis.euclidean(4), 64, cells=20, random_state=0).add(X, ids)
    Q = X[:50]
    names, sqdist = index.query(Q, 5)
    for q, row in zip(Q, names):
        gap = ((X - q) ** 2).sum(axis=1)
        order = np.lexsort((ids, gap))[:5]
        assert np.array_equal(row, ids[order])


def test_few_items_have_no_cells_and_searches_of_another_kind_refuse_them(rng):
    metric = gm.Mahalanobis.euclidean(3)
    assert gm.HashIndex(metric).add(rng.normal(size=(5000, 3))).n_cells_ == 0
    assert partition.how_many("auto", 10**6) == 1000 and partition.how_many(None, 10**6) == 0
    for settings in ({"mode": "similarity"}, {"searcher": "orders"}, {"epsilon": 1.0}, {"estimate": "products"}):
        with pytest.raises(ValueError, match="cells must be 'auto' or None"):
            gm.HashIndex(metric, cells=8, **settings)
        gm.HashIndex(metric, **settings).add(rng.normal(size=(30, 3)))
    with pytest.raises(ValueError, match="cells"):
        gm.HashIndex(metric, cells=1)


def test_cells_that_save_nothing_are_given_up(rng, monkeypatch):
    monkeypatch.setattr(partition, "FROM", 1000)
    noise, Q = rng.normal(size=(3000, 64)), rng.normal(size=(20, 64))
    index = gm.HashIndex(gm.Mahalanobis.euclidean(64), random_state=0).add(noise)
    assert index.n_cells_ == 0 and np.array_equal(index.ids, np.arange(3000))
    plain = gm.HashIndex(gm.Mahalanobis.euclidean(64), cells=None, random_state=0).add(noise)
    assert np.array_equal(index.query(Q, 5)[0], plain.query(Q, 5)[0])
    assert gm.HashIndex(gm.Mahalanobis.euclidean(2), random_state=0).add(noise[:, :2]).n_cells_ == 55
