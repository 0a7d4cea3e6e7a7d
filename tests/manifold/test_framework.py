"""TDL and G-ML as frameworks: costs, constraints, kernels, geometries, families and divergences of one's own."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.manifold import Isomap, LocallyLinearEmbedding

import gramian as gm
from gramian.manifold import Family, KernelSet, NeighborGraph, SpectralFamily, laplacian
from gramian.manifold.kernel_sets import Ordered
from gramian.manifold.penalties import constraint_cost, cost_matrix, on_gram

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*connected components", "ignore:.*held-out labels", "ignore::sklearn.exceptions.ConvergenceWarning"
)


def moons(n=120, noise=0.05, seed=0):
    rng = np.random.default_rng(seed)
    t = np.linspace(0, np.pi, n // 2)
    X = np.vstack([np.c_[np.cos(t), np.sin(t)], np.c_[1 - np.cos(t), 0.6 - np.sin(t)]])
    return X + noise * rng.normal(size=X.shape), np.repeat([0, 1], n // 2)


def roll(rng, n=150):
    t = np.sort(rng.uniform(0, 4, n))
    return np.c_[np.cos(t) * (2 + t), np.sin(t) * (2 + t), 2 * rng.random(n)], t


def hide(y, keep):
    out = np.full(len(y), -1)
    out[keep] = y[keep]
    return out


def test_pairs_and_triplets_are_costs(rng):
    """tr(C'G) is the mean over each point's pairs, or each anchor's triplets, written out with distances."""
    F = rng.normal(size=(20, 3))
    D, G = cdist(F, F, "sqeuclidean"), F @ F.T
    pairs = gm.Pairs(rng.integers(0, 10, 30), rng.integers(10, 20, 30), rng.random(30) < 0.5)
    total = 0.0
    for i in range(20):
        for kind, sign in ((True, 1), (False, -1)):
            ends = [(a, b) for a, b, s in zip(pairs.left, pairs.right, pairs.similar) if s == kind and i in (a, b)]
            total += sign * np.mean([D[a, b] for a, b in ends]) if ends else 0.0
    np.testing.assert_allclose(np.trace(constraint_cost(pairs, 20) @ G), total)
    triplets = gm.Triplets(rng.integers(0, 5, 25), rng.integers(5, 12, 25), rng.integers(12, 20, 25))
    total = sum(
        np.mean(D[i, triplets.near[triplets.anchor == i]]) - np.mean(D[i, triplets.far[triplets.anchor == i]])
        for i in np.unique(triplets.anchor)
    )
    np.testing.assert_allclose(np.trace(constraint_cost(triplets, 20) @ G), total)


def test_pairs_of_all_neighbors_are_the_cost_of_the_paper(rng):
    X, y = rng.normal(size=(24, 2)), np.arange(24) % 2
    i, j = np.triu_indices(24, 1)
    pairs = gm.Pairs(i, j, y[i] == y[j])
    wanted = on_gram(cost_matrix(X, y, 50)).toarray()
    np.testing.assert_allclose(constraint_cost(pairs, 24).toarray(), wanted, atol=1e-12)
    by_pairs = gm.TDL(2, lam=3.0, n_neighbors=6).fit(X, pairs)
    by_labels = gm.TDL(2, lam=3.0, n_neighbors=6, cost_neighbors=50).fit(X, y)
    np.testing.assert_allclose(by_pairs.metric_.sqdist(X), by_labels.metric_.sqdist(X), atol=1e-8)
    with pytest.raises(ValueError, match="predict needs labels"):
        by_pairs.predict()
    with pytest.raises(ValueError, match="lam must be one number with constraints"):
        gm.TDL(lam=[1.0, 2.0]).fit(X, pairs)


def test_a_cost_of_ones_own(rng):
    X, truth = moons(60)
    y = hide(truth, rng.permutation(60)[:10])
    default = gm.TDL(3, lam=2.0, n_neighbors=5).fit(X, y)
    C = cost_matrix(X, default.codes_, 5).toarray()
    for cost in (C, lambda points, codes: cost_matrix(points, codes, 5)):
        np.testing.assert_allclose(
            gm.TDL(3, lam=2.0, n_neighbors=5, cost=cost).fit(X, y).embedding_, default.embedding_, atol=1e-9
        )
    chain = np.eye(60, k=1) + np.eye(60, k=-1)  # consecutive points near: a path
    path = gm.TDL(1, lam=1e-6, cost=chain).fit(X, np.full(60, -1)).embedding_[:, 0]
    assert np.all(np.diff(path) > 0) or np.all(np.diff(path) < 0)
    np.testing.assert_array_equal(gm.TDL(1, lam=1e-6, cost=chain).fit(X).embedding_[:, 0], path)
    with pytest.raises(ValueError, match="TDL: requires y to be passed"):
        gm.TDL(1).fit(X)
    with pytest.raises(ValueError, match="TDL: cost must be symmetric"):
        gm.TDL(cost=np.triu(np.ones((60, 60)))).fit(X, y)


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


def test_m_of_ones_own_in_problem_7(rng):
    X, truth = moons(60)
    y = hide(truth, rng.permutation(60)[:10])
    L = laplacian(NeighborGraph(5)(X))[0]
    options = {"n_components": 3, "lam": 0.5, "n_neighbors": 5, "penalty": gm.Gaussian(0.3)}
    named, given = (gm.TDL(smoothness=s, **options).fit(X, y) for s in (0.2, 0.2 * L))
    np.testing.assert_allclose(named.embedding_, given.embedding_, atol=1e-8)
    B = rng.normal(size=(60, 60))
    M = B @ B.T
    model = gm.TDL(smoothness=M, **options).fit(X, y)
    H = np.eye(60) - 1 / 60
    values, V = np.linalg.eigh(H @ gm.Gaussian(0.3)(X) @ H)
    keep = values > 1e-10 * values[-1]
    V, values = V[:, keep], values[keep]
    S = V.T @ (on_gram(cost_matrix(X, y, 5)).toarray() + 0.5 * M) @ V + 0.5 * np.diag(1 / values)
    np.testing.assert_allclose(model.eigenvalues_, np.linalg.eigvalsh(S)[:3], rtol=1e-5)


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


@pytest.mark.parametrize("divergence", [gm.VonNeumann(), gm.Frobenius()], ids=["von Neumann", "Frobenius"])
def test_other_divergences(rng, divergence):
    """The objective falls, and step B is the minimum over the cone for each of them."""
    X, truth = moons(60)
    pairs = gm.Pairs.from_labels(truth, 40, random_state=0)
    model = gm.GeometryAwareKernel(
        SpectralFamily(n_eigenvectors=6), divergence=divergence, bounds=(0.01, 0.2), max_iter=5
    )
    path = np.array(model.fit(X, pairs).objective_path_)
    assert (np.diff(path) <= 0).all() and path[-1] < path[0]
    B = np.cov(rng.normal(size=(6, 30))) + np.diag(np.arange(6))
    alpha = Ordered(np.eye(6), np.ones(6), None, basis=None).nearest(B, np.ones(6))
    best = divergence.value(B, np.diag(alpha))
    for _ in range(300):
        steps = np.maximum(np.diff(alpha[::-1], prepend=0) + 0.1 * rng.normal(size=6), 0)
        trial = np.cumsum(steps)[::-1]
        assert trial[-1] <= 0 or divergence.value(B, np.diag(trial)) >= best - 1e-9
    with pytest.raises(ValueError, match="divergence must be LogDet for this family"):
        gm.GeometryAwareKernel("rbf", divergence=divergence).fit(X, truth)


def test_multipliers_of_the_last_step_a(rng):
    """(6.7): K⁻¹ = M⁻¹ + A(λ) in the coordinates of M, for the M that step A had."""
    X, truth = moons(60)
    drawn = gm.Pairs.from_labels(truth, 20, random_state=0)
    pairs = gm.Pairs(drawn.left, drawn.right, drawn.similar, bounds=(0.01, 0.2))
    model = gm.GeometryAwareKernel(SpectralFamily(n_eigenvectors=5), max_iter=1, solver=gm.DualAscent(tol=1e-10))
    model.fit(X, pairs)
    V = model.eigenvectors_[pairs.left] - model.eigenvectors_[pairs.right]
    A = (V.T * (model.dual_ * pairs.sign)) @ V
    start = np.diag(np.exp(0.1 * model.eigenvalues_))
    np.testing.assert_allclose(np.linalg.inv(model.core_), start + A, rtol=1e-5, atol=1e-6)


def test_multipliers_are_in_the_order_of_the_pairs(rng):
    """A pair of equal points is left out of the problem; its λ is 0 and the others keep their places."""
    X, truth = moons(60)
    X[11] = X[10]
    left, right = np.array([0, 10, 4, 20, 7]), np.array([2, 11, 9, 33, 40])
    pairs = gm.Pairs(left, right, truth[left] == truth[right], bounds=(0.01, 0.2))
    model = gm.GeometryAwareKernel(SpectralFamily(n_eigenvectors=5), max_iter=1, solver=gm.DualAscent(tol=1e-10))
    model.fit(X, pairs)
    assert model.dual_.shape == (5,) and model.dual_[1] == 0
    V = model.eigenvectors_[left] - model.eigenvectors_[right]
    A = (V.T * (model.dual_ * pairs.sign)) @ V
    start = np.diag(np.exp(0.1 * model.eigenvalues_))
    np.testing.assert_allclose(np.linalg.inv(model.core_), start + A, rtol=1e-5, atol=1e-6)


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


@dataclass(frozen=True)
class Multiples(Family):
    """{α S : α > 0} for a kernel S: one number to learn."""

    kernel: gm.Gaussian

    def build(self, X, random_state=None):
        return MultiplesOn(self.kernel, X)


class MultiplesOn(KernelSet):
    def __init__(self, kernel, X):
        self.features = gm.KernelFeatures(kernel).fit(X)
        self.Z, self.start = self.features.transform(X), np.ones(1)

    def core(self, theta):
        return theta[0] * np.eye(self.Z.shape[1])

    def nearest(self, B, theta):
        return np.array([np.trace(B) / len(B)])

    def metric(self, core, theta, k):
        return gm.KernelMetric(self.features, core)


def test_a_family_of_ones_own(rng):
    X, truth = moons(40)
    model = gm.GeometryAwareKernel(Multiples(gm.Gaussian(0.5)), random_state=0).fit(X, hide(truth, [1, 10, 30, 39]))
    assert (np.diff(model.objective_path_) <= 0).all() and model.alphas_.shape == (1,)
    np.testing.assert_allclose(model.metric_.kernel(X), model.kernel_, atol=1e-8)
    np.testing.assert_allclose(model.embedding_ @ model.embedding_.T, model.kernel_, atol=1e-8)
