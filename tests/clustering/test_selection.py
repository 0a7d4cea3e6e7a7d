"""The number of clusterings is that of the views that were drawn."""

import numpy as np
import pytest

import gramian as gm
from gramian.clustering import select_clusterings


def test_two_views_are_two_and_one_is_one(rng):
    two = gm.datasets.two_views(300, 15, 3, "sum", random_state=1)
    chosen = select_clusterings(two.X, (3, 3, 3), n_splits=2, random_state=0)
    assert chosen.n_clusterings == 2 and chosen.stability[1] > 0.9 > chosen.stability[2]
    one = rng.normal(size=(300, 6)) + 6 * np.eye(6)[rng.integers(3, size=300)]
    assert select_clusterings(one, (3, 3), n_splits=2, random_state=0).n_clusterings == 1


def test_arguments_are_checked(rng):
    with pytest.raises(ValueError, match="select_clusterings: X must hold at least 4"):
        select_clusterings(rng.normal(size=(3, 2)))
    with pytest.raises(ValueError, match="select_clusterings: threshold"):
        select_clusterings(rng.normal(size=(30, 2)), threshold=2)
