"""Grids of images and of neighbors."""

import numpy as np
import pytest

import gramian as gm
from gramian.plotting import canvas

matplotlib = pytest.importorskip("matplotlib")


matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def test_neighbors_frames_right_and_wrong(rng):
    X = np.array([[0.0, 0, 0, 0], [1, 0, 0, 0], [0, 3, 0, 0]])
    metric = gm.Mahalanobis.from_matrix(np.diag([100.0, 1, 1, 1]))
    figure = gm.plotting.neighbors(metric, X[1:], ["b", "a"], X[:1], ["a"], (2, 2), k=1)
    colors = [ax.spines["left"].get_edgecolor() for ax in figure.axes if ax.get_visible()]
    right, wrong = (matplotlib.colors.to_rgba(c) for c in (canvas.RIGHT, canvas.WRONG))
    assert colors[1:] == [wrong, right]


def test_images_leave_gaps_where_there_are_none(rng):
    X = rng.normal(size=(3, 6))
    figure = gm.plotting.images(
        [[X[0], None, X[1]], [None, None, X[2]]], (2, 3), row_names=["a", "b"], column_names=["one", "", "two"]
    )
    shown = [ax.get_visible() for ax in figure.axes]
    assert shown == [True, False, True, False, False, True]
    assert np.allclose(figure.axes[5].images[0].get_array(), X[2].reshape(2, 3))
    assert [text.get_text() for ax in figure.axes[:3] for text in ax.texts] == ["one", "", "two"]
    with pytest.raises(ValueError, match=r"images: image_shape \(3, 3\) must fit the images, got 6 pixels"):
        gm.plotting.images([X], (3, 3))
    for rows in ([], [[]], [X, X[:2]]):
        with pytest.raises(ValueError, match="images: rows must hold equally many images"):
            gm.plotting.images(rows, (2, 3))


def test_images_without_rows_stand_ten_in_a_row(rng):
    X = rng.normal(size=(12, 6))
    figure = gm.plotting.images(X, (2, 3), frames=["red"] * 12)
    assert sum(ax.get_visible() for ax in figure.axes) == 12 and len(figure.axes) == 20
    assert np.allclose(figure.axes[11].images[0].get_array(), X[11].reshape(2, 3))
    assert len(gm.plotting.images(list(X.reshape(12, 2, 3)[:4]), (2, 3)).axes) == 4


@pytest.mark.parametrize(
    "low, high, expected", [(0, 255, lambda X: X / 255), (0, 1, lambda X: X), (-3, 5, lambda X: (X + 3) / 8)]
)
def test_colors_of_any_range_are_seen(low, high, expected, rng):
    X = rng.uniform(low, high, size=(4, 18))
    X[0, 0], X[1, 1] = low, high
    figure = gm.plotting.images([X[:2], X[2:]], (2, 3, 3))
    shown = np.array([ax.images[0].get_array() for ax in figure.axes])
    np.testing.assert_allclose(shown.reshape(4, 18), expected(X))


def test_cluster_means_are_means(rng):
    X, labels = rng.normal(size=(12, 6)), np.column_stack([np.arange(12) % 2, np.arange(12) % 3])
    figure = gm.plotting.cluster_means(X, labels, (2, 3))
    images = [ax.images[0].get_array() for ax in figure.axes if ax.get_visible()]
    assert len(images) == 5 and np.allclose(images[3], X[labels[:, 1] == 1].mean(axis=0).reshape(2, 3))
    with pytest.raises(ValueError, match="image_shape must have 6 pixels"):
        gm.plotting.cluster_means(X, labels, (2, 2))
