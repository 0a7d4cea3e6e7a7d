"""From cells to rows: mean precision, and the gain over the features as they are with its standard error."""

from collections.abc import Iterable
from itertools import groupby
from typing import Any

import numpy as np

from benchmarks.report import number

BASELINE = "features"
KINDS = ("seen", "new")


def rows(cells: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row per task, label count and method; gains are paired by draw."""
    cells = list(cells)
    found = []
    order = {name: i for i, name in enumerate(dict.fromkeys(cell["method"] for cell in cells))}
    key = lambda cell: (cell["task"], int(cell["labels"]))  # noqa: E731
    for (task, labels), group in groupby(cells, key):
        by_method: dict[str, dict[str, dict[str, Any]]] = {}
        for cell in group:
            by_method.setdefault(cell["method"], {})[cell["draw"]] = cell
        for name in sorted(by_method, key=order.__getitem__):
            mine = by_method[name]
            head = {"task": task, "labels": labels, "method": name, "ours": int(next(iter(mine.values()))["ours"])}
            baseline = [by_method[BASELINE][draw] for draw in mine]
            found.append(head | row(list(mine.values()), baseline))
    return found


def row(cells: list[dict[str, Any]], baseline: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over the draws of one method."""
    result: dict[str, Any] = {"draws": len(cells)}
    for kind in KINDS:
        values = np.array([_value(cell[kind]) for cell in cells])
        result[kind] = _mean(values)
        result |= gain(values - [_value(cell[kind]) for cell in baseline], kind)
    result["cpu_s"] = _mean(np.array([_value(cell["cpu_s"]) for cell in cells]))
    result["note"] = next((cell["note"] for cell in cells if cell.get("note")), "")
    return result


def gain(differences: np.ndarray, kind: str) -> dict[str, float | None]:
    """Mean and standard error of paired differences; nothing when a draw is missing, and no error of a single one."""
    if np.isnan(differences).any() or not len(differences):
        return {f"{kind}_gain": None, f"{kind}_se": None}
    error = float(differences.std(ddof=1) / np.sqrt(len(differences))) if len(differences) > 1 else None
    return {f"{kind}_gain": float(differences.mean()), f"{kind}_se": error}


def _value(text: Any) -> float:
    found = number(text)
    return np.nan if found is None else found


def _mean(values: np.ndarray) -> float | None:
    return None if np.isnan(values).any() else float(values.mean())
