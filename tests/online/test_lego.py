"""LEGO and ITML-Online: each step minimizes its objective; the bounds of the theorems."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.online.problems import random_form

import gramian as gm
from gramian.online import LegoRule, OnlineITMLRule, loss_bound
from gramian.online.base import loss


def random_factor(seed, d):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((d, d)) + 2 * np.eye(d), rng


@given(st.integers(0, 10**6), st.floats(-3, 3), st.floats(0, 50))
def test_lego_minimizes_its_objective(seed, log_eta, target):
    """The gradient of D_ld(M, M_t) + η/2 (vᵀMv − y)² vanishes: M⁻¹ = M_t⁻¹ + η(ȳ − y)vvᵀ."""
    eta, d = 10.0**log_eta, 4
    G, rng = random_factor(seed, d)
    v = rng.standard_normal(d)
    rule = LegoRule(eta, G)
    state = rule.update(rule.init(d), v, target)
    M0, M = G.T @ G, state.G.T @ state.G
    # M₀(M⁻¹ − M₀⁻¹)M = M₀ − M avoids inverses: M₀ − M = η(ȳ − y) M₀v (Mv)ᵀ.
    wanted = eta * (v @ M @ v - target) * np.outer(M0 @ v, M @ v)
    assert np.allclose(M0 - M, wanted, atol=1e-9 * np.abs(M0).max() * (1 + abs(M).max()))
    assert np.linalg.eigvalsh(M)[0] > 0


def test_lego_is_the_minimizer_of_an_exact_solver():
    cvxpy = pytest.importorskip("cvxpy")
    G, rng = random_factor(3, 3)
    v, target, eta = rng.standard_normal(3), 7.0, 0.4
    M0_inverse = np.linalg.inv(G.T @ G)
    M = cvxpy.Variable((3, 3), PSD=True)
    quadratic = cvxpy.square(v @ M @ v - target)
    cvxpy.Problem(cvxpy.Minimize(cvxpy.trace(M @ M0_inverse) - cvxpy.log_det(M) + eta / 2 * quadratic)).solve(
        solver="CLARABEL"
    )
    rule = LegoRule(eta, G)
    state = rule.update(rule.init(3), v, target)
    assert np.allclose(M.value, state.G.T @ state.G, atol=1e-4 * np.abs(M.value).max())


@pytest.mark.parametrize("eta", [1e-6, 1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("target", [0.0, 1e-9, 1.0, 1e6])
def test_the_root_of_5_4_solves_5_3_without_cancellation(eta, target):
    for p in (1e-8, 1.0, 1e5):
        after, x = LegoRule(eta)._after(p, target)
        assert after > 0
        assert min(p, target) * (1 - 1e-12) <= after <= max(p, target) * (1 + 1e-12)
        assert np.isclose(p / after, 1 + eta * (after - target) * p, rtol=1e-6, atol=1e-9 * eta * p * max(p, target))
        assert np.isclose(1 + x, after / p, rtol=1e-9)


def test_online_itml_doubles_at_most(rng):
    rule = OnlineITMLRule(1e9)
    v = rng.standard_normal(3)
    state = rule.update(rule.init(3), v, 1e9)
    assert np.isclose(rule.predict(state, v), 2 * (v @ v))


def test_online_itml_takes_the_gradient_of_the_last_step(rng):
    eta, target = 0.2, 0.5
    rule, v = OnlineITMLRule(eta), rng.standard_normal(3)
    M = rule.metric(rule.update(rule.init(3), v, target)).matrix
    assert np.allclose(np.linalg.inv(M), np.eye(3) + eta * (v @ v - target) * np.outer(v, v))


@given(st.integers(0, 10**6), st.floats(-3, 2), st.floats(-8, 8))
def test_lego_minimizes_its_objective_on_a_form(seed, log_eta, target):
    """The gradient of D_ld(M, M_t) + η/2 (⟨A, M⟩ − y)² vanishes: M⁻¹ = M_t⁻¹ + η(⟨A, M⟩ − y)A."""
    rng = np.random.default_rng(seed)
    eta, form = 10.0**log_eta, random_form(rng)
    rule = LegoRule(eta, rng.standard_normal((4, 4)) + 2 * np.eye(4))
    start = rule.init(4)
    M0, G = start.G.T @ start.G, rule.update(start, form, target).G
    M = G.T @ G
    wanted = eta * (form.value(M) - target) * M0 @ form.matrix @ M
    scale = np.abs(M0).max() * (1 + np.abs(M).max())
    np.testing.assert_allclose(M0 - M, wanted, atol=1e-7 * scale * (1 + eta))
    assert np.linalg.eigvalsh(M)[0] > 0


@pytest.mark.parametrize("target", [-3.0, 0.5, 6.0])
def test_lego_on_a_form_is_the_minimizer_of_an_exact_solver(target, rng):
    form, eta = random_form(rng, 3), 0.4
    G = rng.standard_normal((3, 3)) + 2 * np.eye(3)
    M = cp.Variable((3, 3), PSD=True)
    loss = cp.square(cp.trace(form.matrix @ M) - target)
    divergence = cp.trace(M @ np.linalg.inv(G.T @ G)) - cp.log_det(M)
    exact = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
    cp.Problem(cp.Minimize(divergence + eta / 2 * loss)).solve(solver="CLARABEL", **exact)
    rule = LegoRule(eta, G)
    found = rule.metric(rule.update(rule.init(3), form, target)).matrix
    np.testing.assert_allclose(found, M.value, atol=1e-4 * np.abs(M.value).max())


def replay(eta, V, targets, signs):
    rule = LegoRule(eta)
    state, predictions = rule.stream(rule.init(V.shape[1]), V, targets, signs)
    return state, predictions, float(loss(predictions, targets, signs).sum())


def logdet(M):
    return np.trace(M) - np.linalg.slogdet(M)[1] - len(M)


@given(st.integers(0, 10**6), st.floats(-3, 3), st.sampled_from(["random", "consistent", "contradictory", "growing"]))
def test_the_repaired_loss_bound_holds(seed, log_eta, sort):
    rng, n, d, eta = np.random.default_rng(seed), 120, 3, 10.0**log_eta
    V, signs = rng.standard_normal((n, d)), rng.integers(-1, 2, n)
    A = rng.standard_normal((d, d))
    truth = A @ A.T + 0.1 * np.eye(d)
    targets = rng.uniform(0, 5, n)
    if sort == "consistent":
        targets = np.einsum("ij,jk,ik->i", V, truth, V)
    elif sort == "contradictory":
        V[:] = V[0]
        targets[::2] = 0
    elif sort == "growing":
        V *= np.linspace(0.05, 3, n)[:, None]
        targets[: n // 2], targets[n // 2 :] = 5, 0
    _, predictions, spent = replay(eta, V, targets, signs)
    for M in (truth, np.eye(d), 0.3 * np.eye(d)):
        fixed = float(loss(np.einsum("ij,jk,ik->i", V, M, V), targets, signs).sum())
        bound = loss_bound(eta, targets.max(), predictions.max(), fixed, logdet(M))
        assert spent <= bound * (1 + 1e-9)


def test_lemma_7_holds_step_by_step(rng):
    """½α(ŷ − y)² − ½η(vᵀM*v − y)² ≤ D(M*, M_t) − D(M*, M_{t+1}) with α = η / (1 + ηŷ max(ŷ, ȳ))."""
    eta, rule = 0.7, LegoRule(0.7)
    state, A = rule.init(3), rng.standard_normal((3, 3))
    truth = A @ A.T + 0.1 * np.eye(3)

    def divergence(G):
        return logdet(truth @ np.linalg.inv(G.T @ G))

    for v, y in zip(rng.standard_normal((50, 3)), rng.uniform(0, 6, 50)):
        after, before = rule.update(state, v, y), rule.predict(state, v)
        alpha = eta / (1 + eta * before * max(before, rule.predict(after, v)))
        left = alpha * loss(before, y, 0) - eta * loss(v @ truth @ v, y, 0)
        assert left <= divergence(state.G) - divergence(after.G) + 1e-9
        state = after


def test_lego_reports_its_bound(rng):
    X = rng.standard_normal((60, 3))
    lego = gm.LEGO(eta=0.5, hinge=False)
    pairs = gm.Pairs(np.arange(30), np.arange(30, 60), np.ones(30, bool), bounds=(1.0, 2.0))
    lego.partial_fit(X, pairs)
    truth = gm.Mahalanobis.from_matrix(np.diag([0.2, 0.3, 0.1]))
    fixed = float(loss(truth.pair_sqdist(X[:30], X[30:]), 1.0, 0).sum())
    assert lego.loss_ <= lego.loss_bound(truth, fixed)
    assert lego.loss_ <= lego.loss_bound(lego.progress_.start, lego.comparator_loss_)
