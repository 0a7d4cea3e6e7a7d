"""What a learned distance changed, in one picture: maps, neighbors, and the gain with its error."""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from gramian import _validate
from gramian._settings import Count, Distance, Rule, checked, shown
from gramian.metrics import Mahalanobis
from gramian.plotting.canvas import QUIET, RIGHT, WRONG, Labels, Shape, Titled, figure, open_frame
from gramian.plotting.maps import embedding

MOST = 800
"""Points of a map; of more a sample is drawn."""
ROWS = 5
"""Points whose neighbors are shown."""
ACROSS = 8
"""Neighbors that are shown of each."""

Known = Annotated[Any, Rule("a tuple of points and labels", lambda value: isinstance(value, tuple) and len(value) == 2)]


@checked
def before_after(
    metric: Distance,
    X: Any,
    y: Labels,
    *,
    among: Known | None = None,
    k: Count = 10,
    image_shape: Shape | None = None,
    names: Titled | None = None,
) -> Any:
    """What a metric changed: a map of the points before and after, neighbors of five of them, and the gain; a figure.

    Above, points lie near each other where they are near by distance (t-SNE). Below are the nearest of five points
    between the one in ten that lost most and the one in ten that gained most, so that nothing is picked. At the right
    is the share of the k nearest that are of a point's own class, with standard errors over points, beside points as
    they are and columns scaled to unit variance; the gain is paired.

    Parameters
    ----------
    metric : Metric
    X, y : array (n, d), labels (n,)
        Points that the metric did not learn from: on others the gain says too much.
    among : (points (m, d), labels (m,)), optional
        The points that are searched; when None, the other points of X.
    k : int
        Neighbors that count.
    image_shape : (height, width) or (height, width, 3), optional
        Draws neighbors as images; otherwise each is a field with the name of its class.
    names : dict or sequence, optional
        Names of the classes.

    Examples
    --------
    >>> import gramian as gm
    >>> X, y = gm.datasets.load("wine", return_X_y=True)
    >>> metric = gm.RCA().fit(X[::2], y[::2]).metric_
    >>> figure = gm.plotting.before_after(metric, X[1::2], y[1::2], among=(X[::2], y[::2]))
    >>> [text.get_text() for text in figure.axes[-1].get_yticklabels()]
    ['learned', 'scaled', 'as they are']
    """
    X = _validate.points(X, "before_after", n_features=metric.n_features, allow_sparse=False)
    y = _labels(y, X, "y")
    database = (X, y) if among is None else _searched(among, X.shape[1])
    sides = _sides(metric, database[0])
    nearest = {name: _nearest(side, X, database[0], k, among is None) for name, side in sides.items()}  # (n, k)
    right = {name: database[1][ids] == y[:, None] for name, ids in nearest.items()}  # (n, k)
    picture, top, bottom, chart = _layout()
    sample = np.sort(np.random.RandomState(0).permutation(len(X))[:MOST])
    rows = _typical(right["learned"].mean(axis=1) - right["as they are"].mean(axis=1))
    grids = bottom.subplots(1, 2)
    for place, grid, name in zip(top.subplots(1, 2), grids, ("as they are", "learned")):
        embedding(_in_plane(sides[name].transform(X[sample])), y[sample], ax=place, title=name, names=names)
        hits, ids = right[name][rows, :ACROSS], nearest[name][rows, :ACROSS]
        _strip(grid, X[rows], y[rows], database[0][ids], database[1][ids], hits, image_shape, names)
    _bars(chart.subplots(), {name: hits.mean(axis=1) for name, hits in right.items()}, k)
    return picture


def _sides(metric: Any, X: np.ndarray) -> dict[str, Any]:
    """The metrics that are compared; scaled columns have unit variance among the points that are searched."""
    plain, scaled = Mahalanobis.euclidean(X.shape[1]), Mahalanobis(np.diag(1 / _spread(X)))
    return {"as they are": plain, "scaled": scaled, "learned": metric}


def _layout() -> tuple[Any, Any, Any, Any]:
    """A figure with room for two maps above, for neighbors below and for a chart at the right."""
    picture = figure(11.5, 7.2)
    left, chart = picture.subfigures(1, 2, width_ratios=[3.3, 1])
    top, bottom = left.subfigures(2, 1, height_ratios=[1.35, 1])
    title = "the nearest of five points, from one that gained much to one that gained little or lost"
    bottom.supxlabel(title, fontsize=9)
    return picture, top, bottom, chart


def _labels(values: Any, X: np.ndarray, name: str) -> np.ndarray:
    """One label (n,) for each point."""
    labels: np.ndarray = np.asarray(values)
    if labels.shape != (len(X),):
        raise ValueError(f"before_after: {name} must have one label per point ({len(X)}), got {labels.shape}.")
    return labels


def _searched(among: tuple[Any, Any], d: int) -> tuple[np.ndarray, np.ndarray]:
    """The points that are searched, and their labels."""
    points = _validate.points(among[0], "before_after", name="among", n_features=d, allow_sparse=False)
    return points, _labels(among[1], points, "labels of among")


def _spread(X: np.ndarray) -> np.ndarray:
    """The spread (d,) of each column, 1 of a constant one."""
    spread: np.ndarray = X.std(axis=0)
    return np.where(spread > 0, spread, 1.0)


