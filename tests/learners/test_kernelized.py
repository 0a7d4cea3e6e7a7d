"""Explicit equals implicit: the kernelized learner with a linear kernel is the learner itself."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.decomposition import KernelPCA

import gramian as gm
from gramian import linalg
from gramian.constraints import Labels
from gramian.coordinates import Rest
from gramian.learners.framework import Ground, bounded, drawn
from gramian.learners.task import Task

LINEAR = np.diag([2.0, 1.0, 0.5, 1.5]) + 0.2
DIVERGENCES = {
    "logdet": gm.LogDet(),
    "vonneumann": gm.VonNeumann(),
    "frobenius": gm.Frobenius(),
    "linear-frobenius": gm.LinearFrobenius(LINEAR, 1.0),
    "linear-logdet": gm.LinearLogDet(LINEAR, 1.0),
    "over points": gm.LinearFrobenius(sparse.eye_array(50) / 50, 1.0),
}


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X[::3], y[::3], X[1::7] + 0.3


def agree(explicit, implicit, X, new):
    for A, B in ((X, None), (new, None), (new, X)):
        D = explicit.metric_.sqdist(A, B)
        np.testing.assert_allclose(implicit.metric_.sqdist(A, B), D, atol=1e-8 * D.max())
    K = explicit.metric_.kernel(new, X)
    np.testing.assert_allclose(implicit.metric_.kernel(new, X), K, atol=1e-8 * np.abs(K).max())


@pytest.mark.parametrize("name", DIVERGENCES)
@pytest.mark.parametrize("slack", [None, 0.1])
def test_linear_kernel_equals_explicit(iris, name, slack):
    X, y, new = iris
    learner = gm.Framework(DIVERGENCES[name], slack=slack, random_state=0, anchor=0)
    side = y if slack else gm.Pairs([0, 3, 20], [9, 40, 45], [True, False, True], bounds=(0.3, 12.0))
    agree(learner.fit(X, side), gm.Kernelized(learner, gm.Linear()).fit(X, side), X, new)


@pytest.mark.parametrize("learner", [gm.ITML(random_state=0, anchor=0), gm.ITML(tol=1e-8, random_state=0, anchor=0)])
def test_itml_too(iris, learner):
    X, y, new = iris
    agree(learner.fit(X, y), gm.Kernelized(learner, gm.Linear()).fit(X, y), X, new)


@pytest.mark.parametrize("name", ["logdet", "vonneumann", "frobenius"])
def test_more_features_than_points(name, rng):
    """Outside of the span of the training points the identity prior stays, which is α = 1 (Jain 2009, Theorem 5)."""
    X, y, new = rng.normal(size=(8, 30)), np.arange(8) % 2, rng.normal(size=(5, 30))
    learner = gm.Framework(DIVERGENCES[name], slack=0.1, random_state=0, anchor=0)
    implicit = gm.Kernelized(learner, gm.Linear()).fit(X, y)
    assert implicit.metric_.alpha == 1.0
    agree(learner.fit(X, y), implicit, X, new)


@pytest.mark.parametrize("rank", [1, 3, 8])
def test_subspace_form_equals_kernel_on_the_same_basis(rank, rng):
    """W = αI + U(M − αI)Uᵀ (3.6) is the linear-kernel metric whose basis points span U."""
    X, y, new = rng.normal(size=(20, 12)), np.arange(20) % 2, rng.normal(size=(5, 12))
    U = np.linalg.qr(X[:rank].T)[0]
    for divergence in (gm.LogDet(), gm.VonNeumann(), gm.Frobenius()):
        learner = gm.Framework(divergence, slack=0.1, tol=1e-12, random_state=0, anchor=0)
        features = gm.KernelFeatures(gm.Linear(), basis=X[:rank])
        explicit = gm.Framework(divergence, slack=0.1, tol=1e-12, random_state=0, rank=rank, subspace=U, anchor=0).fit(
            X, y
        )
        implicit = gm.Kernelized(learner, features=features)
        pairs = gm.Pairs.from_labels(y, random_state=0, X=X)
        agree(explicit.fit(X, pairs), implicit.fit(X, pairs), X, new)


@pytest.mark.parametrize("rank", [2, 3])
def test_a_basis_of_combinations_of_points_is_the_subspace_that_they_span(rank, rng):
    """R = XJ for any J (Jain 2009, Theorem 5), here class means in the space of a kernel and a third combination."""
    X, y, new = rng.normal(size=(20, 2)), np.arange(20) % 2, rng.normal(size=(5, 2))
    J = np.c_[y == 0, y == 1, rng.normal(size=20)][:, :rank] / 10.0
    pairs = gm.Pairs.from_labels(y, 15, random_state=0, X=X)
    kernel = gm.Polynomial(2, offset=0.0)

    def phi(A):  # (aᵀb)² in vectors
        return np.c_[A[:, 0] ** 2, np.sqrt(2) * A[:, 0] * A[:, 1], A[:, 1] ** 2]

    settings = {"slack": 0.1, "anchor": 0, "tol": 1e-11}
    explicit = gm.Framework(rank=rank, subspace=phi(X).T @ J, **settings).fit(phi(X), pairs).metric_
    features = gm.KernelFeatures(kernel, basis="all", combination=J)
    implicit = gm.Kernelized(gm.Framework(**settings), features=features).fit(X, pairs).metric_
    D = explicit.sqdist(phi(new), phi(X))
    np.testing.assert_allclose(implicit.sqdist(new, X), D, atol=1e-6 * D.max())


def test_a_rank_belongs_to_the_coordinates(iris):
    X, y, _ = iris
    with pytest.raises(ValueError, match="Kernelized: learner must have rank=None, got 2; give rank to Kernelized"):
        gm.Kernelized(gm.ITML(rank=2), gm.Gaussian()).fit(X, y)


def test_full_subspace_is_the_plain_learner(iris):
    X, y, new = iris
    plain = gm.Framework(slack=0.1, random_state=0, anchor=0).fit(X, y)
    full = gm.Framework(slack=0.1, random_state=0, rank=4, anchor=0).fit(X, y)
    agree(plain, full, X, new)
    np.testing.assert_allclose(full.metric_.matrix, plain.metric_.matrix, atol=1e-7)


def test_learned_kernel_is_psd_and_separates_circles():
    rng = np.random.default_rng(0)
    angle, y = rng.uniform(0, 2 * np.pi, 80), np.arange(80) % 2
    X = (1 + 1.5 * y)[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1) + 0.1 * rng.normal(size=(80, 2))
    plain = gm.ITML(random_state=0, anchor=0).fit(X, y)
    learned = gm.Kernelized(gm.ITML(random_state=0, anchor=0), gm.Gaussian(1.0)).fit(X, y)
    assert learned.score(X, y) > max(plain.score(X, y) + 0.2, 0.95)
    new = rng.normal(size=(30, 2))
    assert np.linalg.eigvalsh(learned.metric_.kernel(new))[0] > -1e-8


def test_truncated_rank_keeps_the_residual(iris):
    """With few coordinates the metric still is the kernel distance in directions nothing was learned about."""
    X, y, new = iris
    fitted = gm.Kernelized(gm.ITML(random_state=0, anchor=0), gm.Gaussian(1.0), rank=5).fit(X, y)
    assert fitted.metric_.core.shape == (5, 5)
    assert fitted.metric_.alpha == 1.0
    far = new + 1000.0
    kernel_distance = fitted.features_.kernel_.sqdist(far, X)
    rest = fitted.metric_.sqdist(far, X)
    assert (rest >= 1.0 - 1e-9).all() and np.isfinite(rest).all()
    assert np.abs(kernel_distance - 2).max() < 1e-6


@pytest.mark.parametrize("alpha", [1.0, 4.0])
def test_default_bounds_count_what_lies_outside_of_the_basis(iris, alpha):
    """With few landmarks the percentiles are of whole kernel distances, under the prior α."""
    X, y, _ = iris
    few = gm.Kernelized(gm.ITML(alpha=alpha, random_state=0, anchor=0), gm.Gaussian(1.0), rank=3).fit(X, y)
    Z = few.features_.transform(X)
    here = Rest(few.metric_.coordinates, X, Z)
    task = Task(Z, Labels.from_array(y, "test"), here, np.random.RandomState(0))
    side = bounded(task, drawn(task, None), Ground.of(task, alpha))
    D = alpha * gm.Gaussian(1.0).sqdist(X)[np.triu_indices(len(X), 1)]
    np.testing.assert_allclose([b[0] for b in side.bounds], np.percentile(D[D > 0], (5, 95)))
    assert few.score(X, y) > 0.85


@pytest.mark.parametrize(
    ("learner", "width"),
    [(gm.Kernelized(gm.NCA(n_components=2, anchor=0)), 2), (gm.LowRankKernel(rank=3, random_state=0), 3)],
    ids=["Kernelized", "LowRankKernel"],
)
def test_coordinates_are_as_many_as_the_metric_has_rank(iris, learner, width):
    X, y, _ = iris
    Z = learner.fit(X, y).transform(X)
    assert Z.shape == (len(X), width) and len(learner.get_feature_names_out()) == width
    np.testing.assert_allclose(linalg.sqdist(Z), learner.metric_.sqdist(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(Z @ Z.T, learner.metric_.kernel(X), rtol=1e-7, atol=1e-9)


def test_a_kernel_that_vanishes_is_named():
    with pytest.raises(ValueError, match="Kernelized: kernel must not vanish on all points"):
        gm.Kernelized(gm.NCA(anchor=0), kernel=gm.Linear()).fit(np.zeros((6, 2)), [0, 1] * 3)


@pytest.mark.parametrize("kernel", [gm.Gaussian(2.0), gm.Cosine(), gm.Linear()], ids=lambda k: type(k).__name__)
@pytest.mark.parametrize("rank", [None, 4])
def test_sparse_points_are_the_same_points(kernel, rank, rng):
    y = np.arange(30) % 2
    X = rng.normal(size=(30, 5)) + y[:, None]
    X[np.abs(X) < 0.7] = 0
    model = gm.Kernelized(gm.ITML(random_state=0, tol=1e-10, anchor=0), kernel, rank=rank)
    dense, S = model.fit(X, y).metric_.sqdist(X), sparse.csc_matrix(X)
    model.fit(S, y)
    np.testing.assert_allclose(model.metric_.sqdist(S), dense, rtol=1e-6, atol=1e-8 * dense.max())
    assert model.transform(S).shape[0] == 30 and model.score(S, y) > 0.5


def test_a_function_of_two_objects_is_a_kernel():
    words, y = ["metric", "meter", "meters", "kernel", "colonel", "kern"], list("aaabbb")

    def shared(a, b):
        return float(len(set(a) & set(b)))

    one, two = (
        gm.Kernelized(gm.ITML(random_state=0, anchor=0), k).fit(words, y) for k in (shared, gm.FunctionKernel(shared))
    )
    np.testing.assert_allclose(one.metric_.sqdist(words), two.metric_.sqdist(words))


@pytest.mark.parametrize("rank", [3, 8])
def test_leading_components_by_one_word_are_those_of_kernel_pca(iris, rank):
    """Remark 4 of Chatpatanasiri et al. (2010), against scikit-learn's kernel PCA."""
    X, y, new = iris
    kernel = gm.Gaussian(1.5)
    model = gm.Kernelized(gm.RCA(anchor=0), kernel, rank=rank, basis="principal").fit(X, y)
    pca = KernelPCA(rank, kernel="rbf", gamma=1 / (2 * 1.5**2)).fit(X)
    plain = gm.RCA(anchor=0).fit(pca.transform(X), y).metric_
    wanted = plain.sqdist(pca.transform(new), pca.transform(X))
    np.testing.assert_allclose(model.metric_.sqdist(new, X), wanted, rtol=1e-6, atol=1e-8 * wanted.max())


