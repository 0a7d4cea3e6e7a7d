"""Whole streams: the loss bound, definiteness, coordinates, the choice of η."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import gramian as gm
from gramian.online import LegoRule, loss_bound
from gramian.online.base import loss


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


def test_pairs_in_a_list_are_taken_again_and_again(rng):
    pairs, y = rng.standard_normal((10, 2, 3)), [1, -1] * 5
    one, other = gm.LEGO(eta=0.1), gm.LEGO(eta=0.1)
    for _ in range(2):
        one.partial_fit(pairs, y)
        other.partial_fit(pairs.tolist(), y)
    np.testing.assert_array_equal(one.metric_.matrix, other.metric_.matrix)


def test_a_million_steps_stay_positive_definite(rng):
    """Random, contradictory targets: M symmetric and positive definite, hash rows R G still R G."""
    d, rule = 16, LegoRule(0.1)
    state, R = rule.init(d), rng.standard_normal((6, d))
    H = R.copy()
    for _ in range(10):
        V, targets = rng.standard_normal((100_000, d)), rng.uniform(0, 2 * d, 100_000)
        state, _ = rule.stream(state, V, targets, np.zeros(100_000, int), H)
        M = rule.metric(state).matrix
        assert np.array_equal(M, M.T)
        assert np.linalg.eigvalsh(M)[0] > 0
        assert np.abs(R @ state.G - H).max() <= 1e-8 * np.abs(H).max()


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


def test_kernel_space_with_a_linear_kernel_is_the_dense_learner(rng):
    X = rng.standard_normal((50, 4))
    features = gm.KernelFeatures(gm.Linear()).fit(X)
    dense, kernel = gm.LEGO(eta=0.1), gm.LEGO(eta=0.1, features=features)
    for i in range(20):
        dense.learn_one(X[i], X[49 - i], 2.0, "at_most")
        kernel.learn_one(X[i], X[49 - i], 2.0, "at_most")
    assert np.allclose(kernel.metric_.sqdist(X), dense.metric_.sqdist(X), atol=1e-8)
    assert np.isclose(kernel.loss_, dense.loss_)


def test_kernel_space_keeps_the_part_outside_of_the_landmarks(rng):
    X = rng.standard_normal((50, 4))
    features = gm.KernelFeatures(gm.Gaussian(2.0), rank=5).fit(X)
    learner = gm.LEGO(eta=5.0, features=features)
    kernel = features.kernel_.sqdist(X)
    assert np.allclose(learner.start().metric_.sqdist(X), kernel, atol=1e-10)
    before = abs(kernel[0, 1] - 0.2)
    learner.learn_one(X[0], X[1], 0.2)
    assert abs(learner.metric_.sqdist(X[:2])[0, 1] - 0.2) < before


def test_eta_is_chosen_by_the_least_loss(rng):
    X = rng.standard_normal((400, 4))
    pairs = gm.Pairs(np.arange(200), np.arange(200, 400), np.ones(200, bool), bounds=(1.0, 2.0))
    auto = gm.LEGO(n_pretrain=200, hinge=False).partial_fit(X, pairs)
    tried = auto.progress_.state
    assert len(tried.etas) == 1
    losses = {e: gm.LEGO(eta=e, hinge=False).partial_fit(X, pairs).loss_ for e in auto.eta_ * 10.0 ** np.arange(-2, 3)}
    assert min(losses, key=losses.get) == auto.eta_


def test_eta_auto_has_no_unit(rng):
    X = rng.standard_normal((80, 3))
    pairs = gm.Pairs(np.arange(40), np.arange(40, 80), np.arange(40) % 2 == 0, bounds=(1.0, 8.0))
    far = gm.Pairs(pairs.left, pairs.right, pairs.similar, bounds=(1e6, 8e6))
    one, other = gm.LEGO().partial_fit(X, pairs), gm.LEGO().partial_fit(1000 * X, far)
    assert np.allclose(one.metric_.matrix, other.metric_.matrix, rtol=1e-6)
    assert np.isclose(other.eta_, one.eta_ * 1e-12)


def test_regret_against_a_given_metric(rng):
    X = rng.standard_normal((40, 3))
    truth = gm.Mahalanobis.from_matrix(np.diag([3.0, 1.0, 0.2]))
    lego = gm.LEGO(eta=0.1, comparator=truth)
    for i in range(20):
        lego.learn_one(X[i], X[39 - i], truth.pair_sqdist(X[[i]], X[[39 - i]])[0])
    assert lego.comparator_loss_ < 1e-20
    assert lego.regret_ > 0


def test_regret_against_a_given_start(rng):
    M0, X = np.diag([2.0, 0.5]), rng.standard_normal((20, 2))
    for eta in (0.1, "auto"):
        lego = gm.LEGO(eta=eta, prior=M0)
        for i in range(10):
            lego.learn_one(X[i], X[19 - i], 3.0)
        fixed = gm.Mahalanobis.from_matrix(M0).pair_sqdist(X[:10], X[::-1][:10])
        assert np.isclose(lego.comparator_loss_, loss(fixed, 3.0, 0).sum())


def test_prior_is_the_start(rng):
    M0 = np.diag([2.0, 0.5])
    for cls in (gm.LEGO, gm.OnlineITML, gm.OnlinePOLA):
        for prior in (M0, gm.Mahalanobis.from_matrix(M0)):
            assert np.allclose(cls(eta=1.0, prior=prior).start(2).metric_.matrix, M0)
    with pytest.raises(ValueError, match="positive definite"):
        gm.LEGO(prior=np.diag([1.0, 0.0])).start(2)
    with pytest.raises(ValueError, match="identity"):
        gm.LEGO(prior=M0, rank=1).start(2)


def test_online_learning_helps_on_wine(data_folder):
    data = np.load(data_folder / "wine.npz")
    X, y = data["X"], data["y"]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    plain = gm.LEGO(eta=1e-12, random_state=0).fit(X, y).score(X, y)
    for cls in (gm.LEGO, gm.OnlineITML, gm.OnlinePOLA):
        assert cls(random_state=0).fit(X, y).score(X, y) > plain


def test_pola_with_a_learned_threshold_needs_bounds(rng):
    pola = gm.OnlinePOLA(margin=1.0)
    with pytest.raises(ValueError, match="kind"):
        pola.learn_one(np.zeros(2), np.ones(2), 1.0, "equal")
    pola.learn_one(np.zeros(2), np.ones(2), 0.0, "at_most")
    assert pola.threshold_ > 1
