"""POLA: projections onto a pair or a form, then onto the cone."""

import numpy as np
from tests.online.problems import random_form

from gramian.linalg import project_psd
from gramian.online import PolaRule


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


def test_pola_projects_onto_the_half_space_of_the_form(rng):
    form = random_form(rng)
    rule = PolaRule()
    M = rule.update(rule.init(4), form, -5.0, "at_most").M
    gap = form.value(np.eye(4)) + 5.0
    plane = np.eye(4) - gap / np.sum(form.matrix**2) * form.matrix
    assert np.isclose(form.value(plane), -5.0)
    np.testing.assert_allclose(M, project_psd(plane))
