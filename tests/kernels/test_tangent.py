"""Tangent distance against least squares, finite differences and its invariances."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, shift, zoom
from scipy.ndimage import rotate as turn

import gramian as gm
from gramian.kernels.tangent import TANGENTS, tangent_vectors
from gramian.manifold import NeighborGraph, neighbors


@pytest.fixture
def images(rng):
    blobs = rng.normal(size=(6, 14, 14))
    window = np.exp(-((np.arange(14) - 6.5) ** 2) / 12)
    return gaussian_filter(blobs, (0, 1.5, 1.5)) * window * window[:, None]


def least_squares(x, y, sides, names=TANGENTS):
    T = tangent_vectors(np.stack([x, y]), names, 0.9)
    planes = T[0] if sides == 1 else np.vstack([T[0], T[1]])
    v = (x - y).ravel()
    return np.sum((v - planes.T @ np.linalg.lstsq(planes.T, v, rcond=1e-12)[0]) ** 2)


@pytest.mark.parametrize("sides", [1, 2])
def test_every_road_is_least_squares(images, sides):
    distance = gm.TangentDistance(sides=sides)
    truth = np.array([[least_squares(x, y, sides) for y in images] for x in images])
    np.testing.assert_allclose(distance.sqdist(images, images.copy()), truth, atol=1e-10)
    np.testing.assert_allclose(distance.pairwise(images) ** 2, truth, atol=1e-10)
    np.testing.assert_allclose(distance(images[0], images[1].ravel()) ** 2, truth[0, 1], atol=1e-10)
    flat = images.reshape(6, -1)
    ids = np.array([[1, 2], [0, 3], [4, 5], [0, 1], [2, 2], [5, 0]])
    np.testing.assert_allclose(distance.listed_sqdist(flat, flat, ids), np.take_along_axis(truth, ids, 1), atol=1e-10)
    np.testing.assert_allclose(distance.pair_sqdist(flat[:3], flat[3:]), np.diag(truth[:3, 3:]), atol=1e-10)


def test_tangents_are_derivatives_of_the_transformations(images):
    image = gaussian_filter(images[0], 0.9)
    eps = 1e-3
    T = dict(zip(TANGENTS, tangent_vectors(images[:1], TANGENTS, 0.9)[0]))

    def derivative(move):
        return ((move(eps) - move(-eps)) / (2 * eps)).ravel()

    def warp(matrix):
        from scipy.ndimage import affine_transform

        center = np.array([6.5, 6.5])
        return affine_transform(image, matrix, offset=center - matrix @ center, order=5, mode="nearest")

    moves = {
        "x": lambda e: shift(image, (0, -e), order=5, mode="nearest"),
        "y": lambda e: shift(image, (-e, 0), order=5, mode="nearest"),
        "rotation": lambda e: warp(np.eye(2) + e * np.array([[0, -1], [1, 0]])),
        "scaling": lambda e: warp((1 + e) * np.eye(2)),
        "hyperbolic": lambda e: warp(np.eye(2) + e * np.diag([-1.0, 1.0])),
        "diagonal": lambda e: warp(np.eye(2) + e * np.array([[0, 1], [1, 0]])),
    }
    for name, move in moves.items():
        numeric = derivative(move)
        cosine = numeric @ T[name] / np.linalg.norm(numeric) / np.linalg.norm(T[name])
        assert cosine > 0.99, name


def test_small_transformations_cost_little(images):
    x = zoom(images[0], 1)
    distance = gm.TangentDistance()
    for y in (shift(x, (0.5, -0.5)), turn(x, 5, reshape=False), 1.0 * x + 0.02 * np.hypot(*np.gradient(x))):
        assert distance(x, y) < 0.35 * np.linalg.norm(x - y)


def test_order_of_the_distances(images):
    plain = gm.TangentDistance(tangents=()).sqdist(images)
    one, two = gm.TangentDistance(sides=1).sqdist(images), gm.TangentDistance().sqdist(images)
    flat = images.reshape(6, -1)
    np.testing.assert_allclose(plain, ((flat[:, None] - flat) ** 2).sum(-1), atol=1e-12)
    assert (one <= plain + 1e-12).all() and (two <= np.minimum(one, one.T) + 1e-12).all()
    assert np.array_equal(two, two.T) and (np.diag(two) == 0).all()


def test_blank_and_equal_images(images):
    blank = np.zeros((1, 14, 14))
    distance = gm.TangentDistance()
    D = distance.sqdist(np.concatenate([images[:2], blank, blank, images[:1]]))
    assert np.isfinite(D).all() and D[2, 3] == 0 and D[0, 4] < 1e-12
    assert distance(images[0], images[0]) == 0
    np.testing.assert_allclose(D[0, 2], least_squares(images[0], blank[0], 2), atol=1e-10)


def test_float32_and_scale(images):
    flat = images.reshape(6, -1)
    ids = np.tile(np.arange(6), (6, 1))
    exact = gm.TangentDistance().listed_sqdist(flat, flat, ids)
    half = gm.TangentDistance().listed_sqdist(flat.astype(np.float32), flat.astype(np.float32), ids)
    np.testing.assert_allclose(half, exact, atol=1e-4 * exact.max())
    np.testing.assert_allclose(gm.TangentDistance().sqdist(1e6 * images), 1e12 * gm.TangentDistance().sqdist(images))


def test_it_serves_graphs_and_kernels(images):
    flat = images.reshape(6, -1)
    distance = gm.TangentDistance(image_shape=(14, 14))
    D = distance.sqdist(flat)
    np.testing.assert_allclose(gm.Gaussian(1.0, metric=distance)(flat), np.exp(-D / 2))
    order = np.argsort(D + np.diag(np.full(6, np.inf)), axis=1)[:, :2]
    assert np.array_equal(neighbors(flat, 2, distance=distance)[0], order)
    assert np.array_equal(neighbors(flat, 2, distance=distance, shortlist=5)[0], order)
    assert NeighborGraph(2, distance=distance, shortlist=4)(flat).shape == (6, 6)


def test_it_serves_an_index(tmp_path, images):
    flat = images.reshape(6, -1)
    distance = gm.TangentDistance()
    index = gm.ExactIndex(distance).add(flat, ids=[7, 3, 9, 1, 5, 2])
    ids, sqdist = index.query(flat, k=3)
    by_id = distance.sqdist(flat)[:, [3, 5, 1, 4, 0, 2]]  # ids ascend
    assert np.array_equal(ids, np.array([1, 2, 3, 5, 7, 9])[np.argsort(by_id, axis=1)[:, :3]])
    np.testing.assert_allclose(sqdist, np.sort(by_id, axis=1)[:, :3], atol=1e-12)
    index.save(tmp_path / "index")
    assert np.array_equal(gm.load(tmp_path / "index").query(flat, k=3)[0], ids)
    assert index.with_metric(gm.TangentDistance(sides=1)).query(flat, k=1)[0].ravel().tolist() == [7, 3, 9, 1, 5, 2]
    with pytest.raises(ValueError, match="features"):
        index.query(np.zeros((1, 81)))
    with pytest.raises(ValueError, match="metric must have 196 features"):
        index.with_metric(gm.Mahalanobis.from_matrix(np.eye(3)))
    with pytest.raises(TypeError, match="must be a Metric"):
        gm.HashIndex(distance)


def test_errors_and_storage(tmp_path, images):
    with pytest.raises(ValueError, match="image_shape"):
        gm.TangentDistance()(np.zeros(15), np.zeros(15))
    with pytest.raises(ValueError, match="tangents must be a list, each one of"):
        gm.TangentDistance(tangents=("shear",))
    with pytest.raises(ValueError, match="sides"):
        gm.TangentDistance(sides=3)
    distance = gm.TangentDistance((14, 14), sides=1)
    distance.save(tmp_path / "distance")
    assert gm.load(tmp_path / "distance") == distance


def test_index_of_images_refuses_other_sizes():
    images = np.random.default_rng(0).random((4, 16))
    with pytest.raises(ValueError, match="features"):
        gm.ExactIndex(gm.TangentDistance((5, 5))).add(images)
    index = gm.ExactIndex(gm.TangentDistance()).add(images)
    with pytest.raises(ValueError, match="features"):
        index.add(np.ones((1, 25)))
    with pytest.raises(ValueError, match="must have 16 features, got 9"):
        index.with_metric(gm.Mahalanobis.euclidean(9))
    assert index.with_metric(gm.Mahalanobis.euclidean(16)).query(images, 1)[0].ravel().tolist() == [0, 1, 2, 3]
