"""The factored method and the compression leave saddles, and are no worse than the convex relaxation."""

import itertools

import numpy as np
import pytest
from scipy import sparse

import gramian as gm
from gramian.rankmin import LowRank, Measurements, SchattenBall
from gramian.rankmin.base import RankProblem
from gramian.rankmin.factored import along, cut, fold, penalty, project, restore
from gramian.rankmin.measurements import dense


def test_new_columns_leave_the_span_of_the_old():
    """Tr X ≥ 1.9 in the unit ball: every direction is as good as the one already taken, and only a new one helps."""
    result = gm.RankMinimizer("factored", 1e-3).solve([np.eye(6)], [1.9])
    assert result.feasible and result.rank == 4


@pytest.mark.parametrize("method", ["mw", "ocp", "factored"])
def test_constraints_on_single_entries_have_a_solution_of_rank_one(method):
    """X_ii ≥ 0.9/n holds for 11ᵀ/n, while the answers of the oracle are diagonal: cutting them begins at a saddle."""
    n = 30
    A = [sparse.csr_array(([1.0], ([i], [i])), shape=(n, n)) for i in range(n)]
    result = gm.RankMinimizer(method, 0.01 / n).solve(A, np.full(n, 0.9 / n))
    assert result.feasible and result.rank == 1


@pytest.mark.parametrize("method", ["mw", "ocp", "factored"])
def test_distances_of_separate_pairs_have_a_solution_of_rank_one(method):
    rng = np.random.default_rng(1)
    n, m = 300, 60
    pairs = [rng.choice(n, 2, replace=False) for _ in range(m)]
    A = [
        LowRank(sparse.csc_array(([1.0, -1.0], (pair, [0, 0])), shape=(n, 1)), [rng.choice([-1.0, 1.0])])
        for pair in pairs
    ]
    F = rng.standard_normal((n, 2))
    b = Measurements(A)(F / np.sqrt(np.linalg.norm(F.T @ F)))
    result = gm.RankMinimizer(method, 0.05 * np.abs(b).max()).solve(A, b)
    assert result.feasible and result.rank == 1


def test_folding_keeps_the_leading_columns_up_to_a_little():
    F = np.random.default_rng(0).standard_normal((8, 5)) * [5, 4, 3, 2, 1]
    folded = fold(F, 2)
    assert folded.shape == (8, 2) and np.array_equal(folded, fold(F, 2))
    moved = np.linalg.lstsq(F[:, 2:], folded - F[:, :2], rcond=None)
    assert 0 < np.abs(moved[0]).max() < 0.5 and moved[1].max(initial=0.0) < 1e-20
    assert np.array_equal(fold(F, 5), F)


@pytest.mark.parametrize("seed", range(12))
def test_rank_at_or_below_the_trace_norm(seed):
    rng = np.random.default_rng(seed)
    n, m, rank = rng.integers(5, 25), rng.integers(3, 60), rng.integers(1, 4)
    A = rng.standard_normal((m, n, n))
    A, F = (A + A.transpose(0, 2, 1)) / 2, rng.standard_normal((n, rank))
    F /= np.sqrt(np.linalg.norm(F @ F.T))
    b = np.einsum("mij,ij->m", A, F @ F.T)
    trace, factored = (gm.RankMinimizer(method, 0.05).solve(A, b) for method in ("trace", "factored"))
    assert trace.feasible and factored.feasible and factored.rank <= trace.rank


def chain(stretch, n=20, radius=1e4):
    """Distances along a circular arc to the two nearest, and a variance: in a ball far larger than any solution."""
    t = np.linspace(0, 4, n)
    D = gm.linalg.sqdist(np.c_[np.cos(t), np.sin(t)])
    pairs = [(i, j) for i in range(n) for j in range(i) if i - j <= 2]
    I = np.eye(n)
    A = [LowRank((I[i] - I[j])[:, None], [sign]) for sign in (1.0, -1.0) for i, j in pairs]
    d = np.array([D[i, j] for i, j in pairs])
    variance = stretch * D.sum() / (2 * n)
    return (
        [*A, LowRank(np.ones((n, 1)), [-1.0]), I],
        np.concatenate([d, -d, [0.0, variance]]),
        SchattenBall(radius=radius),
    )


@pytest.mark.parametrize("radius", [1e2, 1e4, 1e6])
def test_a_descent_that_left_a_large_set_comes_back(radius):
    A, b, ball = chain(1.5, radius=radius)
    result = gm.RankMinimizer("factored", 5e-3, oracle=ball).solve(A, b)
    assert result.feasible and result.rank <= 2
    problem = RankProblem(Measurements(A), b, 5e-3, ball)
    F = np.random.default_rng(0).standard_normal((20, 2))
    F *= np.sqrt(radius / np.linalg.norm(F @ F.T))  # on the boundary, where the descent alone would stay
    assert np.linalg.norm(along(problem, F)) < 0.5 * np.linalg.norm(F)
    assert restore(problem, F).violation < 0.1


def test_the_residuals_of_the_descent_are_a_certificate():
    A, b, ball = chain(9.0)
    result = gm.RankMinimizer("factored", 5e-3, oracle=ball).solve(A, b)
    w = result.certificate
    lam = np.linalg.eigvalsh(Measurements(A).adjoint(w) @ np.eye(20))
    assert not result.feasible and ball.radius * np.linalg.norm(np.maximum(lam, 0)) < w @ b - 5e-3


@pytest.mark.parametrize("seed", range(3))
def test_along_is_the_best_multiple(seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((6, 5, 5))
    problem = RankProblem(Measurements(A + A.transpose(0, 2, 1)), rng.standard_normal(6), 0.1, SchattenBall())
    F = rng.standard_normal((5, 2))
    F /= np.sqrt(np.linalg.norm(F @ F.T))
    values = [penalty(problem, scale * F)[0] for scale in np.linspace(0, 1, 201)]
    assert penalty(problem, along(problem, F))[0] <= min(values) * (1 + 1e-9)


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
