"""Rivals of geometry-aware kernels against general solvers and the conditions of their optima."""

import numpy as np
import pytest
from benchmarks.papers.gml.rivals import (
    colored_unfolding_factor,
    gaussian_process_factor,
    maximal_alignment_factor,
    order_constrained_factor,
)
from scipy.optimize import minimize

import gramian as gm
from gramian.manifold import NeighborGraph, diffusion_factor, graph_basis, neighbors


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


def test_a_basis_serves_in_place_of_its_graph(rng):
    X = rng.normal(size=(40, 2))
    A, labels = NeighborGraph(6)(X), rng.integers(-1, 2, size=40)
    basis = graph_basis(A, 12)
    for r in (5, 12):
        ours, direct = (order_constrained_factor(given, labels, n_eigenvectors=r) for given in (basis, A))
        np.testing.assert_allclose(ours @ ours.T, direct @ direct.T, atol=1e-6)


def test_maximal_alignment_has_no_order_and_aligns_at_least_as_well(rng):
    X = np.vstack([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 2])
    labels = np.where(rng.random(40) < 0.5, np.repeat([0, 1], 20), -1)
    basis, known = graph_basis(NeighborGraph(6)(X), 6), labels >= 0
    T = np.where(labels[known][:, None] == labels[known], 1.0, -1.0)
    upper = np.triu_indices(known.sum())

    def alignment(F):
        K = (F @ F.T)[np.ix_(known, known)][upper]
        return K @ T[upper] / np.linalg.norm(K)

    free = maximal_alignment_factor(basis, labels, n_eigenvectors=6)
    assert alignment(free) >= alignment(order_constrained_factor(basis, labels, n_eigenvectors=6)) - 1e-9
    V = basis.vectors

    def fun(alpha):
        return -alignment(V * np.sqrt(np.abs(alpha) + 1e-12))

    for seed in range(5):
        found = minimize(fun, np.random.default_rng(seed).random(6), bounds=[(0, None)] * 6)
        assert alignment(free) >= -found.fun - 1e-6


def test_gaussian_process_kernel_is_step_b_of_one_target(rng):
    """min yᵀM⁻¹y + log det M on the vectors, α falling: against a general solver."""
    basis = graph_basis(NeighborGraph(6)(rng.normal(size=(30, 2))), 5)
    y = rng.normal(size=30)
    F = gaussian_process_factor(basis, y, n_eigenvectors=5)
    alpha, s = np.sum(F**2, axis=0), (basis.vectors.T @ y) ** 2

    def fun(steps):
        a = np.cumsum(steps[::-1])[::-1] + 1e-12
        return np.sum(s / a + np.log(a))

    found = minimize(fun, np.ones(5), bounds=[(1e-9, None)] * 5)
    assert np.sum(s / alpha + np.log(alpha)) <= found.fun + 1e-6 and (np.diff(alpha) <= 1e-12).all()


def test_colored_unfolding_is_the_optimum_of_its_problem(rng):
    """The optimality of B over the cone: the gradient is negative semi-definite and orthogonal to B."""
    moons = gm.datasets.moons(60, random_state=0)
    F = colored_unfolding_factor(
        moons.X, np.where(np.arange(60) % 3, -1, moons.y), n_eigenvectors=6, max_iter=20_000, tol=1e-12
    )
    ids, D = neighbors(moons.X, 10)
    V = graph_basis(NeighborGraph(10)(moons.X), 6).vectors
    B = V.T @ (F @ F.T) @ V
    edges = (V[np.repeat(np.arange(60), 10)] - V[ids.ravel()]) * np.sqrt(60)
    error = np.einsum("ei,ij,ej->e", edges, B, edges) - D.ravel() / D.mean()
    codes = np.where(np.arange(60) % 3, -1, moons.y)
    T = (codes[:, None] == codes) & (codes[:, None] >= 0)
    H = np.eye(60) - 1 / 60
    gain = V.T @ H @ T @ H @ V
    gradient = gain / np.trace(gain) - 100.0 * (edges.T * error) @ edges / 600
    assert np.linalg.eigvalsh(gradient)[-1] <= 1e-4 and abs(np.sum(gradient * B)) <= 1e-4 * np.linalg.norm(B)
