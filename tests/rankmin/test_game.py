"""Proofs of infeasibility and bounds on the rank, by play against an oracle."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from tests.rankmin.problems import matrices

import gramian as gm
from gramian.rankmin import Ellipsoid, EntrywiseBall, SchattenBall
from gramian.rankmin.game import correct

P = np.linspace(0.2, 0.8, 9)


SETS = [
    SchattenBall(),
    SchattenBall(1, 2.0),
    SchattenBall(np.inf),
    SchattenBall(1.5),
    SchattenBall(3),
    SchattenBall(psd=False),
    SchattenBall(1, psd=False),
    EntrywiseBall(3.0),
    Ellipsoid(np.diag(P)),
    Ellipsoid(np.diag(P), SchattenBall(1)),
]


def norm(oracle, X):
    """The norm that the set bounds, from its definition."""
    if isinstance(oracle, EntrywiseBall):
        return np.abs(X).sum()
    if isinstance(oracle, Ellipsoid):
        X = np.sqrt(P)[:, None] * X * np.sqrt(P)
    return np.linalg.norm(np.linalg.eigvalsh(X), getattr(oracle, "ball", oracle).p)


def support(oracle, A):
    """Max ⟨A, X⟩ over the set, from the dual norm of all eigenvalues at once."""
    if isinstance(oracle, EntrywiseBall):
        return oracle.radius * np.abs(A).max()
    ball = getattr(oracle, "ball", oracle)
    if isinstance(oracle, Ellipsoid):
        A = A / np.sqrt(np.outer(P, P))
    lam = np.linalg.eigvalsh(A)
    lam = np.maximum(lam, 0) if ball.psd else np.abs(lam)
    q = {1: np.inf, np.inf: 1}.get(ball.p) or ball.p / (ball.p - 1)
    return ball.radius * np.linalg.norm(lam, q)


def methods(oracle):
    psd = getattr(getattr(oracle, "ball", oracle), "psd", False)
    return ("mw", "ocp", "factored") if psd else ("mw", "ocp")


@pytest.mark.parametrize("oracle", SETS, ids=str)
def test_certificates_of_every_set(rng, oracle):
    A = matrices(rng)
    b = np.array([1.1 * support(oracle, a) for a in A]) + 0.1
    b[1:] = -100.0  # only the first cannot be met
    for method in methods(oracle):
        result = gm.RankMinimizer(method, 0.05, oracle=oracle, max_iter=2000).solve(A, b)
        w = result.certificate
        assert not result.feasible and w.min() >= 0 and w.sum() == pytest.approx(1)
        assert support(oracle, np.tensordot(w, A, 1)) < w @ b - 0.05


@pytest.mark.parametrize("conic", [False, True])
@pytest.mark.parametrize("method", ["mw", "ocp", "factored", "trace", "logdet"])
def test_every_method_reports_infeasibility(rng, method, conic):
    if conic and method in ("mw", "ocp", "factored"):
        pytest.skip("conic is for the heuristics")
    opposite = matrices(rng, m=1) * np.array([1.0, -1.0])[:, None, None]
    for A, b in [(opposite, [0.5, 0.5]), (np.zeros((1, 4, 4)), [1.0]), (-np.eye(3)[None], [0.5])]:
        result = gm.RankMinimizer(method, 0.05, conic=conic).solve(A, b)
        w = result.certificate
        assert not result.feasible and result.violation > 0.05 and np.isfinite(result.factor).all()
        assert support(SchattenBall(), np.tensordot(w, A, 1)) < w @ np.array(b) - 0.05


@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 7), st.sampled_from(SETS))
def test_no_bound_exceeds_a_known_rank(seed, rank, m, oracle):
    """X of the given rank on the boundary of the set is exactly feasible: nothing may be proved against it."""
    rng = np.random.default_rng(seed)
    A, F = matrices(rng, m=m), rng.standard_normal((9, rank))
    X = F @ F.T
    X *= getattr(getattr(oracle, "ball", oracle), "radius", 1.0) / norm(oracle, X)
    b = np.einsum("mij,ij->m", A, X) - 1e-9
    for method in methods(oracle):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            result = gm.RankMinimizer(method, 1e-3, oracle=oracle, max_iter=10, compress=False).solve(A, b)
        assert result.rank_bound <= rank and result.certificate is None


def test_an_answer_that_is_not_of_least_rank_proves_no_rank():
    A, v = np.array([[0.9, 1.0], [1.0, 0.9]]), np.array([0.5, 0.5])
    assert v @ A @ v > 0.94  # v vᵀ is in the ball and has rank one; the closed form of one entry has rank two
    result = gm.RankMinimizer("mw", 1e-4, oracle=EntrywiseBall()).solve([A], [0.94])
    assert result.rank == 2 and result.rank_bound == 1


@pytest.mark.parametrize("method", ["mw", "ocp", "factored", "trace", "logdet"])
def test_every_method_gives_the_bound_of_the_oracle(method):
    # ⟨I, X⟩ ≥ 1.9 with ‖X‖_F ≤ 1 needs rank 4, since tr X ≤ √rank ‖X‖.
    assert gm.RankMinimizer(method, 1e-3).solve([np.eye(6)], [1.9]).rank_bound == 4


@pytest.mark.parametrize("gap", [0.1, 0.3, 1.0])
@pytest.mark.parametrize("method", ["mw", "ocp", "factored"])
def test_contradictions_are_proved_in_few_rounds(method, gap):
    """⟨A_1, X⟩ ≥ b_1 and ≤ b_1 − gap: the steps of "mw" alone took hundreds of rounds to weights that are refused."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        A, F = matrices(rng, n=12, m=15), rng.standard_normal((12, 2))
        b = np.einsum("mij,ij->m", A, F @ F.T / np.linalg.norm(F @ F.T))
        A, b = np.concatenate([A, -A[:1]]), np.append(b, gap - b[0])
        result = gm.RankMinimizer(method, 0.02, max_iter=60).solve(A, b)
        w = result.certificate
        assert support(SchattenBall(), np.tensordot(w, A, 1)) < w @ b - 0.02


def test_the_linear_program_gives_best_play_of_both_sides(rng):
    values, b = rng.standard_normal((7, 4)), rng.standard_normal(4)
    mix, weights = correct(values, b)
    game = values - b
    assert mix.sum() == pytest.approx(1) and weights.sum() == pytest.approx(1)
    assert (mix @ game).min() == pytest.approx((game @ weights).max())  # no side can do better: minimax
