"""Blends of candidates, the neighbors that folds look at, and the prior where one column decides all distances."""

from dataclasses import replace

import numpy as np
import pytest

import gramian as gm
from gramian.constraints import Labels
from gramian.coordinates import Plain, Rest
from gramian.learners.auto_metric import prior_of
from gramian.learners.candidates import MeanOf
from gramian.learners.path import Path, SharedPoints, precision_path
from gramian.learners.starts import AsTheyAre, Scaled, dominated
from gramian.learners.task import Task
from gramian.learners.trials import Search, mean_of


@pytest.fixture
def paths(rng):
    """Two ways to the identity in six dimensions, and the metrics they start from."""
    found, matrices = [], []
    directions = np.linalg.qr(rng.normal(size=(6, 4)))[0]
    for size in (2, 4):
        U = directions[:, :size]
        root = rng.normal(size=(size, size))
        root = root @ root.T
        found.append(Path(U, root))
        matrices.append(np.eye(6) + U @ (root @ root - np.eye(size)) @ U.T)
    return found, matrices


@pytest.mark.parametrize("angle", [False, True])
@pytest.mark.parametrize("weight", [0.0, 0.3])
def test_the_mean_of_paths_is_the_path_of_the_mean(rng, paths, weight, angle):
    parts, matrices = paths
    X = rng.normal(size=(9, 6))
    center = X.mean(axis=0) if angle else None
    found = replace(mean_of(parts), center=center).among(X, weight)
    M = (1 - weight) * sum(matrices) / 2 + weight * np.eye(6)
    Z = (X - X.mean(axis=0)) @ np.linalg.cholesky(M)
    if angle:
        Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    np.testing.assert_allclose(found, gm.linalg.sqdist(Z), atol=1e-9)
    left, right = np.arange(8), np.arange(1, 9)
    pairs = replace(mean_of(parts), center=center).paired(X, left, right, np.array([weight]))
    np.testing.assert_allclose(pairs[0], found[left, right], atol=1e-9)


@pytest.mark.parametrize("angle", [False, True])
def test_what_paths_share_changes_nothing(rng, paths, angle):
    """Neither for the points that they share, whichever of the paths came first, nor for others."""
    X, Y = rng.normal(size=(2, 9, 6))
    shared, center = SharedPoints(X), Y.mean(axis=0) if angle else None
    for path in [*paths[0], paths[0][0]]:
        alone = replace(path, center=center)
        beside = replace(alone, shared=shared)
        for points in (X, X.copy(), Y):
            np.testing.assert_allclose(beside.among(points, 0.3), alone.among(points, 0.3), atol=1e-12)
        np.testing.assert_allclose(np.array(beside.between(X, Y)), np.array(alone.between(X, Y)), atol=1e-12)


def test_a_blend_learns_the_mean_of_what_its_parts_learn(rng):
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 5)) + 2 * np.eye(5)[y]
    parts = gm.PLDA(0.3, 0.1), gm.RCA()
    labels = Labels(y, np.arange(3))
    solution = MeanOf(parts).near(task_of(X, labels), 0.2)
    alone = [part.set_params(anchor=0.2).fit(X, y).metric_.matrix for part in parts]
    np.testing.assert_allclose(solution.factor.T @ solution.factor, sum(alone) / 2, atol=1e-9)


def test_one_neighbor_is_looked_at_for_each_part_of_a_class(rng):
    X, codes = rng.normal(size=(20, 2)), np.repeat([0, 1], [7, 13])
    nothing = Path(np.zeros((2, 0)), np.zeros((0, 0)))
    found = precision_path(X, codes, nothing, np.array([1.0]), most=3, part=3)[:, 0]
    for i, x in enumerate(X):
        near = np.argsort(((X - x) ** 2).sum(axis=1))[1:]
        k = min(3, ((codes == codes[i]).sum() - 1) // 3)
        assert found[i] == pytest.approx((codes[near[:k]] == codes[i]).mean())
    two = precision_path(X[:2], codes[:2], nothing, np.array([1.0]), most=3, part=3)
    assert two.tolist() == [[1.0], [1.0]], "one at least"


def test_scaled_features_are_the_prior_where_one_column_decides_all_distances(rng):
    y = np.arange(80) % 4
    X = 2 * np.eye(4)[y] + 0.5 * rng.normal(size=(80, 4))
    wide = np.column_stack([X, 100 * rng.normal(size=80)])
    assert dominated(wide) and not dominated(X)
    starts = scored(wide, y)
    assert prior_of(starts, dominated(wide)) is starts[1]
    # The wide column tells the classes, and the others nothing: scaled features lose by far more than an error.
    told = np.column_stack([rng.normal(size=(80, 4)), 100 * y + rng.normal(size=80)])
    starts = scored(told, y)
    assert dominated(told) and prior_of(starts, True) is starts[0]


def task_of(X, y):
    return Task(X, y, Rest(Plain(X.shape[1]), X, X), np.random.RandomState(0))


def scored(X, y):
    search = Search(task_of(X, Labels(y, np.arange(4))), 10, 3)
    return [search.trial(start.name, start) for start in (AsTheyAre(X.shape[1]), Scaled(X.shape[1]))]


def test_automatic_tries_blends_by_angle_and_names_them(rng):
    y = np.arange(60) % 6
    X = np.eye(6)[y] @ rng.normal(size=(6, 70)) + rng.normal(size=(60, 70))
    names = [row["candidate"] for row in gm.AutoMetric(random_state=0).fit(X, y).report_]
    assert {"blend of four, by angle", "blend of two, by angle"} <= set(names)
    assert "PLDA, little shrunk, by angle" in str(gm.AutoMetric(random_state=0).fit(X, y).report_), "whole names"
