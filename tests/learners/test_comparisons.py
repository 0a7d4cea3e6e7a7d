"""Triplets and quadruplets for labels and pairs: conic programs for ITML and LMNN, and all that take them."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import gramian as gm
from gramian.learners import _warnings
from gramian.learners.base import Learner
from tests.learners.problems import comparisons

TAKE_THEM = [gm.ITML(), gm.LMNN(), gm.LSML(), gm.SCML(random_state=0), gm.Framework(), gm.LEGO()]


ONLY_PAIRS = [gm.MMC(), gm.GMML(), gm.SDML(), gm.POLA()]


def name(learner):
    return type(learner).__name__


@pytest.mark.parametrize("learner", TAKE_THEM, ids=name)
@pytest.mark.parametrize("size", [3, 4])
def test_comparisons_are_learned_from_and_predicted(learner, size):
    X, y = load_iris(return_X_y=True)
    kind = {3: gm.Triplets, 4: gm.Quadruplets}[size]
    wishes = kind.from_labels(y, 300, random_state=0)
    fitted = learner.fit(X, wishes)
    fresh = kind.from_labels(y, 300, random_state=1)
    values = [(fresh.values(metric, X) < 0).mean() for metric in (fitted.metric_, gm.Mahalanobis.euclidean(4))]
    assert values[0] >= values[1] - 0.01


@pytest.mark.parametrize("learner", [gm.ITML(anchor=0), gm.LMNN(anchor=0)], ids=name)
def test_units_do_not_matter_where_the_margin_is_left_open(learner, rng):
    X, y = load_iris(return_X_y=True)
    wishes = gm.Triplets.from_labels(y, 200, random_state=0)
    first, again = learner.fit(X, wishes).metric_.sqdist(X), learner.fit(64 * X, wishes).metric_.sqdist(64 * X)
    unit = again.mean() / first.mean()
    np.testing.assert_allclose(again, unit * first, rtol=1e-2, atol=1e-2 * again.mean())


@pytest.mark.parametrize("learner", ONLY_PAIRS, ids=name)
def test_learners_of_pairs_name_what_they_take(learner, rng):
    X, side = comparisons(rng)
    takers = "Quadruplets are taken by .*ITML.*LMNN.*LSML.*SCML"
    with pytest.raises(ValueError, match=f"{name(learner)}: takes labels or Pairs, got Quadruplets; {takers}"):
        learner.fit(X, side)


@pytest.mark.parametrize("kind", [gm.Pairs, gm.Triplets, gm.Chunklets])
def test_those_who_are_said_to_take_something_do(kind):
    X, y = load_iris(return_X_y=True)
    given = kind.from_labels(y, 100) if kind is gm.Triplets else kind.from_labels(y)
    for taker in _warnings.takers(Learner, kind).split(" by ")[1].split(", "):
        assert getattr(gm, taker)().fit(X, given).metric_.matrix.shape == (4, 4)
