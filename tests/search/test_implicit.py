"""Implicit hashing as printed (Jain 2009, §4.1.2): the factor learned with the kernel, against the metric itself."""

import numpy as np
import pytest

import gramian as gm
from gramian.search import codes, implicit


def test_lemma_4_keeps_a_factor_of_the_metric(rng):
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
    """ITML on a basis: points and pairs, and K and S of the cyclic projections with Lemma 4."""
    rng = np.random.default_rng(5)
    Phi = rng.normal(size=(24, 40)) + np.repeat(2 * rng.normal(size=(3, 40)), 8, axis=0)
    y = np.repeat([0, 1, 2], 8)
    pairs = gm.Pairs.from_labels(y, 60, random_state=0).with_bounds(Phi)
    K, S = implicit.itml_factor(Phi @ Phi.T, pairs, gamma=2.0, tol=1e-10)
    return Phi, pairs, K, S


def root(K0, K):
    """The coefficients of the symmetric root of the same W."""
    inverse = gm.linalg.psd_power(K0, -0.5)
    return implicit.factor_coefficients(K0, inverse @ (K - K0) @ inverse)


def test_the_factor_learned_alongside_is_that_of_the_learned_metric(learned):
    Phi, _, K, S = learned
    K0, eye = Phi @ Phi.T, np.eye(24)
    np.testing.assert_allclose((eye + S @ K0).T @ K0 @ (eye + S @ K0), K, rtol=1e-8, atol=1e-8)
    G, H = np.eye(40) + Phi.T @ S @ Phi, np.eye(40) + Phi.T @ root(K0, K) @ Phi
    np.testing.assert_allclose(G.T @ G, H @ H, rtol=1e-6, atol=1e-7)


def test_implicit_itml_is_the_learner_in_kernel_coordinates(learned):
    Phi, pairs, K, _ = learned
    inner = gm.ITML(gamma=2.0, tol=1e-9, max_iter=20000, anchor=0)
    metric = gm.Kernelized(inner, gm.Linear()).fit(Phi, pairs).metric_
    np.testing.assert_allclose(metric.kernel(Phi), K, rtol=2e-3, atol=2e-3 * np.abs(K).max())


def test_both_factors_collide_as_the_learned_angle_says(learned):
    Phi, _, K, S = learned
    K0, b = Phi @ Phi.T, 16384
    general = root(K0, K)
    X = np.vstack([Phi, np.random.default_rng(1).normal(size=(6, 40))])
    G = np.eye(40) + Phi.T @ general @ Phi
    gram = X @ G @ G @ X.T
    p = codes.collision_probability(gram / np.sqrt(np.outer(np.diag(gram), np.diag(gram))))
    upper = np.triu_indices(30, 1)
    for factor in (S, general):
        packed = codes.pack(implicit.implicit_projection(X, Phi, factor, 11, b))
        differ = np.bitwise_count(packed[:, None] ^ packed[None]).sum(axis=2)
        z = ((1 - differ / b - p) / np.sqrt(p * (1 - p) / b + 1e-12))[upper]
        assert np.abs(z).max() < 5
