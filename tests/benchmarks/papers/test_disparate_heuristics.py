"""The heuristics of §8.3 on views that they suit, sparse points, and any number of clusterings."""

import numpy as np
import pytest
from benchmarks.papers.disparate.heuristics import feature_removal, orthogonal_projection
from scipy import sparse

import gramian as gm
from gramian.clustering import match


def test_the_heuristics_find_separate_features_and_orthogonal_views():
    data = gm.datasets.two_views(300, 20, n_clusters=2, family="concatenated", random_state=1)
    Z = data.X - data.X.mean(axis=0)
    assert match(orthogonal_projection(data.X, (2, 2), random_state=0), data.y).scores.min() > 0.95
    loud = Z * np.r_[3 * np.ones(20), np.ones(20)]
    assert match(feature_removal(loud, (2, 2), random_state=0), data.y).scores.min() > 0.95


def test_the_heuristics_take_sparse_and_any_number_of_clusterings():
    X = sparse.random_array((40, 10), density=0.3, random_state=np.random.default_rng(0), format="csr")
    assert feature_removal(X, (2, 3), random_state=0).shape == (40, 2)
    assert orthogonal_projection(X, (2, 3), random_state=0).shape == (40, 2)
    for heuristic in (feature_removal, orthogonal_projection):
        found = heuristic(X, (2, 2, 3), random_state=0)
        assert found.shape == (40, 3) and found[:, 2].max() <= 2
        with pytest.raises(ValueError, match=f"{heuristic.__name__}: n_clusters must hold one number"):
            heuristic(X, ())


def test_three_views_are_found_off_each_other(rng):
    """Three independent labelings, each along its own direction, of falling strength."""
    truth = rng.integers(2, size=(300, 3))
    X = np.c_[truth * [12.0, 9.0, 6.0], np.zeros((300, 2))] + rng.normal(size=(300, 5))
    for heuristic in (orthogonal_projection, feature_removal):
        options = {"fraction": 0.3} if heuristic is feature_removal else {}
        found = heuristic(X - X.mean(axis=0), (2, 2, 2), random_state=0, **options)
        assert match(found, truth).scores.min() > 0.9


@pytest.mark.parametrize("heuristic", [feature_removal, orthogonal_projection])
def test_empty_columns_of_sparse_points_change_nothing(heuristic):
    data = gm.datasets.two_views(120, 5, n_clusters=2, family="concatenated", random_state=0)
    wide = np.zeros((120, 40))
    wide[:, 4 * np.arange(10) + 1] = data.X
    np.testing.assert_array_equal(heuristic(sparse.csr_array(wide), random_state=0), heuristic(wide, random_state=0))
