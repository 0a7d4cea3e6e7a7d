"""Defaults end in a metric: on labels of many points, on triplets, with a prior that is singular up to rounding."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification

import gramian as gm
from gramian.solvers import Result


@pytest.mark.parametrize("learner", [gm.POLA(random_state=0), gm.Framework(random_state=0)])
def test_labels_of_many_points_are_enough(learner):
    X, y = make_classification(600, 18, n_informative=8, n_classes=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # stopping early is a part of a blend, and no failure
        learner.fit(X, y)
    assert learner.solution_.result in (Result.converged, Result.stopped_early)
    assert learner.score(X, y) > gm.Covariance().fit(X).score(X, y)


def test_triplets_are_soft_by_default(rng):
    X = rng.standard_normal((60, 4))
    triplets = X[rng.integers(60, size=(200, 3))]  # no metric satisfies all of them
    framework = gm.Framework().fit(triplets)
    assert framework.converged_
    assert np.isfinite(framework.metric_.matrix).all()


@pytest.mark.parametrize("smallest", [0.0, 1e-17, -1e-17])
def test_a_prior_that_is_singular_up_to_rounding_keeps_its_range(rng, smallest):
    """The fit is that on the coordinates of the range, where the prior is definite."""
    X, y = make_classification(60, 4, random_state=0)
    pairs = gm.Pairs.from_labels(y, 200, random_state=0)
    Q = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    values = np.array([1.0, 0.5, 0.2, smallest])
    prior = Q @ np.diag(values) @ Q.T
    whole = gm.ITML(prior=(prior + prior.T) / 2, anchor=0, tol=1e-8).fit(X, pairs)
    inside = gm.ITML(prior=np.diag(values[:3]), anchor=0, tol=1e-8).fit(X @ Q[:, :3], pairs)
    np.testing.assert_allclose(whole.metric_.sqdist(X), inside.metric_.sqdist(X @ Q[:, :3]), rtol=1e-5, atol=1e-6)
