"""Points kept in fewer bytes, and on disk: the answers are those of what is kept."""

import numpy as np
import pytest

import gramian as gm
from gramian.search.rounded import RoundedRows

D = 24


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    centers = 3 * rng.normal(size=(40, D))
    return centers[rng.integers(40, size=3050)] + rng.normal(size=(3050, D)) + 5


@pytest.mark.parametrize("store, error", [("float64", 0.0), ("float32", 1e-6), ("float16", 2.0**-10), ("int8", 0.1)])
@pytest.mark.parametrize("estimate", ["collisions", "products"])
def test_answers_are_those_of_the_points_that_are_kept(points, store, error, estimate):
    metric = gm.Mahalanobis.from_matrix(np.diag(np.linspace(0.5, 2, D)))
    X, Q = points[:3000], points[3000:]
    settings = {"estimate": estimate, "recall": 1 - 1e-9, "random_state": 0}
    index = gm.HashIndex(metric, store=store, **settings).add(X[:2500]).add(X[2500:]).remove([7])
    kept = np.delete(X, 7, axis=0)
    assert np.abs(index.points - kept).max() <= error * np.abs(kept).max()
    ids, sqdist = index.query(Q, k=6)
    same, values = gm.ExactIndex(metric).add(np.asarray(index.points, float), index.ids).query(Q, k=6)
    np.testing.assert_allclose(sqdist, values, rtol=1e-5)
    assert (ids == same).mean() > 0.99
    inside = gm.ExactIndex(metric).add(index.points).query_radius(Q[:5], 4.0)[1]
    for one, two in zip(index.query_radius(Q[:5], 4.0)[1], inside):
        np.testing.assert_allclose(one, two, rtol=1e-5)


@pytest.mark.parametrize("store", ["float16", "int8"])
def test_rounded_points_go_through_files_and_metrics(points, store, tmp_path):
    metric = gm.Mahalanobis.euclidean(D)
    index = gm.HashIndex(metric, store=store, random_state=0).add(points)
    index.save(tmp_path / "i.gram")
    for mmap in (False, True):
        again = gm.load(tmp_path / "i.gram", mmap=mmap)
        for one, two in zip(again.query(points[:9], 4), index.query(points[:9], 4)):
            assert np.array_equal(one, two)
        assert len(again.add(points[:3]).remove([0, 1])) == len(points) + 1
    other = index.with_metric(gm.Mahalanobis.from_matrix(2 * np.eye(D)))
    np.testing.assert_allclose(other.query(points[:9], 4)[1], 2 * index.query(points[:9], 4)[1], rtol=1e-5, atol=1e-9)


def test_bytes_cover_the_range_of_each_row(rng):
    from gramian.search.rounded import stored

    X = np.vstack([rng.normal(size=(5, 9)) * 10.0 ** rng.integers(-3, 4, size=(5, 1)), np.full((1, 9), 3.5)])
    rows = stored(X, "int8", "Test")
    limit = (X.max(axis=1) - X.min(axis=1)) / 508 * 1.001 + 1e-6 * np.abs(X).max(axis=1)
    assert (np.abs(rows[:] - X).max(axis=1) <= limit).all()
    np.testing.assert_allclose(rows.mean(0, np.float64), rows[:].mean(axis=0), rtol=1e-5)
    assert isinstance(rows, RoundedRows) and rows[2].shape == (9,) and rows[[1, 2]].shape == (2, 9)


def test_what_cannot_be_kept_is_named(points):
    index = gm.HashIndex(gm.Mahalanobis.euclidean(D), store="float16")
    with pytest.raises(ValueError, match="float16"):
        index.add(points * 1e6)
    with pytest.raises(ValueError, match="store must be"):
        gm.HashIndex(gm.Mahalanobis.euclidean(D), store="int4")
    kernel = gm.KernelMetric(gm.KernelFeatures(gm.Gaussian(4.0), rank=5).fit(points[:50]), np.eye(5), 1.0)
    with pytest.raises(ValueError, match="store must be None"):
        gm.HashIndex(kernel, store="int8")


def test_points_of_a_file_stay_on_disk(points, tmp_path):
    np.save(tmp_path / "x.npy", points.astype(np.float32))
    X = np.load(tmp_path / "x.npy", mmap_mode="r")
    index = gm.HashIndex(gm.Mahalanobis.euclidean(D), "auto", random_state=0).add(X)
    assert np.shares_memory(index._items["points"], X)
    assert np.shares_memory(index.with_metric(index.metric)._items["points"], X)
    true = gm.ExactIndex(index.metric).add(np.array(X)).query(points[:20], k=3)
    assert np.array_equal(index.query(points[:20], k=3)[0], true[0])


@pytest.mark.parametrize("store", ["float16", "int8"])
def test_an_index_that_was_emptied_goes_through_a_file(store, tmp_path):
    index = gm.HashIndex(gm.Mahalanobis.euclidean(3), store=store).add(np.eye(3)).remove([0, 1, 2])
    index.save(tmp_path / "index.gram")
    again = gm.load(tmp_path / "index.gram").add(np.ones((1, 3)))
    assert again.ids.tolist() == [3] and again.query(np.ones((1, 3)), 1)[1] == 0
