"""Points in the plane and matrices: embeddings, clusterings, the distance from one point, and M itself."""

from typing import Any

import numpy as np

from gramian import _validate, linalg
from gramian._settings import Distance, checked, shown
from gramian.plotting.canvas import COLORS, MARKERS, Axes, Label, Labels, Titled, Words, axes, bare, figure, pyplot


@checked
def embedding(
    Z: Any,
    y: Labels,
    *,
    ax: Axes | None = None,
    title: str = "",
    names: Titled | None = None,
    marked: Any = None,
    unknown: Label = None,
) -> Any:
    """Points in the plane, each class with a color, a marker and its name at the median; returns the axes.

    Parameters
    ----------
    Z : array (n, ≥ 2)
        The first two columns are drawn.
    y : labels (n,)
    title : str
    names : dict or sequence, optional
        Names of the classes; the labels themselves when None, "" for no name.
    marked : bool array (n,), optional
        Points drawn large with a black edge, such as those whose label was given.
    unknown : optional
        A label that is drawn in gray without a name.

    Examples
    --------
    >>> import gramian as gm
    >>> X, y = gm.datasets.load("iris", return_X_y=True)
    >>> ax = gm.plotting.embedding(X, y, title="iris", names=["setosa", "versicolor", "virginica"])
    >>> [text.get_text() for text in ax.texts]
    ['setosa', 'versicolor', 'virginica']
    """
    Z, y = _validate.points(Z, "embedding", allow_sparse=False), np.asarray(y)
    if Z.shape[1] < 2 or y.shape != (len(Z),):
        raise ValueError(f"embedding: needs Z (n, 2) and n labels, got {Z.shape} and {y.shape}.")
    marked = _marks(marked, len(Z))
    ax, size = axes(ax, 4.4, 4.2), np.clip(2500 / len(Z), 11, 36)  # smaller dots for more points
    if unknown is not None:
        ax.scatter(*Z[y == unknown, :2].T, s=size, color="0.8", linewidths=0)
    for c, label in enumerate(np.unique(y[y != unknown] if unknown is not None else y)):
        mine = y == label
        style = {"color": COLORS[c % len(COLORS)], "marker": MARKERS[c % len(MARKERS)]}
        ax.scatter(*Z[mine & ~marked, :2].T, s=size, alpha=0.75, linewidths=0, **style)
        ax.scatter(*Z[mine & marked, :2].T, s=110, edgecolors="black", linewidths=1.2, zorder=3, **style)
        _write(ax, _name(names, label), np.median(Z[mine, :2], axis=0))
    ax.set_title(title, fontsize=10)
    bare(ax)
    return ax


def _marks(marked: Any, n: int) -> np.ndarray:
    """Which of n points are marked, (n,)."""
    marked = np.zeros(n, bool) if marked is None else _validate.plain(marked, "embedding", "marked")
    if marked.shape != (n,) or marked.dtype.kind not in "biu":
        raise ValueError(f"embedding: marked must be {n} of True and False, got {shown(marked)}.")
    marks: np.ndarray = marked.astype(bool)
    return marks


