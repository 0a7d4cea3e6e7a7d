"""Algorithm 5: each step against an exact one."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp
from tests.clustering.problems import enumerated, problems

import gramian as gm
from gramian.clustering import match
from gramian.clustering.additive import correlation
from gramian.clustering.convolutional import sweep
from gramian.clustering.parts import State, moments, residual
from gramian.clustering.points import Points


@given(problems(), st.floats(-2, 3))
def test_a_sweep_minimizes_8_12_block_by_block(problem, decade):
    Z, state, k, rng = problem
    points, lam = Points.of(Z, center=False), 10.0**decade
    labels = np.column_stack([rng.integers(size, size=len(Z)) for size in k])
    m, energy = moments(points, labels, k), (Z**2).sum()

    def F(C):
        return residual(energy, m, C) + lam * correlation(C, k)

    C = sweep(m, state.C, k, lam)
    assert F(C) <= F(state.C) + 1e-9 * energy
    last = slice(sum(k) - k[-1], sum(k))
    for scale in (1e-3, 1.0):  # the block that was set last is at its minimum
        step = np.zeros_like(C)
        step[last] = scale * rng.normal(size=C[last].shape)
        assert F(C + step) >= F(C) - 1e-9 * energy


def test_a_general_solver_finds_the_same_last_block(rng):
    Z, k, lam = rng.normal(size=(20, 3)), (2, 3), 3.0
    labels = np.column_stack([np.arange(20) % 2, np.arange(20) % 3])
    m, C0 = moments(Points.of(Z, center=False), labels, k), rng.normal(size=(5, 3))
    C = sweep(m, C0, k, lam)

    def F(nu):
        total = sum(((z - C[i] - nu.reshape(3, 3)[j]) ** 2).sum() for z, (i, j) in zip(Z, labels))
        return total + lam * sum((mu @ v) ** 2 for mu in C[:2] for v in nu.reshape(3, 3))

    assert np.allclose(minimize(F, C0[2:].ravel(), method="BFGS").x.reshape(3, 3), C[2:], atol=1e-4)


@pytest.mark.parametrize("assignment", ["hard", "soft"])
@pytest.mark.parametrize("penalty", [0.0, 1.0, 100.0])
def test_the_objective_is_the_penalized_likelihood_and_falls(assignment, penalty, rng):
    X = gm.datasets.two_views(150, 4, n_clusters=(2, 3), family="sum", random_state=0).X
    em = gm.ConvolutionalEM((2, 3), penalty, n_init=2, assignment=assignment, random_state=0).fit(X)
    assert np.all(np.diff(em.objective_path_) <= 1e-9 * np.abs(em.objective_path_[:-1]))
    state = State(np.vstack(em.parts_), np.concatenate(em.weights_), 2 * em.variance_)
    logp, combos = enumerated(X - em.mean_, state, (2, 3))
    fit = logp.max(axis=1).sum() if assignment == "hard" else logsumexp(logp, axis=1).sum()
    cross = sum((mu @ nu) ** 2 for mu in em.parts_[0] for nu in em.parts_[1])
    assert em.objective_ == pytest.approx(-fit + penalty * cross / (4 * em.variance_))
    assert np.array_equal(em.labels_, combos[logp.argmax(axis=1)]) and np.array_equal(em.predict(X), em.labels_)
    assert all(w.sum() == pytest.approx(1) for w in em.weights_)


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_noise_that_is_not_spherical(covariance):
    """Two views along weak features beside loud noise: found together with the shape of the noise."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=(400, 2))
    scales = np.array([1.0, 1.0, 12.0, 12.0])
    rotation = np.eye(4) if covariance == "diagonal" else np.linalg.qr(rng.normal(size=(4, 4)))[0]
    X = (np.c_[6 * truth, np.zeros((400, 2))] + rng.normal(size=(400, 4)) * scales) @ rotation
    model = gm.ConvolutionalEM((2, 2), covariance=covariance, random_state=0).fit(X)
    plain = gm.ConvolutionalEM((2, 2), random_state=0).fit(X)
    assert plain.shape_ is None and model.objective_ < plain.objective_
    assert match(model.labels_, truth).scores.min() > 0.9 > match(plain.labels_, truth).scores.min()
    assert np.linalg.det(model.shape_) == pytest.approx(1.0)
    noise = rotation.T @ np.diag(scales**2) @ rotation
    want = noise / np.linalg.det(noise) ** 0.25
    assert np.abs(model.shape_ - want).max() < 0.2 * np.abs(want).max()
    assert np.mean(model.predict(X) == model.labels_) > 0.99
    # The objective by hand: the log-likelihood of labels under N(sum of parts, v S), and the penalty under S⁻¹.
    parts, v = model.parts_, 2 * model.variance_
    rest = X - model.mean_ - parts[0][model.labels_[:, 0]] - parts[1][model.labels_[:, 1]]
    inverse = np.linalg.inv(model.shape_)
    fit = np.einsum("ij,jk,ik->", rest, inverse, rest) / (2 * v) + 400 * 4 / 2 * np.log(2 * np.pi * v)
    prior = sum(np.log(w[c]).sum() for w, c in zip(model.weights_, model.labels_.T))
    cross = ((parts[0] @ inverse @ parts[1].T) ** 2).sum()
    assert model.objective_ == pytest.approx(fit - prior + model.penalty_ * cross / (2 * v), rel=1e-6)
    with pytest.raises(ValueError, match="covariance must be one of"):
        gm.ConvolutionalEM(covariance="round").fit(X)
    with pytest.raises(TypeError, match="covariance must be 'spherical' for sparse X"):
        gm.ConvolutionalEM(covariance=covariance).fit(sparse.csr_array(X))


