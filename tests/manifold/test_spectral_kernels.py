"""The diffusion kernel against the matrix exponential, the order-constrained kernel against a general solver."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import minimize

from gramian.manifold import NeighborGraph, diffusion_factor, graph_basis, laplacian, order_constrained_factor


def test_diffusion_is_the_matrix_exponential(rng):
    X = rng.normal(size=(30, 2))
    A = NeighborGraph(5)(X)
    F = diffusion_factor(A, t=0.3, n_eigenvectors=29)
    np.testing.assert_allclose(F @ F.T, expm(-0.3 * laplacian(A)[0].toarray()) - 1 / 30, atol=1e-10)


def test_order_constrained_kernel_has_the_best_alignment(rng):
    X = np.vstack([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 2])
    y = np.repeat([0, 1], 20)
    labels = np.where(rng.random(40) < 0.5, y, -1)
    A = NeighborGraph(6)(X)
    F = order_constrained_factor(A, labels, n_eigenvectors=6)
    known = labels >= 0
    T = np.where(labels[known][:, None] == labels[known], 1.0, -1.0)
    V = diffusion_factor(A, t=0.0, n_eigenvectors=6)[known]
    upper = np.triu_indices(known.sum())

    def alignment(alpha):
        K = ((V * alpha) @ V.T)[upper]
        return K @ T[upper] / np.linalg.norm(K)

    norms = np.sum(F**2, axis=0)
    assert (np.diff(norms) <= 1e-12).all() and norms[0] > 0
    best = alignment(norms)
    for seed in range(5):
        start = np.random.default_rng(seed).random(6)
        found = minimize(lambda s: -alignment(np.cumsum(s[::-1])[::-1] + 1e-12), start, bounds=[(0, None)] * 6)
        assert best >= -found.fun - 1e-6
    with pytest.raises(ValueError, match="at least two labeled"):
        order_constrained_factor(A, np.full(40, -1))


def test_a_basis_serves_many_kernels(rng):
    X = rng.normal(size=(40, 2))
    A, labels = NeighborGraph(6)(X), rng.integers(-1, 2, size=40)
    basis = graph_basis(A, 12)
    for r in (5, 12):
        np.testing.assert_allclose(diffusion_factor(basis, 0.3, r), diffusion_factor(A, 0.3, r), atol=1e-8)
        ours, direct = order_constrained_factor(basis, labels, r), order_constrained_factor(A, labels, r)
        np.testing.assert_allclose(ours @ ours.T, direct @ direct.T, atol=1e-6)
