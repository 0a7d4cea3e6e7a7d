"""What all pictures share: matplotlib on use, colors, and bare axes."""

from typing import Any

RIGHT, WRONG, QUIET = "#0072B2", "#D55E00", "#9aa3ad"
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C510A", "#999999", "#B8B000")
"""Colors of classes and curves, the first eight after Okabe and Ito: safe for the color-blind."""
MARKERS = "os^Dvp*XhP"


def pyplot() -> Any:
    """The module matplotlib.pyplot, or an error that names the extra."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plotting: needs matplotlib: pip install 'gramian[plot]'.") from error
    return pyplot


def figure(width: float, height: float) -> Any:
    """An empty figure whose parts keep out of each other's way."""
    return pyplot().figure(figsize=(width, height), layout="constrained")


def axes(ax: Any, width: float, height: float) -> Any:
    """The given axes, or those of a new figure."""
    return figure(width, height).subplots() if ax is None else ax


def bare(ax: Any) -> None:
    """Take the ticks off."""
    ax.set_xticks([])
    ax.set_yticks([])


def open_frame(ax: Any) -> None:
    """Leave the left and lower edge of a chart only."""
    ax.spines[["top", "right"]].set_visible(False)
