"""What a metric changed, in one picture."""

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
