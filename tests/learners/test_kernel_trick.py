"""The KPCA trick of Chatpatanasiri et al. (2010): foreign learners, and the kernel trick as the second road."""

import numpy as np
import pytest
from scipy.linalg import LinAlgError, eigh
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_iris, make_circles
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.svm import LinearSVC

import gramian as gm
from gramian.constraints import Labels
from gramian.learners.dne import neighbor_signs
from gramian.learners.nca import nca_loss


@pytest.fixture
def problem(rng):
    """Well-conditioned: a narrow Gaussian kernel on spread points."""
    X = rng.uniform(-2, 2, size=(24, 2))
    return X, (np.linalg.norm(X, axis=1) > 1.5).astype(int), gm.Gaussian(0.8), rng.uniform(-2, 2, size=(7, 2))


def knca_gradient(U, K, y):
    """V with ∂f/∂A = VΦᵀ at A = UΦᵀ, from the Gram matrix alone (Appendix B), one pair at a time."""
    n, E = len(K), K @ U.T
    V = np.zeros((len(U), n))
    for i in range(n):
        p = np.exp(-((E[i] - E) ** 2).sum(axis=1))
        p[i] = 0
        p /= p.sum()
        same = y == y[i]
        for k in range(n):
            weight = p[same].sum() * p[k] - p[k] * same[k]
            column = -2 * weight * U @ (K[i] - K[k])
            V[:, i] += column
            V[:, k] -= column
    return V


def test_knca_by_the_kernel_trick_takes_the_same_steps(problem, rng):
    """Proposition 1. Equation (6) adds the gradient of a function to be minimized; the sign here is minus."""
    X, y, kernel, new = problem
    features = gm.KernelFeatures(kernel).fit(X)
    Z, K = features.transform(X), kernel(X)
    U = rng.standard_normal((2, len(X)))
    L = U @ Z
    values = []
    for _ in range(10):
        value, gradient = nca_loss(L, Z, y)
        V = knca_gradient(U, K, y)
        np.testing.assert_allclose(V @ Z, gradient, atol=1e-9)
        U, L = U - 0.05 * V, L - 0.05 * gradient
        values.append(value)
    np.testing.assert_allclose(U @ kernel(X, new), L @ features.transform(new).T, atol=1e-8)
    assert values[-1] < values[0]


def test_kernelized_nca_is_stationary_for_the_kernel_trick(problem):
    X, y, kernel, _ = problem
    knca = gm.Kernelized(gm.NCA(tol=1e-8, anchor=0), kernel).fit(X, y)
    Z = knca.features_.transform(X)
    L = knca.learner_.components_
    V = knca_gradient(L @ np.linalg.pinv(Z), kernel(X), y)
    assert np.linalg.norm(V @ Z) * np.linalg.norm(L) <= 1e-6 * len(X)


def kdne(X, y, kernel, k):
    """Rows U of (7): K(D − W)K u = λ K u with uᵀKu = 1, negative λ only; W from distances in feature space."""
    K, n = kernel(X), len(X)
    values, vectors = np.linalg.eigh(K)
    W = neighbor_signs(vectors * np.sqrt(np.maximum(values, 0)), Labels.from_array(y, ""), k).toarray()
    low, U = eigh(K @ (np.diag(W.sum(axis=1)) - W) @ K, K)
    return U[:, low < -1e-10 * np.abs(low).max()].T, n


