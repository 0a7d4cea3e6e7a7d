"""What every basis of KernelFeatures promises: an orthonormal map, the kernel on its span, and a safe life cycle."""

import pickle
from typing import get_args

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import gramian as gm
from gramian.features.landmarks import Choice

KERNELS = [gm.Linear(), gm.Gaussian(1.5), gm.Polynomial(2), gm.Laplacian(3.0), gm.Cosine(), gm.Gaussian(2.0) + 0.5]


BASES = get_args(Choice)


@parametrize_with_checks(
    [gm.KernelFeatures()]
    + [gm.KernelFeatures(rank=3, basis=b) for b in get_args(Choice) if b not in ("cholesky", "all")]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(params=BASES)
def basis(request):
    return request.param


@pytest.fixture
def X(rng):
    return rng.normal(size=(40, 4))


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_map_is_orthonormal_and_reproduces_the_kernel_on_its_span(kernel, basis, center, X):
    f = gm.KernelFeatures(kernel, n_basis=8, basis=basis, center=center, random_state=0).fit(X)
    K = kernel(f.basis_)
    np.testing.assert_allclose(f.map_ @ K @ f.map_.T, np.eye(len(f.map_)), atol=1e-7)
    Z = f.transform(f.basis_) + f.mean_
    np.testing.assert_allclose(Z @ Z.T, K, atol=1e-8 * np.abs(K).max())
    np.testing.assert_allclose(f.residual(f.basis_), 0, atol=1e-8 * np.abs(K).max())


def test_coordinates_are_centered_orthogonal_and_ordered(basis, X):
    f = gm.KernelFeatures(gm.Gaussian(2.0), rank=6, basis=basis, center=True, random_state=0).fit(X)
    Z = f.transform(X)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose(Z.T @ Z, np.diag(f.eigenvalues_), atol=1e-8)
    assert (np.diff(f.eigenvalues_) <= 1e-12).all()


def test_explained_is_the_share_of_the_trace(basis, X):
    kernel = gm.Gaussian(1.0)
    f = gm.KernelFeatures(kernel, rank=6, basis=basis, random_state=0).fit(X)
    np.testing.assert_allclose(f.explained_variance_ratio_, 1 - f.residual(X).sum() / kernel.diag(X).sum(), atol=1e-10)


def test_life_cycle(basis, X, tmp_path):
    points, labels = X.copy(), np.arange(40)
    f = gm.KernelFeatures(gm.Gaussian(2.0), rank=5, basis=basis, random_state=0)
    Z = f.fit_transform(points, labels)
    np.testing.assert_array_equal(points, X)
    np.testing.assert_allclose(Z, f.transform(X), atol=1e-9)
    np.testing.assert_array_equal(clone(f).fit(X).transform(X), f.transform(X))  # refit: the same
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(f)).transform(X), f.transform(X))
    gm.save(f, tmp_path / "features.gram")
    again = gm.load(tmp_path / "features.gram")
    np.testing.assert_array_equal(again.transform(X), f.transform(X))
    np.testing.assert_array_equal(again.residual(X), f.residual(X))
    before = f.transform(X)
    points[:] = 7.0
    np.testing.assert_array_equal(f.transform(X), before)  # the fitted state is no view of the input


@pytest.mark.parametrize("kind", ["float32", "sparse", "duplicates", "constant", "zeros", "wide", "one", "uneven"])
def test_awkward_input_is_defined(kind, basis, rng):
    X = rng.normal(size=(30, 3))
    X = {
        "float32": X.astype(np.float32),
        "sparse": sparse.csr_array(np.where(X > 0, X, 0)),
        "duplicates": np.repeat(X[:5], 6, axis=0),
        "constant": np.ones((30, 3)),
        "zeros": np.zeros((30, 3)),
        "wide": rng.normal(size=(6, 40)),
        "one": X[:1],
        "uneven": np.vstack([1e8 * X[:2], X[2:]]),
    }[kind]
    # Doubles hold |x − y|² of rows of length 1e8 to about 1: a narrow Gaussian of those has no digits.
    for kernel in (gm.Gaussian(1e6 if kind == "uneven" else 2.0), gm.Linear()):
        f = gm.KernelFeatures(kernel, n_basis=10, basis=basis, random_state=0)
        Z = f.fit_transform(X)
        assert Z.dtype == np.float64 and np.isfinite(Z).all() and np.isfinite(f.residual(X)).all()
        np.testing.assert_allclose(Z, f.transform(X), atol=1e-6 * max(np.abs(Z).max(initial=0), 1))
        if len(f.map_) and basis != "kmeans" and kind in ("duplicates", "constant", "zeros"):
            assert len(f.map_) <= 5  # copies add no coordinate
