"""Groups of points, from labels and from similar pairs."""

import numpy as np
import pytest

import gramian as gm


def test_chunklets_reach_the_last_class():
    y = np.repeat([0, 1, 2], 10)
    ids = gm.Chunklets.from_labels(y, n_chunklets=9, size=3, random_state=0).ids
    assert set(y[ids >= 0]) == {0, 1, 2}
    for chunk in range(9):
        assert len(set(y[ids == chunk])) == 1 and (ids == chunk).sum() == 3
    with pytest.raises(ValueError, match="at most 9"):
        gm.Chunklets.from_labels(y, n_chunklets=10, size=3, random_state=0)


def test_similar_pairs_are_groups():
    pairs = gm.Pairs([0, 1, 5, 2, 3], [1, 4, 6, 3, 6], [True, True, True, False, False])
    ids = gm.Chunklets.from_pairs(pairs, 9).ids
    assert ids[0] == ids[1] == ids[4] >= 0 and ids[5] == ids[6] >= 0 and ids[0] != ids[5]
    assert (ids[[2, 3, 7, 8]] == -1).all()
    assert gm.Chunklets.from_pairs(pairs).n_points == 7
    with pytest.raises(TypeError, match="Chunklets: pairs must be Pairs, got 3"):
        gm.Chunklets.from_pairs(3)
