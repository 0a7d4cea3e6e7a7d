"""The interior point method: the optimum of the dual, and a proof of it."""

import numpy as np
import pytest

import gramian as gm
from gramian.solvers import Hinge, Problem, Rows
from gramian.solvers.barrier import InteriorPoint


def problem(seed, d=4, m=60, terms=1, prior=None, slack=None):
    rng = np.random.default_rng(seed)
    rows = Rows(rng.normal(size=(m * terms, d)), rng.choice([-1.0, 1.0], size=(m, terms)))
    prior = np.zeros((d, d)) if prior is None else prior
    return Problem(rows, rng.normal(size=m), prior, gm.Frobenius(), Hinge(0.3) if slack is None else slack)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("terms", [1, 2])
def test_the_optimum_is_that_of_the_dual_method(seed, terms):
    case = problem(seed, terms=terms, prior=np.diag([0.0, 1.0, 2.0, 0.5]) if seed % 2 else None)
    ours = InteriorPoint(tol=1e-9).solve(case)
    other = gm.DualAscent(tol=1e-9, max_iter=5000).solve(case)
    assert ours.converged and ours.gap <= 1e-8 * (1 + ours.objective)
    assert ours.objective == pytest.approx(other.objective, rel=1e-7)
    np.testing.assert_allclose(ours.M, other.M, atol=1e-4)


def test_the_multipliers_prove_it(rng):
    """M = [M₀ − A(λ)]₊ with 0 ≤ λ ≤ C, and λ is 0 or C where a constraint holds or fails by a margin."""
    C = rng.random(60) + 0.1
    case = problem(7, slack=Hinge(C))
    solution = InteriorPoint(tol=1e-10).solve(case)
    A = sum(lam * w * np.outer(v, v) for lam, w, v in zip(solution.dual, case.rows.weight[:, 0], case.rows.left))
    values, V = np.linalg.eigh(-A)
    np.testing.assert_allclose(solution.M, (V * np.maximum(values, 0)) @ V.T, atol=1e-4)
    v = case.values(solution.M) - case.bound
    assert ((solution.dual >= 0) & (solution.dual <= C)).all()
    assert (solution.dual[v < -1e-3] < 1e-5).all() and (C - solution.dual)[v > 1e-3].max() < 1e-5


def test_what_does_not_suit_is_refused(rng):
    case = problem(0)
    assert InteriorPoint.suits(case) and not InteriorPoint.suits(problem(0, m=15))
    with pytest.raises(TypeError, match="needs Frobenius"):
        InteriorPoint().solve(Problem(case.rows, case.bound, np.eye(4), gm.LogDet(), Hinge(1.0)))
    with pytest.raises(TypeError, match="needs a hinge"):
        InteriorPoint().solve(Problem(case.rows, case.bound, case.prior, gm.Frobenius()))


def test_pola_s_own_problem_ends(rng):
    """With a threshold of its own: no feasible change of (M, b) lowers ½‖M‖² + ½b² + C · hinges."""
    X = rng.normal(size=(60, 3)) * [1.0, 2.0, 0.5]
    y = (X[:, 0] > 0).astype(int)
    pairs = gm.Pairs.from_labels(y, 200, random_state=0)
    model = gm.POLA(anchor=0, tol=1e-8).fit(X, pairs)
    assert model.converged_ and model.solution_.gap < 1e-6 * model.objective_
    V = X[pairs.left] - X[pairs.right]

    def loss(M, b):
        hinge = np.maximum(0, 1 - pairs.sign * (b - np.einsum("ij,jk,ik->i", V, M, V)))
        return (np.sum(M**2) + b**2) / 2 + hinge.sum()

    M, b = model.metric_.matrix, model.threshold_
    assert loss(M, b) == pytest.approx(model.objective_, rel=1e-5)
    for _ in range(100):
        E = rng.normal(size=(3, 3)) * 0.05
        values, U = np.linalg.eigh(M + E + E.T)
        assert loss((U * np.maximum(values, 0)) @ U.T, b + 0.05 * rng.normal()) > loss(M, b) - 1e-6
