"""What every public estimator on a graph of the points promises; each one enrolls by its base."""

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons

import gramian as gm
from gramian.manifold.eigenmaps import GraphEmbedding

CLASSES = [
    value
    for value in (getattr(gm, name) for name in gm._registry.HOME)
    if inspect.isclass(value) and issubclass(value, GraphEmbedding)
]
EACH = pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(60, noise=0.05, random_state=0)
    return X, np.where(np.arange(60) % 3 == 0, y, -1)


def fitted(cls, X, y):
    options = {"random_state": 0, "n_neighbors": 6}
    return cls(**{name: options[name] for name in options if name in inspect.signature(cls).parameters}).fit(X, y)


def test_the_enrollment_is_whole():
    assert {"TDL", "GeometryAwareKernel", "LaplacianEigenmaps"} <= {cls.__name__ for cls in CLASSES}


@EACH
def test_one_seed_one_answer_and_nothing_written(cls, moons):
    X, y = moons
    kept = X.copy(), y.copy()
    first = fitted(cls, X, y)
    again = clone(first).fit(X, y)
    np.testing.assert_allclose(first.metric_.sqdist(X), again.metric_.sqdist(X), atol=1e-9)
    assert np.array_equal(X, kept[0]) and np.array_equal(y, kept[1])


@EACH
def test_embedding_transform_and_metric_agree(cls, moons):
    X, y = moons
    model = fitted(cls, X, y)
    D = model.metric_.sqdist(X)
    for Z in (model.transform(X), model.metric_.transform(X), getattr(model, "embedding_", model.transform(X))):
        np.testing.assert_allclose(((Z[:, None] - Z[None]) ** 2).sum(axis=2), D, atol=1e-8 * D.max())
    np.testing.assert_allclose(model.transform(X), model.metric_.transform(X), atol=1e-9)


@EACH
def test_pickle_and_a_saved_metric_give_the_same_distances(cls, moons, tmp_path):
    X, y = moons
    model = fitted(cls, X, y)
    new = X[:7] + 0.01
    model.metric_.save(tmp_path / "metric.gram")
    expected = model.metric_.sqdist(new, X)
    np.testing.assert_array_equal(gm.load(tmp_path / "metric.gram").sqdist(new, X), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).metric_.sqdist(new, X), expected)
