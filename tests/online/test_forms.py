"""Relative distances and similarities one at a time, and the von Neumann step, against their definitions."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gramian as gm
from gramian.linalg import project_psd
from gramian.online import KINDS, LegoRule, OnlineITMLRule, PolaRule, VonNeumannRule
from gramian.online.base import Form, Forms
from gramian.online.factored import Axes

KIND_OF = {sign: kind for kind, sign in KINDS.items()}


def random_form(rng, d=4):
    return Form(rng.standard_normal((2, d)), np.array([1.0, -1.0]))


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


@pytest.mark.parametrize("rule", [LegoRule(0.3), OnlineITMLRule(0.05), PolaRule(), PolaRule(0.2), VonNeumannRule(0.1)])
def test_a_form_of_rank_one_is_a_pair(rule, rng):
    v, target = rng.standard_normal(4), 1.3
    form = Form(np.stack([v, rng.standard_normal(4)]), np.array([1.0, 0.0]))
    pair, same = rule.update(rule.init(4), v, target), rule.update(rule.init(4), form, target)
    np.testing.assert_allclose(rule.metric(same).matrix, rule.metric(pair).matrix, atol=1e-10)
    assert np.isclose(rule.predict(pair, v), rule.predict(pair, form))


def test_axes_are_orthonormal_under_the_metric_and_span_the_form(rng):
    G, form = rng.standard_normal((4, 4)) + 2 * np.eye(4), random_form(rng)
    axes = Axes.of(G, form)
    Z = form.vectors.T @ axes.combination
    np.testing.assert_allclose(Z.T @ G.T @ G @ Z, np.eye(2), atol=1e-10)
    np.testing.assert_allclose(G.T @ (axes.images * axes.mu) @ axes.images.T @ G, G.T @ G @ form.matrix @ G.T @ G)
    inverse = np.linalg.inv(G.T @ G) + 0.01 * form.matrix
    moved = axes.moved(G, 0.01)
    np.testing.assert_allclose(np.linalg.inv(moved.T @ moved), inverse, atol=1e-10)


def test_followers_stay_rows_of_the_factor_on_forms(rng):
    rule, R = LegoRule(0.3), rng.standard_normal((5, 4))
    rows = R.copy()
    forms = Forms(rng.standard_normal((30, 2, 4)), np.tile([1.0, -1.0], (30, 1)))
    state, predictions = rule.stream(rule.init(4), forms, rng.normal(size=30), rng.integers(-1, 2, 30), rows)
    np.testing.assert_allclose(rows, R @ state.G, atol=1e-9)
    assert predictions.shape == (30,)


def test_pola_projects_onto_the_half_space_of_the_form(rng):
    form = random_form(rng)
    rule = PolaRule()
    M = rule.update(rule.init(4), form, -5.0, "at_most").M
    gap = form.value(np.eye(4)) + 5.0
    plane = np.eye(4) - gap / np.sum(form.matrix**2) * form.matrix
    assert np.isclose(form.value(plane), -5.0)
    np.testing.assert_allclose(M, project_psd(plane))


def test_bounds_on_forms_that_hold_change_nothing(rng):
    form = random_form(rng)
    for rule in (LegoRule(1.0), OnlineITMLRule(1.0), PolaRule(), VonNeumannRule(1.0)):
        state = rule.init(4)
        value = form.value(np.eye(4))
        assert rule.update(state, form, value + 1, "at_most") is state
        assert rule.update(state, form, value - 1, "at_least") is state


@given(st.integers(0, 10**6), st.floats(-2, 1), st.floats(0, 8))
def test_the_von_neumann_step_minimizes_its_objective(seed, log_eta, target):
    """log M = log M_t − η(⟨A, M⟩ − y)A, with scipy's matrix logarithm."""
    from scipy.linalg import expm, logm

    rng = np.random.default_rng(seed)
    eta, form = 10.0**log_eta, random_form(rng, 3)
    B = rng.standard_normal((3, 3))
    rule = VonNeumannRule(eta, (B + B.T) / 2)
    start = rule.init(3)
    M = rule.metric(rule.update(start, form, target)).matrix
    np.testing.assert_allclose(expm(start.S), rule.metric(start).matrix, rtol=1e-8, atol=1e-10)
    wanted = start.S - eta * (form.value(M) - target) * form.matrix
    if np.linalg.eigvalsh(M)[0] > 1e-9:
        np.testing.assert_allclose(logm(M), wanted, atol=1e-5 * (1 + np.abs(wanted).max()))


