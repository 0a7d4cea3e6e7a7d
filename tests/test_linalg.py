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


@pytest.mark.parametrize("digits", [-1e-14, 0.0, 1e-14])
def test_signs_do_not_hang_on_which_of_two_entries_is_larger_by_rounding(digits):
    V = np.array([[0.3, 0.5], [-1.0, 0.5], [0.2, -0.5], [1.0 + digits, 0.5 + digits]])
    np.testing.assert_array_equal(linalg.oriented(V), V * [-1, 1])
    np.testing.assert_array_equal(linalg.oriented(-V), V * [-1, 1])
    assert linalg.oriented(np.zeros((3, 0))).shape == (3, 0) and linalg.oriented(np.zeros((0, 3))).shape == (0, 3)


def test_coordinates_of_a_line_have_their_sign_on_every_machine():
    """The two ends of a line are entries of one size and of opposite signs."""
    from gramian.manifold.eigen import smallest_eigenvectors

    ends = np.array([1.0, *[2.0] * 48, 1.0])
    chain = np.diag(ends) - np.diag(np.ones(49), 1) - np.diag(np.ones(49), -1)
    first, again = (smallest_eigenvectors(A, 2, np.full(50, 50**-0.5)).vectors for A in (chain, chain[::-1, ::-1]))
    assert (first[0] > 0).all()
    np.testing.assert_allclose(first, again, atol=1e-9)
