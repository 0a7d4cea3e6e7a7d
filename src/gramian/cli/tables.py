"""From the columns of a file to points and labels, with one clear sentence for each thing that can be wrong."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gramian.cli.formats import MISSING, TableError, is_number, load_numpy, read_columns


@dataclass(frozen=True)
class Table:
    """Points X (n, d), the names of their columns, and where asked for labels with the name of theirs."""

    X: np.ndarray
    names: list[str]
    y: np.ndarray | None = None
    label: str | None = None


def read(path: Path, label: str | None = None, drop: Sequence[str] = (), only: Sequence[str] | None = None) -> Table:
    """Read a table.

    ``label`` is the name of the label column, its number where columns have no names, the name of an array in an NPZ
    file, or a file of labels. ``drop`` leaves columns out; ``only`` keeps these columns, in this order, and stands for
    the columns of a file that has no names.
    """
    columns, arrays = read_columns(path)
    for name in drop:
        columns.pop(_find(path, name, columns))
    y, label = (None, None) if label is None else _labels(path, label, columns, arrays)
    if only is not None:
        columns = _chosen(path, only, columns)
    if not columns:
        raise TableError(f"{path}: no columns are left to learn from.")
    X = np.column_stack([_numbers(path, name, column) for name, column in columns.items()])
    if y is not None and len(y) != len(X):
        raise TableError(f"{path}: there are {len(X)} rows and {len(y)} labels.")
    return Table(X, list(columns), y, label)


def _find(path: Path, name: str, columns: dict[str, Any], purpose: str = "") -> str:
    """The column of that name; −1 is the last one when columns are numbered."""
    if name in columns:
        return name
    if name.startswith("-") and name[1:].isdigit() and 0 < int(name[1:]) <= len(columns) and "0" in columns:
        return list(columns)[int(name)]
    near = difflib.get_close_matches(name, columns, n=3, cutoff=0.4)
    hint = f"did you mean {', '.join(map(repr, near))}?" if near else f"it has {', '.join(list(columns)[:12])}."
    raise TableError(f"{path}: no column {name!r}{purpose}; {hint}")


def _chosen(path: Path, only: Sequence[str], columns: dict[str, Any]) -> dict[str, Any]:
    """These columns in this order; columns without names as they stand, when there are as many."""
    unnamed = all(name.isdigit() for name in columns) and not set(only) & set(columns)
    if unnamed and len(columns) == len(only):
        return dict(zip(only, columns.values()))
    return {name: columns[_find(path, name, columns)] for name in only}


def _labels(path: Path, label: str, columns: dict[str, Any], arrays: dict[str, Any]) -> tuple[np.ndarray, str]:
    """The labels and the name of their column."""
    if label in arrays:
        y = arrays[label]
    elif label not in columns and Path(label).is_file():
        y = load_numpy(Path(label)) if label.endswith(".npy") else np.loadtxt(label, dtype=str, ndmin=1)
    else:
        label = _find(path, label, columns, " for --label")
        y = columns.pop(label)
    if y.ndim != 1:
        raise TableError(f"{path}: labels must be one column, {label!r} has shape {y.shape}.")
    if y.dtype.kind == "O":
        y = np.array(["" if value is None or value != value else str(value) for value in y])
    gone = np.isin(np.char.lower(y), MISSING) if y.dtype.kind in "US" else ~np.isfinite(y)
    if gone.any():
        raise TableError(f"{path}: label column {label!r} is empty in {_rows(gone)}; drop those rows first.")
    whole = y.dtype.kind == "f" and (y == np.rint(y)).all()
    return (y.astype(np.int64) if whole else y), label


def _numbers(path: Path, name: str, column: np.ndarray) -> np.ndarray:
    if column.dtype.kind == "c":
        raise TableError(f"{path}: column {name!r} must hold real numbers, it holds complex ones.")
    if column.dtype.kind in "US":
        column = np.where(np.isin(np.char.lower(column), MISSING), "nan", column)
    try:
        values = column.astype(np.float64)
    except (TypeError, ValueError) as error:
        example = next((str(cell) for cell in column if not is_number(cell)), "")
        remedy = f"encode it, or leave it out with --drop {name}"
        raise TableError(f"{path}: column {name!r} is not numeric, it holds {example!r}; {remedy}.") from error
    bad = ~np.isfinite(values)
    if bad.any():
        raise TableError(f"{path}: column {name!r} has no finite number in {_rows(bad)}; fill in or drop them first.")
    return values


def _rows(mask: np.ndarray) -> str:
    """Where a mask is true, in words; rows count from 1 below the header."""
    count = int(mask.sum())
    return f"row {mask.argmax() + 1}" if count == 1 else f"{count} rows, first in row {mask.argmax() + 1}"
