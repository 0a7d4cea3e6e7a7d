"""Implicit hashing: the factor of Lemmas 2–4, equality with the explicit form, sparse and kernel data."""

import numpy as np
import pytest
from scipy import sparse

import gramian as gm
from gramian.search import codes
from tests.search import reference as implicit
from tests.search.frequencies import collision_probability, hamming


def _core(rng, r):
    A = rng.normal(size=(r, r))
    return A @ A.T / r + 0.2 * np.eye(r)


def _recall(found, true):
    return np.mean([len(np.intersect1d(a, b)) / len(b) for a, b in zip(found, true)])


def _sparse(rng, n, d, density=0.02):
    X = sparse.random_array((n, d), density=density, random_state=rng, format="csr")
    return sparse.csr_array(X)


def test_lemma_2_gives_the_symmetric_root(rng):
    Phi, L = rng.normal(size=(4, 9)), _core(rng, 4) - 0.5 * np.eye(4)
    L = L - min(np.linalg.eigvalsh(L)[0] + 1, 0) * np.eye(4)
    K0 = Phi @ Phi.T
    inverse = np.linalg.inv(gm.linalg.psd_sqrt(K0))
    W = np.eye(9) + Phi.T @ inverse @ L @ inverse @ Phi
    G = np.eye(9) + Phi.T @ implicit.factor_coefficients(K0, L) @ Phi
    np.testing.assert_allclose(G, G.T, atol=1e-10)
    np.testing.assert_allclose(G @ G, W, atol=1e-9)


def test_lemma_4_follows_every_projection(rng):
    Phi = rng.normal(size=(5, 9))
    K0, S, W = Phi @ Phi.T, np.zeros((5, 5)), np.eye(9)
    for _ in range(12):
        i, j = rng.choice(5, 2, replace=False)
        v = Phi[i] - Phi[j]
        beta = rng.uniform(-0.9, 2) / (v @ W @ v)
        S = implicit.factor_step(S, K0, i, j, beta)
        W = W + beta * np.outer(W @ v, v @ W)
        G = np.eye(9) + Phi.T @ S @ Phi
        np.testing.assert_allclose(G.T @ G, W, atol=1e-11)
    assert np.array_equal(implicit.factor_step(S, K0, 2, 2, 0.3), S)


@pytest.fixture(scope="module")
def learned():
    """ITML on a basis: the metric of the library, and K and S of the cyclic projections with Lemma 4."""
    rng = np.random.default_rng(5)
    Phi = rng.normal(size=(24, 40)) + np.repeat(2 * rng.normal(size=(3, 40)), 8, axis=0)
    y = np.repeat([0, 1, 2], 8)
    pairs = gm.Pairs.from_labels(y, 60, random_state=0).with_bounds(Phi)
    K, S = implicit.itml_factor(Phi @ Phi.T, pairs, gamma=2.0, tol=1e-10)
    return Phi, pairs, K, S


def test_the_factor_learned_alongside_is_that_of_the_learned_metric(learned):
    Phi, pairs, K, S = learned
    K0, eye = Phi @ Phi.T, np.eye(24)
    np.testing.assert_allclose((eye + S @ K0).T @ K0 @ (eye + S @ K0), K, rtol=1e-8, atol=1e-8)
    # Both forms factor the same W; the general one takes L from W itself.
    inverse = gm.linalg.psd_power(K0, -0.5)
    L = inverse @ (K - K0) @ inverse
    general = implicit.factor_coefficients(K0, L)
    G, H = np.eye(40) + Phi.T @ S @ Phi, np.eye(40) + Phi.T @ general @ Phi
    np.testing.assert_allclose(G.T @ G, H @ H, rtol=1e-6, atol=1e-7)


def test_implicit_itml_is_the_learner_in_kernel_coordinates(learned):
    Phi, pairs, K, _ = learned
    inner = gm.ITML(gamma=2.0, tol=1e-9, max_iter=20000, anchor=0)
    metric = gm.Kernelized(inner, gm.Linear()).fit(Phi, pairs).metric_
    np.testing.assert_allclose(metric.kernel(Phi), K, rtol=2e-3, atol=2e-3 * np.abs(K).max())


