"""SCML: its linear program, sparsity, directions of cells."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import gramian as gm
from gramian.constraints.comparisons import moved
from gramian.learners.scml import local_bases


def test_scml_does_not_depend_on_units():
    X, y = load_iris(return_X_y=True)
    first, again = gm.SCML(anchor=0, random_state=0).fit(X, y), gm.SCML(anchor=0, random_state=0).fit(1024 * X, y)
    np.testing.assert_allclose(first.metric_.sqdist(X), again.metric_.sqdist(1024 * X), rtol=1e-6, atol=1e-6)


def test_scml_is_sparse():
    X, y = load_iris(return_X_y=True)
    scml = gm.SCML(beta=0.3, anchor=0, n_bases=200, random_state=0).fit(X, y)
    assert len(scml.components_) <= 20


def test_one_cell_gives_fishers_directions(rng):
    """Eigenvectors of the far scatter against the near scatter."""
    X, y = load_iris(return_X_y=True)
    side = gm.Triplets.from_labels(y, 500, random_state=0)
    near, far = X[side.anchor] - X[side.near], X[side.anchor] - X[side.far]
    b = local_bases(X, side, 8, np.random.RandomState(0))[0]
    trial = rng.normal(size=(1000, 4))

    def ratio(v):
        return ((far @ v.T) ** 2).mean(axis=0) / ((near @ v.T) ** 2).mean(axis=0)

    assert ratio(b[None])[0] >= ratio(trial).max() * (1 - 1e-5)


def test_scml_leaves_a_column_alone_that_never_varied(rng):
    X, y = rng.normal(size=(120, 4)), np.arange(120) % 3
    X[:, 0] += 2 * y
    metric = gm.SCML(anchor=0, random_state=0).fit(np.insert(X, 2, 5.0, axis=1), y).metric_
    assert metric.matrix[2, 2] < 1e-6 * np.trace(metric.matrix)


def test_local_bases_of_few_points_are_in_their_leading_directions(rng):
    X = rng.normal(size=(40, 30)) * np.linspace(3, 1, 30)
    side = gm.Triplets.from_labels(np.arange(40) % 2, 100, random_state=0)
    bases = local_bases(X, side, 50, np.random.RandomState(0))
    values, vectors = np.linalg.eigh(np.cov(X.T))
    outside = vectors[:, :-8]  # five points for each of eight
    assert np.linalg.matrix_rank(bases) == 8
    np.testing.assert_allclose(bases @ outside, 0, atol=1e-8)


@pytest.mark.parametrize("anchor", [0, 0.3])
def test_scml_finds_the_same_from_tuples_as_from_their_indices(anchor):
    X, first = np.unique(load_iris().data, axis=0, return_index=True)
    y = load_iris().target[first]
    side = gm.Triplets.from_labels(y, 1000, random_state=0)
    index = np.stack([side.anchor, side.near, side.far], axis=1)
    seen = np.unique(index)  # tuples know of no other points
    elsewhere = moved(side, np.searchsorted(seen, np.arange(len(X))))
    scml = gm.SCML(anchor=anchor, random_state=0)
    from_indices = scml.fit(X[seen], elsewhere).metric_.matrix
    from_tuples = scml.fit(X[index]).metric_.matrix
    scale = np.trace(from_indices) / np.trace(from_tuples)
    np.testing.assert_allclose(scale * from_tuples, from_indices, atol=1e-6 * np.abs(from_indices).max())
