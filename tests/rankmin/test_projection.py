"""Singular value projection: each step by dense matrices, entries of a low-rank matrix completed, and its limits."""

import itertools

import numpy as np
import pytest

import gramian as gm
from gramian.rankmin.base import RankProblem
from gramian.rankmin.factored import cut, project
from gramian.rankmin.measurements import Measurements, dense
from gramian.rankmin.oracles import SchattenBall


def completion(rng, n=14, rank=2, known=0.6, epsilon=1e-4, radius=None):
    """Bounds from both sides on some entries of a PSD matrix of low rank, and the matrix."""
    F = rng.standard_normal((n, rank))
    X = F @ F.T
    i, j = np.nonzero(np.triu(rng.random((n, n)) < known))
    A = np.zeros((len(i), n, n))
    A[np.arange(len(i)), i, j] += 0.5
    A[np.arange(len(i)), j, i] += 0.5
    b = X[i, j]
    ball = SchattenBall(radius=2 * np.linalg.norm(X) if radius is None else radius)
    return RankProblem(Measurements([*A, *-A]), np.concatenate([b, -b]) - epsilon, 2 * epsilon, ball), X


def dense_step(problem, A, X, eta, rank):
    """P(X + η A(h)) with everything written out."""
    values = np.einsum("kij,ij->k", A, X)
    h = np.maximum(problem.b - problem.epsilon / 2 - values, 0)
    low, vectors = np.linalg.eigh(X + eta * np.einsum("k,kij->ij", h, A))
    kept = np.maximum(low[-rank:], 0)
    out = (vectors[:, -rank:] * kept) @ vectors[:, -rank:].T
    return out / max(1.0, np.linalg.norm(out) / problem.oracle.radius), h


@pytest.mark.parametrize("radius", [None, 3.0])
def test_a_step_is_the_projection_of_a_gradient_step(rng, radius):
    problem, _ = completion(rng, radius=radius)
    A = np.array([dense(problem.A.adjoint(e)) for e in np.eye(len(problem.b))])
    F = 0.3 * rng.standard_normal((14, 3))
    wanted, h = dense_step(problem, A, F @ F.T, 0.2, 3)
    found = cut(problem, F, h, 0.2, 3)
    np.testing.assert_allclose(found @ found.T, wanted, atol=1e-10)


def test_unknown_entries_of_a_low_rank_matrix_are_found(rng):
    """From X = 0, as in the paper, with two of five entries known."""
    for _ in range(3):
        problem, X = completion(rng, n=30, known=0.4)
        found = project(problem, np.zeros((30, 2)), max_iter=5000)
        assert found.violation <= problem.epsilon
        np.testing.assert_allclose(found.F @ found.F.T, X, atol=0.01 * np.abs(X).max())


def test_the_penalty_falls_and_an_impossible_rank_ends_early(rng):
    problem, _ = completion(rng, rank=4)
    start, seen, weight = rng.standard_normal((14, 1)), [], problem.A.norms**-2
    long = project(problem, start, max_iter=2000, callback=lambda step, violation: seen.append(violation))
    assert long.violation > problem.epsilon and long.F.shape == (14, 1)
    assert len(seen) < 2000, "stationary before the limit"
    penalties = [weight @ project(problem, start, max_iter=steps).hinge ** 2 for steps in (1, 2, 5, 20, 100)]
    assert all(after <= before for before, after in itertools.pairwise(penalties))


def test_the_kernel_is_about_as_near_as_that_of_the_descent():
    X = gm.datasets.load("iris", return_X_y=True)[0][::3]
    kernel = gm.Gaussian(1.0)
    d = kernel.sqdist(X)[np.arange(0, 50, 2), np.arange(1, 50, 2)]
    bounds = (0.9 * d + 1e-3, 1.02 * d)  # which the kernel itself meets
    pairs = gm.Pairs(np.arange(0, 50, 2), np.arange(1, 50, 2), d < np.median(d), bounds=bounds)
    kept = {}
    for method in ("svp", "factored"):
        model = gm.LowRankKernel(kernel, rank=25, method=method, setting="transductive").fit(X, pairs)
        assert model.converged_ and model.rank_ <= 25
        kept[method] = model.beta_
    assert kept["svp"] >= 0.95 * kept["factored"]
