"""Sums of parts: moments, steps and likelihoods against loops, enumeration and general solvers."""

import numpy as np
import pytest
from hypothesis import given
from scipy.special import logsumexp
from tests.clustering.problems import enumerated, problems

import gramian as gm
from gramian.clustering import match
from gramian.clustering import parts as sums
from gramian.clustering.parts import State, exact, gibbs, residual
from gramian.clustering.points import Points, indicator


@given(problems())
def test_exact_step_is_enumeration(problem):
    Z, state, k, _ = problem
    logp, combos = enumerated(Z, state, k)
    hard, soft = (exact(Points.of(Z, center=False), state, k, s) for s in (False, True))
    assert np.array_equal(hard.labels, combos[logp.argmax(axis=1)])
    assert hard.likelihood == pytest.approx(logp.max(axis=1).sum())
    assert soft.likelihood == pytest.approx(logsumexp(logp, axis=1).sum())
    R = np.exp(logp - logsumexp(logp, axis=1, keepdims=True))
    B = indicator(combos, k)
    assert np.allclose(soft.S, B.T @ R.T @ Z) and np.allclose(soft.N, B.T @ np.diag(R.sum(axis=0)) @ B)
    H = indicator(hard.labels, k)
    assert np.allclose(hard.S, H.T @ Z) and np.allclose(hard.N, H.T @ H)
    assert residual((Z**2).sum(), hard, state.C) == pytest.approx(((Z - H @ state.C) ** 2).sum())


@given(problems())
def test_sampling_never_lowers_the_likelihood_of_the_labels(problem):
    Z, state, k, rng = problem
    logp, combos = enumerated(Z, state, k)
    start = np.column_stack([rng.integers(size, size=len(Z)) for size in k])
    at = [np.flatnonzero((combos == row).all(axis=1))[0] for row in start]
    found = gibbs(Points.of(Z, center=False), state, k, False, start, np.random.RandomState(0))
    assert logp[np.arange(len(Z)), at].sum() - 1e-9 <= found.likelihood <= logp.max(axis=1).sum() + 1e-9


def test_samples_follow_the_posterior():
    rng = np.random.RandomState(0)
    state = State(rng.normal(size=(5, 2)), np.array([0.3, 0.7, 0.2, 0.5, 0.3]), 1.0)
    points, k = Points.of(np.tile(rng.normal(size=(1, 2)), (4000, 1)), center=False), (2, 3)
    logp, combos = enumerated(points.X[:1], state, k)
    start = combos[rng.choice(6, 4000, p=np.exp(logp[0] - logsumexp(logp)))]
    sampled = gibbs(points, state, k, True, start, rng)  # samples of the posterior stay samples of the posterior
    assert np.allclose(sampled.N / 4000, exact(points, state, k, True).N / 4000, atol=0.03)


def test_parts_add_up_to_the_data():
    data = gm.datasets.two_views(400, 30, n_clusters=4, family="sum", noise=0.2, random_state=1)
    for model in (gm.ConvolutionalEM((4, 4), random_state=0), gm.CooperativeVQ((4, 4), random_state=0)):
        model.fit(data.X)
        assert match(model.labels_, data.y).scores.min() > 0.95
        error = ((model.reconstruct() - data.X) ** 2).mean()
        assert error < 0.05 * data.X.var() and np.allclose(model.reconstruct(data.X), model.reconstruct())


def test_sampling_takes_over_above_the_limit(monkeypatch):
    data = gm.datasets.two_views(300, 30, n_clusters=3, family="sum", random_state=2)
    plain = gm.ConvolutionalEM((3, 3), random_state=0).fit(data.X)
    monkeypatch.setattr("gramian.clustering.additive.LIMIT", 1)
    assert sums.LIMIT > 9
    for assignment in ("hard", "soft"):
        em = gm.ConvolutionalEM((3, 3), assignment=assignment, random_state=0).fit(data.X)
        assert match(em.labels_, plain.labels_).scores.min() > 0.9
        assert np.all(np.diff(em.objective_path_) <= 0) and match(em.predict(data.X), em.labels_).scores.min() > 0.95
