"""Numbers as charts: margins of constraints, curves, gains, shares, scores, and a stream of events."""

from typing import Any

import numpy as np

from gramian import _validate
from gramian._settings import Count, Distance, checked
from gramian.metrics import Mahalanobis
from gramian.plotting import canvas
from gramian.plotting.canvas import COLORS, MARKERS, QUIET, RIGHT, WRONG, axes, figure, open_frame


@checked
def margins(
    constraints: canvas.Side,
    X: Any,
    metric: Distance,
    *,
    baseline: Distance | None = None,
    ax: canvas.Axes | None = None,
) -> Any:
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
    X = _validate.points(X, "margins", n_features=metric.coordinates.n_features)
    baseline = Mahalanobis.euclidean(X.shape[1]) if baseline is None else baseline
    constraints = constraints.check(X, "margins")
    ax = axes(ax, 5.6, 3.2)
    bins = np.linspace(-2, 2, 61)  # the last ones hold what lies beyond
    for side, name, color in ((baseline, "before", QUIET), (metric, "after", RIGHT)):
        slack = constraints.bound - constraints.values(side, X)  # (m,): b_i − ⟨C_i, K⟩
        margin = slack / np.maximum(np.abs(constraints.bound), np.finfo(float).tiny)
        label = f"{name}: {np.mean(slack >= 0):.0%} hold"
        ax.hist(np.clip(margin, -2, 2), bins, color=color, alpha=0.6, label=label)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_xlabel("margin relative to the bound")
    ax.set_ylabel("constraints")
    # Above the bars, whatever they are.
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    open_frame(ax)
    return ax


@checked
def curves(
    series: canvas.Lines,
    xlabel: str,
    ylabel: str,
    *,
    ax: canvas.Axes | None = None,
    title: str = "",
    log: canvas.Log = "",
) -> Any:
    """Lines with a color and a marker each, and a legend; returns the axes.

    Parameters
    ----------
    series : dict
        Name of a line → (x, y). Lines of more than 40 points have no markers.
    xlabel, ylabel, title : str
    log : str
        Axes with a logarithmic scale: "", "x", "y" or "xy".

    Examples
    --------
    >>> import gramian as gm
    >>> ax = gm.plotting.curves({"hashing": ([64, 256], [0.8, 0.99])}, "bits", "recall", log="x")
    >>> ax.get_xscale(), len(ax.lines)
    ('log', 1)
    """
    ax = axes(ax, 5.6, 3.6)
    for i, (name, (x, y)) in enumerate(series.items()):
        marker = MARKERS[i % len(MARKERS)] if len(x) <= 40 else None
        ax.plot(x, y, color=COLORS[i % len(COLORS)], marker=marker, markersize=5, linewidth=1.6, label=name)
    for axis in log:
        getattr(ax, f"set_{axis}scale")("log")
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    ax.set_title(title, fontsize=10)
    if len(series) > 1:
        ax.legend(frameon=False, fontsize=9)
    open_frame(ax)
    return ax


@checked
def gains(report: canvas.Report, ax: canvas.Axes | None = None) -> Any:
    """What each candidate of an :class:`~gramian.AutoMetric` gains over the points as they are, with standard errors.

    Examples
    --------
    >>> import gramian as gm
    >>> row = {"candidate": "RCA", "gain": 0.02, "gain_error": 0.01, "note": "chosen"}
    >>> ax = gm.plotting.gains([row])
    >>> ax.get_xlabel()
    'gain over the points as they are'
    """
    rows = list(report)[::-1]  # the first one on top
    ax = axes(ax, 5.6, 0.8 + 0.32 * len(rows))
    for place, row in enumerate(rows):
        color = RIGHT if row["note"].startswith("chosen") else QUIET
        ax.barh(place, row["gain"], xerr=row["gain_error"], color=color, ecolor="black", capsize=2, height=0.7)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_yticks(range(len(rows)), [row["candidate"] for row in rows])
    ax.set_xlabel("gain over the points as they are")
    open_frame(ax)
    return ax