def test_both_factors_collide_as_the_learned_angle_says(learned):
    Phi, _, K, S = learned
    K0, b = Phi @ Phi.T, 16384
    inverse = gm.linalg.psd_power(K0, -0.5)
    general = implicit.factor_coefficients(K0, inverse @ (K - K0) @ inverse)
    X = np.vstack([Phi, np.random.default_rng(1).normal(size=(6, 40))])
    G = np.eye(40) + Phi.T @ general @ Phi
    gram = X @ G @ G @ X.T
    p = collision_probability(gram / np.sqrt(np.outer(np.diag(gram), np.diag(gram))))
    upper = np.triu_indices(30, 1)
    for factor in (S, general):
        packed = codes.pack(implicit.implicit_projection(X, Phi, factor, 11, b))
        z = ((1 - hamming(packed, packed) / b - p) / np.sqrt(p * (1 - p) / b + 1e-12))[upper]
        assert np.abs(z).max() < 5


@pytest.mark.parametrize("mode", ["similarity", "distance"])
def test_explicit_and_implicit_bits_are_the_same_with_a_linear_kernel(rng, mode):
    X = rng.normal(size=(60, 7)) + 0.5
    for basis, alpha in ((X[:10], 1.0), (X[:4], 1.0), (X[:4], 0.3), (X[:10], 0.0)):
        features = gm.KernelFeatures(gm.Linear(), basis=basis).fit(X)
        metric = gm.KernelMetric(features, _core(rng, features.map_.shape[0]), alpha=alpha)
        W = metric.kernel(np.eye(7))
        explicit = gm.HashIndex(gm.Mahalanobis.from_matrix(W), mode=mode, random_state=9).add(X)
        kernel = gm.KernelHashIndex(metric, mode=mode, random_state=9).add(X)
        assert np.array_equal(explicit.hash(X), kernel.hash(X))
        one, two = explicit.query(X, k=3), kernel.query(X, k=3)
        assert np.array_equal(one[0], two[0])
        np.testing.assert_allclose(one[1], two[1], rtol=1e-8, atol=1e-9)


def test_the_general_form_is_that_of_the_index(rng):
    Phi, X = rng.normal(size=(5, 12)), rng.normal(size=(30, 12))
    K0 = Phi @ Phi.T
    features = gm.KernelFeatures(gm.Linear(), basis=Phi, coordinates="symmetric").fit(Phi)
    core = _core(rng, 5)
    index = gm.KernelHashIndex(gm.KernelMetric(features, core, alpha=1.0), mode="similarity", random_state=2)
    S = implicit.factor_coefficients(K0, core - np.eye(5))
    assert np.array_equal(index.hash(X), codes.pack(implicit.implicit_projection(X, Phi, S, 2, 256)))


@pytest.mark.parametrize("mode", ["similarity", "distance"])
def test_sparse_and_dense_points_hash_alike(rng, mode):
    X = _sparse(rng, 80, 300)
    features = gm.KernelFeatures(gm.Linear(), basis=X[:12]).fit(X)
    kernel = gm.KernelMetric(features, _core(rng, features.map_.shape[0]), alpha=1.0)
    U = np.linalg.qr(rng.normal(size=(300, 6)))[0]
    for metric in (
        kernel,
        gm.SubspaceMahalanobis(U, _core(rng, 6), alpha=0.5),
        gm.SubspaceMahalanobis(U, _core(rng, 6), alpha=0),
    ):
        a = gm.KernelHashIndex(metric, mode=mode, random_state=1).add(X)
        b = gm.KernelHashIndex(metric, mode=mode, random_state=1).add(X.toarray())
        assert np.mean(np.unpackbits(a.hash(X) ^ b.hash(X.toarray()))) < 1e-4
        one, two = a.query(X[:20], k=4), b.query(X[:20].toarray(), k=4)
        np.testing.assert_allclose(one[1], two[1], rtol=1e-7, atol=1e-9)


