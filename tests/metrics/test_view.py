"""The view of a metric holds all of it: distances and coordinates from it alone are those of the metric."""

import numpy as np
import pytest
from scipy import sparse

import gramian as gm
from gramian import linalg
from gramian.coordinates import Angles, BesideFeatures, UnitRows
from gramian.metrics import Metric

D = 6


def points(n=40, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, D)) + 0.3
    return np.where(np.abs(X) > 0.5, X, 0.0)


def square(k, seed=1):
    A = np.random.default_rng(seed).normal(size=(k, k + 1))
    return A @ A.T


def in_kernel(kernel, alpha=0.0, X=None, **options):
    features = gm.KernelFeatures(kernel, rank=4, **options).fit(points() if X is None else X)
    return gm.KernelMetric(features, square(len(features.map_)), alpha=alpha)


def subspace(alpha):
    return gm.SubspaceMahalanobis(np.linalg.qr(square(D)[:, :3])[0], square(3), alpha=alpha)


def beside():
    features = gm.KernelFeatures(gm.Gaussian(2.0), rank=4).fit(points())
    return Metric.of(BesideFeatures(features), square(4)[:2], 0.3)


L = np.random.default_rng(2).normal(size=(3, D))
VECTORS = {
    "identity": lambda: gm.Mahalanobis.euclidean(D),
    "Mahalanobis": lambda: gm.Mahalanobis(L),
    "diagonal": lambda: gm.Mahalanobis.from_matrix(np.diag(np.arange(1.0, D + 1))),
    "subspace": lambda: subspace(0.0),
    "subspace and the rest": lambda: subspace(0.7),
    "unit rows": lambda: Metric.of(UnitRows(D), L),
    "angles": lambda: Metric.of(Angles(points(1)[0], L), np.eye(3)),
    "linear kernel": lambda: in_kernel(gm.Linear()),
    "linear kernel and the rest": lambda: in_kernel(2 * gm.Linear(), 0.4),
    "centered linear kernel and the rest": lambda: in_kernel(gm.Linear(), 0.4, center=True),
    "cosine and the rest": lambda: in_kernel(gm.Cosine(), 0.4),
    "Gaussian": lambda: in_kernel(gm.Gaussian(2.0)),
    "centered Gaussian": lambda: in_kernel(gm.Gaussian(2.0), center=True),
    "Gaussian and the rest": lambda: in_kernel(gm.Gaussian(2.0), 0.4),
    "beside": beside,
}
KNOWN_IN_PART = {"Gaussian and the rest"}
FORMULAS = set(VECTORS) - {"cosine and the rest", "Gaussian", "centered Gaussian", "Gaussian and the rest", "beside"}


def sqdist(view, X, Y):
    """d² of all pairs from the view alone, with the differences of the rows, one pair after the other."""
    V, W = linalg.dense(view.rows(X)), linalg.dense(view.rows(Y))
    apart = (V[:, None] - W[None]).reshape(-1, V.shape[1])
    total = (linalg.dense(view.weigh(apart)) * apart).sum(axis=1).reshape(len(V), len(W))
    if view.outside is not None:
        U, T = (linalg.dense(view.outside(P)) for P in (X, Y))
        total += view.alpha * ((U[:, None] - T[None]) ** 2).sum(axis=2)
    return total


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", VECTORS)
def test_a_view_and_its_coordinates_are_the_metric(name, form):
    metric = VECTORS[name]()
    X, Y = metric.check(form(points())), metric.check(form(points(20, seed=5)))
    view, D2 = metric.view_of(X), metric.sqdist_of(X, Y)
    scale = max(float(linalg.row_norms(metric.transform_of(X)).max()), 1.0)
    E, F = view.embed(X), view.embed(Y)
    by_coordinates = ((E[:, None] - F[None]) ** 2).sum(axis=2)
    assert view.finite == (name not in KNOWN_IN_PART)
    if name in KNOWN_IN_PART:
        assert not view.whole and (by_coordinates - 1e-12 * scale <= D2).all()
    else:
        np.testing.assert_allclose(sqdist(view, X, Y), D2, rtol=1e-11, atol=1e-12 * scale)
        np.testing.assert_allclose(by_coordinates, D2, rtol=1e-11, atol=1e-12 * scale)
    assert np.array_equal(view.embed(X), metric.transform_of(X))


@pytest.mark.parametrize("name", VECTORS)
def test_a_formula_of_raw_points_gives_the_coordinates(name):
    metric, X = VECTORS[name](), points() * 3
    formula = metric.view(X).affine
    assert (formula is not None) == (name in FORMULAS)
    if formula is not None:
        Z = metric.transform(X)
        np.testing.assert_allclose(formula(X), Z, atol=1e-12 * np.abs(Z).max())
        assert formula.by_angle == (name in ("unit rows", "angles"))


def test_only_the_plain_distance_is_the_identity():
    assert [name for name in VECTORS if VECTORS[name]().view(points()).identity] == ["identity"]


@pytest.mark.parametrize("name", ["subspace and the rest", "linear kernel and the rest", "cosine and the rest"])
def test_a_sparse_view_keeps_sparse_rows_sparse(name):
    view = VECTORS[name]().view(sparse.csr_array(points()))
    assert sparse.issparse(view.outside(sparse.csr_array(points()))) and view.finite and not view.identity


def test_features_that_are_wider_than_the_points_stay_outside():
    """Counts in unary, and sets in bins: sparse φ of dense points and of objects."""
    counts = np.random.default_rng(0).integers(0, 4, size=(30, D)).astype(float)
    sets = [20 * np.random.default_rng(i).random((3, 2)) for i in range(12)]
    for metric, X in (
        (in_kernel(gm.Intersection(levels=3), 0.4, counts), counts),
        (in_kernel(gm.kernels.PyramidMatch(), 0.4, sets), sets),
    ):
        P = metric.check(X)
        view = metric.view_of(P)
        D2 = metric.sqdist_of(P, P)
        np.testing.assert_allclose(sqdist(view, P, P), D2, atol=1e-12 * D2.max())
        assert view.outside is not None and not view.finite and view.affine is None


def test_a_linear_kernel_with_a_rest_is_transformed_as_a_whole():
    """Coordinates of the span of the basis alone would lose what lies outside of it."""
    metric, X = in_kernel(gm.Linear(), 0.4), points()
    Z = metric.transform(X)
    np.testing.assert_allclose(linalg.sqdist(Z), metric.sqdist(X), atol=1e-10)
    ids = gm.ExactIndex(metric).add(X).query(points(9, seed=3), 5)[0]
    assert np.array_equal(ids, np.argsort(linalg.sqdist(metric.transform(points(9, seed=3)), Z), axis=1)[:, :5])
