"""Families of kernels over a graph."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.linalg import expm
from tests.manifold.problems import hide, moons

import gramian as gm
from gramian.manifold import Family, KernelSet, NeighborGraph, diffusion_factor, graph_basis, laplacian


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


pytestmark = pytest.mark.filterwarnings(
    "ignore:.*connected components", "ignore:.*held-out labels", "ignore::sklearn.exceptions.ConvergenceWarning"
)


@dataclass(frozen=True)
class Multiples(Family):
    """{α S : α > 0} for a kernel S: one number to learn."""

    kernel: gm.Gaussian

    def build(self, X, random_state=None):
        return MultiplesOn(self.kernel, X)


class MultiplesOn(KernelSet):
    def __init__(self, kernel, X):
        self.features = gm.KernelFeatures(kernel).fit(X)
        self.Z, self.start = self.features.transform(X), np.ones(1)

    def core(self, theta):
        return theta[0] * np.eye(self.Z.shape[1])

    def nearest(self, B, theta):
        return np.array([np.trace(B) / len(B)])

    def metric(self, core, theta, k):
        return gm.KernelMetric(self.features, core)


def test_a_family_of_ones_own(rng):
    X, truth = moons(40)
    model = gm.GeometryAwareKernel(Multiples(gm.Gaussian(0.5)), random_state=0).fit(X, hide(truth, [1, 10, 30, 39]))
    assert (np.diff(model.objective_path_) <= 0).all() and model.alphas_.shape == (1,)
    np.testing.assert_allclose(model.metric_.kernel(X), model.kernel_, atol=1e-8)
    np.testing.assert_allclose(model.embedding_ @ model.embedding_.T, model.kernel_, atol=1e-8)
