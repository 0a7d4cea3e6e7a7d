"""Geometry-aware kernels: each half step against an independent solution, and the whole against its promises."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.manifold.problems import closer_moons, family, hide

import gramian as gm
from gramian.manifold import NeighborGraph, SpectralFamily, laplacian

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*connected components", "ignore:.*held-out labels", "ignore::sklearn.exceptions.ConvergenceWarning"
)


@pytest.mark.parametrize("name", ["spectral", "inductive", "rbf"])
def test_gamma_is_chosen_on_the_labels_as_by_hand(name):
    """Folds, fits and votes spelled out with the public estimator."""
    X, truth = closer_moons(40, noise=0.25)
    y = hide(truth, np.arange(1, 40, 4))
    options = {"family": family(name, n_eigenvectors=6, rank=12), "n_votes": 3, "n_pairs": 12}
    options |= {"max_iter": 2, "random_state": 0, "anchor": 0.0}
    grid = [0.01, 1.0, 10.0]
    model = gm.GeometryAwareKernel(gamma=grid[::-1], **options).fit(X, y)
    known, right = np.flatnonzero(y >= 0), np.zeros(3)
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=np.random.RandomState(0))
    for _, fold in folds.split(known, y[known]):
        rest = hide(y, np.delete(known, fold))
        for i, gamma in enumerate(grid):
            found = gm.GeometryAwareKernel(gamma=gamma, **options).fit(X, rest).predict()
            right[i] += np.sum(found[known[fold]] == y[known[fold]])
    assert model.gamma_ == grid[right.argmax()]
    alone = gm.GeometryAwareKernel(gamma=model.gamma_, **options).fit(X, y)
    np.testing.assert_array_equal(model.core_, alone.core_)
    with pytest.raises(ValueError, match="gamma must be one number with constraints"):
        model.fit(X, gm.Pairs([0], [1], [True]))
    assert model.fit(X, hide(truth, [3])).gamma_ == 0.01  # nothing to choose by


def test_hard_constraints_hold():
    X, truth = closer_moons(60)
    drawn = gm.Pairs.from_labels(truth, 10, random_state=0)
    pairs = gm.Pairs(drawn.left, drawn.right, drawn.similar, bounds=(0.05, 0.1))
    model = gm.GeometryAwareKernel(SpectralFamily(n_eigenvectors=10), gamma=None).fit(X, pairs)
    assert pairs.violation(model.metric_, X).max() < 1e-4
    assert np.linalg.eigvalsh(model.kernel_)[0] > -1e-10
    assert (np.diff(model.alphas_) <= 0).all() and (model.alphas_ > 0).all()


def test_without_side_information_it_is_the_diffusion_kernel():
    X, _ = closer_moons(60)
    spectral = SpectralFamily(n_eigenvectors=59, n_neighbors=6, diffusion=0.4)
    model = gm.GeometryAwareKernel(spectral).fit(X, np.full(60, -1))
    L = laplacian(NeighborGraph(6)(X))[0].toarray()
    values, V = np.linalg.eigh(L)
    expected = (V * np.exp(-0.4 * values)) @ V.T - 1 / 60  # without the constant vector
    np.testing.assert_allclose(model.kernel_, expected, atol=1e-9)
    assert model.converged_ and model.objective_path_ == []
    with pytest.raises(ValueError, match="predict needs labels"):
        model.predict()


@pytest.mark.parametrize("name", ["spectral", "inductive", "rbf"])
def test_labels_spread_and_new_points_follow(name):
    X, truth = closer_moons(100)
    y = hide(truth, np.arange(3, 100, 6))
    kind = family(name, n_eigenvectors=10, rank=60, kernel=gm.Gaussian(0.4))
    model = gm.GeometryAwareKernel(kind, 1.0, random_state=0, n_votes=3, n_pairs=40).fit(X, y)
    right = np.mean(model.predict() == truth)
    assert right > 0.9
    new, labels = closer_moons(160, seed=5)
    assert np.mean(model.predict(new) == labels) > right - 0.06
    assert np.array_equal(model.predict()[y >= 0], truth[y >= 0])


@pytest.mark.parametrize("name", ["spectral", "inductive", "rbf"])
def test_kernel_embedding_and_metric_agree(name, tmp_path):
    X, truth = closer_moons(60)
    kind = family(name, n_eigenvectors=6, rank=20)
    y = hide(truth, [1, 20, 40, 59])
    model = gm.GeometryAwareKernel(kind, 1.0, random_state=0).fit(X, y)
    K = model.kernel_
    D = np.diag(K)[:, None] + np.diag(K) - 2 * K
    np.testing.assert_allclose(model.metric_.sqdist(X), D, atol=1e-6 * D.max())
    F = model.embedding_
    np.testing.assert_allclose(F @ F.T, K, atol=1e-6 * np.abs(K).max())
    model.metric_.save(tmp_path / "metric")
    np.testing.assert_allclose(gm.load(tmp_path / "metric").sqdist(X), model.metric_.sqdist(X))
    plane = gm.GeometryAwareKernel(kind, 1.0, n_components=2, random_state=0).fit(X, y)
    values, vectors = np.linalg.eigh(K)
    best = (vectors[:, -2:] * values[-2:]) @ vectors[:, -2:].T
    np.testing.assert_allclose(plane.embedding_ @ plane.embedding_.T, best, atol=1e-6 * np.abs(K).max())
    for fitted in (model, plane):
        new = closer_moons(60, seed=3)[0]
        np.testing.assert_allclose(fitted.transform(X), fitted.embedding_, atol=1e-9 * np.abs(K).max())
        np.testing.assert_array_equal(fitted.transform(new), fitted.metric_.transform(new))


def test_copies_of_points_have_their_own_row(rng):
    """As a set the points have the rows of the embedding; alone a copy has the mean of its point's rows."""
    X, truth = closer_moons(60)
    X = np.vstack([X, X[:7]])
    y = hide(np.append(truth, truth[:7]), [1, 20, 40, 59])
    for model in (gm.GeometryAwareKernel(gamma=1.0, random_state=0), gm.TDL(3, lam=0.1, n_neighbors=6)):
        F = model.fit(X, y).embedding_
        assert np.abs(F[:7] - F[60:]).max() > 1e-6
        np.testing.assert_array_equal(model.transform(X), F)
        np.testing.assert_array_equal(model.metric_.transform(X.copy()), F)
        np.testing.assert_allclose(model.transform(X[3:4])[0], (F[3] + F[63]) / 2)
        np.testing.assert_array_equal(model.transform(X[10:20]), F[10:20])


