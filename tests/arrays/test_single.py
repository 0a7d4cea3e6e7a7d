"""A device without double precision, as MPS is: array-api-strict has one, which refuses any array in double."""

import numpy as np
import pytest
from sklearn.base import clone

import gramian as gm
from tests.arrays import cases
from tests.arrays.libraries import host, single

pytest.importorskip("array_api_strict")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::UserWarning")

TOL = 1e-4
"""What single precision can reach."""


def reachable(learner):
    """A learner that stops at its usual tolerance, or at what can be reached."""
    usual = getattr(learner, "learner", learner).traits.exact.tol
    tols = {name: value for name, value in learner.get_params().items() if name in ("tol", "learner__tol")}
    tols = {name: max(usual if value is None else value, TOL) for name, value in tols.items()}
    return clone(learner).set_params(**tols)


def test_the_device_refuses_double():
    with pytest.raises(ValueError, match="float64"):
        single(np.zeros(2)).__array_namespace__().zeros(2, dtype=np.float64, device=single(0).device)


@pytest.mark.parametrize("name", cases.METRICS)
def test_a_metric_answers_in_single_precision(name):
    cases.metric_answers(single, cases.METRICS[name], np.float32, 2e-3)


@pytest.mark.parametrize("name", cases.CONVEX)
def test_a_learner_finds_about_the_metric_of_numpy(name):
    here, there = (reachable(cases.CONVEX[name]).fit(A, cases.Y) for A in (cases.X, single(cases.X)))
    cases.plain(there)
    D = here.metric_.sqdist(cases.X)
    np.testing.assert_allclose(there.metric_.sqdist(cases.X), D, atol=2e-2 * D.max())


@pytest.mark.parametrize("name", cases.DESCENTS)
def test_a_descent_ends_about_as_low_as_in_numpy(name):
    cases.same_objective(single, reachable(cases.DESCENTS[name]), rtol=5e-2)


def test_features_search_clusters_and_graphs():
    X, there = cases.X, single(cases.X)
    features = gm.KernelFeatures(gm.Gaussian(2.0), rank=10)
    grams = [Z @ Z.T for Z in (host(clone(features).fit_transform(A)) for A in (X, there))]
    np.testing.assert_allclose(*grams, atol=1e-3)
    metric = cases.METRICS["Mahalanobis"]
    for index in (gm.ExactIndex, gm.HashIndex):
        ids = [host(index(metric).add(A).query(B, 3)[0]) for A, B in ((X, cases.NEW), (there, single(cases.NEW)))]
        assert np.mean(ids[0] == ids[1]) > 0.95
    labels = [gm.DecorrelatedKMeans((2, 2), n_init=1, random_state=0).fit(A).labels_ for A in (X, there)]
    assert gm.clustering.match(*labels, score="ari").scores.min() > 0.9
    maps = [gm.LaplacianEigenmaps(2, n_neighbors=8).fit(A).eigenvalues_ for A in (X, there)]
    np.testing.assert_allclose(*maps, rtol=1e-4)
