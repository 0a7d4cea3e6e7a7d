"""Several distances side by side."""

from typing import Any

import numpy as np

from gramian._settings import checked
from gramian.plotting.arguments import Axes, Results
from gramian.plotting.canvas import QUIET, RIGHT, axes, open_frame


@checked
def scores(results: Results, *, label: str = "accuracy", ax: Axes | None = None) -> Any:
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
    values = np.array([results[name] for name in names], dtype=float)
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
