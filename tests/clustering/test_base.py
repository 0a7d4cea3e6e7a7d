"""What all clusterings share: the distance of each, checks."""

import numpy as np
import pytest

import gramian as gm
from gramian.clustering import match


def test_arguments_are_checked(rng):
    X = rng.normal(size=(20, 2))
    with pytest.raises(ValueError, match="DecorrelatedKMeans: penalty must be one of .auto., .drop., .average. or"):
        gm.DecorrelatedKMeans(penalty=-1).fit(X)
    with pytest.raises(ValueError, match="DecorrelatedKMeans: penalty must be one of 'auto'"):
        gm.DecorrelatedKMeans(penalty="large").fit(X)


def test_the_distance_of_a_clustering_sees_only_that_clustering():
    data = gm.datasets.two_views(400, 20, n_clusters=3, family="overlap", random_state=0)
    fitted = gm.DecorrelatedKMeans((3, 3), random_state=0).fit(data.X)
    where = match(fitted.labels_, data.y).found
    for j in range(2):
        D = fitted.metrics_[where[j]].sqdist(data.X)
        np.fill_diagonal(D, np.inf)
        near = D.argmin(axis=1)
        assert np.mean(data.y[near, j] == data.y[:, j]) > 0.97
        assert np.mean(data.y[near, 1 - j] == data.y[:, 1 - j]) < 0.6


def neighbors(kind, metric, X, queries):
    """Ids of the 5 nearest in X, by one kind of index."""
    if kind in ("ExactIndex", "HashIndex"):
        options = {} if kind == "ExactIndex" else {"random_state": 0}
        return getattr(gm, kind)(metric, **options).add(X).query(queries, 5)[0]
    pytest.importorskip(kind)
    if kind == "faiss":
        return gm.to_faiss(metric, X).search(queries.astype("float32"), 5)[1]
    return gm.to_hnswlib(metric, X).knn_query(metric.transform(queries), 5)[0].astype(int)


@pytest.mark.parametrize("kind", ["ExactIndex", "HashIndex", "faiss", "hnswlib"])
def test_indexes_search_under_the_distance_of_a_clustering(kind):
    data = gm.datasets.two_views(400, 20, n_clusters=3, family="overlap", random_state=0)
    fitted = gm.DecorrelatedKMeans((3, 3), random_state=0).fit(data.X[:300])
    t = int(match(fitted.labels_, data.y[:300]).found[1])
    ids = neighbors(kind, fitted.metrics_[t], data.X[:300], data.X[300:])
    assert np.mean(data.y[ids, 1] == data.y[300:, [1]]) > 0.95
    assert np.mean(data.y[ids, 0] == data.y[300:, [0]]) < 0.6
