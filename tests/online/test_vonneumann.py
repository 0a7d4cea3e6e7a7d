"""Forms of matrix exponentials from a few directions, against the whole eigendecomposition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.online.problems import random_form

import gramian as gm
from gramian.online import KINDS, VonNeumannRule
from gramian.online.base import Form
from gramian.online.vonneumann import AlongLine


def by_eigenvalues(S, v, c):
    """vᵀ exp(S − c vvᵀ) v."""
    values, U = np.linalg.eigh(S - c * np.outer(v, v))
    return float(np.exp(values) @ (U.T @ v) ** 2)


@given(st.integers(0, 10**6), st.integers(1, 60), st.floats(-4, 3), st.floats(-2, 2))
def test_a_form_along_a_line_is_that_of_the_eigenvalues(seed, d, log_scale, c):
    rng = np.random.default_rng(seed)
    S, v = rng.standard_normal((2, d, d)) / np.sqrt(d), rng.standard_normal(d) * np.exp(rng.normal())
    S = (S[0] + S[0].T) * 2.0**log_scale
    c = c / (v @ v)
    assert np.isclose(AlongLine(S, v)(c), by_eigenvalues(S, v, c), rtol=1e-9)


@pytest.mark.parametrize("d", [1, 2, 30])
def test_repeated_eigenvalues_and_invariant_directions(d, rng):
    v = rng.standard_normal(d)
    for S in (np.zeros((d, d)), 3 * np.eye(d), np.diag(np.arange(d) % 2.0), np.outer(v, v)):
        for c in (-0.5, 0.0, 0.7):
            assert np.isclose(AlongLine(S, v)(c), by_eigenvalues(S, v, c), rtol=1e-12)
    first = np.eye(d)[0]
    assert np.isclose(AlongLine(np.diag(np.arange(d) + 1.0), first)(0.0), np.e, rtol=1e-14)


@given(st.integers(0, 10**6), st.floats(-2, 1), st.sampled_from(sorted(KINDS)))
def test_a_stream_of_differences_is_that_of_forms(seed, log_eta, kind):
    """A form of rank one takes the eigenvalues of the whole matrix."""
    rng = np.random.default_rng(seed)
    rule, V = VonNeumannRule(10.0**log_eta), rng.standard_normal((8, 20))
    state = other = rule.init(20)
    for v in V:
        target = float(rng.uniform(0, 60))
        form = Form(v[None], np.ones(1))
        assert np.isclose(rule.predict(state, v), rule.predict(other, form), rtol=1e-8)
        state, other = rule.update(state, v, target, kind), rule.update(other, form, target, kind)
        np.testing.assert_allclose(state.S, other.S, atol=1e-8 * (1 + np.abs(other.S).max()))


def test_no_eigenvalue_problem_has_the_size_of_the_points(rng, monkeypatch):
    sizes, eigh = [], np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda A: sizes.append(len(A)) or eigh(A))
    X = rng.standard_normal((200, 80))
    pairs = gm.Pairs.from_labels(np.arange(200) % 4, 150, random_state=0).with_bounds(X)
    rule, state = VonNeumannRule(1e-4), VonNeumannRule(1e-4).init(80)
    state, _ = rule.stream(state, X[pairs.left] - X[pairs.right], pairs.limit, np.where(pairs.similar, 1, -1))
    assert np.abs(state.S).max() > 0 and len(sizes) > 150 and max(sizes) < 40


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
