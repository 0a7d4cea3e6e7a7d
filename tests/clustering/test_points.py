"""Sparse passes over the points are the dense ones."""

import numpy as np
import pytest
from scipy import sparse

import gramian as gm
from gramian.clustering.points import Points


def test_sparse_passes_are_the_dense_ones(rng):
    X = np.where(rng.uniform(size=(50, 8)) < 0.7, 0, rng.normal(size=(50, 8)) + 2)
    labels, k = rng.integers([3, 2], size=(50, 2)), (3, 2)
    dense, thin = Points.of(X), Points.of(sparse.csr_array(X))
    assert np.allclose(dense.norms, thin.norms)
    for a, b in zip(dense.sums(labels, k), thin.sums(labels, k)):
        assert np.allclose(a, b)
    C = rng.normal(size=(5, 8))
    assert np.array_equal(dense.nearest(C, k), thin.nearest(C, k))
    assert np.allclose(dense.errors(C[:3], labels[:, 0]), thin.errors(C[:3], labels[:, 0]))
    assert np.allclose(dense.errors(C[:3], labels[:, 0]), ((X - X.mean(0) - C[labels[:, 0]]) ** 2).sum(axis=1))


def neighbors(kind, metric, X, queries):
    """Ids of the 5 nearest in X, by one kind of index."""
    if kind in ("ExactIndex", "HashIndex"):
        options = {} if kind == "ExactIndex" else {"random_state": 0}
        return getattr(gm, kind)(metric, **options).add(X).query(queries, 5)[0]
    pytest.importorskip(kind)
    if kind == "faiss":
        return gm.to_faiss(metric, X).search(queries.astype("float32"), 5)[1]
    return gm.to_hnswlib(metric, X).knn_query(metric.transform(queries), 5)[0].astype(int)
