"""From the columns of a file to points and labels, with all that is wrong said at once."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gramian.cli.tables import problems
from gramian.cli.tables.cells import Column, column, is_missing
from gramian.cli.tables.files import Columns, TableError, load_numpy, read_columns


@dataclass(frozen=True)
class Table:
    """Points X (n, d), the names of their columns, and where asked for labels with the name of theirs.

    ``columns`` says how the columns of the file became those of X, ``doubts`` which of them look like ids or give the
    label away, and ``dropped`` how many rows were left out.
    """

    X: np.ndarray
    names: list[str]
    y: np.ndarray | None = None
    label: str | None = None
    columns: tuple[Column, ...] = ()
    doubts: list[str] = field(default_factory=list)
    dropped: int = 0


def read(
    path: Path,
    label: str | None = None,
    drop: Sequence[str] = (),
    only: Sequence[str] | None = None,
    *,
    missing: str = "refuse",
    absent: Sequence[str] = (),
    columns: Sequence[Column] | None = None,
) -> Table:
    """Read a table; ``only`` columns, in that order, or as the ``columns`` of another table were read.

    Gaps are refused, "drop" leaves out their rows, "median" fills in that of the column, "keep" makes NaN of them. Rows
    without a label are left out unless gaps are refused. The words ``absent`` stand for gaps too.
    """
    return encoded(path, *read_columns(path, absent), label, drop, only, missing, columns)


def read_again(
    path: Path, about: dict[str, Any], label: str | None, drop: Sequence[str], missing: str | None = None
) -> Table:
    """A table as that of a fit was read: columns by their names, words as the words they were.

    Gaps are filled in, where nothing else is asked for, when the fit did so.
    """
    return as_learned(path, *read_columns(path, about.get("absent", ())), about, label, drop, missing)


def as_learned(
    path: Path,
    cells: Columns,
    arrays: Columns,
    about: dict[str, Any],
    label: str | None,
    drop: Sequence[str],
    missing: str | None = None,
) -> Table:
    """Columns of a file as those of a fit; its column of labels does not count where it is there too."""
    stored, names = about.get("columns") or [], about.get("features", [])
    learned: Any = about.get("label")
    if label is None and learned in cells and len(cells) == len(stored or names) + 1:
        drop = [*drop, learned]
    missing = missing or gaps_of(about)
    columns = columns_from(stored)
    return encoded(path, cells, arrays, label, drop, names if named(names) else None, missing, columns)


def gaps_of(about: dict[str, Any]) -> str:
    """What is done about gaps: they are filled where the fit did so."""
    return "median" if about.get("missing") == "median" else "refuse"


def named(names: Sequence[str]) -> bool:
    """Whether columns have names, and not only numbers."""
    return not all(map(str.isdigit, names))


def columns_from(stored: list[dict[str, Any]]) -> list[Column] | None:
    """Columns from what :func:`plain_data` made of them; None where they have no names."""
    columns = [Column(**{**one, "words": tuple(one["words"])}) for one in stored]
    return columns if named([one.name for one in columns]) else None


def plain_data(columns: Sequence[Column]) -> list[dict[str, Any]]:
    """Columns as a file keeps them."""
    return [{**vars(one), "words": list(one.words)} for one in columns]


def encoded(
    path: Path,
    cells: Columns,
    arrays: Columns,
    label: str | None,
    drop: Sequence[str],
    only: Sequence[str] | None,
    missing: str,
    columns: Sequence[Column] | None,
) -> Table:
    """Columns of a file as a table of numbers, or one message with everything that is wrong."""
    for name in listed(drop, cells):
        cells.pop(find(path, name, cells))
    y, label = (None, None) if label is None else labels(path, label, cells, arrays)
    only = only if columns is None else [one.name for one in columns]
    cells = cells if only is None else in_order(path, only, cells)
    if not cells:
        raise TableError(f"{path}: no columns are left to learn from.")
    n = len(next(iter(cells.values())))
    if y is not None and len(y) != n:
        raise TableError(f"{path}: there are {n} rows and {len(y)} labels.")
    return filled(path, cells, y, label, missing, kinds(cells) if columns is None else columns)


def filled(
    path: Path, cells: Columns, y: np.ndarray | None, label: str | None, missing: str, columns: Sequence[Column]
) -> Table:
    """The table without its gaps."""
    X, wrong = numbers(columns, cells, missing)  # (n, d), sentences
    gone = np.zeros(len(X), dtype=bool) if y is None else is_missing(y)  # (n,)
    if gone.any() and missing == "refuse":
        wrong.append(f"label column {label!r} is empty in {problems.rows(gone)}; drop those rows first: --missing drop")
    problems.raise_all(str(path), wrong)
    if missing == "drop":
        gone |= np.isnan(X).any(axis=1)
    if gone.all():
        raise TableError(f"{path}: no row is complete; --missing median fills gaps.")
    y = None if y is None else whole(y[~gone])
    names = [name for one in columns for name in one.names]
    doubts = problems.suspicions({name: column[~gone] for name, column in cells.items()}, y)
    return Table(X[~gone], names, y, label, tuple(columns), doubts, int(gone.sum()))


def whole(y: np.ndarray) -> np.ndarray:
    """Labels as whole numbers where all of them are."""
    return y.astype(np.int64) if y.dtype.kind == "f" and bool((y == np.rint(y)).all()) else y


def kinds(cells: Columns) -> list[Column]:
    """What each column is; where one has decimal commas for sure, 1,234 in another is taken as such too."""
    columns = [column(name, values) for name, values in cells.items()]
    if not any(one.form == "1.234,5" for one in columns):
        return columns
    return [column(name, values, decimal_comma=True) for name, values in cells.items()]


def numbers(columns: Sequence[Column], cells: Columns, missing: str) -> tuple[np.ndarray, list[str]]:
    """All columns as numbers (n, d), and what is wrong with them; gaps are NaN unless they are filled."""
    blocks: list[np.ndarray] = []
    wrong: list[str] = []
    for one in columns:
        values, bad = one.numbers(cells[one.name])  # (n, c), (n,)
        wrong += problems.of_cells(one, cells[one.name], values, bad, missing)
        values[~np.isfinite(values)] = np.nan
        if missing == "median":
            values = np.where(np.isnan(values), one.fill or 0.0, values)
        blocks.append(values)
    return np.hstack(blocks), wrong


def listed(drop: Sequence[str], cells: Columns) -> list[str]:
    """Names of columns; one that is no column and holds commas is a list of names."""
    names: list[str] = []
    for name in drop:
        names += [name] if name in cells or "," not in name else map(str.strip, name.split(","))
    return [name for name in dict.fromkeys(names) if name]


def find(path: Path, name: str, cells: Columns, purpose: str = "") -> str:
    """The column of that name; −1 is the last one when columns are numbered."""
    if name in cells:
        return name
    if name.startswith("-") and name[1:].isdigit() and 0 < int(name[1:]) <= len(cells) and "0" in cells:
        return list(cells)[int(name)]
    close = difflib.get_close_matches(name, cells, n=3, cutoff=0.4)
    hint = f"did you mean {', '.join(map(repr, close))}?" if close else f"it has {', '.join(list(cells)[:12])}."
    raise TableError(f"{path}: no column {name!r}{purpose}; {hint}")


def in_order(path: Path, only: Sequence[str], cells: Columns) -> Columns:
    """These columns in this order; columns without names as they stand, when there are as many."""
    unnamed = all(name.isdigit() for name in cells) and not set(only) & set(cells)
    if unnamed and len(cells) == len(only):
        return dict(zip(only, cells.values()))
    return {name: cells[find(path, name, cells)] for name in only}


def labels(path: Path, label: str, cells: Columns, arrays: Columns) -> tuple[np.ndarray, str]:
    """The labels and the name of their column."""
    if label in arrays:
        y = arrays[label]
    elif label not in cells and Path(label).is_file():
        y = load_numpy(Path(label)) if label.endswith(".npy") else np.loadtxt(label, dtype=str, ndmin=1)
    else:
        label = find(path, label, cells, " for --label")
        y = cells.pop(label)
    if y.ndim != 1:
        raise TableError(f"{path}: labels must be one column, {label!r} has shape {y.shape}.")
    return y, label
