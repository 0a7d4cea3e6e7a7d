"""What all pictures share: matplotlib on use, colors, bare axes, and what their arguments may be."""

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Annotated, Any, Literal

import numpy as np

from gramian._settings import Count, Names, Rule
from gramian.constraints import Constraints

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


ROW = ("candidate", "gain", "gain_error", "note")
HISTORY = ("event", "second", "loss", "recall_event", "recall")


def is_list(value: Any) -> bool:
    """Whether a value has places that one can count."""
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _numbers(value: Any) -> np.ndarray | None:
    """A row of numbers, None where it is something else."""
    try:
        row = np.asarray(value if is_list(value) else None)
    except ValueError:  # rows of several lengths
        return None
    return row if row.ndim == 1 and row.dtype.kind in "biuf" else None


def _sizes(rows: Iterable[Any]) -> list[int | None]:
    """Lengths of rows of numbers, None for what is none."""
    numbers = map(_numbers, rows)
    return [None if row is None else len(row) for row in numbers]


def _are_lines(value: Any) -> bool:
    """Names with two rows of numbers each, equally long."""
    if not isinstance(value, Mapping) or not all(is_list(line) and len(line) == 2 for line in value.values()):
        return False
    return all(x is not None and x == y for x, y in map(_sizes, value.values()))


def _are_results(value: Any) -> bool:
    sizes = set(_sizes(value.values())) if isinstance(value, Mapping) else set()  # one length for all
    return len(sizes) == 1 and not sizes & {None, 0}


def _is_history(value: Any) -> bool:
    if not isinstance(value, Mapping) or not set(HISTORY) <= set(value):
        return False
    sizes = _sizes(value[name] for name in HISTORY)
    return None not in sizes and len(set(sizes[:3])) == 1 and sizes[3] == sizes[4] and sizes[0] != 0


def _are_shares(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(share, Real) for share in value.values())
    return _numbers(value) is not None


def _are_rows(value: Any) -> bool:
    return is_list(value) and all(isinstance(row, Mapping) and set(ROW) <= set(row) for row in value)


def _are_labels(value: Any) -> bool:
    if hasattr(value, "tocsr") or not (hasattr(value, "__array__") or is_list(value)):
        return False
    try:
        labels = np.asarray(value)
        np.unique(labels)  # labels have an order
    except (ValueError, TypeError):
        return False
    return labels.ndim in (1, 2) and labels.size > 0 and labels.dtype.kind != "c"


def _is_color_map(value: Any) -> bool:
    import matplotlib

    return isinstance(value, matplotlib.colors.Colormap) or (isinstance(value, str) and value in matplotlib.colormaps)


Axes = Annotated[Any, Rule("matplotlib axes", lambda value: hasattr(value, "plot") and hasattr(value, "imshow"))]
ColorMap = Annotated[Any, Rule("a color map of matplotlib", _is_color_map)]
Side = Annotated[Any, Rule("constraints", lambda value: isinstance(value, Constraints))]
Explanation = Annotated[Any, Rule("a dict of numbers, or numbers", _are_shares)]
History = Annotated[Any, Rule(f"a dict with rows of numbers {', '.join(HISTORY)}", _is_history)]
Label = Annotated[Any, Rule("one label", lambda value: np.isscalar(value) or value is None)]
Labels = Annotated[Any, Rule("labels", _are_labels)]
Lines = Annotated[Any, Rule("a dict of (x, y), each a row of numbers", _are_lines)]
Log = Literal["", "x", "y", "xy", "yx"]
Report = Annotated[Any, Rule(f"a list of dicts with {', '.join(ROW)}", _are_rows)]
Results = Annotated[Any, Rule("a dict of rows of numbers, equally long", _are_results)]
Rows = Annotated[Any, Rule("images or rows of images", is_list)]
Frames = Annotated[Any, Rule("rows of colors", is_list)]
Shape = Annotated[tuple[Count, Count] | tuple[Count, Count, Count], Rule("(height, width) or (height, width, 3)")]
Titled = Annotated[
    Any, Rule("a list or a dict of names", lambda value: is_list(value) or isinstance(value, dict | str))
]
Two = Annotated[Names, Rule("two strings", lambda value: len(value) == 2)]
Words = Annotated[Any, Rule("a list of names", is_list)]
