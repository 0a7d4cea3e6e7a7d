"""Rules on a factor: compiled and defined steps are one, the factor keeps to the matrix, low rank."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse
from tests.online.problems import random_form

import gramian as gm
from gramian.online import KINDS, LegoRule
from gramian.online.base import Forms, loss
from gramian.online.factored import Axes, FactoredRule


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


@pytest.mark.parametrize("eta", [0.01, 1.0, 100.0])
def test_the_factor_keeps_to_the_matrix(rng, eta):
    """All along a stream of contradictions, a step of GᵀG is the step (5.2) of M."""
    d, rule, signs = 6, LegoRule(eta), np.zeros(200, int)
    state = rule.init(d)
    for _ in range(100):
        V, targets = rng.standard_normal((200, d)), rng.uniform(0, 2 * d, 200)
        state, _ = rule.stream(state, V, targets, signs)
        v, y, M = V[0], targets[1], state.G.T @ state.G
        before = v @ M @ v
        c = eta * (rule._after(before, y)[0] - y)
        wanted = M - c / (1 + c * before) * np.outer(M @ v, M @ v)
        after, _ = rule.stream(state, v[None], np.array([y]), signs[:1])
        assert np.abs(after.G.T @ after.G - wanted).max() <= 1e-8 * np.abs(M).max()


def test_low_rank_is_dense_until_the_rank_is_used(rng):
    X = rng.standard_normal((40, 30))
    dense, low = gm.LEGO(eta=0.01), gm.LEGO(eta=0.01, rank=10)
    for i in range(10):
        dense.learn_one(X[i], X[20 + i], 3.0)
        low.learn_one(X[i], X[20 + i], 3.0)
    assert np.allclose(low.metric_.matrix, dense.metric_.matrix, atol=1e-12)
    low.learn_one(X[15], X[16], 3.0)
    assert low.progress_.coordinates.size == 10
    assert np.isclose(low.loss_ - dense.loss_, loss(dense.metric_.sqdist(X[[15]], X[[16]])[0, 0], 3.0, 0))


def test_low_rank_beyond_the_rank_is_the_restricted_minimizer(rng):
    """On a full basis the step is LEGO on Uᵀv with the rest of the distance taken off the target."""
    X = rng.standard_normal((12, 8))
    low = gm.LEGO(eta=0.2, rank=3)
    for i in range(3):
        low.learn_one(X[i], X[11 - i], 2.0)
    U, core = low.metric_.basis, low.metric_.core
    v = X[4] - X[5]
    z = U.T @ v
    rule = LegoRule(0.2, np.linalg.cholesky(core).T)
    wanted = rule.metric(rule.update(rule.init(3), z, 2.0 - (v @ v - z @ z))).matrix
    assert np.allclose(low.learn_one(X[4], X[5], 2.0).metric_.core, wanted)


@pytest.mark.parametrize("cls", [gm.LEGO, gm.OnlineITML, gm.OnlinePOLA])
def test_sparse_points_in_high_dimension(cls, rng):
    X = sparse.random_array((40, 20_000), density=0.002, random_state=rng, format="csr")
    learner = cls(eta=0.01, rank=6)
    pairs = gm.Pairs(np.arange(20), np.arange(20, 40), np.arange(20) % 2 == 0, bounds=(0.5, 9.0))
    learner.partial_fit(X, pairs).learn_one(X[[0]], X[[1]], 1.0)
    dense = (
        cls(eta=0.01, rank=6).partial_fit(X.toarray(), pairs).learn_one(X[[0]].toarray()[0], X[[1]].toarray()[0], 1.0)
    )
    assert np.allclose(learner.metric_.core, dense.metric_.core)
    assert learner.metric_.pair_sqdist(X[:3], X[3:6]).shape == (3,)
