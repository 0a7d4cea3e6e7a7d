"""Squared distances keep their digits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian import linalg


def by_differences(X, Y):
    return ((X[:, None] - Y[None]) ** 2).sum(-1)


@pytest.mark.parametrize("dtype, rtol", [(np.float64, 1e-4), (np.float32, 2e-2)])
def test_close_points_far_from_the_others_have_exact_distances(dtype, rtol):
    X = np.random.default_rng(0).normal(size=(30, 4))
    X = np.vstack([X, 1e4 + X, X[:3]]).astype(dtype)
    X[3] = X[4] + dtype(1e-3)
    np.testing.assert_allclose(linalg.sqdist(X), by_differences(X, X), rtol=rtol)
    np.testing.assert_allclose(linalg.sqdist(X, X[5:]), by_differences(X, X[5:]), rtol=rtol)


def test_a_copy_is_at_distance_zero():
    X = 1e3 * np.random.default_rng(1).normal(size=(40, 6)) + 1e6
    assert (np.diag(linalg.sqdist(X, X.copy())) == 0).all()
    assert (linalg.sqdist(np.vstack([X, X]))[:40, 40:].diagonal() == 0).all()
    assert (linalg.sqdist(np.ones((5, 2))) == 0).all() and (linalg.sqdist(np.zeros((5, 2))) == 0).all()


@pytest.mark.parametrize("ids", [[0, 1, 1, 3], [0, 2, 1], [10**12, 5, 5], [-1, 4, -1], []])
def test_renamed_is_unique_with_the_inverse(ids):
    names, place = linalg.renamed(np.array(ids, dtype=np.int64))
    expected = np.unique(np.array(ids, dtype=np.int64), return_inverse=True)
    np.testing.assert_array_equal(names, expected[0])
    np.testing.assert_array_equal(place, expected[1])


def test_moments_are_those_of_each_group(rng):
    X, groups = rng.normal(size=(40, 3)) + 5, np.arange(40) % 4
    sizes, means, S = linalg.moments(X, groups)
    parts = [X[groups == g] for g in range(4)]
    np.testing.assert_array_equal(sizes, [10, 10, 10, 10])
    np.testing.assert_allclose(means, [part.mean(axis=0) for part in parts])
    np.testing.assert_allclose(S, sum(9 * np.cov(part.T) for part in parts))


@pytest.mark.parametrize("n", [20, 200])
def test_leading_directions_are_those_of_the_singular_values(n):
    rng = np.random.default_rng(2)
    V = rng.normal(size=(n, 50)) * 0.1 ** np.arange(50)
    directions, values = linalg.leading_directions(V, 4)
    _, singular, right = np.linalg.svd(V, full_matrices=False)
    np.testing.assert_allclose(directions.T @ directions, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(values, singular[:4] ** 2, rtol=1e-6)
    np.testing.assert_allclose(np.abs(np.sum(directions * right[:4].T, axis=0)), 1, rtol=1e-6)


@given(st.integers(0, 500), st.floats(1, 1e4), st.integers(1, 100_000), st.sampled_from([1, 7, 64]))
def test_blocks_cover_all_rows_and_begin_at_multiples(n, bytes_per_row, budget, multiple):
    found = list(linalg.blocks(n, bytes_per_row, budget, multiple=multiple))
    assert [i for part in found for i in range(n)[part]] == list(range(n))
    assert all(part.start % multiple == 0 for part in found)
    assert all((part.stop - part.start) * bytes_per_row <= max(budget, multiple * bytes_per_row) for part in found)
