"""Kernel alignment: the QP of Chatpatanasiri et al. (2010) by three roads, and what lies beyond the paper."""

import tracemalloc
import warnings

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

import gramian as gm
from gramian.kernels import Weighted, align, alignment, polynomials, scaled_gaussians


def _problem(seed, n=25, classes=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.standard_normal((n, 3)) + y[:, None], y


def _ideal(y):
    p = len(np.unique(y))
    return np.where(y[:, None] == y, 1.0, -1.0 / (p - 1))


KERNELS = [gm.Gaussian(0.3), gm.Gaussian(1.0), gm.Gaussian(3.0), gm.Polynomial(2), gm.Linear()]


@given(st.integers(0, 2**16), st.booleans(), st.integers(2, 4))
def test_weights_solve_the_quadratic_program(seed, center, classes):
    X, y = _problem(seed, classes=classes)
    H = np.eye(len(X)) - (1 / len(X) if center else 0)
    grams = [H @ k(X) @ H for k in KERNELS]
    Y = H @ _ideal(y) @ H
    found = align(KERNELS, X, y, center=center, warn=False)
    # The program (12) with a conic solver, and nonnegative least squares on the Gram matrices themselves.
    sizes = np.array([np.linalg.norm(K) for K in grams])
    flat = np.stack([K.ravel() / s for K, s in zip(grams, sizes)], axis=1)
    gamma = cp.Variable(5, nonneg=True)
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(np.linalg.qr(flat)[1] @ gamma)), [(flat.T @ Y.ravel()) @ gamma == 1]
    )
    problem.solve(solver=cp.CLARABEL)
    direct = nnls(flat, Y.ravel())[0]
    for other in (np.maximum(gamma.value, 0), direct):
        K = flat @ other
        reached = K @ Y.ravel() / (np.linalg.norm(K) * np.linalg.norm(Y))
        assert found.alignment == pytest.approx(reached, rel=1e-5)
    np.testing.assert_allclose(found.weights / found.weights.sum(), direct / sizes / (direct / sizes).sum(), atol=1e-6)
    assert found.alignment == pytest.approx(alignment(found, X, y, center=center))
    assert all(found.alignment >= alignment(k, X, y, center=center) - 1e-9 for k in KERNELS)


def test_the_result_is_a_kernel_value(tmp_path):
    X, y = _problem(0)
    k = align(KERNELS, X, y, warn=False)
    np.testing.assert_allclose(k(X), sum(w * part(X) for w, part in zip(k.weights, KERNELS)))
    np.testing.assert_allclose(k.diag(X), np.diag(k(X)))
    np.testing.assert_allclose(k.pairs(X[:5], X[5:10]), np.diag(k(X[:5], X[5:10])))
    assert k.diag(X).mean() == pytest.approx(1.0)
    k.save(tmp_path / "k.gram")
    loaded = gm.load(tmp_path / "k.gram")
    np.testing.assert_array_equal(loaded(X), k(X))
    np.testing.assert_array_equal(loaded.weights, k.weights)
    assert gm.Kernelized(gm.DNE(anchor=0), k).fit(X, y).transform(X).shape[0] == len(X)
    assert np.all((2 * k + gm.Linear())(X) == 2 * k(X) + gm.Linear()(X))


def test_units_of_a_kernel_change_nothing():
    X, y = _problem(1)
    a = align(KERNELS, X, y, warn=False)
    b = align([1e6 * KERNELS[0], *KERNELS[1:-1], 1e-6 * KERNELS[-1]], X, y, warn=False)
    np.testing.assert_allclose(b(X), a(X), atol=1e-8)


def test_families_follow_the_paper():
    X = np.random.default_rng(0).standard_normal((4, 7))
    family = scaled_gaussians(7)
    assert len(family) == 21
    D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(family[8](X), np.exp(-D / (2 * 7 * 1.0)))
    np.testing.assert_allclose(polynomials(7)[2](X), (X @ X.T / 7) ** 3)


def _clusters(n=120):
    """Two classes of two far clusters each, crosswise."""
    rng = np.random.default_rng(0)
    corner = np.arange(n) % 4
    X = rng.standard_normal((n, 2)) + 12 * np.stack([corner // 2, corner % 2], axis=1)
    return X, (corner // 2) ^ (corner % 2)


def test_a_class_of_several_clusters_is_named():
    X, y = _clusters()
    with pytest.warns(UserWarning, match="class 0, 1 falls into several clusters"):
        align(scaled_gaussians(2), X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        align(scaled_gaussians(2), X, (X[:, 0] > 6).astype(int) * 2 + (X[:, 1] > 6))
        align(scaled_gaussians(2), X, y, warn=False)


def test_local_alignment_prefers_a_width_that_keeps_clusters_apart():
    X, y = _clusters()
    X = X / 4
    local = align(scaled_gaussians(2), X, y, n_neighbors=5)
    Y, K = _ideal(y), local(X)
    D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    across = D > 2.0
    assert np.abs(K[across]).mean() < 0.5 and (local.weights > 0).any()
    assert Y.shape == K.shape


def test_a_constant_aligns_with_unequal_classes_unless_kernels_are_centered():
    y = np.repeat([0, 1], [90, 10])
    X = np.random.default_rng(0).normal(size=(100, 20)) + y[:, None]
    wide, narrow = gm.Gaussian(1e3), gm.Gaussian(1e-3)
    plain = align([wide, narrow], X, y, warn=False)
    # ⟨11ᵀ, Y⟩ = (90 − 10)² and ⟨I, Y⟩ = ‖I‖² = 100; S has 100², 100 and ⟨11ᵀ, I⟩ = 100.
    expected = np.linalg.solve([[1e4, 1e2], [1e2, 1e2]], [80.0**2, 1e2])
    assert plain.weights == pytest.approx(expected / expected.sum(), rel=1e-3)
    assert plain.weights[0] > 0.5
    centered = align([wide, narrow], X, y, warn=False, center=True).weights
    lifted = align([wide + 5.0 * gm.Gaussian(1e9), narrow], X, y, warn=False, center=True).weights
    assert lifted[1] / lifted[0] == pytest.approx(centered[1] / centered[0], rel=1e-3)


def test_memory_stays_under_two_gram_matrices():
    n = 1000
    X, y = _problem(0, n=n)
    tracemalloc.start()
    align(scaled_gaussians(3), X, y, warn=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * 8 * n * n


def test_kernels_on_other_objects():
    words = ["aa", "ab", "ba", "xy", "yx", "xx"]
    same = gm.FunctionKernel(lambda a, b: float(len(set(a) & set(b))))
    k = align([same], words, ["l", "l", "l", "r", "r", "r"])
    assert k.alignment > 0.5 and k(words).shape == (6, 6)


def test_errors_name_align():
    X, y = _problem(0)
    with pytest.raises(TypeError, match="align: kernels"):
        align([], X, y)
    with pytest.raises(ValueError, match="align: needs at least two classes"):
        align(KERNELS, X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="align: center and n_neighbors"):
        align(KERNELS, X, y, center=True, n_neighbors=3)
    with pytest.raises(ValueError, match="Weighted: weights"):
        Weighted((gm.Linear(),), [-1.0])
