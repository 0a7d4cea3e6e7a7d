"""Pictures draw what they say, and need matplotlib by name."""

import sys

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


def test_matrix_shows_the_matrix(rng):
    A = rng.normal(size=(3, 3))
    metric = gm.Mahalanobis(A)
    ax = gm.plotting.matrix(metric)
    assert np.allclose(ax.images[0].get_array(), A.T @ A)
    with pytest.raises(ValueError, match="feature_names must name 3 features, got 2"):
        gm.plotting.matrix(metric, ["a", "b"])


def test_margins_counts_what_holds():
    X = np.array([[0.0], [1.0], [3.0]])
    pairs = gm.Pairs([0, 0], [1, 2], [True, False], bounds=(2.0, 4.0))
    ax = gm.plotting.margins(pairs, X, gm.Mahalanobis([[2.0]]))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["before: 100% hold", "after: 50% hold"]


def test_margins_take_any_constraints(rng):
    X = rng.normal(size=(6, 2))
    triplets = gm.Triplets([0, 1], [1, 2], [3, 4])
    figure = matplotlib.figure.Figure()
    ax = figure.subplots()
    assert gm.plotting.margins(triplets, X, gm.Mahalanobis.euclidean(2), ax=ax) is ax


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


def test_curves_have_a_legend_when_there_are_several():
    ax = gm.plotting.curves({"a": ([1, 2], [3, 4])}, "x", "y")
    assert ax.get_legend() is None and (ax.get_xlabel(), ax.get_ylabel()) == ("x", "y")
    ax = gm.plotting.curves({"a": ([1, 2], [3, 4]), "b": ([1], [2])}, "x", "y", ax=ax, log="xy")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "a", "b"]
    assert ax.get_xscale() == ax.get_yscale() == "log"


def test_colors_differ_in_lightness_where_they_say_right_and_wrong():
    """A person who sees neither red nor green tells right from wrong by lightness or blue."""
    rgb = np.array([matplotlib.colors.to_rgb(c) for c in (canvas.RIGHT, canvas.WRONG)])
    assert abs(rgb[0, 2] - rgb[1, 2]) > 0.5 and len(set(canvas.COLORS)) == 10


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'gramian\[plot\]'"):
        gm.plotting.matrix(gm.Mahalanobis.euclidean(2))


def test_clusterings_are_side_by_side_on_one_map(rng):
    X, labels = rng.normal(size=(30, 5)), np.column_stack([np.arange(30) % 2, np.arange(30) % 3])
    left, right = gm.plotting.clusterings(X, labels, names=["a", "b"]).axes
    assert np.allclose(left.collections[0].get_offsets(), right.collections[0].get_offsets())
    assert [ax.get_title() for ax in (left, right)] == ["a", "b"]
    assert np.array_equal(right.collections[0].get_array(), labels[:, 1])
    assert len(gm.plotting.clusterings(X[:, :1], labels[:, 0]).axes) == 1
    with pytest.raises(ValueError, match="one row per point"):
        gm.plotting.clusterings(X, labels[:5])


def test_cluster_means_are_means(rng):
    X, labels = rng.normal(size=(12, 6)), np.column_stack([np.arange(12) % 2, np.arange(12) % 3])
    figure = gm.plotting.cluster_means(X, labels, (2, 3))
    images = [ax.images[0].get_array() for ax in figure.axes if ax.get_visible()]
    assert len(images) == 5 and np.allclose(images[3], X[labels[:, 1] == 1].mean(axis=0).reshape(2, 3))
    with pytest.raises(ValueError, match="image_shape must have 6 pixels"):
        gm.plotting.cluster_means(X, labels, (2, 2))


def test_shares_show_the_largest_features_and_all_others_in_one_bar():
    ax = gm.plotting.shares({"a": 1.0, "b": -3.0, "c": 2.0, "d": 0.5}, most=2)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["2 others", "c", "b"]
    assert [bar.get_width() for bar in ax.patches] == [1.5, 2.0, -3.0]
    assert ax.get_xlabel().endswith(" 0.5")


def test_before_after_says_what_scikit_learn_counts(rng):
    from sklearn.neighbors import NearestNeighbors

    y = np.repeat(["left", "right"], 30)
    X = np.column_stack([rng.normal(size=60) * 20, (y == "left") + 0.3 * rng.normal(size=60)])
    metric = gm.Mahalanobis.from_matrix(np.diag([0.0, 1.0]))
    for among in (None, (X[::2], y[::2])):
        figure = gm.plotting.before_after(metric, X, y, among=among, k=4)
        chart = figure.axes[-1]
        shares = {label.get_text(): bar.get_width() for label, bar in zip(chart.get_yticklabels(), chart.patches)}
        points, labels = (X, y) if among is None else among
        sides = {"as they are": np.eye(2), "scaled": np.diag(1 / points.std(axis=0)), "learned": np.diag([0.0, 1.0])}
        for name, L in sides.items():
            other = NearestNeighbors().fit(points @ L)
            ids = other.kneighbors(n_neighbors=4, return_distance=False) if among is None else None
            ids = other.kneighbors(X @ L, 4, return_distance=False) if ids is None else ids
            assert shares[name] == pytest.approx((labels[ids] == y[:, None]).mean())
        assert shares["learned"] > shares["as they are"] + 0.2


@pytest.mark.parametrize("X", [np.zeros((6, 2)), np.arange(6.0)[:, None], np.repeat(np.eye(3), 2, axis=0)])
def test_before_after_draws_copies_constants_and_lines(X):
    figure = gm.plotting.before_after(gm.Mahalanobis.euclidean(X.shape[1]), X, [0, 0, 1, 1, 2, 2], k=10)
    figure.canvas.draw()
    assert "+0.000 ± 0.000" in figure.axes[-1].get_title()


def test_before_after_draws_images_and_refuses_what_does_not_fit(rng):
    X, y, metric = rng.random((8, 12)), np.arange(8) % 2, gm.Mahalanobis.euclidean(12)
    for shape in ((3, 4), (2, 2, 3)):
        figure = gm.plotting.before_after(metric, X, y, image_shape=shape, k=3)
        assert [len(ax.images) for ax in figure.axes].count(5 * (1 + 3)) == 2
    with pytest.raises(ValueError, match="before_after: image_shape must have 12 pixels"):
        gm.plotting.before_after(metric, X, y, image_shape=(2, 2))
    with pytest.raises(ValueError, match="before_after: y must have one label per point"):
        gm.plotting.before_after(metric, X, y[:3])
    with pytest.raises(ValueError, match="before_after: labels of among must have one label per point"):
        gm.plotting.before_after(metric, X, y, among=(X, y[:2]))
    with pytest.raises(ValueError, match="before_after: needs at least 1 other point"):
        gm.plotting.before_after(metric, X[:1], y[:1])
