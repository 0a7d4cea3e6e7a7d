"""The same point has other last digits beside other points and on other machines: no answer hangs on them."""

import numpy as np
import pytest

import gramian as gm
from gramian.search.encoding import Encoder

D = 5
CORNERS = np.random.default_rng(0).integers(-2, 3, size=(30, D)).astype(float)
POINTS = np.vstack([CORNERS, np.zeros((3, D)), CORNERS[:, ::-1], CORNERS * 1e-170, CORNERS])
"""Every point several times, the center of all among them, and points whose squares are 0."""
SLANTED = gm.Mahalanobis(np.random.default_rng(1).normal(size=(D, D)))
FEATURES = gm.KernelFeatures(gm.Gaussian(3.0), rank=12).fit(CORNERS)
CENTERED = gm.KernelFeatures(gm.Gaussian(3.0), rank=12, center=True).fit(CORNERS)
SURE = {"n_bits": 64, "recall": 1 - 1e-9, "random_state": 0}
KINDS = {
    "plain": (gm.Mahalanobis.euclidean(D), {}),
    "slanted": (SLANTED, {}),
    "low rank": (gm.Mahalanobis(np.eye(D)[:2] + 0.1), {}),
    "products": (SLANTED, {"estimate": "products"}),
    "single": (SLANTED, {"store": "float32"}),
    "subspace": (gm.SubspaceMahalanobis(np.eye(D)[:, :2], np.diag([4.0, 2.0]), alpha=1.0), {}),
    "kernel": (gm.KernelMetric(FEATURES, np.eye(12)), {}),
    "kernel beside its basis": (gm.KernelMetric(FEATURES, np.eye(12), alpha=0.5), {}),
    "centered kernel": (gm.KernelMetric(CENTERED, np.eye(12)), {}),
}


@pytest.fixture(params=range(3))
def other_digits(request, monkeypatch):
    """Codes and norms of points that are off by their rounding."""
    rng, project = np.random.default_rng(request.param), Encoder.project

    def off(self, V, U):
        size = np.linalg.norm(V, axis=1, keepdims=True) + np.linalg.norm(self.center)
        return project(self, (V + 1e-15 * size * rng.standard_normal(V.shape)).astype(V.dtype), U)

    monkeypatch.setattr(Encoder, "project", off)


def in_order(metric, k, angles=False):
    """Ids and distances from those among the points that differ: equal points are tied, and come by id."""
    different, place = np.unique(POINTS * (np.abs(POINTS) > 1e-99), axis=0, return_inverse=True)
    D = metric.sqdist(different)
    if angles:
        K = metric.kernel(different)
        size = np.sqrt(np.diag(K))
        D = 2 - 2 * K / np.where(size > 0, size, 1) / np.where(size > 0, size, np.inf)[:, None]
        D = np.where(D < 1e-13, 0, D)
    place = place.ravel()  # numpy 2.0.0 gives it two axes
    D = np.round(D, 11)[place][:, place]
    ids = np.argsort(D, axis=1, kind="stable")[:, :k]
    return ids, np.take_along_axis(D, ids, axis=1)


@pytest.mark.parametrize("kind", KINDS)
def test_equal_points_are_tied_and_come_by_id(other_digits, kind):
    metric, options = KINDS[kind]
    want, true = in_order(metric, 40)
    for index in (gm.ExactIndex(metric), gm.HashIndex(metric, **SURE, **options)):
        ids, sqdist = index.add(POINTS).query(POINTS, 40)
        np.testing.assert_allclose(sqdist, true, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(ids, want)


@pytest.mark.parametrize("kind", KINDS)
def test_points_that_are_there_are_at_distance_zero(other_digits, kind):
    metric, options = KINDS[kind]
    same = (POINTS[:, None] == POINTS).all(axis=2)
    for index in (gm.ExactIndex(metric), gm.HashIndex(metric, **SURE, **options)):
        for q, (rows, values) in enumerate(zip(*index.add(POINTS).query_radius(POINTS, 0.0))):
            assert (values == 0).all() and np.isin(np.flatnonzero(same[q]), rows).all()
            assert (np.diff(rows) > 0).all()


@pytest.mark.parametrize("kind", ["plain", "slanted", "products", "kernel"])
def test_equal_directions_are_tied_and_come_by_id(other_digits, kind):
    metric, options = KINDS[kind]
    some = np.flatnonzero((np.abs(POINTS).max(axis=1) > 1e-99) | (POINTS == 0).all(axis=1))
    index = gm.HashIndex(metric, mode="similarity", **SURE, **options).add(POINTS[some], some)
    queries = np.flatnonzero(np.abs(POINTS).max(axis=1) > 1e-99)
    ids, sqdist = index.query(POINTS[queries], 40)
    want, true = in_order(metric, len(POINTS), angles=True)
    kept = np.isin(want, some)
    np.testing.assert_allclose(sqdist, true[kept].reshape(len(POINTS), -1)[queries, :40], atol=1e-9)
    np.testing.assert_array_equal(ids, want[kept].reshape(len(POINTS), -1)[queries, :40])
    assert (sqdist[:, 0] == 0).all()
