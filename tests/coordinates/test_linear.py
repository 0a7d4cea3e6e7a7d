"""Points that are compared by their angle: against plain formulas, in indexes and in files."""

import numpy as np
import pytest
from scipy import sparse

import gramian as gm
from gramian.coordinates import Angles
from gramian.learners.path import Path, angular
from gramian.metrics import Metric


@pytest.fixture
def angles(rng):
    return Angles(rng.normal(size=5), rng.normal(size=(4, 5)))


def test_the_squared_distance_is_two_less_two_cosines(rng, angles):
    X, Y = rng.normal(size=(7, 5)), rng.normal(size=(6, 5))
    metric = Metric(angles, np.eye(4))
    A, B = (X - angles.center) @ angles.factor.T, (Y - angles.center) @ angles.factor.T
    cosines = np.array([[a @ b / np.sqrt(a @ a * (b @ b)) for b in B] for a in A])
    np.testing.assert_allclose(metric.sqdist(X, Y), 2 - 2 * cosines, atol=1e-12)
    np.testing.assert_allclose(metric.kernel(X, Y), cosines, atol=1e-12)
    np.testing.assert_allclose(metric.pair_sqdist(X[:6], Y), np.diag(2 - 2 * cosines[:6]), atol=1e-12)
    np.testing.assert_allclose(metric.sqdist(sparse.csr_array(X), Y), 2 - 2 * cosines, atol=1e-12)


def test_moving_along_a_ray_from_the_center_changes_nothing(rng, angles):
    X = rng.normal(size=(6, 5))
    metric = Metric(angles, np.eye(4))
    farther = angles.center + 7 * (X - angles.center)
    np.testing.assert_allclose(metric.sqdist(farther, X), metric.sqdist(X), atol=1e-12)
    np.testing.assert_array_equal(angles.z(angles.center[None]), np.zeros((1, 4)))


def test_indexes_and_files_keep_the_angle(rng, angles, tmp_path):
    X, Q = rng.normal(size=(80, 5)), rng.normal(size=(5, 5))
    metric = Metric(angles, rng.normal(size=(3, 4)))
    near = np.argsort(metric.sqdist(Q, X), axis=1)[:, :4]
    for index in (gm.ExactIndex(metric), gm.HashIndex(metric, n_bits=64, random_state=0)):
        ids, sqdist = index.add(X).query(Q, k=4)
        np.testing.assert_allclose(sqdist, np.take_along_axis(metric.sqdist(Q, X), ids, axis=1), atol=1e-9)
        if isinstance(index, gm.ExactIndex):
            np.testing.assert_array_equal(ids, near)
    metric.save(tmp_path / "angles.gram")
    np.testing.assert_array_equal(gm.load(tmp_path / "angles.gram").sqdist(Q, X), metric.sqdist(Q, X))


def test_a_center_and_a_factor_must_fit():
    with pytest.raises(ValueError, match=r"Angles: center must have shape \(d,\) and factor \(r, d\), got"):
        Angles(np.zeros(3), np.eye(4))


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_a_path_by_angle_is_the_angle_under_the_blended_metric(rng, weight):
    X = rng.normal(size=(9, 4))
    U = np.linalg.qr(rng.normal(size=(4, 2)))[0]
    root = np.diag([2.0, 0.1])
    blend = np.eye(4) + (1 - weight) * U @ (root @ root - np.eye(2)) @ U.T
    center = rng.normal(size=4)
    metric = Metric(Angles(center, gm.linalg.psd_sqrt(blend)), np.eye(4))
    path, weights = Path(U, root, center=center), np.array([weight])
    np.testing.assert_allclose(path.among(X, weight), metric.sqdist(X), atol=1e-9)
    left, right = np.arange(8), np.arange(1, 9)
    np.testing.assert_allclose(
        path.paired(X, left, right, weights)[0], metric.pair_sqdist(X[left], X[right]), atol=1e-9
    )


def test_a_point_at_the_center_is_as_far_from_all():
    assert angular(np.array([4.0, 0.0]), np.array([0.0, 0.0]), np.array([4.0, 0.0])).tolist() == [1.0, 0.0]
