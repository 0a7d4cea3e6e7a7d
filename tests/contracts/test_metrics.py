"""The metric contract: every public metric enrolls by itself."""

import copy
import inspect
import pickle

import numpy as np
import pytest
from scipy import sparse

import gramian as gm
from gramian.manifold import AlongGraph, ByGeodesics, ByWeights, NeighborGraph
from gramian.metrics import Metric

D = 5


def psd(k, seed):
    A = np.random.default_rng(seed).normal(size=(k, k + 2))
    return A @ A.T


def low_rank():
    return gm.Mahalanobis(np.random.default_rng(0).normal(size=(2, D)))


def full_rank():
    return gm.Mahalanobis.from_matrix(psd(D, 1))


def subspace(alpha):
    U, _ = np.linalg.qr(np.random.default_rng(2).normal(size=(D, 3)))
    return gm.SubspaceMahalanobis(U, psd(3, 3), alpha=alpha)


def kernelized(alpha):
    basis = np.random.default_rng(4).normal(size=(8, D))
    features = gm.KernelFeatures(gm.Gaussian(2.0), basis="all").fit(basis)
    return gm.KernelMetric(features, psd(len(features.map_), 5), alpha=alpha)


def embedded(extension):
    rng = np.random.default_rng(6)
    return gm.GraphMetric(rng.normal(size=(10, D)), rng.normal(size=(10, 2)), extension)


def along(normalized):
    rng = np.random.default_rng(7)
    degree = rng.uniform(1, 3, size=10) if normalized else None
    return AlongGraph(NeighborGraph(3, scale=2.0), np.array([0.1, 0.2]), degree=degree)


def geodesics():
    rng = np.random.default_rng(8)
    lengths = np.triu(rng.uniform(1, 2, size=(10, 10)), 1)
    return ByGeodesics(sparse.csr_array(lengths + lengths.T), 3, np.ones(10), 9.0, rng.normal(size=(10, 2)))


EXAMPLES = {
    "Mahalanobis": [full_rank, low_rank],
    "SubspaceMahalanobis": [lambda: subspace(0.7), lambda: subspace(0.0)],
    "KernelMetric": [lambda: kernelized(0.0), lambda: kernelized(0.5)],
    "GraphMetric": [
        lambda: embedded(along(False)),
        lambda: embedded(along(True)),
        lambda: embedded(ByWeights(4)),
        lambda: embedded(geodesics()),
    ],
}
"""Metrics to test, by class; a new public metric needs a line here, and the first test says so."""

PUBLIC = [
    name for name in gm._registry.HOME if inspect.isclass(getattr(gm, name)) and issubclass(getattr(gm, name), Metric)
]
CASES = [pytest.param(make, id=f"{name}-{i}") for name in PUBLIC for i, make in enumerate(EXAMPLES.get(name, []))]


@pytest.fixture
def X(rng):
    X = rng.normal(size=(12, D))
    X[7] = X[3]
    return X


@pytest.fixture
def Y(rng):
    return rng.normal(size=(9, D)) + 1


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_metric_is_enrolled(name):
    assert EXAMPLES.get(name), f"add an example of {name} to EXAMPLES"
    assert all(type(make()) is getattr(gm, name) for make in EXAMPLES[name])


@pytest.mark.parametrize("make", CASES)
def test_axioms(make, X, Y):
    metric = make()
    S, d = metric.sqdist(X), metric.distance(X)
    assert np.isfinite(S).all() and (S >= 0).all() and S.dtype == np.float64
    assert np.array_equal(np.diag(S), np.zeros(len(X)))
    assert np.allclose(S, S.T, atol=1e-12 * S.max())
    assert np.allclose(S[7], S[3], atol=1e-10 * S.max())
    assert np.allclose(d, np.sqrt(S))
    assert (d[:, None, :] <= d[:, :, None] + d[None, :, :] + 1e-7 * d.max()).all()
    assert np.allclose(metric.sqdist(X, Y), metric.sqdist(Y, X).T, atol=1e-10 * S.max())
    assert np.allclose(metric.sqdist(X, X), S, atol=1e-10 * S.max())


@pytest.mark.parametrize("make", CASES)
def test_pairs_rows_and_calls_agree_with_the_matrix_of_distances(make, X, Y):
    metric = make()
    S = metric.sqdist(X, Y)
    assert np.allclose(metric.pair_sqdist(X[:9], Y), np.diag(S), atol=1e-10 * S.max())
    assert metric(X[2], Y[4]) == pytest.approx(np.sqrt(S[2, 4]))


@pytest.mark.parametrize("make", CASES)
def test_distances_come_from_the_learned_kernel(make, X, Y):
    metric = make()
    K = metric.kernel(X)
    assert np.allclose(K, K.T) and np.linalg.eigvalsh(K)[0] > -1e-10 * np.abs(K).max()
    cross = np.diag(K)[:, None] + np.diag(metric.kernel(Y))[None] - 2 * metric.kernel(X, Y)
    assert np.allclose(cross, metric.sqdist(X, Y), atol=1e-9 * np.abs(K).max())


