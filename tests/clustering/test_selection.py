"""The number of clusterings is that of the views that were drawn."""

import numpy as np
import pytest

import gramian as gm
from gramian.clustering import select_clusterings


@pytest.mark.parametrize("views", [1, 2, 3])
def test_as_many_as_were_drawn(views):
    rng = np.random.default_rng(views)
    y = rng.integers(2, size=(300, views))
    X = sum(2 * rng.normal(size=(2, 15))[y[:, t]] for t in range(views)) + rng.normal(size=(300, 15))
    chosen = select_clusterings(X, (2,) * (views + 1), n_splits=2, n_init=2, random_state=0)
    assert chosen.n_clusterings == views and chosen.stability[views - 1] > 0.9 > 0.5 > chosen.stability[views]


def test_two_equal_views_of_three_clusters_are_two():
    two = gm.datasets.two_views(300, 15, n_clusters=3, family="sum", random_state=1)
    assert select_clusterings(two.X, (3, 3, 3), n_splits=2, n_init=2, random_state=0).n_clusterings == 2


def test_arguments_are_checked(rng):
    with pytest.raises(ValueError, match="select_clusterings: X must hold at least 4"):
        select_clusterings(rng.normal(size=(3, 2)))
    with pytest.raises(ValueError, match="select_clusterings: threshold"):
        select_clusterings(rng.normal(size=(30, 2)), threshold=2)
