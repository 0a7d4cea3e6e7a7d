"""Geometries: kernels, landmarks, isomap and LLE, with their new points."""

import numpy as np
import pytest
from sklearn.manifold import Isomap, LocallyLinearEmbedding
from tests.manifold.problems import hide, moons

import gramian as gm
from gramian.manifold import SpectralFamily

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*connected components", "ignore:.*held-out labels", "ignore::sklearn.exceptions.ConvergenceWarning"
)


def roll(rng, n=150):
    t = np.sort(rng.uniform(0, 4, n))
    return np.c_[np.cos(t) * (2 + t), np.sin(t) * (2 + t), 2 * rng.random(n)], t


def test_kernels_of_any_objects():
    """Strings by a function, and row numbers by its matrix: one embedding; new strings by (7)."""
    words = ["metric", "meter", "meters", "metrics", "kernel", "kernels", "colonel", "kern"]
    y = np.array([0, -1, -1, 0, 1, -1, -1, 1])

    def shared(a, b):
        return float(len(set(a) & set(b)))

    kernel = gm.FunctionKernel(shared)
    by_words = gm.TDL(1, lam=10.0, penalty=kernel, n_neighbors=3).fit(words, y)
    by_rows = gm.TDL(1, lam=10.0, penalty=gm.Precomputed(kernel(words)), n_neighbors=3).fit(np.arange(8), y)
    np.testing.assert_allclose(by_words.embedding_, by_rows.embedding_, atol=1e-8)
    np.testing.assert_allclose(by_words.transform(words), by_words.embedding_, atol=1e-8)
    assert by_words.predict().tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert by_words.predict(["metrical", "kernal"]).tolist() == [0, 1]
    few = gm.TDL(1, lam=0.1, penalty=kernel, rank=3, smoothness=0.1, n_neighbors=3, random_state=0).fit(words, y)
    assert few.metric_.features.basis_ and np.isfinite(few.transform(["x"])).all()


def test_landmarks_by_kmeans_a_basis_or_features_of_ones_own(rng):
    X, truth = moons()
    y = hide(truth, np.arange(0, 120, 10))
    options = {"n_components": 3, "lam": 1.0, "penalty": gm.Gaussian(0.3), "random_state": 0}
    default = gm.TDL(rank=30, **options).fit(X, y)
    asked = gm.TDL(features=gm.KernelFeatures(rank=30, basis="kmeans", random_state=0), **options).fit(X, y)
    np.testing.assert_allclose(default.embedding_, asked.embedding_, atol=1e-8)
    given = gm.TDL(basis=X[::3], **options).fit(X, y)
    np.testing.assert_array_equal(given.metric_.features.basis_, X[::3])
    assert all(np.mean(model.predict() == truth) > 0.9 for model in (default, given))
    with pytest.raises(TypeError, match="TDL: features must be a KernelFeatures"):
        gm.TDL(features=3, **options).fit(X, y)


def test_isomap_and_its_new_points_are_those_of_scikit_learn(rng):
    X, _ = roll(rng)
    new = roll(rng, 20)[0]
    ours = gm.TDL(2, penalty="isomap", n_neighbors=8).fit(X, np.full(150, -1))
    theirs = Isomap(n_neighbors=8, n_components=2).fit(X)
    size = np.linalg.norm(theirs.embedding_, axis=0)
    for found, wanted in ((ours.embedding_, theirs.embedding_), (ours.transform(new), theirs.transform(new))):
        np.testing.assert_allclose(np.abs(found), np.abs(wanted / size), atol=1e-6)


def test_lle_and_its_new_points_are_those_of_scikit_learn(rng):
    X, _ = roll(rng)
    new = roll(rng, 20)[0]
    ours = gm.TDL(1, penalty="lle", n_neighbors=10).fit(X, np.full(150, -1))
    theirs = LocallyLinearEmbedding(n_neighbors=10, n_components=1, eigen_solver="dense").fit(X)
    sign = np.sign(np.sum(ours.embedding_ * theirs.embedding_))
    np.testing.assert_allclose(ours.embedding_, sign * theirs.embedding_, atol=1e-6)
    np.testing.assert_allclose(ours.transform(new), sign * theirs.transform(new), atol=1e-6)


@pytest.mark.parametrize("name", ["isomap", "lle"])
def test_vectors_of_isomap_and_lle(name):
    X, truth = moons(100)
    y = hide(truth, np.arange(3, 100, 6))
    model = gm.GeometryAwareKernel(name, random_state=0, n_votes=1).fit(X, y)
    reference = gm.TDL(20, penalty=name, n_neighbors=10).fit(X, np.full(100, -1))
    np.testing.assert_allclose(model.eigenvectors_, reference.embedding_, atol=1e-6)
    right = np.mean(model.predict() == truth)
    new, labels = moons(160, seed=5)
    assert right > 0.85 and np.mean(model.predict(new) == labels) > right - 0.1


def test_vectors_of_ones_own(rng):
    X, truth = moons(60)
    maps = gm.LaplacianEigenmaps(6, n_neighbors=10).fit(X)
    own = SpectralFamily(maps.embedding_)
    model = gm.GeometryAwareKernel(own, max_iter=3, random_state=0).fit(X, hide(truth, [1, 20, 40, 59]))
    named = gm.GeometryAwareKernel(SpectralFamily(n_eigenvectors=6, diffusion=0.0), max_iter=3, random_state=0)
    np.testing.assert_allclose(model.kernel_, named.fit(X, hide(truth, [1, 20, 40, 59])).kernel_, atol=1e-6)
    assert np.isfinite(model.transform(X + 0.01)).all()
    with pytest.raises(ValueError, match="geometry must have 60 rows and orthonormal columns"):
        gm.GeometryAwareKernel(SpectralFamily(X)).fit(X, truth)