def test_a_basis_is_that_of_the_features(iris):
    X, y, _ = iris
    by_word = gm.Kernelized(gm.RCA(anchor=0), gm.Gaussian(2.0), rank=6, basis="kmeans", random_state=0).fit(X, y)
    features = gm.KernelFeatures(gm.Gaussian(2.0), rank=6, basis="kmeans", random_state=0)
    given = gm.Kernelized(gm.RCA(anchor=0), features=features).fit(X, y)
    np.testing.assert_array_equal(by_word.metric_.sqdist(X), given.metric_.sqdist(X))
    with pytest.raises(ValueError, match="basis must be one of"):
        gm.Kernelized(gm.RCA(), gm.Gaussian(), basis="nothing").fit(X, y)


def test_points_that_are_all_one_have_distance_zero():
    model = gm.Kernelized(gm.RCA(), rank=5).fit(np.ones((30, 3)), np.arange(30) % 3)
    assert model.metric_.sqdist(np.ones((4, 3))).max() == 0


def test_several_kernels_are_aligned_in_each_fit(rng):
    """The weights of `align` on the labels of the fit, by hand; in cross-validation those of the fold."""
    from sklearn.model_selection import cross_val_score

    X = rng.normal(size=(60, 4))
    y = (X[:, 0] ** 2 + X[:, 1] > 0.5).astype(int)
    kernels = [gm.Gaussian(s) for s in (0.5, 1.0, 4.0)]
    inner = gm.RCA(reg=0.1, anchor=0)
    fitted = gm.Kernelized(inner, kernels).fit(X, y)
    by_hand = gm.Kernelized(inner, gm.align(kernels, X, y)).fit(X, y)
    np.testing.assert_allclose(fitted.metric_.sqdist(X), by_hand.metric_.sqdist(X), atol=1e-9)
    half = gm.Kernelized(inner, kernels).fit(X[:30], y[:30])
    want = gm.Kernelized(inner, gm.align(kernels, X[:30], y[:30])).fit(X[:30], y[:30])
    np.testing.assert_allclose(half.metric_.sqdist(X), want.metric_.sqdist(X), atol=1e-9)
    assert np.isfinite(cross_val_score(gm.Kernelized(inner, kernels), X, y, cv=3)).all()
    with pytest.raises(TypeError, match="one Kernel for Pairs, got a list"):
        gm.Kernelized(gm.ITML(anchor=0), kernels).fit(X, gm.Pairs([0, 1], [2, 3], [True, False], bounds=(1.0, 2.0)))
