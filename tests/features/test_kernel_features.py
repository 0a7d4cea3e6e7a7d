"""KernelFeatures against scikit-learn's special cases, the factor, and the explicit coordinates."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.decomposition import PCA, KernelPCA
from sklearn.kernel_approximation import Nystroem

import gramian as gm
from gramian import linalg


@pytest.fixture
def data(rng):
    return rng.normal(size=(60, 5)), rng.normal(size=(9, 5))


def align(Z, W):
    """Flip the columns of Z to the signs of W."""
    return Z * np.sign((Z * W).sum(axis=0))


def test_kernel_pca_is_all_points_centered(data):
    X, new = data
    ours = gm.KernelFeatures(gm.Gaussian(2.0), rank=7, basis="all", center=True).fit(X)
    theirs = KernelPCA(7, kernel="rbf", gamma=1 / 8).fit(X)
    for points in (X, new):
        W = theirs.transform(points)
        np.testing.assert_allclose(align(ours.transform(points), W), W, atol=1e-10)


def test_coordinates_on_combinations_are_projections_on_their_span(data, rng):
    """With a linear kernel the combinations are the vectors XᵀJ; one that depends on others adds nothing."""
    X, new = data
    J = rng.normal(size=(60, 3))
    J[:, 2] = J[:, 0] - 2 * J[:, 1]
    f = gm.KernelFeatures(gm.Linear(), basis="all", combination=J).fit(X)
    assert f.transform(X).shape == (60, 2)
    U = np.linalg.qr(X.T @ J[:, :2])[0]
    np.testing.assert_allclose(f.transform(new) @ f.transform(new).T, new @ U @ U.T @ new.T, atol=1e-10)
    np.testing.assert_allclose(f.residual(new), ((new - new @ U @ U.T) ** 2).sum(axis=1), atol=1e-10)


def test_combinations_that_pick_points_are_these_points(data):
    X, new = data
    picked = np.eye(60)[:, [3, 8, 11]]
    f = gm.KernelFeatures(gm.Gaussian(2.0), basis="all", combination=picked, center=True).fit(X)
    g = gm.KernelFeatures(gm.Gaussian(2.0), basis=X[[3, 8, 11]], center=True).fit(X)
    np.testing.assert_allclose(align(f.transform(new), g.transform(new)), g.transform(new), atol=1e-9)


def test_combinations_name_what_is_wrong(data):
    X, _ = data
    with pytest.raises(ValueError, match="basis must be 'all' or points.*got 'cholesky'"):
        gm.KernelFeatures(combination=np.eye(60)).fit(X)
    with pytest.raises(ValueError, match="a row for each of 60 basis points, got 4"):
        gm.KernelFeatures(basis="all", combination=np.eye(4)).fit(X)


def test_linear_kernel_pca_is_pca(data):
    X, new = data
    W = PCA(3).fit(X).transform(new)
    Z = gm.KernelFeatures(gm.Linear(), rank=3, n_basis=60, center=True).fit(X).transform(new)
    np.testing.assert_allclose(align(Z, W), W, atol=1e-10)


def test_nystroem_is_a_uniform_basis_with_the_symmetric_root(data):
    X, new = data
    theirs = Nystroem(kernel="rbf", gamma=1 / 8, n_components=20, random_state=0).fit(X)
    ours = gm.KernelFeatures(gm.Gaussian(2.0), basis=theirs.components_, coordinates="symmetric").fit(X)
    np.testing.assert_allclose(ours.transform(new), theirs.transform(new), atol=1e-10)


@pytest.mark.parametrize("basis, pivots", [("cholesky", "greedy"), ("random-cholesky", "random")])
def test_triangular_coordinates_are_the_factor(basis, pivots, data):
    X, _ = data
    got = gm.pivoted_cholesky(gm.Gaussian(2.0), X, rank=12, tol=0, pivots=pivots, random_state=3)
    f = gm.KernelFeatures(gm.Gaussian(2.0), rank=12, basis=basis, coordinates="triangular", random_state=3).fit(X)
    np.testing.assert_allclose(f.transform(X), got.factor, atol=1e-10)
    np.testing.assert_array_equal(f.basis_, X[got.pivots])
    for coordinates in ("principal", "symmetric"):
        Z = f.set_params(coordinates=coordinates).fit_transform(X)
        np.testing.assert_allclose(Z @ Z.T, got.factor @ got.factor.T, atol=1e-10)


def test_principal_coordinates_are_the_equations_of_the_paper(data):
    """Teixeira et al. (4)–(11) written out with their letters, columns as points."""
    X, new = data
    kernel = gm.Gaussian(3.0)
    r = gm.pivoted_cholesky(kernel, X, tol=0.05).pivots
    L = np.linalg.cholesky(kernel(X[r])).T  # K_r = LᵀL
    C = np.linalg.solve(L.T, kernel(X[r], X))
    D, V = np.linalg.eigh(C @ C.T)
    V = V[:, ::-1]
    Z = V.T @ np.linalg.solve(L.T, kernel(X[r], new))
    f = gm.KernelFeatures(kernel, tol=0.05).fit(X)
    np.testing.assert_allclose(align(f.transform(new), Z.T), Z.T, atol=1e-8)
    np.testing.assert_allclose(f.eigenvalues_, D[::-1], atol=1e-9)


def test_defaults_span_every_training_point(rng):
    X = rng.normal(size=(70, 6)) * np.array([1, 10, 1e3, 1e-2, 1, 0])
    for kernel in (gm.Linear(), gm.Gaussian(20.0), gm.Polynomial(2)):
        for basis in ("cholesky", "all"):
            f = gm.KernelFeatures(kernel, basis=basis).fit(X)
            assert (f.residual(X) <= 1e-10 * kernel.diag(X)).all()
            assert f.explained_variance_ratio_ == pytest.approx(1, abs=1e-10)
    Z = gm.KernelFeatures(gm.Linear()).fit_transform(X)
    assert Z.shape[1] == 5
    np.testing.assert_allclose(gm.linalg.sqdist(Z), gm.linalg.sqdist(X), rtol=1e-9)


@given(st.integers(0, 10_000))
def test_rotation_of_the_input_rotates_nothing_else(seed):
    rng = np.random.default_rng(seed)
    X, turn = rng.normal(size=(20, 3)), np.linalg.qr(rng.normal(size=(3, 3)))[0]
    a = gm.KernelFeatures(gm.Gaussian(2.0), rank=5).fit_transform(X)
    b = gm.KernelFeatures(gm.Gaussian(2.0), rank=5, basis=X @ turn).fit_transform(X @ turn)
    c = gm.KernelFeatures(gm.Gaussian(2.0), rank=5, basis=X).fit_transform(X)
    np.testing.assert_allclose(b @ b.T, c @ c.T, atol=1e-8)
    assert (a**2).sum() <= (c**2).sum() + 1e-9  # all points give the best rank-5 coordinates


def test_residual_is_the_distance_to_the_span(data):
    X, new = data
    kernel = gm.Gaussian(2.0)
    f = gm.KernelFeatures(kernel, rank=10, random_state=0).fit(X)
    B = f.basis_
    best = kernel.diag(new) - np.einsum("ij,ji->i", kernel(new, B), np.linalg.solve(kernel(B), kernel(B, new)))
    np.testing.assert_allclose(f.residual(new), best, atol=1e-10)


@pytest.mark.parametrize("center", [False, True])
def test_kernel_metric_with_the_identity_is_the_kernel_distance(center, data):
    X, new = data
    kernel = gm.Gaussian(2.0)
    f = gm.KernelFeatures(kernel, rank=6, center=center).fit(X)
    metric = gm.KernelMetric(f, np.eye(6), alpha=1.0)
    np.testing.assert_allclose(metric.sqdist(new, X), kernel.sqdist(new, X), atol=1e-10)
    half = gm.KernelMetric(f, 0.3 * np.eye(6), alpha=0.7)
    K, d = half.kernel(X), np.diag(half.kernel(X))
    np.testing.assert_allclose(d[:, None] + d - 2 * K, half.sqdist(X), atol=1e-10)
    assert np.linalg.eigvalsh(K)[0] > -1e-10


@pytest.mark.parametrize("basis", ["cholesky", "random-cholesky", "uniform", "leverage", "all"])
def test_indefinite_kernels_are_reported_and_finite(basis, rng):
    A = rng.normal(size=(25, 25))
    kernel = gm.Precomputed(A + A.T + 3 * np.eye(25))
    with pytest.warns(UserWarning, match="must be positive semi-definite"):
        f = gm.KernelFeatures(kernel, n_basis=15, basis=basis, random_state=0).fit(range(25))
    assert np.isfinite(f.transform(range(25))).all() and np.isfinite(f.explained_variance_ratio_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gm.KernelFeatures(gm.Precomputed(kernel.matrix, "clip"), basis=basis, n_basis=25, random_state=0).fit(range(25))


@pytest.mark.parametrize("basis", ["cholesky", "random-cholesky", "uniform", "leverage", "all", [3, 4, 5]])
def test_distances_in_the_place_of_a_kernel_are_refused(basis, rng):
    kernel = gm.Precomputed(linalg.sqdist(rng.normal(size=(25, 2))))
    with pytest.raises(ValueError, match="must be positive semi-definite"):
        gm.KernelFeatures(kernel, n_basis=10, basis=basis, random_state=0).fit(range(25))


def test_zero_rows_under_the_cosine_kernel_have_zero_coordinates(rng):
    X = rng.normal(size=(12, 4))
    X[[2, 7]] = 0
    f = gm.KernelFeatures(gm.Cosine()).fit(X)
    Z = f.transform(X)
    np.testing.assert_array_equal(Z[[2, 7]], 0)
    np.testing.assert_allclose(Z @ Z.T, gm.Cosine()(X), atol=1e-10)


def test_functions_on_objects_and_given_points_persist(tmp_path):
    words = ["metric", "kernel", "metrics", "tree", "trees"]
    f = gm.KernelFeatures(lambda a, b: float(len(set(a) & set(b)))).fit(words)
    Z = f.transform(["meter", "tree"])
    assert Z[1] @ Z[1] == pytest.approx(3)
    with pytest.raises(TypeError, match="cannot store"):
        gm.save(f, tmp_path / "f.gram")
    with pytest.raises(ValueError, match="kernel on vectors"):
        gm.KernelFeatures(f.kernel_, rank=2, basis="kmeans").fit(words)


def test_arguments_are_checked(data):
    X, _ = data
    for bad, message in [
        ({"basis": "best"}, "basis must be one of"),
        ({"basis": "uniform"}, "needs rank or n_basis"),
        ({"rank": 0}, "rank must be an integer"),
        ({"basis": X[:, :2]}, "basis must have 5 features"),
        ({"coordinates": "polar"}, "coordinates must be one of"),
        ({"basis": X[:9], "rank": 3, "coordinates": "symmetric"}, "no order"),
    ]:
        with pytest.raises(ValueError, match=message):
            gm.KernelFeatures(**bad).fit(X)
