"""Pictures of metrics: neighbors before and after, the matrix, and the margins of constraints.

Each function draws with matplotlib (``pip install 'gramian[plot]'``) and returns what it drew on.
"""

from typing import Any

import numpy as np

from gramian import _checks
from gramian.metrics import Mahalanobis

RIGHT, WRONG, QUIET = "#2a9d8f", "#e63946", "#8d99ae"


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plotting: needs matplotlib: pip install 'gramian[plot]'.") from error
    return pyplot


def neighbors(
    metric: Any,
    X: Any,
    y: Any,
    queries: Any,
    query_labels: Any,
    image_shape: tuple[int, int],
    k: int = 8,
    baseline: Any = None,
    titles: tuple[str, str] = ("Euclidean distance", "learned distance"),
) -> Any:
    """Nearest images of each query under ``baseline`` (Euclidean when None) and under ``metric``, as a figure.

    Parameters
    ----------
    metric, baseline : Metric
    X, y : array (n, d), labels (n,)
        The images that are searched; neighbors of the query's class are framed in green, others in red.
    queries, query_labels : array (m, d), labels (m,)
    image_shape : (height, width)
    k : int
        Neighbors per query.

    Examples
    --------
    >>> import gramian as gm
    >>> d = gm.datasets.load("digits")
    >>> metric = gm.Mahalanobis.euclidean(64)
    >>> figure = gm.plotting.neighbors(metric, d.X[3:], d.y[3:], d.X[:3], d.y[:3], d.image_shape, k=4)
    >>> len(figure.axes)
    30
    """
    X, queries = (
        _checks.points(X, "neighbors", allow_sparse=False),
        _checks.points(queries, "neighbors", name="queries"),
    )
    y, query_labels = np.asarray(y), np.asarray(query_labels)
    k = min(_checks.number(k, "neighbors", "k", low=1, integer=True), len(X))
    sides = [Mahalanobis.euclidean(X.shape[1]) if baseline is None else baseline, metric]
    found = [np.argsort(side.sqdist(queries, X), axis=1, kind="stable")[:, :k] for side in sides]
    widths = [1.25, *[1] * k, 0.35, *[1] * k]
    figure = _pyplot().figure(figsize=(0.62 * sum(widths), 0.78 * len(queries) + 0.5), layout="constrained")
    grid = figure.subplots(len(queries), len(widths), squeeze=False, width_ratios=widths)
    for row, query, label, *hits in zip(grid, queries, query_labels, *found):
        _image(row[0], query.reshape(image_shape), "black", 2.0)
        row[k + 1].set_visible(False)
        for cells, hit in zip((row[1 : k + 1], row[k + 2 :]), hits):
            for cell, i in zip(cells, hit):
                _image(cell, X[i].reshape(image_shape), RIGHT if y[i] == label else WRONG, 2.0)
    for column, title in zip((0, 1, k + 2), ("query", *titles)):
        # Out of the layout: a long title must not push the images apart.
        grid[0, column].set_title(title, fontsize=9, loc="left").set_in_layout(False)
    return figure


def _image(axes: Any, image: np.ndarray, color: str, width: float) -> None:
    axes.imshow(image, cmap="gray_r")
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_color(color)
        spine.set_linewidth(width)


def matrix(metric: Any, feature_names: Any = None, ax: Any = None) -> Any:
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
    if ax is None:
        ax = _pyplot().figure(figsize=(5.2, 4.4), layout="constrained").subplots()
    limit = np.abs(M).max(initial=0.0) or 1.0
    image = ax.imshow(M, cmap="RdBu_r", vmin=-limit, vmax=limit)
    ax.figure.colorbar(image, ax=ax, shrink=0.85)
    if names is not None:
        ax.set_xticks(range(len(names)), names, rotation=90, fontsize=8)
        ax.set_yticks(range(len(names)), names, fontsize=8)
    return ax


def margins(constraints: Any, X: Any, metric: Any, baseline: Any = None, ax: Any = None) -> Any:
    """Histogram of the margins (b_i − ⟨C_i, K_W⟩) / |b_i| under ``baseline`` (Euclidean when None) and ``metric``.

    A constraint holds where its margin is not negative. Margins beyond ±2 are counted in the last bins.
    Returns the axes; the legend gives the share that holds.

    Examples
    --------
    >>> import gramian as gm
    >>> X, y = gm.datasets.load("iris", return_X_y=True)
    >>> pairs = gm.Pairs.from_labels(y, n_pairs=50, X=X, random_state=0)
    >>> ax = gm.plotting.margins(pairs, X, gm.Mahalanobis.euclidean(4))
    >>> ax.get_xlabel()
    'margin relative to the bound'
    """
    baseline = Mahalanobis.euclidean(X.shape[1]) if baseline is None else baseline
    constraints = constraints.check(X, "margins")
    if ax is None:
        ax = _pyplot().figure(figsize=(5.6, 3.2), layout="constrained").subplots()
    bins = np.linspace(-2, 2, 61)
    for side, name, color in ((baseline, "before", QUIET), (metric, "after", RIGHT)):
        slack = constraints.bound - constraints.values(side, X)
        margin = slack / np.maximum(np.abs(constraints.bound), np.finfo(float).tiny)
        label = f"{name}: {np.mean(slack >= 0):.0%} hold"
        ax.hist(np.clip(margin, -2, 2), bins, color=color, alpha=0.6, label=label)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_xlabel("margin relative to the bound")
    ax.set_ylabel("constraints")
    ax.legend(frameon=False)
    return ax


