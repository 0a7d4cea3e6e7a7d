"""Contrastive: its loss and gradient by other roads, its optimum, and what it keeps."""

import numpy as np
import pytest
from benchmarks.effect.adapter import TEMPERATURE, contrastive
from scipy.optimize import approx_fprime

import gramian as gm
from gramian.learners import softmax
from gramian.learners.contrastive import contrastive_loss
from gramian.solvers import Result


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    y = np.array([0, 0, 1, 1, 1, 2, 2, 3, 0])
    return rng.standard_normal((9, 3)), y, np.eye(3) + 0.1 * rng.standard_normal((3, 3))


def slow_loss(L, X, y, temperature):
    """The loss by its definition, one point after the other."""
    Z = X @ L.T
    found = []
    for i in range(len(X)):
        cosines = [Z[i] @ Z[j] / np.linalg.norm(Z[i]) / np.linalg.norm(Z[j]) for j in range(len(X))]
        others = [j for j in range(len(X)) if j != i]
        mates = [j for j in others if y[j] == y[i]]
        if mates:
            own = sum(np.exp(cosines[j] / temperature) for j in mates)
            found.append(-np.log(own / sum(np.exp(cosines[j] / temperature) for j in others)))
    return np.mean(found)


def test_the_loss_is_its_definition_and_its_gradient_that_of_finite_differences(points):
    X, y, L = points
    value, gradient = contrastive_loss(L, X, y, 0.3)
    assert value == pytest.approx(slow_loss(L, X, y, 0.3), rel=1e-12)
    numeric = approx_fprime(L.ravel(), lambda v: contrastive_loss(v.reshape(3, 3), X, y, 0.3)[0], 1e-7)
    assert gradient.ravel() == pytest.approx(numeric, abs=1e-6)


def test_the_loss_in_blocks_is_that_of_all_pairs_at_once(monkeypatch):
    rng = np.random.default_rng(1)
    X, y, L = rng.standard_normal((300, 6)), rng.integers(5, size=300), np.eye(6) + 0.1
    monkeypatch.setattr(softmax, "BLOCK_BYTES", 1)
    monkeypatch.setattr(softmax, "LEAST_ROWS", 7)
    value, gradient = contrastive_loss(L, X, y, TEMPERATURE)
    expected, slope = contrastive(L, X, y)
    assert value == pytest.approx(expected, rel=1e-10)
    assert gradient == pytest.approx(slope, abs=1e-10)


def test_a_fit_ends_where_the_gradient_of_the_objective_vanishes():
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1, 2], 20)
    X = rng.standard_normal((60, 4)) + 2 * np.eye(3, 4)[y]
    learner = gm.Contrastive(0.5, 0.1, anchor=0, tol=1e-6, max_iter=500).fit(X, y)
    assert learner.converged_
    centered = X - X.mean(axis=0)
    U = centered / np.linalg.norm(centered, axis=1, keepdims=True)
    L = learner.solution_.factor

    def objective(v):
        M = v.reshape(4, 4)
        return slow_loss(M, U, y, 0.5) + 0.05 * np.sum((M - np.eye(4)) ** 2)

    assert learner.objective_ == pytest.approx(objective(L.ravel()), rel=1e-8)
    assert np.abs(approx_fprime(L.ravel(), objective, 1e-6)).max() < 1e-4
    assert learner.objective_ < objective(np.eye(4).ravel())


def test_a_large_penalty_leaves_the_points_as_they_are():
    X, y = gm.datasets.load("wine", return_X_y=True)
    assert gm.Contrastive(reg=1e6, anchor=0).fit(X, y).metric_.matrix == pytest.approx(np.eye(13), abs=1e-4)


def test_chunklets_learn_what_labels_do_and_points_of_no_group_are_left_out():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((40, 3)), np.repeat([0, 1], 20)
    by_labels = gm.Contrastive(anchor=0).fit(X, y).metric_.matrix
    assert gm.Contrastive(anchor=0).fit(X, gm.Chunklets(y)).metric_.matrix == pytest.approx(by_labels, rel=1e-9)
    more = np.vstack([X, 5 + rng.standard_normal((9, 3))])
    ids = np.r_[y, np.full(9, -1)]
    assert gm.Contrastive(anchor=0).fit(more, gm.Chunklets(ids)).metric_.matrix == pytest.approx(by_labels, rel=1e-9)


@pytest.mark.parametrize(("seed", "unit"), [(0, 1.0), (1, 1e-3), (2, 250.0)])
def test_turning_and_rescaling_the_points_turns_the_metric(seed, unit):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], 6)
    X = rng.standard_normal((18, 3)) + np.eye(3)[y]
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    plain = gm.Contrastive(0.5, 0.3, anchor=0, tol=1e-6, max_iter=1000).fit(X, y).metric_.matrix
    turned = gm.Contrastive(0.5, 0.3, anchor=0, tol=1e-6, max_iter=1000).fit(unit * X @ Q.T, y).metric_.matrix
    assert turned == pytest.approx(Q @ plain @ Q.T, abs=1e-3)


def test_one_class_and_classes_of_one_point_are_refused():
    X = np.random.default_rng(4).standard_normal((6, 2))
    with pytest.raises(ValueError, match="two classes"):
        gm.Contrastive(anchor=0).fit(X, gm.Chunklets(np.zeros(6, dtype=int)))
    with pytest.raises(ValueError, match="two points"):
        gm.Contrastive(anchor=0).fit(X, np.arange(6))


def test_angles_find_new_points_of_the_classes_better():
    """On 60 columns of which 6 tell the classes apart."""
    rng = np.random.default_rng(5)
    centers = np.hstack([rng.standard_normal((8, 6)), np.zeros((8, 54))])

    def drawn(n):
        y = np.repeat(np.arange(8), n)
        return centers[y] + 0.8 * rng.standard_normal((8 * n, 60)), y

    X, y = drawn(15)
    T, t = drawn(25)
    L = gm.Contrastive(reg=0.1, anchor=0).fit(X, y).components_

    def precision(Z):
        Z = Z / np.linalg.norm(Z, axis=1, keepdims=True)
        near = np.argsort(-Z @ Z.T, axis=1)[:, 1:11]
        return (t[near] == t[:, None]).mean()

    assert precision((T - X.mean(axis=0)) @ L.T) > precision(T - X.mean(axis=0)) + 0.03


def test_an_anchored_fit_takes_ten_steps_also_where_they_end_far_from_the_optimum(rng):
    y = np.arange(120) % 12
    X = (0.3 * rng.normal(size=(12, 100))[y] + rng.normal(size=(120, 100))) * np.geomspace(1, 0.03, 100)
    learner = gm.Contrastive(0.2, 0.003, anchor=0.3).fit(X, y)
    assert learner.solution_.residual > 1, "a residual from which on other learners go on"
    assert learner.n_iter_ == 10 and learner.solution_.result is Result.stopped_early
