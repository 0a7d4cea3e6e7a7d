"""What every public constraint type promises; each one enrolls by being in the table of contents."""

import dataclasses
import inspect
import pickle

import numpy as np
import pytest

import gramian as gm
from gramian.constraints import Constraints, Mixed

Y = np.array(["a", "b", "a", "c", "b", "a", "?", "c", "b", "?"])


def public():
    found = [getattr(gm, name) for name in gm._registry.HOME]
    return [c for c in found if inspect.isclass(c) and issubclass(c, Constraints)]


EACH = pytest.mark.parametrize("cls", [*public(), Mixed], ids=lambda c: c.__name__)


@pytest.fixture
def X(rng):
    return rng.normal(size=(len(Y), 3)) + 2.0


def build(cls, X, seed=0):
    if cls is Mixed:
        return build(gm.Pairs, X, seed) + build(gm.RelativeSimilarities, X, seed) + build(gm.Chunklets, X, seed)
    return cls.from_labels(Y, unknown="?", random_state=seed).check(X, "test")


def test_every_designed_type_is_enrolled():
    designed = {
        "Pairs",
        "Triplets",
        "Quadruplets",
        "Similarities",
        "RelativeSimilarities",
        "Probabilities",
        "Chunklets",
    }
    assert {c.__name__ for c in public()} == designed


@EACH
def test_labels_give_the_same_draw_for_the_same_seed(cls, X):
    a, b = build(cls, X), build(cls, X)
    np.testing.assert_array_equal(a.matrix(np.ones(len(a)), 10).toarray(), b.matrix(np.ones(len(b)), 10).toarray())


@EACH
def test_unknown_points_take_no_part(cls, X):
    cons = build(cls, X)
    C = abs(cons.matrix(np.ones(len(cons)), len(Y))).toarray()
    assert C[:, Y == "?"].sum() == 0 and C.sum() > 0


@EACH
def test_it_is_a_frozen_value(cls, X):
    cons = build(cls, X)
    field = dataclasses.fields(cons)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(cons, field, np.zeros(3, int))
    with pytest.raises((ValueError, TypeError), match="read-only|does not support item assignment"):
        getattr(cons, field)[0] = 7


@EACH
def test_matrix_is_symmetric_linear_and_gives_the_values(cls, X, rng):
    cons = build(cls, X)
    metric = gm.Mahalanobis.from_matrix(np.diag([1.0, 2.0, 0.5]))
    K = metric.kernel(X)
    lam = rng.random(len(cons))
    C = cons.matrix(lam, len(X)).toarray()
    np.testing.assert_allclose(C, C.T)
    np.testing.assert_allclose(cons.matrix(3 * lam, len(X)).toarray(), 3 * C)
    assert np.sum(C * K) == pytest.approx(lam @ cons.values(metric, X))
    assert cons.violation(metric, X).shape == (len(cons),)
    assert (cons.violation(metric, X) >= 0).all()


@EACH
def test_values_do_not_need_more_than_the_kernel(cls, X):
    """The same numbers from a kernel metric with a linear kernel."""
    cons = build(cls, X)
    features = gm.KernelFeatures(gm.Linear()).fit(X)
    implicit = gm.KernelMetric(features, np.eye(3), alpha=0.0)
    np.testing.assert_allclose(cons.values(implicit, X), cons.values(gm.Mahalanobis.euclidean(3), X), atol=1e-8)


@EACH
def test_save_load_and_pickle(cls, X, tmp_path):
    cons = build(cls, X)
    gm.save(cons, tmp_path / "c.gram")
    C = cons.matrix(np.ones(len(cons)), 10).toarray()
    for other in (gm.load(tmp_path / "c.gram"), pickle.loads(pickle.dumps(cons))):
        np.testing.assert_array_equal(other.bound, cons.bound)
        np.testing.assert_array_equal(other.matrix(np.ones(len(cons)), 10).toarray(), C)


@EACH
def test_too_few_points_are_named(cls, X):
    with pytest.raises(ValueError, match="test: the constraints refer to point"):
        build(cls, X).check(X[:2], "test")