def stream(history: dict[str, Any]) -> Any:
    """Throughput, recall and mean loss along a stream of events, as a figure.

    Parameters
    ----------
    history : dict
        Lists ``event`` (events so far), ``second`` and ``loss`` (cumulative) of one length, and ``recall_event`` with
        ``recall``.

    Examples
    --------
    >>> import gramian as gm
    >>> history = {"event": [1, 2], "second": [0.1, 0.3], "loss": [1.0, 1.5], "recall_event": [2], "recall": [1.0]}
    >>> [ax.get_ylabel() for ax in gm.plotting.stream(history).axes]
    ['events per second', 'recall', 'loss per event']
    """
    event = np.asarray(history["event"], dtype=float)
    steps = np.diff(event, prepend=0)
    figure = _pyplot().figure(figsize=(6.4, 5.4), layout="constrained")
    rate, recall, loss = figure.subplots(3, sharex=True)
    rate.plot(event, steps / np.maximum(np.diff(history["second"], prepend=0), 1e-9), color=RIGHT, linewidth=1)
    recall.plot(history["recall_event"], history["recall"], ".", color=QUIET, markersize=3)
    recall.set_ylim(-0.05, 1.05)
    loss.plot(event, np.diff(history["loss"], prepend=0) / steps, color=WRONG, linewidth=1)
    for ax, name in ((rate, "events per second"), (recall, "recall"), (loss, "loss per event")):
        ax.set_ylabel(name)
        ax.spines[["top", "right"]].set_visible(False)
    if (np.diff(history["loss"], prepend=0) > 0).any():
        loss.set_yscale("log")
    loss.set_xlabel("events")
    return figure


def clusterings(X: Any, labels: Any, names: Any = None) -> Any:
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
    >>> data = gm.datasets.two_views(100, 4, 2, random_state=0)
    >>> len(gm.plotting.clusterings(data.X, data.y).axes)
    2
    """
    X = _checks.points(X, "clusterings", allow_sparse=False)
    labels = np.asarray(labels)
    labels = labels[:, None] if labels.ndim == 1 else labels
    if len(labels) != len(X):
        raise ValueError(f"clusterings: labels must have one row per point ({len(X)}), got {len(labels)}.")
    Z = X - X.mean(axis=0)
    V = np.linalg.svd(Z, full_matrices=False)[2][:2]
    place = np.zeros((len(X), 2))
    place[:, : len(V)] = Z @ V.T
    T = labels.shape[1]
    figure = _pyplot().figure(figsize=(3.6 * T, 3.4), layout="constrained")
    for t, ax in enumerate(np.ravel(figure.subplots(1, T, sharex=True, sharey=True))):
        codes = np.unique(labels[:, t], return_inverse=True)[1]
        ax.scatter(*place.T, c=codes, cmap="tab10" if codes.max() < 10 else "tab20", s=10, linewidths=0)
        ax.set_title(f"clustering {t + 1}" if names is None else str(names[t]), fontsize=10)
        ax.set_xticks([])
        ax.set_yticks([])
    return figure


def cluster_means(X: Any, labels: Any, image_shape: tuple[int, int], names: Any = None) -> Any:
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
    X = _checks.points(X, "cluster_means", allow_sparse=False)
    if X.shape[1] != np.prod(image_shape):
        raise ValueError(f"cluster_means: image_shape must have {X.shape[1]} pixels, got {tuple(image_shape)}.")
    columns = [np.unique(column, return_inverse=True)[1] for column in np.asarray(labels).reshape(len(X), -1).T]
    width = max(codes.max() for codes in columns) + 1
    figure = _pyplot().figure(figsize=(0.9 * width + 0.5, 1.1 * len(columns) + 0.2), layout="constrained")
    for t, row in enumerate(figure.subplots(len(columns), width, squeeze=False)):
        for j, ax in enumerate(row):
            ax.set_visible(j <= columns[t].max())
            if ax.get_visible():
                ax.imshow(X[columns[t] == j].mean(axis=0).reshape(image_shape), cmap="gray")
                ax.set_xticks([])
                ax.set_yticks([])
        row[0].set_ylabel(f"clustering {t + 1}" if names is None else str(names[t]), fontsize=8)
    return figure
