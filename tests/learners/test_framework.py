"""Defaults meet data whose features have very different sizes."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_wine

import gramian as gm
from gramian.constraints import Labels
from gramian.learners.subsample import by_content


@pytest.mark.parametrize("divergence", [gm.LogDet(), gm.VonNeumann(), gm.Frobenius()], ids=lambda d: type(d).__name__)
def test_drawn_pairs_cost_their_violation_relative_to_the_mean_bound(divergence):
    X, y = load_wine(return_X_y=True)  # features from 0.1 to 1,700
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn = gm.Framework(divergence, random_state=0, anchor=0).fit(X, y)
    order = by_content(X)  # in which a fit in steps sees them
    X, y = X[order], Labels.from_array(y[order], "test").by_appearance().codes
    pairs = gm.Pairs.from_labels(y, random_state=np.random.RandomState(0), X=X)
    given = gm.Framework(divergence, slack=1 / np.abs(pairs.bound).mean(), anchor=0).fit(X, pairs)
    np.testing.assert_allclose(drawn.metric_.matrix, given.metric_.matrix, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("count", [0, -3, 2.5, "many"])
def test_the_number_of_constraints_is_checked(count):
    with pytest.raises((ValueError, TypeError), match="Pairs: n_pairs"):
        gm.Pairs.from_labels([0, 0, 1, 1], n_pairs=count)
    with pytest.raises((ValueError, TypeError), match="Triplets: n_triplets"):
        gm.Triplets.from_labels([0, 0, 1, 1], n_triplets=count)


@pytest.mark.parametrize("learner", [gm.ITML, gm.MMC, gm.LMNN, gm.NCA, gm.MCML], ids=lambda c: c.__name__)
def test_defaults_converge_on_raw_features(learner):
    X, y = load_wine(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert learner().fit(X, y).converged_


def test_hard_constraints_that_cannot_hold_are_named(iris):
    X, y = iris
    pairs = gm.Pairs([0, 0], [1, 1], [True, False], bounds=(1.0, 2.0))
    with pytest.raises(ValueError, match="Framework: no positive semi-definite matrix satisfies the hard constraints"):
        gm.Framework(anchor=0).fit(X, pairs)
    assert gm.Framework(random_state=0, anchor=0).fit(X, y).converged_  # drawn from labels: soft by default
