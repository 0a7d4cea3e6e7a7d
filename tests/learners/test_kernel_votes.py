"""Votes of labeled points: ridge regression in a kernel, and what it says of points that it leaves out."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import softmax

import gramian as gm
from gramian.constraints import Labels
from gramian.learners import kernel_votes
from gramian.learners.kernel_votes import KernelVotes
from gramian.learners.posteriors import votes


@pytest.fixture
def points(rng):
    y = np.arange(45) % 3
    return rng.normal(size=(45, 4)) + 2 * np.eye(4)[y], y


def ridge(K, Y, asked):
    """Scores of kernel ridge regression, by its normal equations in the coordinates of the kernel."""
    values, vectors = np.linalg.eigh(K)
    phi = vectors * np.sqrt(np.maximum(values, 0))
    back = np.linalg.pinv(phi)
    w = np.linalg.solve(phi.T @ phi + kernel_votes.PENALTY * np.eye(len(K)), phi.T @ Y)
    return asked @ back.T @ w


def kernel_of(D, X):
    scale = kernel_votes.WIDTH * np.sqrt(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean())
    return 1 + np.exp(-D / (2 * scale**2))


def test_scores_are_those_of_ridge_regression(points, rng):
    X, y = points
    Q = rng.normal(size=(7, 4))
    found = KernelVotes.fit(gm.linalg.sqdist(X), y)
    K, asked = (kernel_of(gm.linalg.sqdist(points, X), X) for points in (X, Q))
    scores = ridge(K, np.eye(3)[y], asked)
    p = found.roots(gm.linalg.sqdist(Q, X)) ** 2
    np.testing.assert_allclose(p.sum(axis=1), 1)
    ratio = (np.log(p[:, 1:]) - np.log(p[:, :1])) / (scores[:, 1:] - scores[:, :1])  # 1/τ in all of them
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-5)


def test_the_temperature_is_that_of_points_left_out_one_by_one(points):
    X, y = points
    K = kernel_of(gm.linalg.sqdist(X), X)
    left = np.array([
        ridge(K[np.ix_(others, others)], np.eye(3)[y[others]], K[i : i + 1, others])[0]
        for i in range(45)
        for others in [np.delete(np.arange(45), i)]
    ])  # fmt: skip
    loss = lambda t: -np.log(softmax(left / t, axis=1)[np.arange(45), y]).mean()  # noqa: E731
    best = minimize_scalar(loss, bounds=(0.1, 3), method="bounded").x
    sharp, soft = (KernelVotes.fit(gm.linalg.sqdist(X), y, softer) for softer in (1.0, 2.0))
    scores = ridge(K, np.eye(3)[y], K)
    for found, tau in ((sharp, best), (soft, 2 * best)):
        np.testing.assert_allclose(found.roots(gm.linalg.sqdist(X)) ** 2, softmax(scores / tau, axis=1), atol=1e-3)


@pytest.mark.parametrize("unit", [1e-3, 1e4])
def test_votes_have_no_unit_and_stand_in_files(points, tmp_path, unit):
    X, y = points
    metric = gm.PLDA(anchor=0.2).fit(X, y).metric_
    one = votes(X, Labels(y, np.arange(3)), metric, 1.0)
    scaled = gm.Mahalanobis(metric.components / unit)
    two = votes(unit * X, Labels(y, np.arange(3)), scaled, 1.0)
    np.testing.assert_allclose(one.of(X), two.of(unit * X), atol=1e-9)
    one.save(tmp_path / "votes.gram")
    np.testing.assert_array_equal(gm.load(tmp_path / "votes.gram").of(X), one.of(X))
    with pytest.raises(ValueError, match=r"KernelProbabilities: anchors must be \(m, q\)"):
        gm.coordinates.KernelProbabilities(metric, one.anchors, one.coefficients[1:], one.scale, one.classes)


def test_copies_of_one_point_have_votes(points):
    D = np.zeros((6, 6))
    p = KernelVotes.fit(D, np.arange(6) % 2).roots(D) ** 2
    np.testing.assert_allclose(p, 0.5)


def test_soft_votes_are_less_sure(points, rng):
    X, y = points
    Q = rng.normal(size=(30, 4))
    sure = [
        gm.Posteriors(kind).fit(X, y).metric_.coordinates.model.of(Q).max(axis=1) for kind in ("votes", "soft votes")
    ]
    assert (sure[0] > sure[1]).all()


def test_labels_by_chance_have_no_votes(rng):
    X, y = rng.normal(size=(150, 5)), np.arange(150) % 2
    p = gm.Posteriors("votes").fit(X, y).metric_.coordinates.model.of(X)
    assert np.abs(p - 0.5).max() < 0.1, "what each point would say without its label decides how sure they are"


def test_labeled_points_are_judged_by_the_others_under_the_same_metric(points):
    X, y = points
    learner = gm.Posteriors("votes", gm.PLDA(anchor=0.5), cv=3)
    crossed = learner.fit_transform(X, y)
    L = learner.metric_.components
    metric = gm.Mahalanobis(L[:4, :4])
    order = np.argsort(X @ np.random.RandomState(0).standard_normal(4), kind="stable")
    place = np.empty(45, dtype=int)
    for name in range(3):  # every third point of each class
        place[order[y[order] == name]] = np.arange(15) % 3
    for fold in range(3):
        rows, others = place == fold, place != fold
        p = votes(X[others], Labels(y[others], np.arange(3)), metric, 1.0).of(X[rows])
        columns = learner.metric_.coordinates.classes
        np.testing.assert_allclose((crossed[rows, 4:] / L[-1, -1]) ** 2, p[:, columns], atol=1e-6)