def test_alignment_of_two_pieces_by_a_few_links():
    """Two disjoint circles, must-links at a few angles: nearest on the other circle is near in angle."""
    t = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    ring = np.c_[np.cos(t), np.sin(t)]
    X = np.vstack([ring, 5 + 2 * ring])
    links = np.arange(0, 40, 5)
    pairs = gm.Pairs(links, links + 40, np.ones(8, bool), bounds=(1e-4, 1.0))
    spectral = SpectralFamily(n_eigenvectors=9, n_neighbors=2)
    model = gm.GeometryAwareKernel(spectral, gamma=100.0, max_iter=20)
    with pytest.warns(UserWarning, match="2 connected components"):
        model.fit(X, pairs)
    D = model.metric_.sqdist(X)[:40, 40:]
    off = np.abs((D.argmin(axis=1) - np.arange(40) + 20) % 40 - 20)
    assert np.median(off) <= 1
    start = np.exp(-0.1 * model.eigenvalues_)
    np.testing.assert_allclose(np.log(model.alphas_).sum(), np.log(start).sum())  # det M is held …
    free = model.set_params(family=replace(spectral, keep_volume=False), max_iter=60).fit(X, pairs)
    assert free.alphas_.max() < 0.01 * start.max()  # … because otherwise everything shrinks


