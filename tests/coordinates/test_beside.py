"""Kernel coordinates beside the features: against plain formulas, in indexes and in files, and as an anchor."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_circles

import gramian as gm
from gramian.coordinates import BesideFeatures
from gramian.kernels.basic import median_scale
from gramian.learners.spaces import spread
from gramian.metrics import Metric


@pytest.fixture
def metric(rng):
    features = gm.KernelFeatures(gm.Gaussian(2.0), rank=4).fit(rng.normal(size=(20, 5)))
    return Metric.of(BesideFeatures(features), rng.normal(size=(3, 4)), alpha=0.7)


def by_hand(metric, X, Y):
    z = metric.features.transform
    inside = (z(X)[:, None] - z(Y)[None]) @ metric.components.T
    return (inside**2).sum(axis=2) + metric.alpha * ((X[:, None] - Y[None]) ** 2).sum(axis=2)


def test_the_distance_is_that_of_the_coordinates_and_that_of_the_features(rng, metric):
    X, Y = rng.normal(size=(7, 5)), rng.normal(size=(6, 5))
    D = by_hand(metric, X, Y)
    assert isinstance(metric, gm.KernelMetric)
    np.testing.assert_allclose(metric.sqdist(X, Y), D, atol=1e-10)
    np.testing.assert_allclose(metric.sqdist(sparse.csr_array(X), sparse.csr_array(Y)), D, atol=1e-10)
    np.testing.assert_allclose(metric.pair_sqdist(X[:6], Y), np.diag(D), atol=1e-10)
    K = metric.kernel(X)
    np.testing.assert_allclose(np.diag(K)[:, None] + np.diag(K) - 2 * K, by_hand(metric, X, X), atol=1e-10)


def test_transform_is_an_isometry_also_far_from_the_basis(rng, metric):
    X = rng.normal(size=(8, 5)) * 50
    Z = metric.transform(X)
    assert Z.shape == (8, 8)
    np.testing.assert_allclose(gm.linalg.sqdist(Z), by_hand(metric, X, X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("points", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_indexes_and_files_keep_both_parts(rng, metric, tmp_path, points):
    X, Q = rng.normal(size=(60, 5)), rng.normal(size=(5, 5))
    D = by_hand(metric, Q, X)
    ids, sqdist = gm.ExactIndex(metric).add(points(X)).query(points(Q), k=4)
    np.testing.assert_array_equal(ids, np.argsort(D, axis=1)[:, :4])
    np.testing.assert_allclose(sqdist, np.sort(D, axis=1)[:, :4], atol=1e-9)
    for index in (gm.HashIndex(metric, n_bits=64, random_state=0), gm.KernelHashIndex(metric, n_bits=64)):
        ids, sqdist = index.add(points(X)).query(points(Q), k=4)
        np.testing.assert_allclose(sqdist, np.take_along_axis(D, ids, axis=1), atol=1e-9)
    metric.save(tmp_path / "beside.gram")
    again = gm.load(tmp_path / "beside.gram")
    assert isinstance(again.coordinates, BesideFeatures)
    np.testing.assert_array_equal(again.sqdist(Q, X), metric.sqdist(Q, X))


def test_its_coordinates_are_exported_and_its_formula_is_not(rng, metric, tmp_path):
    from gramian.export.base import Map

    X = rng.normal(size=(9, 5))
    inner = Map.of(metric, "test")
    assert inner.width == 8
    np.testing.assert_allclose(gm.linalg.sqdist(inner(X)), by_hand(metric, X, X), rtol=1e-9, atol=1e-9)
    with pytest.raises(TypeError, match="has no formula to export; export its coordinates"):
        gm.export.to_npz(metric, tmp_path / "beside.npz")


def test_an_energy_of_constraints_is_that_of_both_parts(rng, metric):
    space, X = metric.coordinates, rng.normal(size=(6, 5))
    left, right = (sparse.csr_array(rng.normal(size=(4, 6))) for _ in range(2))
    phi = np.hstack([X, metric.features.transform(X)])
    np.testing.assert_allclose(space.bilinear(X, left, right), ((left @ phi) * (right @ phi)).sum(axis=1))
    np.testing.assert_allclose(space.inner(X, X[:2]), phi @ phi[:2].T)
    np.testing.assert_allclose(space.energy(X), (phi**2).sum(axis=1))


@pytest.mark.parametrize("weight", [0.2, 0.9, 1.0])
def test_a_kernelized_learner_is_blended_with_the_distance_of_the_features(rng, weight):
    X = rng.normal(size=(40, 6)) + 5
    y = np.arange(40) % 4
    fitted = gm.Kernelized(gm.RCA(anchor=weight)).fit(X, y)
    features = gm.KernelFeatures(gm.Gaussian(median_scale(X))).fit(X)
    Z = features.transform(X)
    inside = gm.RCA(anchor=0.5).fit(Z, y).metric_
    new = rng.normal(size=(10, 6)) + 5
    scale = spread(X) / spread(Z)
    hand = (1 - weight) * scale * inside.sqdist(features.transform(new)) + weight * gm.linalg.sqdist(new)
    np.testing.assert_allclose(fitted.metric_.sqdist(new), hand, rtol=1e-6, atol=1e-8 * hand.max())
    np.testing.assert_allclose(gm.linalg.sqdist(fitted.transform(new)), hand, rtol=1e-6, atol=1e-8 * hand.max())
    assert fitted.anchor_ == weight


def precision(transform, X, y):
    D = gm.linalg.sqdist(transform(X))
    np.fill_diagonal(D, np.inf)
    return np.mean(y[np.argsort(D, axis=1)[:, :5]] == y[:, None])


@pytest.mark.parametrize("learner", [gm.ITML, gm.RCA, gm.NCA], ids=lambda cls: cls.__name__)
def test_few_labels_of_wide_points_do_no_harm(rng, learner):
    """Ten classes, five labels each, 300 columns of noise: coordinates of 50 basis points alone would lose it."""
    y = np.arange(600) % 10
    X = (rng.normal(size=(10, 300)) * (rng.uniform(size=300) < 0.2))[y] + rng.normal(size=(600, 300))
    fitted = gm.Kernelized(learner(random_state=0)).fit(X[:50], y[:50])
    assert precision(fitted.transform, X[50:], y[50:]) > precision(np.asarray, X[50:], y[50:]) - 0.01


def test_classes_that_only_a_kernel_tells_apart_are_found():
    X, y = make_circles(240, noise=0.08, factor=0.6, random_state=0)
    wide = np.hstack([X, 0.5 * np.random.default_rng(0).normal(size=(240, 1))])
    fitted = gm.Kernelized(gm.RCA(random_state=0)).fit(wide[:80], y[:80])
    assert fitted.anchor_ < 1
    assert precision(fitted.transform, wide[80:], y[80:]) > precision(np.asarray, wide[80:], y[80:])


def test_a_kernel_of_your_own_is_the_prior_itself(rng):
    X, y = rng.normal(size=(30, 4)), np.arange(30) % 3
    for kernelized in (
        gm.Kernelized(gm.RCA(), gm.Gaussian(1.0)),
        gm.Kernelized(gm.RCA(anchor=0)),
        gm.Kernelized(gm.RCA(), alpha=0.5),
    ):
        assert not isinstance(kernelized.fit(X, y).metric_.coordinates, BesideFeatures)


def test_sparse_points_and_the_same_seed_give_the_same_metric(rng):
    X = rng.normal(size=(45, 8)) * (rng.uniform(size=(45, 8)) < 0.5)
    y = np.arange(45) % 3
    model = gm.Kernelized(gm.ITML(random_state=1))
    dense, again, thin = (model.fit(points, y).metric_.sqdist(X) for points in (X, X, sparse.csr_array(X)))
    np.testing.assert_array_equal(dense, again)
    np.testing.assert_allclose(thin, dense, rtol=1e-6, atol=1e-8 * dense.max())


def test_pairs_choose_a_weight_too(rng):
    X, y = rng.normal(size=(90, 4)), np.arange(90) % 3
    fitted = gm.Kernelized(gm.ITML(random_state=0)).fit(X, gm.Pairs.from_labels(y, 200, random_state=0))
    assert 0 < fitted.anchor_ <= 1 and isinstance(fitted.metric_.coordinates, BesideFeatures)
