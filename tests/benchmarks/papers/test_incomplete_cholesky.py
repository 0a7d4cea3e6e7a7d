"""Teixeira, Tomé and Lang (2008) on USPS: the printed sizes of the basis, and the printed classification errors."""

import numpy as np
import pytest

import gramian as gm


@pytest.fixture(scope="module")
def usps(data_folder):
    with np.load(data_folder / "usps.npz") as data:
        X = (data["X"] * data["scale"] + 1) / 2
        return X[data["train_idx"]], data["y"][data["train_idx"]], X[data["test_idx"]], data["y"][data["test_idx"]]


@pytest.mark.parametrize(
    "rows, scale, size", [(720, 5, 335), (720, 8, 132), (720, 10, 63), (720, 12, 32), (3645, 12, 37)]
)
def test_sizes_of_table_1(usps, rows, scale, size):
    """Pixels in [0, 1], file order, threshold 0.1 K (printed: 0.01 K)."""
    assert len(gm.pivoted_cholesky(gm.Gaussian(scale), usps[0][:rows], tol=0.1).pivots) == size


@pytest.mark.slow
@pytest.mark.parametrize(
    "rows, scale, size",
    [(3645, 5, 1169), (3645, 8, 206), (3645, 10, 80), (7291, 5, 1807), (7291, 8, 241), (7291, 10, 91)],
)
def test_sizes_of_table_1_on_more_images(usps, rows, scale, size):
    assert len(gm.pivoted_cholesky(gm.Gaussian(scale), usps[0][:rows], tol=0.1).pivots) == size


def linear_error(Z, y, Z_test, y_test):
    A, B = (np.column_stack([M, np.ones(len(M))]) for M in (Z, Z_test))
    return np.mean((B @ np.linalg.lstsq(A, np.eye(10)[y], rcond=None)[0]).argmax(axis=1) != y_test)


@pytest.mark.slow
@pytest.mark.parametrize("L, nearest, linear", [(20, 0.063, 0.157), (50, 0.054, 0.120), (100, 0.050, 0.086)])
def test_errors_of_table_2(usps, L, nearest, linear):
    from sklearn.neighbors import KNeighborsClassifier

    X, y, X_test, y_test = usps
    features = gm.KernelFeatures(gm.Gaussian(5.0), rank=L, n_basis=len(X), tol=0.1).fit(X)
    Z, Z_test = features.transform(X), features.transform(X_test)
    error = np.mean(KNeighborsClassifier(1).fit(Z, y).predict(Z_test) != y_test)
    assert error == pytest.approx(nearest, abs=0.01)
    assert linear_error(Z, y, Z_test, y_test) == pytest.approx(linear, abs=0.01)
