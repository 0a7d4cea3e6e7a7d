"""From the columns of a file to points and labels, with all that is wrong said at once."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from gramian import _checks, _settings
from gramian._settings import Names, Rule
from gramian.tables import problems
from gramian.tables.cells import Column, column, is_missing
from gramian.tables.files import TableError, load_numpy, read_columns


def _are_columns(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, Column) for one in value)


Columns = Annotated[Sequence[Column], Rule("a list of Columns", _are_columns)]
MISSING = ("refuse", "drop", "median", "keep")


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


@_settings.checked
def read(
    path: _settings.Path,
    label: str | None = None,
    drop: Names = (),
    only: Names | None = None,
    *,
    missing: str = "refuse",
    columns: Columns | None = None,
) -> Table:
    r"""Read a table.

    Parameters
    ----------
    path : Path
        A CSV (also ``.gz``, UTF-16, with decimal commas), NPY, NPZ or Parquet file.
    label : str, optional
        The name of the label column, its number where columns have no names, the name of an array in an NPZ file, or a
        file of labels.
    drop : list of str
        Columns to leave out; a name may hold several, separated by commas.
    only : list of str, optional
        Keep these columns, in this order; they stand for the columns of a file that has no names.
    missing : {"refuse", "drop", "median", "keep"}
        What becomes of gaps: an error, rows left out, the median of the column, or NaN. Rows without a label are
        left out unless gaps are refused.
    columns : list of Column, optional
        How columns become numbers, as another table was read; found out when None.

    Examples
    --------
    >>> import gramian as gm, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "table.csv"
    >>> _ = path.write_text("size;color;kind\n1,5;red;a\n2,5;blue;b\n;red;a\n")
    >>> table = gm.tables.read(path, "kind", missing="median")
    >>> table.names, table.X.tolist()
    (['size', 'color=red'], [[1.5, 1.0], [2.5, 0.0], [2.0, 1.0]])
    """
    _checks.one_of(missing, "read", "missing", MISSING)
    path = Path(path)
    found, arrays = read_columns(path)
    for name in _listed(drop, found):
        found.pop(find(path, name, found))
    y, label = (None, None) if label is None else _labels(path, label, found, arrays)
    if columns is not None:
        only = [one.name for one in columns]
    if only is not None:
        found = _chosen(path, only, found)
    if not found:
        raise TableError(f"{path}: no columns are left to learn from.")
    n = len(next(iter(found.values())))
    if y is not None and len(y) != n:
        raise TableError(f"{path}: there are {n} rows and {len(y)} labels.")
    return _encoded(path, found, y, label, missing, columns)


def _encoded(
    path: Path,
    found: dict[str, np.ndarray],
    y: np.ndarray | None,
    label: str | None,
    missing: str,
    columns: Sequence[Column] | None,
) -> Table:
    """The table of numbers, or one message with everything that is wrong."""
    if columns is None:
        columns = kinds(found)
    X, wrong = encode(columns, found, missing)
    gone = np.zeros(len(X), dtype=bool) if y is None else is_missing(y)
    if gone.any() and missing == "refuse":
        wrong.append(f"label column {label!r} is empty in {problems.rows(gone)}; drop those rows first: --missing drop")
    problems.raise_all(str(path), wrong)
    if missing == "drop":
        gone |= np.isnan(X).any(axis=1)
    if gone.all():
        raise TableError(f"{path}: no row is complete; --missing median fills gaps.")
    kept = ~gone
    labels = None if y is None else _settled(y[kept])
    inputs = {name: cells[kept] for name, cells in found.items()}
    names = [name for one in columns for name in one.names]
    doubts = problems.suspicions(inputs, labels)
    return Table(X[kept], names, labels, label, tuple(columns), doubts, int(gone.sum()))


def kinds(found: dict[str, np.ndarray]) -> list[Column]:
    """What each column is; where one has decimal commas for sure, 1,234 in another is taken as such too."""
    guess = [column(name, cells) for name, cells in found.items()]
    if not any(one.form == "1.234,5" for one in guess):
        return guess
    return [column(name, cells, decimal_comma=True) for name, cells in found.items()]


def encode(
    columns: Sequence[Column],
    found: dict[str, np.ndarray],
    missing: str,
    remedies: problems.Remedies = problems.COMMAND,
) -> tuple[np.ndarray, list[str]]:
    """All columns as numbers (n, d), and what is wrong with them; gaps are NaN unless they are filled."""
    parts: list[np.ndarray] = []
    wrong: list[str] = []
    for one in columns:
        values, bad = one.numbers(found[one.name])
        wrong += problems.of_cells(one, found[one.name], values, bad, missing, remedies)
        values[~np.isfinite(values)] = np.nan
        if missing == "median":
            values = np.where(np.isnan(values), 0.0 if one.fill is None else one.fill, values)
        parts.append(values)
    return np.hstack(parts), wrong


def _listed(drop: Sequence[str], columns: dict[str, Any]) -> list[str]:
    """Names of columns; one that is no column and holds commas is a list of names."""
    names = []
    for name in drop:
        names += [name] if name in columns or "," not in name else [part.strip() for part in name.split(",")]
    return [name for name in dict.fromkeys(names) if name]


def find(path: Path, name: str, columns: dict[str, Any], purpose: str = "") -> str:
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
    return {name: columns[find(path, name, columns)] for name in only}


def _labels(path: Path, label: str, columns: dict[str, Any], arrays: dict[str, Any]) -> tuple[np.ndarray, str]:
    """The labels and the name of their column."""
    if label in arrays:
        y = arrays[label]
    elif label not in columns and Path(label).is_file():
        y = load_numpy(Path(label)) if label.endswith(".npy") else np.loadtxt(label, dtype=str, ndmin=1)
    else:
        label = find(path, label, columns, " for --label")
        y = columns.pop(label)
    if y.ndim != 1:
        raise TableError(f"{path}: labels must be one column, {label!r} has shape {y.shape}.")
    if y.dtype.kind == "O":
        y = np.array(["" if value is None or value != value else str(value) for value in y])
    return y, label


def _settled(y: np.ndarray) -> np.ndarray:
    """Labels that are whole numbers as such."""
    whole = y.dtype.kind == "f" and bool((y == np.rint(y)).all())
    return y.astype(np.int64) if whole else y