@pytest.mark.parametrize("name", ["spectral", "inductive", "rbf"])
def test_few_labels_duplicates_and_isolated_points(name):
    X, truth = closer_moons(60)
    X = np.vstack([X, X[:10], [[40.0, 40.0]]])
    truth = np.append(truth, [*truth[:10], 1])
    kind = family(name, n_eigenvectors=5, rank=15, graph=gm.manifold.BallGraph(0.5))
    model = gm.GeometryAwareKernel(kind, 1.0, max_iter=3, random_state=0)
    for known, answers in (([0], {0}), ([0, 1, 2], {0}), ([0, 40], {0, 1}), ([0, 1, 60, 70], {0, 1})):
        found = model.fit(X, hide(truth, known)).predict()
        assert set(found) <= answers and np.array_equal(found[known], truth[known])
        assert np.isfinite(model.kernel_).all() and np.isfinite(model.transform(X[:3] + 0.01)).all()
    none = model.fit(X, np.full(len(X), -1))
    assert np.isfinite(none.kernel_).all() and none.objective_path_ == []
    assert np.isfinite(none.transform([[-90.0, 7.0]])).all()


def test_edges(rng):
    X, truth = closer_moons(60)
    X = np.vstack([X, X[:10]])
    y = hide(np.append(truth, truth[:10]), [0, 1, 2])
    five, many = SpectralFamily(n_eigenvectors=5), SpectralFamily(n_eigenvectors=500)
    assert (gm.GeometryAwareKernel(five, 1.0).fit(X, y).predict() == 0).all()  # one class
    assert (gm.GeometryAwareKernel(five, 1.0).fit(X, hide(y, [0])).predict() == 0).all()  # one label
    assert gm.GeometryAwareKernel(many, 1.0).fit(X, y).eigenvectors_.shape == (70, 69)
    for change, message in [
        ({"family": "cubic"}, "family must be one of"),
        ({"bounds": (0.0, 1.0)}, "bounds must not be 0"),
        ({"max_iter": 0}, "max_iter must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            gm.GeometryAwareKernel(**change).fit(X, y)
    with pytest.raises(ValueError, match="SpectralFamily: n_eigenvectors must be"):
        SpectralFamily(n_eigenvectors=0)
    with pytest.raises(TypeError, match="solver must be"):
        gm.GeometryAwareKernel(solver="dual").fit(X, y)


@parametrize_with_checks([gm.GeometryAwareKernel(max_iter=2, n_pairs=20)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "gamma, message", [([], "or several to choose from, got none"), ("a", "gamma must be"), (0, "gamma must be")]
)
def test_slack_weights_are_checked(gamma, message):
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.repeat([0, 1], 10)
    with pytest.raises(ValueError, match=f"GeometryAwareKernel: .*{message}"):
        gm.GeometryAwareKernel(gamma=gamma).fit(X, y)


@pytest.mark.parametrize("name", ["spectral", "inductive", "rbf"])
def test_copies_of_points_do_no_harm(name):
    X = np.random.default_rng(7).normal(size=(6, 4))
    model = gm.GeometryAwareKernel(family(name, n_neighbors=8), random_state=0)
    model.fit(np.repeat(X, 4, axis=0), np.repeat(np.arange(6) % 3, 4))
    assert np.isfinite(model.objective_path_).all() and np.isfinite(model.kernel_).all()


@pytest.mark.parametrize("name", ["inductive", "rbf"])
def test_near_copies_in_other_classes_do_no_harm(name):
    rng = np.random.default_rng(21)
    for X in (rng.normal(size=(24, 4)) > 0, np.exp(8 * rng.normal(size=(24, 4)))):
        model = gm.GeometryAwareKernel(name, random_state=0).fit(X, np.arange(24) % 3)
        assert np.isfinite(model.objective_path_).all() and np.isfinite(model.kernel_).all()