@pytest.mark.parametrize("cls", [gm.LEGO, gm.OnlineITML, gm.OnlinePOLA, gm.OnlineVonNeumann])
@pytest.mark.parametrize("eta", [1e-3, "auto"])
def test_comparisons_and_similarities_teach_an_online_learner(cls, eta, rng):
    X = rng.standard_normal((60, 3))
    y = (X[:, 0] > 0).astype(int)
    triplets = gm.Triplets.from_labels(y, 300, random_state=0).with_bounds(X)
    before = triplets.violation(gm.Mahalanobis.euclidean(3), X).sum()
    learner = cls(eta=eta, n_pretrain=50).partial_fit(X, triplets)
    assert triplets.violation(learner.metric_, X).sum() < before and learner.n_seen_ == 300
    wishes = gm.Similarities.from_labels(y, 100, X=X, random_state=0)
    start = wishes.violation(gm.Mahalanobis.euclidean(3), X).sum()
    assert wishes.violation(cls(eta=eta, n_pretrain=50).partial_fit(X, wishes).metric_, X).sum() < start


def test_one_comparison_and_one_similarity(rng):
    anchor, near, far = rng.standard_normal((3, 4))
    lego = gm.LEGO(eta=5.0).learn_comparison(anchor, near, far, margin=3.0)
    form = Form(np.stack([anchor - near, anchor - far]), np.array([1.0, -1.0]))
    rule = LegoRule(5.0)
    wanted = rule.metric(rule.update(rule.init(4), form, -3.0, "at_most")).matrix
    np.testing.assert_allclose(lego.metric_.matrix, wanted, atol=1e-12)
    before = anchor @ near
    after = gm.LEGO(eta=5.0).learn_similarity(anchor, near, before + 2.0).metric_
    assert before < float(after.kernel(anchor[None], near[None])[0, 0]) <= before + 2.0 + 1e-9
    with pytest.raises(ValueError, match="LEGO: margin must be a number"):
        gm.LEGO().learn_comparison(anchor, near, far, margin=-1.0)
    with pytest.raises(ValueError, match="LEGO: takes only pairs with rank or features"):
        gm.LEGO(rank=2).learn_comparison(anchor, near, far)


def stream(rng, n=40, d=6):
    U, W = rng.standard_normal((2, n, d))
    return U, W, rng.uniform(0, 6, n)


@pytest.mark.parametrize("seed", range(8))
def test_the_loss_bound_of_a_subspace_holds_for_metrics_of_its_form(seed):
    rng = np.random.default_rng(seed)
    U, W, targets = stream(rng)
    lego = gm.LEGO(eta=0.2, rank=2).start(6)
    for u, w, target in zip(U, W, targets):
        lego.learn_one(u, w, target)
    basis = lego.metric_.coordinates.basis
    for scale in (0.2, 1.0, 3.0):
        B = rng.standard_normal((2, 2))
        inside = gm.SubspaceMahalanobis(basis, scale * (B @ B.T + 0.1 * np.eye(2)), 1.0)
        fixed = 0.5 * float(((inside.pair_sqdist(U, W) - targets) ** 2).sum())
        bound = lego.loss_bound(inside, fixed)
        assert lego.loss_ <= bound
        dense = gm.Mahalanobis.from_matrix(inside.matrix)
        assert lego.loss_bound(dense, fixed) == pytest.approx(bound, rel=1e-6)
    with pytest.raises(ValueError, match="metrics of the form that is learned"):
        lego.loss_bound(gm.Mahalanobis.from_matrix(0.01 * np.eye(6)), 0.0)


def test_the_loss_bound_in_kernel_space_and_what_is_not_proved(rng):
    X = rng.standard_normal((30, 3))
    features = gm.KernelFeatures(gm.Gaussian(2.0), rank=4).fit(X)
    lego = gm.LEGO(eta=0.2, features=features, alpha=1.0)
    pairs = gm.Pairs.from_labels(rng.integers(0, 2, 30), 60, X=X, random_state=0)
    lego.partial_fit(X, pairs)
    start = gm.KernelMetric(features, np.eye(4), alpha=1.0)
    assert lego.loss_ <= lego.loss_bound(start, lego.comparator_loss_)
    with pytest.raises(ValueError, match="metrics of the form that is learned"):
        lego.loss_bound(gm.KernelMetric(features, np.eye(4), alpha=0.5), 0.0)
    auto = gm.LEGO().partial_fit(X, pairs)
    with pytest.raises(ValueError, match="one step size"):
        auto.loss_bound(gm.Mahalanobis.euclidean(3), 1.0)
    triplets = gm.Triplets.from_labels(rng.integers(0, 2, 30), 10, random_state=0)
    assert gm.LEGO(eta=0.1).partial_fit(X, triplets).loss_bound(gm.Mahalanobis.euclidean(3), 1.0) == np.inf
