"""The diffusion kernel against the matrix exponential, and one basis for many kernels."""

import numpy as np
from scipy.linalg import expm

from gramian.manifold import NeighborGraph, diffusion_factor, graph_basis, laplacian


def test_diffusion_is_the_matrix_exponential(rng):
    X = rng.normal(size=(30, 2))
    A = NeighborGraph(5)(X)
    F = diffusion_factor(A, t=0.3, n_eigenvectors=29)
    np.testing.assert_allclose(F @ F.T, expm(-0.3 * laplacian(A)[0].toarray()) - 1 / 30, atol=1e-10)


def test_a_basis_serves_many_kernels(rng):
    X = rng.normal(size=(40, 2))
    A = NeighborGraph(6)(X)
    basis = graph_basis(A, 12)
    for r in (5, 12):
        np.testing.assert_allclose(
            diffusion_factor(basis, 0.3, n_eigenvectors=r), diffusion_factor(A, 0.3, n_eigenvectors=r), atol=1e-8
        )
