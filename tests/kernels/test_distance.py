"""Kernels from distances: the distance comes back, Hilbertian ones are PSD, others are found out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gramian as gm
from gramian.kernels.distance import negative_share


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row, last = [i], row
        for j, y in enumerate(b, 1):
            row.append(min(last[j] + 1, row[-1] + 1, last[j - 1] + (x != y)))
    return row[-1]


@given(st.integers(0, 10_000), st.sampled_from(["constant", "origin"]))
def test_feature_space_distance_is_the_distance(seed, g):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(8, 3)), rng.normal(size=(5, 3))
    kernel = gm.DistanceKernel(lambda a, b: np.linalg.norm(a - b), g=g).bound(X)
    D = ((X[:, None] - Y[None]) ** 2).sum(-1)
    K = kernel(X, Y)
    np.testing.assert_allclose(kernel.diag(X)[:, None] + kernel.diag(Y) - 2 * K, D, atol=1e-10)
    np.testing.assert_allclose(kernel.sqdist(X, Y), D, atol=1e-12)


def test_euclidean_distance_from_the_origin_is_the_linear_kernel(rng):
    X = rng.normal(size=(9, 4))
    kernel = gm.DistanceKernel(lambda a, b: np.linalg.norm(a - b), g="origin", origin=np.zeros(4))
    np.testing.assert_allclose(kernel(X), X @ X.T, atol=1e-12)
    Z = gm.KernelFeatures(kernel).fit_transform(X)
    np.testing.assert_allclose(Z @ Z.T, X @ X.T, atol=1e-10)


def test_hamming_root_with_a_quarter_of_the_places_is_half_the_agreements(rng):
    """2g − ½h with g = p/4 counts agreeing places, halved: the intersection kernel the paper speaks of."""
    X = rng.random((12, 40))
    B = X > 0.5
    kernel = gm.DistanceKernel(gm.Hamming(0.5, root=True), constant=10.0)
    agreements = (B[:, None] == B[None]).sum(-1)
    np.testing.assert_allclose(kernel(X), agreements / 2, atol=1e-10)
    assert np.linalg.eigvalsh(kernel(X))[0] > -1e-10


@pytest.mark.parametrize("root", [False, True])
def test_hamming_batch_is_the_single_form_on_images(root, rng):
    A, B = rng.random((5, 6, 7)), rng.random((4, 6, 7))
    distance = gm.Hamming(0.3, root=root)
    single = [[distance(a, b) for b in B] for a in A]
    np.testing.assert_allclose(distance.pairwise(A, B), single)


def test_distances_are_called_once_for_each_unordered_pair():
    calls = []

    def distance(a, b):
        calls.append((a, b))
        return abs(a - b)

    kernel = gm.DistanceKernel(distance, g="constant", constant=9.0)
    kernel([1.0, 2.0, 4.0, 8.0])
    assert len(calls) == 6
    kernel([1.0, 2.0], [3.0, 5.0, 7.0])
    assert len(calls) == 6 + 6


def test_non_hilbertian_distances_are_found_out(rng):
    X = rng.normal(size=(30, 3))
    assert negative_share(gm.linalg.sqdist(X)) == 0
    assert negative_share(gm.linalg.sqdist(X) ** 2) > 1e-3
    words = ["metric", "kernel", "metrics", "tree", "trees", "gram", "grams", "term", "trick", "mercer"]
    with pytest.warns(UserWarning, match="positive semi-definite"):
        gm.KernelFeatures(gm.DistanceKernel(edit_distance, g="origin")).fit(words)


def test_arguments_are_checked():
    with pytest.raises(TypeError, match="distance must be a function"):
        gm.DistanceKernel("euclidean")
    with pytest.raises(ValueError, match="g must be one of"):
        gm.DistanceKernel(abs, g="mean")
    with pytest.raises(ValueError, match="at least one object"):
        gm.DistanceKernel(edit_distance)([])
    with pytest.raises(ValueError, match="NaN or infinity"):
        gm.DistanceKernel(lambda a, b: np.nan)([1, 2])
