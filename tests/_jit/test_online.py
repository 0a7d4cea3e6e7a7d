"""Compiled steps of online rules are the defined ones."""

import numpy as np
import pytest

from gramian.online import KINDS, LegoRule, OnlineITMLRule, PolaRule


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
