"""What all rules share: losses, bounds that hold, forms of rank one, streams of any rule."""

from dataclasses import dataclass

import numpy as np
import pytest
from tests.online.problems import random_form

import gramian as gm
from gramian.online import LegoRule, OnlineITMLRule, PolaRule, VonNeumannRule
from gramian.online.base import Form, loss


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


@dataclass(frozen=True, eq=False)
class Thawed(PolaRule):
    """POLA that ignores every constraint."""

    def update(self, state, v, target, kind="equal"):
        return state


def test_a_rule_without_a_loop_runs_its_own_update(rng):
    rule = Thawed()
    state, predictions = rule.stream(rule.init(3), rng.standard_normal((5, 3)), np.zeros(5), np.zeros(5, int))
    assert np.array_equal(state.M, np.eye(3)) and predictions.shape == (5,)
    with pytest.raises(NotImplementedError, match="Thawed: its steps cannot be followed"):
        rule.stream(state, np.ones((1, 3)), np.zeros(1), np.zeros(1, int), np.ones((1, 3)))


@pytest.mark.parametrize("rule", [LegoRule(0.3), OnlineITMLRule(0.05), PolaRule(), PolaRule(0.2), VonNeumannRule(0.1)])
def test_a_form_of_rank_one_is_a_pair(rule, rng):
    v, target = rng.standard_normal(4), 1.3
    form = Form(np.stack([v, rng.standard_normal(4)]), np.array([1.0, 0.0]))
    pair, same = rule.update(rule.init(4), v, target), rule.update(rule.init(4), form, target)
    np.testing.assert_allclose(rule.metric(same).matrix, rule.metric(pair).matrix, atol=1e-10)
    assert np.isclose(rule.predict(pair, v), rule.predict(pair, form))


def test_bounds_on_forms_that_hold_change_nothing(rng):
    form = random_form(rng)
    for rule in (LegoRule(1.0), OnlineITMLRule(1.0), PolaRule(), VonNeumannRule(1.0)):
        state = rule.init(4)
        value = form.value(np.eye(4))
        assert rule.update(state, form, value + 1, "at_most") is state
        assert rule.update(state, form, value - 1, "at_least") is state


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
