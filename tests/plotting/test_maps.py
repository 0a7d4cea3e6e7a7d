"""Maps: embeddings, fields of distances, clusterings, matrices."""

import numpy as np
import pytest

import gramian as gm

matplotlib = pytest.importorskip("matplotlib")


matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def test_matrix_shows_the_matrix(rng):
    A = rng.normal(size=(3, 3))
    metric = gm.Mahalanobis(A)
    ax = gm.plotting.matrix(metric)
    assert np.allclose(ax.images[0].get_array(), A.T @ A)
    with pytest.raises(ValueError, match="feature_names must name 3 features, got 2"):
        gm.plotting.matrix(metric, ["a", "b"])


def test_embedding_draws_every_point_once_and_names_classes_at_their_medians(rng):
    Z, y = rng.normal(size=(30, 3)), np.array(["a", "b", "?"])[np.arange(30) % 3]
    marked = np.arange(30) < 4
    ax = gm.plotting.embedding(Z, y, marked=marked, unknown="?", names={"a": "first", "b": ""})
    drawn = np.concatenate([points.get_offsets() for points in ax.collections])
    assert np.allclose(np.sort(drawn, axis=0), np.sort(Z[:, :2], axis=0))
    (name,) = ax.texts
    assert name.get_text() == "first" and np.allclose(name.get_position(), np.median(Z[y == "a", :2], axis=0))
    with pytest.raises(ValueError, match=r"needs Z \(n, 2\) and n labels"):
        gm.plotting.embedding(Z[:, :1], y)


def test_the_field_holds_the_distances_of_the_metric():
    X = np.array([[0.0, 0.0], [1.0, 1.0]])
    ax = gm.plotting.distance_field(gm.Mahalanobis.from_matrix(np.diag([4.0, 0.0])), X[0], X, [0, 1])
    image = ax.images[0]
    left, right, _, _ = image.get_extent()
    expected = 2 * np.abs(np.linspace(left, right, 120))
    assert np.allclose(image.get_array(), np.tile(expected, (120, 1)))
    with pytest.raises(ValueError, match=r"one label per point \(2\), got 1"):
        gm.plotting.distance_field(gm.Mahalanobis.euclidean(2), X[0], X, [0])


def test_clusterings_are_side_by_side_on_one_map(rng):
    X, labels = rng.normal(size=(30, 5)), np.column_stack([np.arange(30) % 2, np.arange(30) % 3])
    left, right = gm.plotting.clusterings(X, labels, names=["a", "b"]).axes
    assert np.allclose(left.collections[0].get_offsets(), right.collections[0].get_offsets())
    assert [ax.get_title() for ax in (left, right)] == ["a", "b"]
    assert np.array_equal(right.collections[0].get_array(), labels[:, 1])
    assert len(gm.plotting.clusterings(X[:, :1], labels[:, 0]).axes) == 1
    with pytest.raises(ValueError, match="one row per point"):
        gm.plotting.clusterings(X, labels[:5])