def test_as_printed_it_is_algorithm_5_written_out(rng):
    """Point by point: (8.7) over all combinations, (8.8)-(8.10) with the old parts, 4.4, (8.15), (8.16) in turn."""
    data = gm.datasets.two_views(60, 3, n_clusters=2, family="sum", random_state=1)
    X, lam = data.X + 0.3, 2.0
    n, d = X.shape
    labels = rng.integers(2, size=(n, 2))
    options = {"init": labels, "variant": "as_printed", "tol": 0.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = gm.ConvolutionalEM((2, 2), lam, max_iter=6, **options).fit(X)
    mu, nu = (np.array([X[labels[:, t] == i].mean(axis=0) for i in range(2)]) for t in range(2))
    sigma = min(np.linalg.norm(mu[0] - mu[1]), np.linalg.norm(nu[0] - nu[1])) / np.sqrt(2 * d)
    a = b = np.full(2, 0.5)
    for _ in range(6):
        sums = mu[:, None] + nu
        logp = np.log(a)[:, None] + np.log(b) - ((X[:, None, None] - sums) ** 2).sum(axis=3) / (4 * sigma**2)
        best = logp.reshape(n, 4).argmax(axis=1)
        i, j = best // 2, best % 2
        a, b = np.bincount(i, minlength=2) / n, np.bincount(j, minlength=2) / n
        sigma = np.sqrt(((X - mu[i] - nu[j]) ** 2).sum() / (2 * d * n))
        alpha = np.array([X[i == r].mean(axis=0) for r in range(2)])
        beta = np.array([X[j == s].mean(axis=0) for s in range(2)])
        N = np.array([[np.sum((i == r) & (j == s)) for s in range(2)] for r in range(2)])
        nu = beta
        for _ in range(1000):  # the shift between the two settles slowly
            mu = np.array([np.linalg.solve(np.eye(d) + lam * nu.T @ nu / N[r].sum(), alpha[r] - N[r] @ nu / N[r].sum())
                           for r in range(2)])  # fmt: skip
            nu = np.array([np.linalg.solve(np.eye(d) + lam * mu.T @ mu / N[:, s].sum(),
                           beta[s] - N[:, s] @ mu / N[:, s].sum()) for s in range(2)])  # fmt: skip
    assert np.array_equal(model.labels_, np.column_stack([i, j]))
    np.testing.assert_allclose(np.vstack(model.parts_), np.vstack([mu, nu]), atol=1e-4)
    assert np.sqrt(model.variance_) == pytest.approx(sigma)
    with pytest.raises(ValueError, match="assignment 'hard' for variant"):
        gm.ConvolutionalEM(variant="as_printed", assignment="soft").fit(X)
