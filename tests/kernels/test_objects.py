"""Kernels on objects and on a given matrix."""

import numpy as np
import pytest
from scipy import sparse

import gramian as gm


def test_function_kernel_calls_each_unordered_pair_once():
    calls = []
    kernel = gm.FunctionKernel(lambda a, b: calls.append((a, b)) or float(a * b))
    K = kernel([1, 2, 3])
    assert K.tolist() == [[1, 2, 3], [2, 4, 6], [3, 6, 9]] and len(calls) == 6
    assert kernel.diag([1, 2, 3]).tolist() == [1, 4, 9]
    assert (2 * kernel + 1)([2], [5]).tolist() == [[21]]
    with pytest.raises(TypeError, match="function must be a function"):
        gm.FunctionKernel("rbf")


def test_precomputed_spectra(rng):
    A = rng.normal(size=(6, 6))
    A = (A + A.T) / 2
    values = np.linalg.eigvalsh(A)
    rows = np.arange(6)
    repaired = {name: np.linalg.eigvalsh(gm.Precomputed(A, name)(rows)) for name in ("keep", "clip", "flip", "shift")}
    np.testing.assert_allclose(repaired["keep"], values, atol=1e-12)
    np.testing.assert_allclose(repaired["clip"], np.maximum(values, 0), atol=1e-12)
    np.testing.assert_allclose(repaired["flip"], np.sort(np.abs(values)), atol=1e-12)
    np.testing.assert_allclose(repaired["shift"], values - values[0], atol=1e-12)


def test_precomputed_points_are_row_numbers(rng, tmp_path):
    X = rng.normal(size=(30, 3))
    K = gm.Gaussian(1.0)(X)
    kernel = gm.Precomputed(K)
    np.testing.assert_allclose(kernel([3, 1], [[2.0], [5.0]]), K[[3, 1]][:, [2, 5]], rtol=1e-12)
    Z = gm.KernelFeatures(kernel, rank=8).fit(range(30)).transform(range(30))
    W = gm.KernelFeatures(gm.Gaussian(1.0), rank=8).fit_transform(X)
    np.testing.assert_allclose(Z @ Z.T, W @ W.T, atol=1e-10)
    kernel.save(tmp_path / "k.gram")
    np.testing.assert_array_equal(gm.load(tmp_path / "k.gram").matrix, kernel.matrix)
    for bad, message in [([30], "below the number"), ([0.5], "integer"), ([-1], "nonnegative")]:
        with pytest.raises(ValueError, match=message):
            kernel(bad)
    with pytest.raises(ValueError, match="symmetric"):
        gm.Precomputed([[1.0, 2.0], [0.0, 1.0]])


def test_a_pandas_column_is_a_sequence_of_its_rows():
    pandas = pytest.importorskip("pandas")
    words = ["metric", "kernel", "tree", "trees"]
    column = pandas.Series(words, index=[10, 3, 0, 1])
    for kernel in (
        gm.FunctionKernel(lambda a, b: float(len(set(a) & set(b)))),
        gm.DistanceKernel(lambda a, b: abs(len(a) - len(b)) ** 0.5, g="origin"),
    ):
        assert np.array_equal(kernel(column), kernel(words))
        features = gm.KernelFeatures(kernel, rank=2)
        assert np.allclose(features.fit_transform(column), features.fit_transform(words))
    with pytest.raises(TypeError, match="DistanceKernel: X must hold objects, got a sparse matrix"):
        gm.DistanceKernel(gm.Hamming())(sparse.eye_array(3).tocsr())
