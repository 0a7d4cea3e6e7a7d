"""Newton's method on M: its curvature, preconditioner and paths."""

from dataclasses import replace

import array_api_strict
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import gramian as gm
from gramian.divergences import LogDet
from gramian.solvers import (
    DualAscent,
    PrimalNewton,
    Problem,
    Relative,
    Rows,
    primal,
)
from gramian.solvers.primal import _Curvature
from tests.solvers.problems import constraints, points, problem


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


def test_primal_newton_names_what_is_missing_and_runs_elsewhere():
    X, y = points()
    pairs = constraints("pairs", X, y)
    with pytest.raises(ValueError, match="a slack that curves .*, got LogDet and Hard; use DualAscent"):
        PrimalNewton().solve(problem(X, pairs, LogDet()))
    prob = problem(X, pairs, LogDet(), Relative(0.8))
    xp = array_api_strict
    rows = Rows(xp.asarray(prob.rows.left), xp.asarray(prob.rows.weight))
    other = Problem(rows, xp.asarray(prob.bound), xp.asarray(prob.prior), prob.divergence, prob.slack)
    ours, strict = PrimalNewton().solve(prob), PrimalNewton().solve(other)
    np.testing.assert_allclose(np.asarray(strict.M), ours.M, atol=1e-7)
    np.testing.assert_allclose(np.linalg.inv(ours.M), np.eye(3) + prob.rows.adjoint(ours.dual), atol=1e-8)


def test_primal_newton_begins_where_it_is_told(rng):
    X, y = points(n=40)
    prob = problem(X, constraints("pairs", X, y), LogDet(), Relative(0.8))
    first = PrimalNewton().solve(prob)
    again = PrimalNewton().solve(replace(prob, start=first.dual))
    assert again.n_iter < first.n_iter
    np.testing.assert_allclose(again.M, first.M, atol=1e-7)


def test_pairs_of_very_different_lengths_are_all_heard(rng):
    """The multiplier of a short pair that must be far grows by 2 a step, and holds up no other."""
    rows = Rows(rng.normal(size=(30, 4)) * np.logspace(0, -8, 30)[:, None], np.tile([[1.0], [-1.0]], (15, 1)))
    problem = Problem(rows, np.tile([1.0, -4.0], 15), np.eye(4), LogDet(), Relative(1.0))
    dual = DualAscent(tol=1e-8, max_iter=300).solve(problem)
    primal = PrimalNewton(tol=1e-10).solve(problem)
    assert dual.converged and primal.converged
    np.testing.assert_allclose(dual.M, primal.M, rtol=1e-4, atol=1e-6)
