"""Images in rows: neighbors before and after, and the means of clusters."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gramian import _validate
from gramian._settings import Count, Distance, Names, checked, shown
from gramian.metrics import Mahalanobis
from gramian.plotting.canvas import (
    RIGHT,
    WRONG,
    ColorMap,
    Frames,
    Labels,
    Rows,
    Shape,
    Titled,
    Two,
    bare,
    figure,
    is_list,
)

GAP = 0.35
"""Width of an empty place, in images."""
ACROSS = 10
"""Images in a row, where they come without rows."""


@checked
def images(
    rows: Rows,
    image_shape: Shape,
    *,
    row_names: Names | None = None,
    column_names: Names | None = None,
    frames: Frames | None = None,
    cmap: ColorMap = "gray",
) -> Any:
    """A grid of images, as a figure.

    Parameters
    ----------
    rows : images (n, pixels), or rows of images, each an array of pixels or None for an empty place
        Images without rows stand ten in a row. A column of them without any image is a narrow gap.
    image_shape : (height, width), or (height, width, 3) in color
        Colors are numbers in [0, 1] or [0, 255]; where some lie outside, as in means of scaled images, all images are
        brought to [0, 1] together.
    row_names, column_names : sequences of str, optional
        Words at the left and on top.
    frames : rows of colors, optional
        Color of the frame of each image; None for a thin gray one.
    cmap : str
        A color map of matplotlib.

    Examples
    --------
    >>> import gramian as gm
    >>> d = gm.datasets.load("digits")
    >>> len(gm.plotting.images([d.X[:3], d.X[3:6]], d.image_shape, row_names=["first", "next"]).axes)
    6
    """
    if _are_images(rows, image_shape):
        rows = _in_rows(rows)
        frames = None if frames is None else _in_rows(frames)
    width = _width(rows, image_shape)
    colors = _frames(frames, len(rows), width)
    picture, grid = _grid(rows, image_shape, row_names or (), column_names or ())
    if len(image_shape) == 3:
        rows = _colored(rows)
    for i, j in np.ndindex(grid.shape):
        _show(grid[i, j], rows[i][j], image_shape, colors[i][j], cmap)
    return picture


def _frames(frames: Any, n_rows: int, width: int) -> Sequence[Sequence[Any]]:
    """Colors of frames, one for each place; None for a thin gray one."""
    if frames is None:
        return [[None] * width] * n_rows
    if [len(row) for row in frames if is_list(row)] != [width] * n_rows:
        raise ValueError(f"images: frames must be {n_rows} rows of {width} colors, got {shown(frames)}.")
    colors: Sequence[Sequence[Any]] = frames
    return colors


def _grid(
    rows: Sequence[Sequence[Any]], shape: tuple[int, ...], row_names: Sequence[str], column_names: Sequence[str]
) -> tuple[Any, Any]:
    """A figure with axes for each image, (rows, columns), and words at the left and on top."""
    widths = [GAP if all(image is None for image in column) else 1.0 for column in zip(*rows)]
    letters = max((len(line) for name in row_names for line in name.split("\n")), default=0)
    size = np.clip(6 / sum(widths), 0.72, 1.3)  # inches
    height = size * shape[0] / shape[1]
    picture = figure(size * sum(widths) + 0.085 * letters, height * len(rows) + 0.3 * bool(column_names))
    grid = picture.subplots(len(rows), len(widths), squeeze=False, width_ratios=widths)
    for cells, name in zip(grid, row_names):
        cells[0].set_ylabel(name, fontsize=9, rotation=0, ha="right", va="center")
    for cell, name in zip(grid[0], column_names):
        _head(cell, name)
    return picture, grid


def _are_images(rows: Sequence[Any], image_shape: tuple[int, ...]) -> bool:
    """Whether these are images themselves, and not rows of them."""
    sample = next((row for row in rows if row is not None), None)
    shape = np.shape(sample) if isinstance(sample, np.ndarray) else ()
    return shape == tuple(image_shape) or shape == (np.prod(image_shape),)


def _in_rows(values: Sequence[Any]) -> list[list[Any]]:
    """Ten in a row; the last row is filled up with nothing."""
    across = min(ACROSS, len(values))
    full = [*values, *[None] * (-len(values) % across)]  # a multiple of ten
    return [full[start : start + across] for start in range(0, len(full), across)]


def _colored(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Colors in [0, 1]: as they are, divided by 255, or from the least to the largest of all images."""
    pixels = [np.asarray(image, dtype=np.float64) for image in _images_of(rows)]
    low, high = min((image.min() for image in pixels), default=0.0), max((image.max() for image in pixels), default=1.0)
    if low >= 0 and high <= 255:
        low, high = 0.0, 1.0 if high <= 1 else 255.0
    scale = max(high - low, np.finfo(float).tiny)  # images of one value stay at 0
    return [[None if image is None else (np.asarray(image) - low) / scale for image in row] for row in rows]


def _images_of(rows: Sequence[Sequence[Any]]) -> list[Any]:
    """All images, without the empty places."""
    return [image for row in rows for image in row if image is not None]


