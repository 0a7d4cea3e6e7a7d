"""The step size that a grid chooses."""

import numpy as np

import gramian as gm


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