def test_sparse_bits_collide_as_the_angle_says(rng):
    X, b = _sparse(rng, 14, 5000, 0.01), 4096
    X = sparse.csr_array(X + 0.5 * X[[0] * 14])
    features = gm.KernelFeatures(gm.Linear(), basis=X[:4]).fit(X)
    metric = gm.KernelMetric(features, 3 * _core(rng, 4), alpha=1.0)
    K = metric.kernel(X)
    p = collision_probability(K / np.sqrt(np.outer(np.diag(K), np.diag(K))))[np.triu_indices(14, 1)]
    z = []
    for seed in range(6):
        packed = gm.KernelHashIndex(metric, b, mode="similarity", random_state=seed).hash(X)
        frequency = 1 - hamming(packed, packed)[np.triu_indices(14, 1)] / b
        z.append((frequency - p) / np.sqrt(p * (1 - p) / b))
    assert np.abs(z).max() < 5
    assert 0.4 < np.mean(np.square(z)) < 1.8


def test_bits_of_a_kernel_without_features_collide_in_its_coordinates(rng):
    X, b = rng.normal(size=(12, 3)), 8192
    features = gm.KernelFeatures(gm.Gaussian(1.5), rank=6).fit(X)
    metric = gm.KernelMetric(features, _core(rng, 6), alpha=0.0)
    K = metric.kernel(X)
    p = collision_probability(K / np.sqrt(np.outer(np.diag(K), np.diag(K))))
    packed = gm.KernelHashIndex(metric, b, mode="similarity", random_state=0).hash(X)
    z = (1 - hamming(packed, packed) / b - p) / np.sqrt(p * (1 - p) / b + 1e-12)
    assert np.abs(z[np.triu_indices(12, 1)]).max() < 4.5


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("settings", [{}, {"epsilon": 0.05}, {"searcher": "orders", "epsilon": 0.05}])
def test_kernel_search_finds_the_neighbors(rng, alpha, settings):
    X = np.repeat(3 * rng.normal(size=(40, 5)), 30, axis=0) + rng.normal(size=(1200, 5))
    features = gm.KernelFeatures(gm.Gaussian(4.0), rank=25).fit(X)
    metric = gm.KernelMetric(features, _core(rng, 25), alpha=alpha)
    true, values = gm.ExactIndex(metric).add(X).query(X[:30] + 0.1, k=5)
    index = gm.KernelHashIndex(metric, random_state=0, **settings).add(X)
    found, sqdist = index.query(X[:30] + 0.1, k=5)
    assert _recall(found, true) >= 0.97
    same = found == true
    np.testing.assert_allclose(sqdist[same], values[same], rtol=1e-6, atol=1e-9)


def test_sparse_search_compares_few_items(rng):
    topics = _sparse(rng, 60, 20000, 0.003)
    X = sparse.csr_array(topics[np.arange(3000) % 60] + 0.3 * _sparse(rng, 3000, 20000, 0.001))
    features = gm.KernelFeatures(gm.Linear(), basis=X[:30]).fit(X[:200])
    metric = gm.KernelMetric(features, 2 * np.eye(features.map_.shape[0]), alpha=1.0)
    index = gm.KernelHashIndex(metric, random_state=0).add(X)
    assert index.compared(X[:20], k=10).mean() < 300
    true = gm.ExactIndex(metric).add(X).query(X[:20], k=10)[0]
    assert _recall(index.query(X[:20], k=10)[0], true) >= 0.98


