"""pivoted_cholesky against one column at a time, the dense factor, and its laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import gramian as gm
from gramian import linalg


def one_column_at_a_time(K, rank, tol=0.0):
    """The textbook loop, greedy pivots."""
    left, factor, pivots = np.diag(K).copy(), np.zeros((len(K), rank)), []
    for j in range(rank):
        p = int(left.argmax())
        factor[:, j] = (K[:, p] - factor[:, :j] @ factor[p, :j]) / np.sqrt(left[p])
        left = np.maximum(left - factor[:, j] ** 2, 0)
        left[p] = 0
        pivots.append(p)
        if left.sum() <= tol * np.trace(K):
            break
    return factor[:, : len(pivots)], pivots


@pytest.mark.parametrize("kernel", [gm.Gaussian(1.0), gm.Polynomial(2), gm.Linear()], ids=repr)
def test_blocks_make_the_same_greedy_choices(kernel, rng):
    X = rng.normal(size=(300, 8))
    factor, pivots = one_column_at_a_time(kernel(X), 8 if kernel == gm.Linear() else 40)
    got = gm.pivoted_cholesky(kernel, X, rank=len(pivots), tol=0)
    assert got.pivots.tolist() == pivots
    np.testing.assert_allclose(got.factor, factor, atol=1e-9 * np.abs(factor).max())


@pytest.mark.parametrize("tol", [0.3, 0.1, 0.01])
def test_stops_at_the_first_column_that_meets_the_tolerance(tol, rng):
    X, kernel = rng.normal(size=(200, 4)), gm.Gaussian(2.0)
    factor, pivots = one_column_at_a_time(kernel(X), 200, tol)
    got = gm.pivoted_cholesky(kernel, X, tol=tol)
    assert got.pivots.tolist() == pivots
    assert got.residual <= tol * got.trace < 200 - (factor[:, :-1] ** 2).sum()
    np.testing.assert_allclose(got.residual, np.trace(kernel(X) - got.factor @ got.factor.T), atol=1e-9)


@pytest.mark.parametrize("pivots", ["greedy", "random"])
def test_factor_is_the_nystrom_approximation_on_the_pivots(pivots, rng):
    X, kernel = rng.normal(size=(150, 5)), gm.Gaussian(2.0)
    got, K = gm.pivoted_cholesky(kernel, X, rank=30, tol=0, pivots=pivots, random_state=0), kernel(X)
    S = got.pivots
    assert len(set(S.tolist())) == 30
    nystrom = K[:, S] @ np.linalg.solve(K[np.ix_(S, S)], K[S])
    np.testing.assert_allclose(got.factor @ got.factor.T, nystrom, atol=1e-9)
    np.testing.assert_array_equal(np.triu(got.factor[S], 1), 0)


def test_random_pivots_follow_the_residual_law():
    """First two pivots of a tiny problem: drawn with exactly the probabilities of the definition."""
    kernel, X = gm.Linear(), np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.5]])
    K, counts, runs = kernel(X), np.zeros((4, 4)), 1500
    for seed in range(runs):
        i, j = gm.pivoted_cholesky(kernel, X, rank=2, tol=0, pivots="random", random_state=seed).pivots
        counts[i, j] += 1
    law = np.zeros((4, 4))
    for i in range(4):
        left = np.maximum(np.diag(K) - K[:, i] ** 2 / K[i, i], 0)
        left[i] = 0
        law[i] = np.diag(K)[i] / np.trace(K) * left / left.sum()
    spread = np.sqrt(law * (1 - law) / runs)
    assert (np.abs(counts / runs - law) <= 4.5 * spread + 1e-12).all()


@given(st.integers(0, 10_000), st.sampled_from(["greedy", "random"]))
def test_residual_falls_with_rank_and_the_factor_never_exceeds_the_kernel(seed, pivots):
    rng = np.random.default_rng(seed)
    X, kernel = rng.normal(size=(25, 3)), gm.Gaussian(rng.uniform(0.5, 3))
    got = gm.pivoted_cholesky(kernel, X, rank=12, tol=0, pivots=pivots, random_state=seed)
    assert np.linalg.eigvalsh(kernel(X) - got.factor @ got.factor.T)[0] > -1e-10
    energy = np.cumsum((got.factor**2).sum(axis=0))
    assert (np.diff(energy) > 0).all() and energy[-1] <= 25 + 1e-9


def test_row_order_does_not_matter_for_greedy_pivots(rng):
    X, order = rng.normal(size=(80, 4)), rng.permutation(80)
    kernel = gm.Polynomial(2)
    a = gm.pivoted_cholesky(kernel, X, rank=10, tol=0)
    b = gm.pivoted_cholesky(kernel, X[order], rank=10, tol=0)
    np.testing.assert_array_equal(order[b.pivots], a.pivots)


def test_callable_on_objects_and_sparse_points(rng):
    words = ["metric", "kernel", "metrics", "kernels", "tree", "trees", "metric"]
    got = gm.pivoted_cholesky(lambda a, b: float(len(set(a) & set(b))), words, tol=0)
    K = np.array([[len(set(a) & set(b)) for b in words] for a in words], dtype=float)
    np.testing.assert_allclose(got.factor @ got.factor.T, K, atol=1e-10)
    assert got.factor.shape[1] == np.linalg.matrix_rank(K)
    dense = np.where(rng.random((60, 20)) < 0.2, rng.normal(size=(60, 20)), 0)
    a = gm.pivoted_cholesky(gm.Gaussian(2.0), dense, rank=15, tol=0)
    b = gm.pivoted_cholesky(gm.Gaussian(2.0), sparse.csr_array(dense), rank=15, tol=0)
    np.testing.assert_allclose(a.factor, b.factor, atol=1e-9)


def test_long_kernel_columns_are_evaluated_once_each(rng):
    X = rng.normal(size=(400, 3))

    class Counting(gm.kernels.Kernel):
        on_vectors, entries = True, 0

        def _gram(self, X, Y):
            type(self).entries += X.shape[0] * Y.shape[0]
            return gm.Gaussian(1.0)._gram(X, Y)

        def _diag(self, X):
            return np.ones(X.shape[0])

    gm.pivoted_cholesky(Counting(), X, rank=40, tol=0)
    assert Counting.entries <= 2 * 40 * 400  # 40 columns, and at most as much again for candidate blocks


def test_indefinite_kernels_are_reported_and_finite(rng):
    A = rng.normal(size=(20, 20))
    with pytest.warns(UserWarning, match="positive semi-definite"):
        got = gm.pivoted_cholesky(gm.Precomputed((A + A.T) / 2 + np.eye(20)), np.arange(20), tol=0)
    assert np.isfinite(got.factor).all()
    with pytest.raises(ValueError, match="NaN"):
        gm.pivoted_cholesky(lambda a, b: np.nan, [1, 2, 3])


def test_zeros_on_the_diagonal_need_zero_rows(rng):
    squared = linalg.sqdist(rng.normal(size=(200, 3)))
    with pytest.raises(ValueError, match=r"must be positive semi-definite, got \|k\(x, y\)\| = .* where k\(x, x\) = "):
        gm.pivoted_cholesky(gm.Precomputed(squared), range(200))
    with pytest.raises(ValueError, match="Precomputed.* repairs a matrix"):
        gm.pivoted_cholesky(gm.Precomputed([[1.0, 0.0, 0.0], [0.0, 0.0, 0.1], [0.0, 0.1, 0.0]]), range(3))
    with pytest.warns(UserWarning, match="positive semi-definite"):  # here a pivot tells
        gm.pivoted_cholesky(gm.Precomputed([[1.0, 0.1], [0.1, 0.0]]), range(2))


def test_zero_points_and_rounding_are_not_an_indefinite_matrix():
    assert gm.pivoted_cholesky(gm.Linear(), np.zeros((300, 2))).factor.shape == (300, 0)
    assert gm.pivoted_cholesky(gm.Linear(), [[0.0], [2.0], [0.0]]).factor.ravel().tolist() == [0.0, 2.0, 0.0]
    K = np.diag([1.0, 0.0, 0.0])
    K[1, 2] = K[2, 1] = 1e-12
    assert gm.pivoted_cholesky(gm.Precomputed(K), range(3)).factor.shape == (3, 1)


def test_arguments_are_checked():
    X = np.eye(3)
    for bad in ({"rank": 0}, {"tol": -1.0}, {"pivots": "best"}):
        with pytest.raises(ValueError, match="pivoted_cholesky"):
            gm.pivoted_cholesky(gm.Linear(), X, **bad)
    with pytest.raises(TypeError, match="Kernel or a function"):
        gm.pivoted_cholesky("rbf", X)
    assert gm.pivoted_cholesky(gm.Linear(), np.zeros((4, 2))).factor.shape == (4, 0)
