"""An exact index without a metric is Euclidean, as wide as its first points."""

import numpy as np
import pytest
from scipy import sparse

import gramian as gm


def test_without_a_metric_the_distance_is_euclidean(rng, tmp_path):
    X, Q = rng.normal(size=(30, 4)), rng.normal(size=(3, 4))
    index = gm.ExactIndex().add(X)
    expected = ((Q[:, None] - X) ** 2).sum(axis=2)
    ids, sqdist = index.query(Q, k=5)
    np.testing.assert_array_equal(ids, np.argsort(expected, axis=1)[:, :5])
    np.testing.assert_allclose(sqdist, np.sort(expected, axis=1)[:, :5])
    index.save(tmp_path / "a.gram")
    np.testing.assert_array_equal(gm.load(tmp_path / "a.gram").query(Q, k=5)[0], ids)
    scaled = index.with_metric(gm.Mahalanobis.from_matrix(np.diag([1.0, 2.0, 3.0, 4.0])))
    assert len(scaled) == 30 and index.add(X[:1]).ids[-1] == 30


def test_before_the_first_points_it_says_so_and_what_fails_changes_nothing(rng, tmp_path):
    index = gm.ExactIndex()
    with pytest.raises(ValueError, match="ExactIndex: there are no items yet, and no metric was given; add points"):
        index.query([[1.0, 2.0]], k=1)
    with pytest.raises(ValueError, match="ids must be distinct"):
        index.add([[1.0], [2.0]], ids=[1, 1])
    index.save(tmp_path / "a.gram")
    assert index.metric is None and len(index) == 0 and len(gm.load(tmp_path / "a.gram")) == 0
    assert gm.ExactIndex().with_metric(gm.Mahalanobis.euclidean(3)).add(np.eye(3)).ids.tolist() == [0, 1, 2]
    assert index.add(sparse.csr_array(np.eye(3))).query(np.eye(3), k=1)[0].ravel().tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="3 features, got 4"):
        index.add(np.ones((1, 4)))