@pytest.mark.parametrize("make", CASES)
def test_transform_is_an_isometry(make, X):
    metric = make()
    if isinstance(metric, gm.KernelMetric) and metric.alpha:
        X = metric.features.basis_  # the part outside of the span has no finite coordinates
    E = metric.transform(X)
    S = ((E[:, None] - E[None]) ** 2).sum(axis=2)
    assert np.allclose(S, metric.sqdist(X), atol=1e-8 * S.max())


@pytest.mark.parametrize("make", CASES)
def test_matrix_gives_the_distances_of_vectors(make, X, Y):
    metric = make()
    M = metric.matrix
    assert np.allclose(M, M.T) and np.linalg.eigvalsh(M)[0] > -1e-10 * np.abs(M).max()
    if not isinstance(metric, gm.KernelMetric | gm.GraphMetric):
        V = X[:9] - Y
        assert np.allclose(np.einsum("ij,jk,ik->i", V, M, V), metric.pair_sqdist(X[:9], Y))


@pytest.mark.parametrize("make", CASES)
def test_save_and_pickle_give_the_same_metric(make, X, Y, tmp_path):
    metric = make()
    metric.save(tmp_path / "m.gram")
    copies = [gm.load(tmp_path / "m.gram"), gm.load(tmp_path / "m.gram", mmap=True)]
    copies += [pickle.loads(pickle.dumps(metric)), copy.deepcopy(metric)]
    for again in copies:
        assert type(again) is type(metric)
        assert np.array_equal(again.sqdist(X, Y), metric.sqdist(X, Y))
        assert np.array_equal(again.transform(X), metric.transform(X))
        fields = [getattr(again, name) for name in again.__dataclass_fields__]
        assert not any(field.flags.writeable for field in fields if isinstance(field, np.ndarray))


@pytest.mark.parametrize("make", CASES)
def test_metrics_cannot_be_changed(make, X):
    metric = make()
    before = metric.sqdist(X)
    for name in metric.__dataclass_fields__:
        with pytest.raises(AttributeError):
            setattr(metric, name, None)
        if isinstance(getattr(metric, name), np.ndarray):
            with pytest.raises(ValueError, match="read-only"):
                getattr(metric, name)[:] = 0
    S = metric.sqdist(X)
    S[:] = -1
    E = metric.transform(X)
    E[:] = -1
    assert np.array_equal(metric.sqdist(X), before)


@pytest.mark.parametrize("make", CASES)
def test_the_caller_keeps_its_arrays(make):
    metric = make()
    fields = {name: getattr(metric, name) for name in metric.__dataclass_fields__}
    mine = {k: np.array(v) if isinstance(v, np.ndarray) else v for k, v in fields.items()}
    again = Metric.of(**mine)
    for value in mine.values():
        if isinstance(value, np.ndarray):
            value[:] = 0
    assert np.array_equal(again.matrix, metric.matrix)


def test_refitting_the_features_leaves_the_kernel_metric_alone(X):
    features = gm.KernelFeatures(gm.Gaussian(2.0), basis="all").fit(X[:4])
    metric = gm.KernelMetric(features, np.eye(len(features.map_)))
    before = metric.sqdist(X)
    features.fit(X + 5)
    assert np.array_equal(metric.sqdist(X), before)


@pytest.mark.parametrize("make", CASES)
def test_inputs_of_every_kind(make, X, Y):
    metric = make()
    S = metric.sqdist(X, Y)
    kept = X.copy()
    assert np.allclose(metric.sqdist(X.tolist(), Y.tolist()), S)
    assert np.allclose(metric.sqdist(np.asfortranarray(X), Y), S)
    assert np.allclose(metric.sqdist(X.astype(np.float32), Y), S, atol=1e-5 * S.max())
    assert np.allclose(metric.sqdist(sparse.csr_matrix(X), sparse.csr_array(Y)), S)
    assert np.allclose(metric.pair_sqdist(sparse.csr_array(X[:9]), sparse.csr_array(Y)), np.diag(S))
    assert np.array_equal(X, kept)


@pytest.mark.parametrize("make", CASES)
def test_one_clear_sentence_for_bad_points(make, X):
    metric = make()
    owner = type(metric).__name__
    bad = X.copy()
    bad[1, 2] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity"):
        metric.sqdist(bad)
    with pytest.raises(ValueError, match="features"):
        metric.sqdist(X[:, :2])
    with pytest.raises(ValueError, match="reshape"):
        metric.transform(X[0])
    with pytest.raises(ValueError, match=f"{owner}: X and Y must pair up, got 3 and 2 rows"):
        metric.pair_sqdist(X[:3], X[:2])


@pytest.mark.parametrize("make", CASES)
def test_a_metric_fits_inside_a_kernel_and_scikit_learn(make, X):
    from sklearn.neighbors import NearestNeighbors

    metric = make()
    K = gm.Gaussian(1.5, metric=metric)(X)
    assert np.allclose(K, np.exp(-metric.sqdist(X) / 4.5))
    d, _ = NearestNeighbors(n_neighbors=3, metric=metric, algorithm="brute").fit(X).kneighbors(X)
    assert np.allclose(d, np.sort(metric.distance(X))[:, :3], atol=1e-6)
