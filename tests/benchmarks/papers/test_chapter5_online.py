"""Jain 2009, chapter 5: what its statements say and where they fail."""

import numpy as np

from gramian.online import LegoRule, loss_bound
from gramian.online.base import loss


def counterexample(n=400, short=0.1, R=2.0):
    """Target R on a short difference n times, then target 0 on the same direction at full length."""
    V = np.full((n + 1, 1), short)
    V[-1] = 1.0
    targets = np.full(n + 1, R)
    targets[-1] = 0.0
    return V, targets


def test_theorem_8_as_printed_is_false():
    eta, R = 1.0, 1.0
    V, targets = counterexample(R=R)
    rule = LegoRule(eta)
    _, predictions = rule.stream(rule.init(1), V, targets, np.zeros(len(V), int))
    spent = loss(predictions, targets, 0).sum()
    W = np.linspace(0.01, 1.0, 400)  # 0 ≺ W* ≺ I, as the theorem asks
    fixed = np.array([loss(w * V[:, 0] ** 2, targets, 0).sum() for w in W])
    divergence = W - np.log(W) - 1
    printed = [loss_bound(eta, R, 0.0, *pair) for pair in zip(fixed, divergence)]
    repaired = [loss_bound(eta, R, predictions.max(), *pair) for pair in zip(fixed, divergence)]
    assert V.max() ** 2 <= R  # Tr(X_t) ≤ R
    assert spent > min(printed)
    assert (spent <= np.array(repaired)).all()


def test_lemma_6_by_finite_differences():
    eta, p, y, h = 0.6, 2.5, 1.7, 1e-6
    rule = LegoRule(eta)
    after = rule._after(p, y)[0]
    slope = (rule._after(p, y + h)[0] - rule._after(p, y - h)[0]) / (2 * h)
    assert np.isclose(slope, eta * after**2 / (1 + eta * after**2), rtol=1e-7)


def test_the_other_root_of_5_3_is_not_positive():
    eta, p, y = 0.6, 2.5, 1.7
    t = eta * y * p - 1
    assert (t - np.hypot(t, 2 * np.sqrt(eta) * p)) / (2 * eta * p) < 0


def test_the_factor_of_section_5_2_1(rng):
    """G + aGv vᵀM is a factor of M + βMv vᵀM with β = −η(ȳ − y) / (1 + η(ȳ − y)ŷ)."""
    G, v, y, eta = rng.standard_normal((4, 4)), rng.standard_normal(4), 1.0, 0.3
    rule = LegoRule(eta, G)
    M = G.T @ G
    before = v @ M @ v
    after, _ = rule._after(before, y)
    c = eta * (after - y)
    beta = -c / (1 + c * before)
    new = rule.update(rule.init(4), v, y).G
    assert np.allclose(new.T @ new, M + beta * np.outer(M @ v, M @ v))
