"""The closed forms are optimal: against an exact conic solver, and by refusing every lower rank."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator
from tests.rankmin.problems import matrices

from gramian.rankmin import Atom, Ellipsoid, EntrywiseBall, SchattenBall
from gramian.rankmin.measurements import dense
from gramian.rankmin.oracles import leading

P = np.diag([1.0, 2.0, 3.0, 4.0, 5.0]) + 0.3


BALLS = [SchattenBall(), SchattenBall(1), SchattenBall(np.inf), SchattenBall(2, radius=3.0), SchattenBall(2, psd=False)]


SETS = [*BALLS, SchattenBall(1, psd=False), Ellipsoid(P), Ellipsoid(P, SchattenBall(1)), EntrywiseBall(2.0)]


def symmetric(rng, n=5):
    B = rng.standard_normal((n, n))
    return (B + B.T) / 2


def matrix(atom: Atom):
    return (atom.vectors * atom.values) @ atom.vectors.T


def norm(ball, X):
    if isinstance(ball, EntrywiseBall):
        return cp.sum(cp.abs(X))
    return {1: cp.normNuc, 2: lambda Z: cp.norm(Z, "fro"), np.inf: lambda Z: cp.norm(Z, 2)}[ball.p](X)


def support(oracle, A):
    """Max ⟨A, X⟩ over the set, by an interior-point solver."""
    base = getattr(oracle, "ball", oracle)
    X = cp.Variable(A.shape, PSD=True) if getattr(base, "psd", False) else cp.Variable(A.shape, symmetric=True)
    inside = X
    if isinstance(oracle, Ellipsoid):
        values, vectors = np.linalg.eigh(oracle.P)
        root = (vectors * np.sqrt(values)) @ vectors.T
        inside = root @ X @ root
    problem = cp.Problem(cp.Maximize(cp.trace(A @ X)), [norm(base, inside) <= base.radius])
    return problem.solve(solver="CLARABEL")


@pytest.mark.parametrize("oracle", SETS, ids=str)
def test_oracle_finds_the_support_and_refuses_more(rng, oracle):
    A = symmetric(rng)
    best = support(oracle, A)
    atom = oracle.solve(A, best * (1 - 1e-6))
    X = matrix(atom)
    assert np.sum(A * X) >= best * (1 - 1e-6) - 1e-9
    assert oracle.solve(A, best * (1 + 1e-4)) is None
    assert oracle.solve(A, 0.0).values.size == 0
    assert np.linalg.norm(X) <= oracle.reach(5) * (1 + 1e-9)
    for loose in (0.3, 0.6, 0.9):
        found = oracle.solve(A, loose * best)
        assert np.sum(A * matrix(found)) >= loose * best - 1e-9
        if not isinstance(oracle, EntrywiseBall):
            assert np.linalg.matrix_rank(matrix(found), tol=1e-9) == len(found.values)


@pytest.mark.parametrize("p", [1, 1.5, 2, 3, np.inf])
def test_rank_is_least(rng, p):
    A, ball = symmetric(rng, 8), SchattenBall(p)
    lam = np.sort(np.linalg.eigvalsh(A))[::-1]
    lam = lam[lam > 0]
    q = np.inf if p == 1 else (1 if p == np.inf else p / (p - 1))
    for k in range(1, len(lam) + 1):
        reach = np.linalg.norm(lam[:k], q)
        atom = ball.solve(A, reach * (1 - 1e-8))
        below = np.linalg.norm(lam[: k - 1], q) if k > 1 else 0
        if below < reach * (1 - 1e-7):
            assert len(atom.values) == k
        assert np.linalg.norm(atom.values, p) == pytest.approx(1)


@pytest.mark.parametrize("oracle", [o for o in SETS if o.gauge(np.eye(5)) is not None], ids=str)
def test_gauge_and_its_gradient(rng, oracle):
    F, E, h = rng.standard_normal((5, 3)), rng.standard_normal((5, 3)), 1e-6
    value, slope = oracle.gauge(F)
    # X ∈ 𝒞 exactly when the gauge is at most one: the support function of a ball cut at the gauge.
    A = symmetric(rng)
    assert np.sum(A * (F @ F.T)) <= value * support(oracle, A) + 1e-6
    numeric = (oracle.gauge(F + h * E)[0] - oracle.gauge(F - h * E)[0]) / (2 * h)
    assert 2 * np.sum(slope * E) == pytest.approx(numeric, rel=1e-5)


def test_lanczos_equals_dense(rng):
    B = sparse.random_array((300, 300), density=0.02, random_state=rng)
    A = (B + B.T).tocsr()
    values, vectors = leading(A, 3)
    exact = np.linalg.eigvalsh(A.toarray())[::-1]
    np.testing.assert_allclose(values, exact[:3], atol=1e-8)
    goal = np.sqrt((exact[:5] ** 2).sum()) - 1e-6
    atom = SchattenBall().solve(A, goal)
    assert len(atom.values) == 5
    assert SchattenBall().solve(A, np.linalg.norm(np.maximum(exact, 0)) * 1.001) is None
    np.testing.assert_allclose(dense(A), A.toarray())


def test_sets_check_their_parameters():
    with pytest.raises(ValueError, match="p must be"):
        SchattenBall(0.5)
    for ball in (SchattenBall, EntrywiseBall):
        with pytest.raises(ValueError, match=f"{ball.__name__}: radius"):
            ball(radius=0)
    with pytest.raises(ValueError, match="positive definite"):
        Ellipsoid(np.diag([1.0, 0.0])).solve(np.eye(2), 1.0)


def test_a_quadratic_constraint_on_x_is_the_s_procedure(rng):
    """max xᵀAx s.t. xᵀPx ≤ r (§7.2.3): the S-procedure's bound, least τ ≥ 0 with A ⪯ τP, is reached by one x."""
    A, r = symmetric(rng), 2.5
    tau = cp.Variable(nonneg=True)
    bound = r * cp.Problem(cp.Minimize(tau), [tau * P - A >> 0]).solve(solver="CLARABEL")
    oracle = Ellipsoid(P, SchattenBall(1, radius=r))
    atom = oracle.solve(A, bound * (1 - 1e-6))
    x = atom.vectors[:, 0] * np.sqrt(atom.values[0])
    assert len(atom.values) == 1
    assert x @ P @ x <= r * (1 + 1e-9) and x @ A @ x >= bound * (1 - 1e-6)
    assert oracle.solve(A, bound * (1 + 1e-5)) is None


@pytest.mark.parametrize("psd", [True, False])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, lambda A: aslinearoperator(sparse.csr_array(A))])
def test_lanczos_sees_every_copy_of_an_eigenvalue(rng, form, psd):
    """A missed copy would be a wrong refusal: blocks repeated 50 times, diagonal blocks of ones."""
    B = matrices(rng, n=5, m=1)[0]
    for A in (np.kron(np.eye(50), B), np.diag(np.repeat([1.0, 0.0], [10, 240]))):
        lam = np.linalg.eigvalsh(A)
        lam = np.sort(np.maximum(lam, 0) if psd else np.abs(lam))[::-1]
        for rank in (1, 3, 7, 10):
            goal = np.linalg.norm(lam[:rank]) * (1 - 1e-9)
            assert len(SchattenBall(psd=psd).solve(form(A), goal).values) == rank
        assert SchattenBall(psd=psd).solve(form(A), np.linalg.norm(lam) * (1 + 1e-5)) is None
        values = leading(form(A), 8, "LA" if psd else "LM")[0][:8]
        np.testing.assert_allclose(np.maximum(values, 0) if psd else np.abs(values), lam[:8], atol=1e-6)
