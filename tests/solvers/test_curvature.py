"""Newton's equations on the metric: products and preconditioner against the matrix that they stand for."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import gramian as gm
from gramian.solvers import primal
from gramian.solvers.primal import _Curvature
from gramian.solvers.rows import PIECE, Rows, Stacked


def constraint_rows(m, d, kind, rng):
    """Pairs, triplets or products, with the matrices A_i written out."""
    t = 2 if kind == "triplets" else 1
    left = rng.normal(size=(m * t, d)) * np.geomspace(1, 5, d)
    weight = rng.choice([-1.0, 1.0], size=(m, t)) * rng.uniform(0.5, 2, size=(m, t))
    right = rng.normal(size=(m * t, d)) if kind == "products" else None
    outer = np.einsum("na,nb->nab", left, left if right is None else right)
    outer = (outer + outer.transpose(0, 2, 1)) / 2
    return Rows(left, weight, right), (weight[:, :, None, None] * outer.reshape(m, t, d, d)).sum(axis=1)


@pytest.mark.parametrize("kind", ["pairs", "triplets", "products"])
@pytest.mark.parametrize("m", [1, 7, PIECE + 3])
def test_the_fused_product_is_the_sum_over_the_matrices(kind, m):
    rng = np.random.default_rng(m)
    rows, A = constraint_rows(m, 4, kind, rng)
    S = rng.normal(size=(4, 4))
    S = S + S.T
    expected = np.einsum("iab,icd,cd->ab", A, A, S)
    np.testing.assert_allclose(rows.normal(S), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    both = Stacked((rows, rows))
    np.testing.assert_allclose(both.normal(S), 2 * expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(both.moment(), 2 * rows.moment())
    assert len(both) == 2 * m


@pytest.mark.parametrize("kind", ["pairs", "triplets", "products"])
@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_constraints_without_a_multiplier_are_left_out_of_the_sum(kind, share):
    rng = np.random.default_rng(0)
    rows, A = constraint_rows(PIECE + 40, 3, kind, rng)
    lam = rng.uniform(size=len(rows)) * (rng.uniform(size=len(rows)) < share)
    expected = np.einsum("i,iab->ab", lam, A)
    np.testing.assert_allclose(rows.adjoint(lam), expected, rtol=0, atol=1e-12 * len(rows))


@pytest.mark.parametrize("weight", [None, "each"])
def test_a_draw_from_many_constraints_is_only_where_to_begin(weight, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) * np.array([1.0, 3.0, 0.5])
    left, right = rng.integers(300, size=(2, 1000))
    similar = rng.uniform(size=1000) < 0.5
    own = None if weight is None else rng.uniform(0.5, 2, size=1000)
    pairs = gm.Pairs(left, right, similar, bounds=(2.0, 12.0), weight=own)
    draws = []
    monkeypatch.setattr(primal, "drawn", lambda problem, drawn=primal.drawn: draws.append(drawn(problem)) or draws[-1])
    by_draw = gm.ITML(anchor=0).fit(X, pairs)
    (part,) = draws
    assert 50 < len(part.rows) < 200
    assert np.mean(part.slack.weight) * len(part.rows) == pytest.approx(
        1000 * np.mean(1 if own is None else own), rel=0.3
    )
    monkeypatch.setattr(primal, "ENOUGH", np.inf)
    along_the_path = gm.ITML(anchor=0).fit(X, pairs)
    assert len(draws) == 1 and by_draw.converged_
    np.testing.assert_allclose(by_draw.metric_.matrix, along_the_path.metric_.matrix, rtol=1e-9, atol=1e-12)


def test_the_preconditioner_inverts_what_isserlis_says_of_normal_vectors():
    rng = np.random.default_rng(0)
    d, m, weight = 4, 11, 0.7
    spread = rng.uniform(0, 3, size=d)
    curvature = _Curvature(Rows(rng.normal(size=(m, d)), np.ones((m, 1))), weight, spread)
    C = np.diag(spread)
    unit = np.eye(d * d).reshape(-1, d, d)
    told = np.array([weight * S + m * (C @ S @ C + C @ S.T @ C + np.sum(C * S) * C) for S in unit])
    R = rng.normal(size=(d, d))
    R = R + R.T
    symmetric = np.linalg.solve(told.reshape(d * d, d * d).T, R.ravel()).reshape(d, d)
    np.testing.assert_allclose(curvature.preconditioned(R), symmetric, rtol=1e-10)


def test_many_normal_vectors_have_the_fourth_moments_that_the_preconditioner_takes_them_to_have():
    rng = np.random.default_rng(0)
    d, m = 3, 200_000
    spread = np.array([1.0, 4.0, 0.25])
    rows = Rows(rng.normal(size=(m, d)) * np.sqrt(spread), np.ones((m, 1)))
    curvature = _Curvature(rows, 1.0, spread)
    S = rng.normal(size=(d, d))
    S = S + S.T
    np.testing.assert_allclose(curvature.preconditioned(curvature.product(S)), S, atol=0.03 * np.abs(S).max())


def test_newtons_equations_are_solved_as_a_dense_solver_does():
    rng = np.random.default_rng(1)
    d, m = 4, 30
    rows, A = constraint_rows(m, d, "pairs", rng)
    spread, Q = np.linalg.eigh(rows.moment() / m)
    H = 0.3 * np.eye(d * d) + A.reshape(m, -1).T @ A.reshape(m, -1)
    R = rng.normal(size=(d, d))
    R = R + R.T
    found = Q @ _Curvature(rows.mapped(Q), 0.3, spread).solved(Q.T @ R @ Q, 1e-10) @ Q.T
    np.testing.assert_allclose(found, np.linalg.solve(H, R.ravel()).reshape(d, d), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("scaled", [False, True])
def test_many_pairs_of_features_in_their_own_units_are_solved_with_proof(scaled):
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0) if scaled else X
    itml = gm.ITML(anchor=0, max_iter=200).fit(X, gm.Pairs.from_labels(y, 5000, random_state=0))
    assert itml.converged_
    assert abs(itml.solution_.gap) <= 1e-5 * itml.objective_


@pytest.mark.parametrize("max_iter", [1, 7])
def test_a_path_that_is_cut_short_ends_with_the_objective_that_was_asked_for(max_iter):
    X, y = load_breast_cancer(return_X_y=True)
    pairs = gm.Pairs.from_labels(y, 1000, random_state=0).with_bounds(X)
    with pytest.warns(UserWarning, match="stopped after"):
        short = gm.ITML(anchor=0, max_iter=max_iter).fit(X, pairs)
    assert short.n_iter_ == max_iter
    assert not short.converged_
    d2 = short.metric_.pair_sqdist(X[pairs.left], X[pairs.right])
    u, l = pairs.bounds
    ratio = d2 / np.where(pairs.similar, u, l)
    missed = np.where(pairs.similar, ratio > 1, ratio < 1)
    M = short.metric_.matrix
    value = np.trace(M) - np.linalg.slogdet(M)[1] - len(M) + (missed * (ratio - np.log(ratio) - 1)).sum()
    assert short.objective_ == pytest.approx(value, rel=1e-6)
