"""Roots of class probabilities beside other coordinates: against plain formulas, in indexes and in files."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

import gramian as gm
from gramian.coordinates import Angles, BesideFeatures, Hellinger, KernelSpace, Plain, Subspace, UnitRows, probabilities
from gramian.metrics import Metric

X = np.random.default_rng(0).normal(size=(60, 5))
Y = np.array(["a", "b", "c"])[np.random.default_rng(1).integers(3, size=60)]
CLASSIFIER = LogisticRegression(C=3.0).fit(X, Y)
MODEL = probabilities(CLASSIFIER, X)
FEATURES = gm.KernelFeatures(gm.Gaussian(2.0), rank=6).fit(X)
SPACES = {
    "plain": (Plain(5), 0.0),
    "angles": (Angles(np.ones(5), np.random.default_rng(2).normal(size=(4, 5))), 0.0),
    "unit rows": (UnitRows(5), 0.0),
    "subspace": (Subspace(np.linalg.qr(np.random.default_rng(3).normal(size=(5, 2)))[0]), 0.7),
    "kernel": (KernelSpace(FEATURES), 0.0),
    "beside features": (BesideFeatures(FEATURES), 0.4),
}
W = 1.5


@pytest.fixture(params=SPACES)
def both(request):
    """A metric on some coordinates, and the same beside the probabilities."""
    space, alpha = SPACES[request.param]
    L = np.random.default_rng(4).normal(size=(space.size, space.size))
    L = L @ L.T  # a symmetric root
    factor = np.block([[L, np.zeros((space.size, 3))], [np.zeros((3, space.size)), W * np.eye(3)]])
    return Metric.of(space, L, alpha), Metric(Hellinger(space, MODEL), factor, alpha)


def hellinger(metric, A, B):
    """Σ_c (√p_c − √q_c)² of what the classifier says, one pair after the other."""
    P, Q = (CLASSIFIER.predict_proba(metric.coordinates.accept(points)) for points in (A, B))
    return np.array([[((np.sqrt(p) - np.sqrt(q)) ** 2).sum() for q in Q] for p in P])


def test_the_squared_distance_adds_hellingers(both):
    plain, beside = both
    expected = plain.sqdist(X[:9], X[9:20]) + W**2 * hellinger(plain, X[:9], X[9:20])
    np.testing.assert_allclose(beside.sqdist(X[:9], X[9:20]), expected, atol=1e-9)
    np.testing.assert_allclose(beside.pair_sqdist(X[:9], X[9:18]), np.diag(expected), atol=1e-9)


def test_the_kernel_adds_bhattacharyyas_coefficient(both):
    plain, beside = both
    P = np.sqrt(CLASSIFIER.predict_proba(plain.coordinates.accept(X)))
    np.testing.assert_allclose(beside.kernel(X), plain.kernel(X) + W**2 * P @ P.T, atol=1e-9)


def test_transform_is_an_isometry_and_exact_search_agrees(both):
    _, beside = both
    Z = beside.transform(X)
    np.testing.assert_allclose(gm.linalg.sqdist(Z), beside.sqdist(X), atol=1e-8)
    assert beside.view(X[:1]).finite and beside.view(X[:1]).affine is None
    ids, sqdist = gm.ExactIndex(beside).add(X).query(X[:4], k=5)
    np.testing.assert_allclose(sqdist, np.sort(beside.sqdist(X[:4], X), axis=1)[:, :5], atol=1e-8)
    assert ids[:, 0].tolist() == [0, 1, 2, 3]
    hashed, _ = gm.HashIndex(beside, n_bits=64, random_state=0).add(X).query(X[:4], k=5)
    np.testing.assert_array_equal(hashed, ids)


def test_files_and_pickles_keep_it(both, tmp_path):
    _, beside = both
    beside.save(tmp_path / "beside.gram")
    for other in (gm.load(tmp_path / "beside.gram"), pickle.loads(pickle.dumps(beside))):
        np.testing.assert_array_equal(other.sqdist(X), beside.sqdist(X))
        assert other.coordinates.classes.tolist() == ["a", "b", "c"]


def test_classes_and_the_rest_share_the_distance(both):
    plain, beside = both
    shares = beside.explain(X[0], X[1], by="classes")
    p, q = np.sqrt(CLASSIFIER.predict_proba(plain.coordinates.accept(X[:2])))
    np.testing.assert_allclose(shares[:3], W**2 * (p - q) ** 2, atol=1e-9)
    np.testing.assert_allclose(shares[3], plain.sqdist(X[:1], X[1:2])[0, 0], atol=1e-9)
    named = beside.explain(X[0], X[1], beside.coordinates.classes, by="classes")
    assert set(named) == {"a", "b", "c", "rest"} and named["rest"] == pytest.approx(shares[3])
    np.testing.assert_allclose(beside.explain(X[0], X[1]).sum(), shares.sum(), atol=1e-9)
    with pytest.raises(TypeError, match="by='classes' needs a metric of class probabilities"):
        plain.explain(X[0], X[1], by="classes")


def test_sparse_points_are_the_same_points(both):
    _, beside = both
    if isinstance(beside.coordinates.space, Plain | Subspace | Angles):
        S = sparse.csr_array(X)
        np.testing.assert_allclose(beside.sqdist(S[:5], S), beside.sqdist(X[:5], X), atol=1e-9)
        np.testing.assert_allclose(beside.transform(S), beside.transform(X), atol=1e-9)


def test_a_model_of_other_features_is_refused():
    with pytest.raises(ValueError, match="Hellinger: model must take 4 features, got one for 5"):
        Hellinger(Plain(4), MODEL)


def test_bhattacharyyas_kernel_adds_up_with_others():
    P = np.sqrt(CLASSIFIER.predict_proba(X))
    kernel = gm.Linear() + 2 * gm.Bhattacharyya(CLASSIFIER)
    np.testing.assert_allclose(kernel(X[:7], X), X[:7] @ X.T + 2 * P[:7] @ P.T, atol=1e-9)
    phi = kernel.embed(X)
    np.testing.assert_allclose(phi @ phi.T, kernel(X), atol=1e-9)
    with pytest.raises(ValueError, match="Bhattacharyya: X must have 5 features, got 4"):
        kernel(X[:, :4])