@pytest.mark.parametrize("k", [1, 3])
def test_kdne_by_the_kernel_trick_is_the_same_metric(problem, k):
    """Proposition 2: a generalized eigenproblem on K gives what the plain one gives on coordinates."""
    X, y, kernel, new = problem
    assert np.linalg.cond(kernel(X)) < 1e6
    learner = gm.Kernelized(gm.DNE(n_neighbors=k, anchor=0), kernel).fit(X, y)
    U, _ = kdne(X, y, kernel, k)
    assert learner.learner_.components_.shape[0] == len(U)
    E, F = kernel(new, X) @ U.T, kernel(X) @ U.T
    D = ((E[:, None] - F[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(learner.metric_.sqdist(new, X), D, atol=1e-6 * D.max())


def test_duplicates_and_dependence_are_no_problem_here(problem):
    X, y, kernel, new = problem
    X, y = np.vstack([X, X[:6]]), np.append(y, y[:6])
    with pytest.raises(LinAlgError):
        kdne(X, y, kernel, 1)
    for learner in (gm.DNE(anchor=0), gm.NCA(anchor=0), gm.LMNN(anchor=0)):
        D = gm.Kernelized(learner, kernel).fit(X, y).metric_.sqdist(new, X)
        assert np.isfinite(D).all()
        np.testing.assert_allclose(D[:, :6], D[:, -6:], atol=1e-8 * D.max())


def test_coordinates_keep_the_distances_of_the_feature_space(problem):
    """Proposition 3."""
    X, _, kernel, _ = problem
    Z = gm.KernelFeatures(kernel).fit_transform(X)
    np.testing.assert_allclose(((Z[:, None] - Z[None]) ** 2).sum(axis=2), kernel.sqdist(X), atol=1e-9)


def test_reg_is_the_hilbert_schmidt_norm(problem):
    """Theorem 3: ‖A‖_HS = ‖U‖_F on orthonormal coordinates, so reg acts alike in both spaces."""
    X, y, kernel, _ = problem
    weak, strong = (gm.Kernelized(gm.NCA(reg=reg, anchor=0), kernel).fit(X, y) for reg in (1e-3, 1e-1))
    norms = [np.trace(m.metric_.matrix) for m in (weak, strong)]
    assert norms[1] < norms[0]
    value = nca_loss(strong.learner_.components_, strong.features_.transform(X), y)[0]
    assert strong.objective_ == pytest.approx(value + 0.1 * norms[1])


class ElsewhereMetric:
    """A metric learner somebody else wrote: no scikit-learn base class, components_ only."""

    def __init__(self, rank=2):
        self.rank = rank

    def get_params(self, deep=True):
        return {"rank": self.rank}

    def fit(self, X, y):
        self.components_ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][: self.rank]
        return self


FOREIGN = [
    LinearDiscriminantAnalysis(),
    PCA(2, whiten=True),
    NeighborhoodComponentsAnalysis(n_components=2, random_state=0),
    PLSRegression(2),
    make_pipeline(StandardScaler(), PCA(3)),
    ElsewhereMetric(),
]


@pytest.mark.parametrize("learner", FOREIGN, ids=lambda est: type(est).__name__)
@pytest.mark.parametrize("rank", [None, 6])
def test_any_linear_estimator_can_be_kernelized(learner, rank):
    X, y = make_circles(80, noise=0.05, factor=0.4, random_state=0)
    new = make_circles(40, noise=0.05, factor=0.4, random_state=1)[0]
    fitted = gm.Kernelized(learner, gm.Gaussian(0.7), rank=rank).fit(X, y)
    Z = fitted.features_.transform(X)
    assert rank is None or Z.shape[1] == rank
    inner = fitted.learner_
    if hasattr(inner, "transform"):
        E, F = inner.transform(fitted.features_.transform(new)), inner.transform(Z)
        D = ((E[:, None] - F[None]) ** 2).sum(axis=2)
        np.testing.assert_allclose(fitted.metric_.sqdist(new, X), D, atol=1e-6 * D.max())
    assert not hasattr(learner, "components_") and fitted.metric_.alpha == 0.0


def alignment_of_patches(D, y, k, beta):
    """Λ = Σ_i S_i L_i S_iᵀ of discriminative locality alignment (§3 of the paper names it as another that is served).

    A patch is a point with its k nearest of its own class (weight 1) and of others (weight −β).
    """
    whole = np.zeros_like(D)
    for i in range(len(D)):
        order = np.argsort(D[i], kind="stable")
        order = order[order != i]
        same, other = order[y[order] == y[i]][:k], order[y[order] != y[i]][:k]
        w = np.append(np.ones(len(same)), np.full(len(other), -beta))
        patch = np.concatenate([[i], same, other])
        whole[np.ix_(patch, patch)] += np.block([[np.array([[w.sum()]]), -w[None]], [-w[:, None], np.diag(w)]])
    return whole


class PatchAlignment(ElsewhereMetric):
    """The directions that align the patches best: the least eigenvectors of ZᵀΛZ."""

    def fit(self, X, y):
        D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        self.components_ = np.linalg.eigh(X.T @ alignment_of_patches(D, y, 3, 0.2) @ X)[1][:, : self.rank].T
        return self


def test_patch_alignment_by_both_tricks(problem):
    """KΛK u = λ K u gives what the plain learner gives on coordinates."""
    X, y, kernel, new = problem
    D = gm.Kernelized(PatchAlignment(), kernel).fit(X, y).metric_.sqdist(new, X)
    K = kernel(X)
    U = eigh(K @ alignment_of_patches(kernel.sqdist(X), y, 3, 0.2) @ K, K)[1][:, :2]
    E, F = kernel(new, X) @ U, K @ U
    np.testing.assert_allclose(D, ((E[:, None] - F[None]) ** 2).sum(axis=2), atol=1e-6 * D.max())


def _parabolas(n, seed):
    """Two classes on parallel parabolas, sampled so thinly that neighbors often lie across."""
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(-2, 2, 2 * n), np.arange(2 * n) % 2
    return np.stack([x, x**2 + 0.3 * y + 0.02 * rng.standard_normal(2 * n)], axis=1), y


@pytest.mark.parametrize(
    "learner", [gm.NCA(anchor=0), gm.LMNN(reg=1.0, anchor=0), gm.DNE(anchor=0)], ids=lambda est: type(est).__name__
)
def test_kernelizing_discovers_curved_classes(learner):
    """As in Figure 2: no linear map helps, a polynomial kernel of degree two does."""
    (X, y), (test, truth) = _parabolas(25, 0), _parabolas(200, 1)
    scores = []
    for fitted in (learner.fit(X, y), gm.Kernelized(learner, gm.Polynomial(2)).fit(X, y)):
        scores.append(KNeighborsClassifier(1).fit(fitted.transform(X), y).score(fitted.transform(test), truth))
    assert scores[1] > scores[0] + 0.15
    assert scores[1] > 0.97 or isinstance(learner, gm.DNE)


def test_what_is_not_linear_is_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="Normalizer is not linear"):
        gm.Kernelized(Normalizer(), gm.Gaussian(1.0), rank=5).fit(X, y)
    with pytest.raises(TypeError, match="must have a linear transform"):
        gm.Kernelized(LinearSVC(), gm.Gaussian(1.0), rank=5).fit(X, y)
    with pytest.raises(TypeError, match="takes labels, got Pairs"):
        gm.Kernelized(PCA(2), gm.Gaussian(1.0), rank=5).fit(X, gm.Pairs([0], [1], [True], bounds=(1.0, 2.0)))


@pytest.mark.parametrize("learner", [gm.DNE(anchor=0), gm.LMNN(tol=1e-4, anchor=0), gm.MCML(tol=1e-7, anchor=0)])
def test_linear_kernel_is_the_learner_itself(learner):
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], y[::3]
    explicit, implicit = learner.fit(X, y).metric_, gm.Kernelized(learner, gm.Linear()).fit(X, y).metric_
    D = explicit.sqdist(X)
    np.testing.assert_allclose(implicit.sqdist(X), D, atol=1e-2 * D.max())
