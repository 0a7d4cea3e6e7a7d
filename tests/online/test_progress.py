"""Regret, and where a stream starts."""

import numpy as np
import pytest

import gramian as gm
from gramian.online.base import loss


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