@checked
def shares(explanation: canvas.Explanation, *, most: Count = 12, ax: canvas.Axes | None = None) -> Any:
    """Why a pair is near or far: what each feature adds to its squared distance, the largest ones first.

    Parameters
    ----------
    explanation : dict or array (d,)
        From ``metric.explain`` or ``index.explain``; with names, or without them.
    most : int
        Bars; all other features together are one more.
    ax : matplotlib axes, optional

    Examples
    --------
    >>> import gramian as gm
    >>> index = gm.ExactIndex(gm.Mahalanobis.euclidean(2)).add([[0.0, 0.0], [3.0, 1.0]])
    >>> ax = gm.plotting.shares(index.explain([1.0, 1.0], 1, names=["width", "height"]))
    >>> ax.get_xlabel()
    'share of the squared distance 4'
    """
    named = explanation if isinstance(explanation, dict) else {str(j): v for j, v in enumerate(explanation)}
    order = sorted(named, key=lambda name: -abs(named[name]))
    bars = [(name, float(named[name])) for name in order[:most]]
    rest = order[most:]  # one bar together
    if rest:
        bars.append((f"{len(rest)} others", float(sum(named[name] for name in rest))))
    ax = axes(ax, 5.6, 0.8 + 0.28 * len(bars))
    for place, (_, value) in enumerate(bars[::-1]):
        ax.barh(place, value, color=WRONG if value >= 0 else RIGHT, height=0.7)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_yticks(range(len(bars)), [name for name, _ in bars[::-1]])
    ax.set_xlabel(f"share of the squared distance {sum(named.values()):.4g}")
    open_frame(ax)
    return ax


@checked
def stream(history: canvas.History) -> Any:
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
    steps = np.diff(event, prepend=0)  # events since the last record
    picture = figure(6.4, 5.4)
    rate, recall, loss = picture.subplots(3, sharex=True)
    rate.plot(event, steps / np.maximum(np.diff(history["second"], prepend=0), 1e-9), color=RIGHT, linewidth=1)
    recall.plot(history["recall_event"], history["recall"], ".", color=QUIET, markersize=3)
    recall.set_ylim(-0.05, 1.05)
    loss.plot(event, np.diff(history["loss"], prepend=0) / steps, color=WRONG, linewidth=1)
    for ax, name in ((rate, "events per second"), (recall, "recall"), (loss, "loss per event")):
        ax.set_ylabel(name)
        open_frame(ax)
    if (np.diff(history["loss"], prepend=0) > 0).any():
        loss.set_yscale("log")
    loss.set_xlabel("events")
    return picture


@checked
def scores(results: canvas.Results, *, label: str = "accuracy", ax: canvas.Axes | None = None) -> Any:
    """Scores of distances on the same folds: a dot for each fold, a bar at their mean, the best one in color.

    Folds are joined by lines, since what counts is the difference within a fold.

    Parameters
    ----------
    results : dict
        Name of a distance → its score in each fold.
    label : str
        What the scores are.
    ax : matplotlib axes, optional

    Examples
    --------
    >>> import gramian as gm
    >>> ax = gm.plotting.scores({"scaled": [0.93, 0.95], "RCA": [0.97, 0.98]})
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['scaled', 'RCA']
    """
    names = list(results)
    values = np.array([results[name] for name in names], dtype=float)  # (distances, folds)
    best = int(values.mean(axis=1).argmax())
    places = np.arange(len(names))
    ax = axes(ax, 5.6, 1.0 + 0.42 * len(names))
    for fold in values.T:
        ax.plot(fold, places, color=QUIET, linewidth=0.6, alpha=0.5, zorder=1)
    for place, row in enumerate(values):
        color = RIGHT if place == best else QUIET
        ax.plot(row, np.full(len(row), place), "o", color=color, markersize=4, alpha=0.7, zorder=2)
        ax.plot([row.mean()] * 2, [place - 0.28, place + 0.28], color=color, linewidth=3, zorder=3)
    ax.set_yticks(places, names)
    ax.invert_yaxis()
    ax.set_xlabel(label)
    open_frame(ax)
    return ax
