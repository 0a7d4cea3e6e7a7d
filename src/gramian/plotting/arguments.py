"""What the arguments of a picture may be."""

from collections.abc import Mapping
from numbers import Real
from typing import Annotated, Any, Literal

import numpy as np

from gramian._settings import Count, Names, Rule
from gramian.constraints import Constraints

ROW = ("candidate", "gain", "gain_error", "note")
HISTORY = ("event", "second", "loss", "recall_event", "recall")


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _numbers(value: Any) -> np.ndarray | None:
    """A row of numbers, None where it is something else."""
    if not _is_list(value):
        return None
    try:
        found = np.asarray(value)
    except ValueError:
        return None
    return found if found.ndim == 1 and found.dtype.kind in "biuf" else None


def _are_lines(value: Any) -> bool:
    """Names with two rows of numbers each, equally long."""
    if not isinstance(value, Mapping):
        return False
    for line in value.values():
        if not _is_list(line) or len(line) != 2:
            return False
        x, y = map(_numbers, line)
        if x is None or y is None or len(x) != len(y):
            return False
    return True


def _are_results(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    found = [_numbers(row) for row in value.values()]
    sizes = {None if row is None else len(row) for row in found}
    return len(sizes) == 1 and not sizes & {None, 0}


def _is_history(value: Any) -> bool:
    if not isinstance(value, Mapping) or not set(HISTORY) <= set(value):
        return False
    found = [_numbers(value[name]) for name in HISTORY]
    sizes = [None if row is None else len(row) for row in found]
    return None not in sizes and len(set(sizes[:3])) == 1 and sizes[3] == sizes[4] and sizes[0] != 0


def _are_shares(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(share, Real) for share in value.values())
    return _numbers(value) is not None


def _are_rows(value: Any) -> bool:
    return _is_list(value) and all(isinstance(row, Mapping) and set(ROW) <= set(row) for row in value)


def _are_labels(value: Any) -> bool:
    if hasattr(value, "tocsr") or not (hasattr(value, "__array__") or _is_list(value)):
        return False
    try:
        found = np.asarray(value)
        np.unique(found)  # labels have an order
    except (ValueError, TypeError):
        return False
    return found.ndim in (1, 2) and found.size > 0 and found.dtype.kind != "c"


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
Rows = Annotated[Any, Rule("images or rows of images", _is_list)]
Frames = Annotated[Any, Rule("rows of colors", _is_list)]
Shape = Annotated[tuple[Count, Count] | tuple[Count, Count, Count], Rule("(height, width) or (height, width, 3)")]
Titled = Annotated[
    Any, Rule("a list or a dict of names", lambda value: _is_list(value) or isinstance(value, dict | str))
]
Two = Annotated[Names, Rule("two strings", lambda value: len(value) == 2)]
Words = Annotated[Any, Rule("a list of names", _is_list)]
