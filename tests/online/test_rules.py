"""Single steps against their definitions."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.linalg import project_psd
from gramian.online import KINDS, LegoRule, OnlineITMLRule, PolaRule
from gramian.online.base import loss
from gramian.online.factored import FactoredRule


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


@pytest.mark.parametrize("rule", [LegoRule(0.3), LegoRule(1e4), OnlineITMLRule(0.3), OnlineITMLRule(1e4)])
def test_compiled_steps_are_the_defined_ones(rule, rng):
    state, names = rule.init(6), {b: k for k, b in KINDS.items()}
    for _ in range(60):
        v, target, sign = rng.standard_normal(6), rng.uniform(0, 9), int(rng.integers(-1, 2))
        wanted = rule.update(state, v, target, names[sign])
        state, predictions = rule.stream(state, v[None], np.array([target]), np.array([sign]))
        assert np.allclose(state.G, wanted.G, atol=1e-13 * np.abs(wanted.G).max())
        assert predictions[0] > 0


@pytest.mark.parametrize("rule", [PolaRule(), PolaRule(0.1), PolaRule(margin=1.0)])
def test_compiled_pola_drops_the_negative_eigenvalue(rule, rng):
    state = rule.init(7)
    for _ in range(80):
        v, target, kind = rng.standard_normal(7), rng.uniform(0, 9), str(rng.choice(["at_most", "at_least"]))
        wanted = rule.update(state, v, target, kind)
        state, _ = rule.stream(state, v[None], np.array([target]), np.array([KINDS[kind]]))
        assert np.allclose(state.M, wanted.M, atol=1e-11 * max(np.abs(wanted.M).max(), 1e-3))
        assert np.isclose(state.threshold, wanted.threshold)
        assert np.array_equal(state.M, state.M.T)


def test_pola_projects_onto_the_pair_then_onto_the_cone(rng):
    v, M0 = rng.standard_normal(4), np.diag([1.0, 2.0, 0.0, 0.5])
    state = PolaRule(prior=M0).update(PolaRule(prior=M0).init(4), v, 0.0, "at_most")
    hyperplane = M0 - (v @ M0 @ v) / (v @ v) ** 2 * np.outer(v, v)
    assert np.isclose(v @ hyperplane @ v, 0)
    assert np.linalg.eigvalsh(hyperplane)[0] < 0
    assert np.allclose(state.M, project_psd(hyperplane))


def test_pola_threshold_moves_with_the_metric():
    """In (M, b) space the pair's vector is (vvᵀ, −1): similar pairs lower d² and raise b."""
    rule, v = PolaRule(margin=1.0), np.array([1.0, 1.0])
    near = rule.update(rule.init(2), v, 0.0, "at_most")
    step = (2.0 - (1.0 - 1.0)) / (4.0 + 1.0)
    assert np.isclose(near.threshold, 1 + step)
    assert np.allclose(near.M, np.eye(2) - step * np.ones((2, 2)))


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


def test_bounds_that_hold_change_nothing(rng):
    v = rng.standard_normal(3)
    for rule in (LegoRule(1.0), OnlineITMLRule(1.0), PolaRule()):
        state = rule.init(3)
        assert rule.update(state, v, v @ v + 1, "at_most") is state
        assert rule.update(state, v, v @ v / 2, "at_least") is state
        assert rule.update(state, np.zeros(3), 1.0) is state


def test_loss_has_the_gradient_the_step_uses():
    assert loss(3.0, 1.0, 0) == loss(3.0, 1.0, 1) == 2.0
    assert loss(3.0, 1.0, -1) == 0.0
    assert np.array_equal(loss(np.array([3.0, 1.0]), 2.0, np.array([1, -1])), [0.5, 0.5])


def test_followers_are_rows_of_the_factor(rng):
    """H = RG stays RG when it follows the stream."""
    rule, d = LegoRule(0.5), 6
    R = rng.standard_normal((9, d))
    H = R.copy()
    state, _ = rule.stream(rule.init(d), rng.standard_normal((200, d)), rng.uniform(0, 9, 200), np.zeros(200, int), H)
    assert np.allclose(H, R @ state.G, atol=1e-10 * np.abs(H).max())


@dataclass(frozen=True, eq=False)
class HalfWay(FactoredRule):
    """A rule of our own, without a compiled loop: vᵀMv moves half of the way to the target."""

    def _after(self, prediction, target):
        after = (prediction + target) / 2
        return after, after / prediction - 1


@dataclass(frozen=True, eq=False)
class Careful(LegoRule):
    """LEGO with a tenth of the step size: a subclass that overrides one formula."""

    def _after(self, prediction, target):
        return LegoRule(self.eta / 10)._after(prediction, target)


@dataclass(frozen=True, eq=False)
class Thawed(PolaRule):
    """POLA that ignores every constraint."""

    def update(self, state, v, target, kind="equal"):
        return state


@pytest.mark.parametrize("rule", [HalfWay(), Careful(0.5)], ids=lambda r: type(r).__name__)
def test_a_stream_honors_what_a_subclass_overrides(rule, rng):
    V, targets, signs = rng.standard_normal((20, 4)), rng.uniform(0.1, 9, 20), rng.integers(-1, 2, 20)
    names = {b: k for k, b in KINDS.items()}
    R = rng.standard_normal((3, 4))
    rows = R.copy()
    state, predictions = rule.stream(rule.init(4), V, targets, signs, rows)
    wanted = rule.init(4)
    for v, target, sign, prediction in zip(V, targets, signs, predictions):
        assert np.isclose(prediction, rule.predict(wanted, v))
        wanted = rule.update(wanted, v, target, names[int(sign)])
    assert np.allclose(state.G, wanted.G)
    assert np.allclose(rows, R @ state.G)
    other, _ = LegoRule(0.5).stream(LegoRule(0.5).init(4), V, targets, signs)
    assert not np.allclose(state.G, other.G)


def test_a_rule_without_a_loop_runs_its_own_update(rng):
    rule = Thawed()
    state, predictions = rule.stream(rule.init(3), rng.standard_normal((5, 3)), np.zeros(5), np.zeros(5, int))
    assert np.array_equal(state.M, np.eye(3)) and predictions.shape == (5,)
    with pytest.raises(NotImplementedError, match="Thawed: its steps cannot be followed"):
        rule.stream(state, np.ones((1, 3)), np.zeros(1), np.zeros(1, int), np.ones((1, 3)))