@pytest.mark.parametrize("settings", [{}, {"epsilon": 0.8}, {"searcher": "orders"}])
@pytest.mark.parametrize("kernel", [gm.Linear(), gm.Cosine(), gm.Gaussian(3.0)])
def test_many_queries_at_once_are_answered_as_one_by_one(rng, kernel, settings):
    X = rng.normal(size=(400, 6)) + np.repeat(2 * rng.normal(size=(20, 6)), 20, axis=0)
    features = gm.KernelFeatures(kernel, basis=X[:12]).fit(X)
    metric = gm.KernelMetric(features, _core(rng, features.map_.shape[0]), alpha=0.5)
    index = gm.KernelHashIndex(metric, 64, random_state=0, **settings).add(X)
    together = index.query(X[:25] + 0.1, k=4)
    alone = [index.query(x[None] + 0.1, k=4) for x in X[:25]]
    assert np.array_equal(together[0], np.concatenate([ids for ids, _ in alone]))
    np.testing.assert_allclose(together[1], np.concatenate([values for _, values in alone]), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("mode", ["distance", "similarity"])
@pytest.mark.parametrize("data", ["sparse", "dense"])
@pytest.mark.parametrize("kernel", [gm.Linear(), gm.Cosine()])
def test_compared_distances_are_those_of_the_metric(rng, kernel, data, mode):
    from gramian.search.candidates import Candidates

    X = _sparse(rng, 50, 300, 0.1)
    X = X if data == "sparse" else X.toarray()
    features = gm.KernelFeatures(kernel, basis=X[:7]).fit(X)
    metric = gm.KernelMetric(features, _core(rng, features.map_.shape[0]), alpha=0.7)
    index = gm.HashIndex(metric, 64, mode=mode, random_state=0).add(X)
    Q, unit = X[40:46] * 0.9, mode == "similarity"
    encoder = index._encoder(index._items)
    asked, candidates = encoder.ask(Q, np.float64, unit), Candidates(index._items, encoder, unit, None)
    K, own, other = metric.kernel(X, Q), np.diag(metric.kernel(X)), np.diag(metric.kernel(Q))
    want = 2 - 2 * K / np.sqrt(np.outer(own, other)) if unit else metric.sqdist(X, Q)
    for q in range(6):
        chosen = rng.permutation(50)[:20]
        np.testing.assert_allclose(candidates.listed(asked, q, chosen), want[chosen, q], rtol=1e-7, atol=1e-9)


def test_a_kernel_on_objects_is_searched(tmp_path):
    words = ["metric", "kernel", "metrics", "tree", "trees", "gram", "grams", "graph"] * 3
    kernel = gm.Precomputed(np.array([[len(set(a) & set(b)) for b in words] for a in words], float) + np.eye(24))
    features = gm.KernelFeatures(kernel, rank=5).fit(np.arange(24))
    index = gm.KernelHashIndex(gm.KernelMetric(features, np.eye(5), alpha=1.0), 64, random_state=0).add(np.arange(24))
    exact = gm.ExactIndex(index.metric).add(np.arange(24))
    np.testing.assert_allclose(index.query(np.arange(24), k=3)[1], exact.query(np.arange(24), k=3)[1], atol=1e-9)
    index.save(tmp_path / "words.gram")
    assert np.array_equal(gm.load(tmp_path / "words.gram").hash(np.arange(24)), index.hash(np.arange(24)))


def test_wrong_metrics_and_modes_are_named(rng):
    assert gm.KernelHashIndex is gm.HashIndex
    X = rng.normal(size=(20, 3))
    with pytest.raises(TypeError, match="HashIndex: X must be dense"):
        gm.HashIndex(gm.Mahalanobis.euclidean(3)).add(sparse.csr_array(X))
    centered = gm.KernelFeatures(gm.Linear(), center=True).fit(X)
    with pytest.raises(ValueError, match="centered"):
        gm.KernelHashIndex(gm.KernelMetric(centered, np.eye(3)), mode="similarity")
    rest = gm.KernelFeatures(gm.Gaussian(), rank=2).fit(X)
    with pytest.raises(ValueError, match="alpha > 0"):
        gm.KernelHashIndex(gm.KernelMetric(rest, np.eye(2), alpha=1.0), mode="similarity")