def _write(ax: Any, name: str, place: np.ndarray) -> None:
    """A name in a white box."""
    if name:
        box = {"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "boxstyle": "round,pad=0.15"}
        ax.text(*place, name, fontsize=10, ha="center", va="center", bbox=box, zorder=4)


def _name(names: Any, label: Any) -> str:
    """The name of a class."""
    try:
        return str(label if names is None else names[label])
    except (IndexError, KeyError, TypeError) as error:
        raise ValueError(f"embedding: names must have one for {label!r}, got {shown(names)}.") from error


@checked
def clusterings(X: Any, labels: Labels, *, names: Titled | None = None) -> Any:
    """One map of the points (their first two principal components), colored by each clustering side by side.

    Parameters
    ----------
    X : array (n, d)
    labels : array (n, T)
        Found clusterings, or true labelings of any type.
    names : sequence of T titles, optional

    Examples
    --------
    >>> import gramian as gm
    >>> data = gm.datasets.two_views(100, 4, n_clusters=2, random_state=0)
    >>> len(gm.plotting.clusterings(data.X, data.y).axes)
    2
    """
    X = _validate.points(X, "clusterings", allow_sparse=False)
    labels = np.asarray(labels)
    labels = labels[:, None] if labels.ndim == 1 else labels
    if len(labels) != len(X):
        raise ValueError(f"clusterings: labels must have one row per point ({len(X)}), got {len(labels)}.")
    if names is not None and (isinstance(names, dict) or len(names) != labels.shape[1]):
        raise ValueError(f"clusterings: names must be {labels.shape[1]} titles, got {shown(names)}.")
    place, T = _in_plane(X), labels.shape[1]
    picture = figure(3.6 * T, 3.4)
    for t, ax in enumerate(np.ravel(picture.subplots(1, T, sharex=True, sharey=True))):
        codes = np.unique(labels[:, t], return_inverse=True)[1]
        ax.scatter(*place.T, c=codes, s=10, linewidths=0, **_scale(codes.max() + 1))
        ax.set_title(f"clustering {t + 1}" if names is None else str(names[t]), fontsize=10)
        bare(ax)
    return picture


def _in_plane(X: np.ndarray) -> np.ndarray:
    """The first two principal components (n, 2); the second is 0 where there is one feature."""
    Z = X - X.mean(axis=0)  # (n, d)
    V = linalg.oriented(np.linalg.svd(Z, full_matrices=False)[2][:2].T).T
    place = np.zeros((len(X), 2))
    place[:, : len(V)] = Z @ V.T
    return place


def _scale(n_classes: int) -> dict[str, Any]:
    """How matplotlib gets from codes of classes to colors; beyond ten they are not safe any more."""
    if n_classes > len(COLORS):
        return {"cmap": "tab20"}
    colormap = pyplot().matplotlib.colors.ListedColormap(COLORS)
    return {"cmap": colormap, "vmin": 0, "vmax": len(COLORS) - 1}


@checked
def distance_field(metric: Distance, center: Any, X: Any, y: Labels, *, ax: Axes | None = None, title: str = "") -> Any:
    """Distances from one point of the plane to all places under a metric: dark is near; returns the axes.

    Parameters
    ----------
    metric : Metric of points in the plane
    center : array (2,)
    X, y : array (n, 2), labels (n,)
        Points drawn over it.

    Examples
    --------
    >>> import gramian as gm
    >>> rings = gm.datasets.rings(40, random_state=0)
    >>> ax = gm.plotting.distance_field(gm.Mahalanobis.euclidean(2), rings.X[0], rings.X, rings.y)
    >>> ax.images[0].get_array().shape
    (120, 120)
    """
    X = _validate.points(X, "distance_field", n_features=2, allow_sparse=False)
    if np.shape(y) != (len(X),):
        size = len(y) if np.ndim(y) == 1 else np.shape(y)
        raise ValueError(f"distance_field: y must have one label per point ({len(X)}), got {size}.")
    center = _validate.vector(center, "distance_field", "center", 2)[None]
    ax = axes(ax, 4.2, 4.2)
    _fill(ax, metric, center, X)
    for c, label in enumerate(np.unique(y)):
        style = {"facecolor": ("white", "black")[c % 2], "marker": MARKERS[c % len(MARKERS)]}
        ax.scatter(*X[np.asarray(y) == label].T, s=16, edgecolors="black", linewidths=0.6, **style)
    ax.scatter(*center.T, s=220, marker="*", color=COLORS[4], edgecolors="black", zorder=3)
    ax.set_title(title, fontsize=10)
    bare(ax)
    return ax


def _fill(ax: Any, metric: Any, center: np.ndarray, X: np.ndarray) -> None:
    """The distances from the center to all places around the points, as a picture."""
    margin = 0.08 * np.ptp(X, axis=0)
    low, high = X.min(axis=0) - margin, X.max(axis=0) + margin
    ticks = [np.linspace(a, b, 120) for a, b in zip(low, high)]
    grid = np.stack(np.meshgrid(*ticks), axis=-1)  # (120, 120, 2)
    field = metric.distance(center, grid.reshape(-1, 2)).reshape(grid.shape[:2])
    ax.imshow(field, origin="lower", extent=(low[0], high[0], low[1], high[1]), cmap="Blues_r", aspect="auto")


@checked
def matrix(metric: Distance, feature_names: Words | None = None, *, ax: Axes | None = None) -> Any:
    """The matrix M of a metric as a heat map, blue below zero and red above; returns the axes.

    The diagonal says how much a feature counts; an entry off the diagonal is negative where two
    features that move together should not be counted twice.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> ax = gm.plotting.matrix(gm.Mahalanobis.from_matrix(np.diag([1.0, 2.0])), ["width", "height"])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['width', 'height']
    """
    M = np.asarray(metric.matrix)
    names = None if feature_names is None else [str(name) for name in feature_names]
    if names is not None and len(names) != len(M):
        raise ValueError(f"matrix: feature_names must name {len(M)} features, got {len(names)}.")
    ax = axes(ax, 5.2, 4.4)
    limit = np.abs(M).max(initial=0.0) or 1.0  # colors are symmetric around zero
    image = ax.imshow(M, cmap="RdBu_r", vmin=-limit, vmax=limit)
    ax.figure.colorbar(image, ax=ax, shrink=0.85, label="entry of M")
    if names is not None:
        ax.set_xticks(range(len(names)), names, rotation=90, fontsize=8)
        ax.set_yticks(range(len(names)), names, fontsize=8)
    return ax