def _nearest(metric: Any, queries: np.ndarray, X: np.ndarray, k: int, leave_out: bool) -> np.ndarray:
    """Rows (n, k) of the nearest points; a point is no neighbor of itself."""
    from gramian.search import ExactIndex

    n_others = len(X) - leave_out
    if n_others < 1:
        raise ValueError(f"before_after: needs at least 1 other point to search, got {shown(n_others)}.")
    k = min(k, n_others)
    ids: np.ndarray = np.asarray(ExactIndex(metric).add(X).query(queries, k + leave_out)[0])  # (n, k + 1)
    if not leave_out:
        return ids
    itself: np.ndarray = ids == np.arange(len(queries))[:, None]
    itself[~itself.any(axis=1), -1] = True  # more copies than neighbors: the last one gives way
    rows: np.ndarray = ids[~itself].reshape(len(queries), k)
    return rows


def _typical(gains: np.ndarray) -> np.ndarray:
    """Points (≤ 5,) at the 10th, 30th, 50th, 70th and 90th percentile of the gain."""
    order: np.ndarray = np.argsort(gains, kind="stable")
    places = (np.linspace(0.9, 0.1, ROWS) * (len(order) - 1)).round().astype(int)
    rows: np.ndarray = order[np.unique(places)[::-1]]
    return rows


def _in_plane(Z: np.ndarray) -> np.ndarray:
    """A map (n, 2) on which near points are near."""
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    if len(Z) < 5 or Z.shape[1] < 2 or not Z.any():
        return np.pad(Z[:, :2], ((0, 0), (0, max(0, 2 - Z.shape[1]))))
    if Z.shape[1] > 50:
        Z = PCA(min(50, len(Z)), svd_solver="full").fit_transform(Z)
    width = min(30.0, (len(Z) - 1) / 3)
    place: np.ndarray = TSNE(perplexity=width, init="pca", random_state=0).fit_transform(Z)
    return place


def _strip(
    ax: Any,
    queries: np.ndarray,
    classes: np.ndarray,
    neighbors: np.ndarray,
    labels: np.ndarray,
    hits: np.ndarray,
    shape: Any,
    names: Any,
) -> None:
    """Rows of a query and its nearest: blue is of its class, orange is not."""
    if shape is not None and np.prod(shape) != queries.shape[1]:
        raise ValueError(f"before_after: image_shape must have {queries.shape[1]} pixels, got {tuple(shape)}.")
    for i, query in enumerate(queries):
        cells = [(0.0, query, classes[i], "black")]
        colors = np.where(hits[i], RIGHT, WRONG)
        cells += [(1.35 + j, neighbors[i, j], labels[i, j], colors[j]) for j in range(hits.shape[1])]
        for x, point, label, color in cells:
            _cell(ax, (x, -i), point, _name(names, label), str(color), shape)
    ax.set_xlim(-0.1, 1.4 + hits.shape[1])
    ax.set_ylim(-len(queries) + 0.9, 1.05)
    ax.set_aspect("equal")
    ax.axis("off")


def _cell(ax: Any, place: tuple[float, float], point: np.ndarray, name: str, color: str, shape: Any) -> None:
    """An image in a frame, or the name of a class on its color."""
    from matplotlib.patches import Rectangle

    x, y = place
    if shape is None:
        ax.add_patch(Rectangle(place, 0.92, 0.92, facecolor=color, alpha=0.85, linewidth=0))
        ax.text(x + 0.46, y + 0.46, name[:7], color="white", fontsize=6, ha="center", va="center")
        return
    image = np.reshape(point, shape)
    colors = {} if image.ndim == 3 else {"cmap": "gray_r"}
    scale = 255.0 if image.ndim == 3 and image.max() > 1 else 1.0
    ax.imshow(image / scale, extent=(x, x + 0.92, y, y + 0.92), **colors)
    ax.add_patch(Rectangle(place, 0.92, 0.92, fill=False, edgecolor=color, linewidth=2))


def _name(names: Any, label: Any) -> str:
    """The name of a class."""
    return str(label if names is None else names[label])


def _bars(ax: Any, shares: dict[str, np.ndarray], k: int) -> None:
    """The share of neighbors of a point's class, by distance, with standard errors; the paired gain as the title."""
    order: Sequence[str] = list(shares)[::-1]  # the first on top
    for place, name in enumerate(order):
        color = RIGHT if name == "learned" else QUIET
        ax.barh(
            place, shares[name].mean(), xerr=_error(shares[name]), color=color, ecolor="black", capsize=3, height=0.6
        )
        ax.text(0.03, place, f"{shares[name].mean():.3f}", color="white", va="center", fontsize=10, fontweight="bold")
    gain = shares["learned"] - shares["as they are"]  # (n,)
    ax.set_yticks(range(len(order)), order)
    ax.set_xlim(0, 1)
    ax.set_xlabel(f"share of the {k} nearest\nthat are of the same class")
    ax.set_title(f"{gain.mean():+.3f} ± {_error(gain):.3f}\nover points as they are", fontsize=11)
    open_frame(ax)


def _error(values: np.ndarray) -> float:
    """Standard error of a mean over points."""
    return float(values.std() / max(len(values) - 1, 1) ** 0.5)