def _width(rows: Sequence[Sequence[Any]], image_shape: tuple[int, ...]) -> int:
    """Images in a row, the same in all rows, each of the given shape."""
    if not all(map(is_list, rows)):
        raise ValueError(f"images: rows must hold images, got {shown(rows)}.")
    lengths = sorted({len(row) for row in rows})
    if len(lengths) != 1 or lengths == [0]:
        raise ValueError(f"images: rows must hold equally many images, got rows of {lengths or 'nothing'}.")
    if any(np.asarray(image).dtype.kind not in "biuf" for image in _images_of(rows)):
        raise ValueError("images: rows must hold images of numbers, got something else.")
    pixels = {np.size(image) for image in _images_of(rows)}
    if pixels - {np.prod(image_shape)}:
        raise ValueError(f"images: image_shape {tuple(image_shape)} must fit the images, got {max(pixels)} pixels.")
    return lengths[0]


def _show(ax: Any, image: Any, shape: tuple[int, ...], color: Any, cmap: str) -> None:
    bare(ax)
    ax.set_visible(image is not None)
    if image is not None:
        ax.imshow(np.reshape(image, shape), cmap=cmap)
        ax.spines[:].set(color=color or "0.7", linewidth=2.5 if color else 0.5)


def _head(ax: Any, name: str) -> None:
    """A title that may reach over the next columns: it keeps its height in the layout, and not its width."""
    ax.set_title(" ", fontsize=10)
    place = {"xycoords": "axes fraction", "xytext": (0, 5), "textcoords": "offset points"}
    ax.annotate(name, (0, 1), fontsize=9, annotation_clip=False, **place).set_in_layout(False)


@checked
def neighbors(
    metric: Distance,
    X: Any,
    y: Labels,
    queries: Any,
    query_labels: Labels,
    image_shape: Shape,
    *,
    k: Count = 8,
    baseline: Distance | None = None,
    titles: Two = ("Euclidean distance", "learned distance"),
) -> Any:
    """Nearest images of each query under ``baseline`` (Euclidean when None) and under ``metric``, as a figure.

    Parameters
    ----------
    metric, baseline : Metric
    X, y : array (n, d), labels (n,)
        The images that are searched; neighbors of the query's class are framed in blue, others in orange.
    queries, query_labels : array (m, d), labels (m,)
    image_shape : (height, width)
    k : int
        Neighbors per query.
    titles : (str, str)
        Names of the two distances; the share of neighbors of the query's class is added to them.

    Examples
    --------
    >>> import gramian as gm
    >>> d = gm.datasets.load("digits")
    >>> metric = gm.Mahalanobis.euclidean(64)
    >>> figure = gm.plotting.neighbors(metric, d.X[3:], d.y[3:], d.X[:3], d.y[:3], d.image_shape, k=4)
    >>> len(figure.axes)
    30
    """
    X = _validate.points(X, "neighbors", allow_sparse=False)
    queries = _validate.points(queries, "neighbors", name="queries", n_features=X.shape[1], allow_sparse=False)
    y, query_labels = np.asarray(y), np.asarray(query_labels)
    if y.shape != (len(X),) or query_labels.shape != (queries.shape[0],):
        shapes = f"{y.shape} for {len(X)} points and {query_labels.shape} for {queries.shape[0]} queries"
        raise ValueError(f"neighbors: y and query_labels must have one label per point, got {shapes}.")
    k = min(k, len(X))  # all of them at most
    sides = [Mahalanobis.euclidean(X.shape[1]) if baseline is None else baseline, metric]
    nearest = [np.argsort(side.sqdist(queries, X), axis=1, kind="stable")[:, :k] for side in sides]  # two (m, k)
    right = [y[ids] == query_labels[:, None] for ids in nearest]  # two (m, k)
    rows = [[q, *X[a], None, *X[b]] for q, a, b in zip(queries, *nearest)]
    frames = [["black", *_colors(a), None, *_colors(b)] for a, b in zip(*right)]
    heads = [f"{title}: {hits.sum()} of {hits.size} in the query's class" for title, hits in zip(titles, right)]
    blank = [""] * (k - 1)
    return images(
        rows, image_shape, column_names=["query", heads[0], *blank, "", heads[1], *blank], frames=frames, cmap="gray_r"
    )


def _colors(right: np.ndarray) -> list[str]:
    return [RIGHT if hit else WRONG for hit in right]


@checked
def cluster_means(X: Any, labels: Labels, image_shape: Shape, *, names: Titled | None = None) -> Any:
    """Mean image of each cluster, one row of images per clustering.

    Parameters
    ----------
    X : array (n, height · width)
    labels : array (n, T)
    image_shape : (height, width)
    names : sequence of T titles, optional

    Examples
    --------
    >>> import gramian as gm
    >>> d = gm.datasets.load("digits")
    >>> figure = gm.plotting.cluster_means(d.X, d.y[:, None] % [2, 3], d.image_shape)
    >>> len([ax for ax in figure.axes if ax.get_visible()])
    5
    """
    X = _validate.points(X, "cluster_means", allow_sparse=False)
    if X.shape[1] != np.prod(image_shape):
        raise ValueError(f"cluster_means: image_shape must have {X.shape[1]} pixels, got {tuple(image_shape)}.")
    columns = np.asarray(labels).T if np.ndim(labels) == 2 else np.asarray(labels)[None]
    if columns.shape[1] != len(X):
        raise ValueError(f"cluster_means: labels must have one row per point ({len(X)}), got {columns.shape[1]}.")
    means = [[X[column == c].mean(axis=0) for c in np.unique(column)] for column in columns]  # (T, k_t, pixels)
    width = max(map(len, means))
    rows = [[*row, *[None] * (width - len(row))] for row in means]
    names = [f"clustering {t + 1}" for t in range(len(rows))] if names is None else [str(name) for name in names]
    return images(rows, image_shape, row_names=names)
