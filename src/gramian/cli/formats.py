"""Files as named columns: CSV, NPY, NPZ, and Parquet where pandas is installed."""

import csv
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from gramian.persist import replacing

CELLS = 500_000
"""Cells of a text file that are read at a time."""
MISSING = ["", "na", "n/a", "nan", "null", "none", "?"]
"""Cells that stand for nothing, in lower case."""


class TableError(ValueError):
    """A file that cannot be used as a table of numbers; the message is for the person who gave it."""


def read_columns(path: Path) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Columns by name, and (NPZ only) the other arrays of the file by name."""
    if not path.is_file():
        raise TableError(f"{path}: no such file.")
    suffix = path.suffix.lower()
    if suffix == ".npz":
        arrays = load_numpy(path)
        if "X" not in arrays:
            raise TableError(f"{path}: needs an array named X, it has {', '.join(arrays) or 'none'}.")
        return _numbered(path, arrays.pop("X")), arrays
    if suffix == ".npy":
        return _numbered(path, load_numpy(path)), {}
    return (_parquet(path) if suffix in (".parquet", ".pq") else _csv(path)), {}


def _csv(path: Path) -> dict[str, np.ndarray]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            first = stream.readline()
            stream.seek(0)
            reader = csv.reader(stream, delimiter=max(",;\t", key=first.count))
            head, parts = _parts(path, ((reader.line_num, row) for row in reader if any(row)))
    except (UnicodeDecodeError, csv.Error) as error:
        raise TableError(f"{path}: not a text file of comma-separated values ({error}).") from error
    return {name: _joined([part[j] for part in parts]) for j, name in enumerate(head)}


def _parts(path: Path, lines: Iterator[tuple[int, list[str]]]) -> tuple[list[str], list[list[np.ndarray]]]:
    """Names of the columns, and the columns in parts of some thousand rows, numbers as numbers."""
    line, row = next(lines, (0, None))
    if row is None:
        raise TableError(f"{path}: the file is empty.")
    head = [name.strip() for name in row]
    if all(is_number(cell) for cell in head):
        head = [str(j) for j in range(len(row))]
        lines = chain([(line, row)], lines)
    name, count = Counter(head).most_common(1)[0]
    if count > 1:
        raise TableError(f"{path}: two columns are named {name!r}.")
    parts = []
    while block := list(islice(lines, max(CELLS // len(head), 1))):
        for line, row in block:
            if len(row) != len(head):
                raise TableError(f"{path}: line {line} has {len(row)} cells, the header has {len(head)}.")
        parts.append(_columns([row for _, row in block]))
    if not parts:
        raise TableError(f"{path}: there is a header and no rows.")
    return head, parts


def _columns(rows: list[list[str]]) -> list[np.ndarray]:
    """The columns of some rows, numbers as numbers."""
    with suppress(ValueError):
        return list(np.array(rows, dtype=np.float64).T)  # most tables are all numbers
    return [_numbers_or_text(np.char.strip(np.array(cells))) for cells in zip(*rows)]


def _numbers_or_text(cells: np.ndarray) -> np.ndarray:
    with suppress(ValueError):
        return cells.astype(np.float64)
    with suppress(ValueError):
        return np.where(np.isin(np.char.lower(cells), MISSING), "nan", cells).astype(np.float64)
    return cells.copy()


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    """One column; numbers only when every part is."""
    numeric = all(part.dtype.kind == "f" for part in parts)
    return np.concatenate(parts if numeric else [part.astype(str) for part in parts])


def load_numpy(path: Path, mapped: bool = False) -> Any:
    """The array of an NPY file, or the arrays of an NPZ file by name; nothing is unpickled.

    With ``mapped`` the array of an NPY file stays on disk until it is touched.
    """
    try:
        loaded = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
        return loaded if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in loaded.files}
    except Exception as error:
        raise TableError(f"{path}: not a readable {path.suffix} file of plain arrays.") from error


def _numbered(path: Path, array: Any) -> dict[str, np.ndarray]:
    if not isinstance(array, np.ndarray) or array.ndim != 2:
        raise TableError(f"{path}: needs an array of shape (n, d), got {getattr(array, 'shape', 'several arrays')}.")
    return {str(j): array[:, j] for j in range(array.shape[1])}


def _parquet(path: Path) -> dict[str, np.ndarray]:
    try:
        import pandas

        frame = pandas.read_parquet(path)
    except ImportError as error:
        raise TableError(f"{path}: Parquet needs pandas and pyarrow: pip install 'gramian[data]'.") from error
    except Exception as error:
        raise TableError(f"{path}: not a readable Parquet file ({type(error).__name__}).") from error
    return {str(name): _plain(frame[name]) for name in frame.columns}


def _plain(column: Any) -> np.ndarray:
    """A column of pandas as numbers, or as text with nothing for what is missing."""
    missing = column.isna()
    if column.dtype.kind in "biuf":
        return column.to_numpy(dtype=float, na_value=np.nan) if missing.any() else column.to_numpy()
    return column.astype(str).where(~missing, "").to_numpy(dtype=str)


def is_number(cell: Any) -> bool:
    """Whether a cell reads as a number."""
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def check_output(path: Path | None, suffixes: Sequence[str] = (), make: bool = False) -> None:
    """Whether a file can be written there, asked before the work is done; with ``make`` the folder is made."""
    if path is None:
        return
    if path.is_dir():
        raise TableError(f"{path}: is a folder, name a file in it.")
    if make and not path.parent.exists():
        path.parent.mkdir(parents=True)
    if not path.parent.is_dir():
        raise TableError(f"{path}: no folder {path.parent}.")
    if suffixes and path.suffix.lower() not in suffixes:
        raise TableError(f"{path}: must end in {', '.join(suffixes[:-1])} or {suffixes[-1]}.")


def write(path: Path | None, names: list[str], X: np.ndarray, label: str, y: np.ndarray | None) -> None:
    """Write points and labels by the suffix of the path, or as CSV to standard output when it is None."""
    if path is None:
        _write_csv(sys.stdout, names, X, label, y)
        return
    suffix = path.suffix.lower()
    with replacing(path, "transform") as beside:
        if suffix == ".npy":
            np.save(beside, X)
        elif suffix == ".npz":
            _write_npz(beside, X, label, y)
        elif suffix in (".parquet", ".pq"):
            _write_parquet(beside, dict(zip(names, X.T)) | ({} if y is None else {label: y}))
        else:
            with beside.open("w", newline="", encoding="utf-8") as stream:
                _write_csv(stream, names, X, label, y)


def draw(figure: Any, path: Path) -> None:
    """Write a picture, whole or not at all."""
    with replacing(path, "picture") as beside:
        figure.savefig(beside, dpi=120)


def _write_csv(stream: TextIO, names: list[str], X: np.ndarray, label: str, y: np.ndarray | None) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names if y is None else [*names, label])
    rows = X.tolist()
    writer.writerows(rows if y is None else ([*row, value] for row, value in zip(rows, y.tolist())))


def _write_npz(path: Path, X: np.ndarray, label: str, y: np.ndarray | None) -> None:
    if label in ("X", "file", "allow_pickle"):
        raise TableError(f"an NPZ file cannot hold labels under the name {label!r}; write CSV.")
    labels: dict[str, Any] = {} if y is None else {label: y}
    np.savez(path, X=X, **labels)


def _write_parquet(path: Path, columns: dict[str, np.ndarray]) -> None:
    try:
        import pandas

        pandas.DataFrame(columns).to_parquet(path)
    except ImportError as error:
        raise TableError("Parquet needs pandas and pyarrow: pip install 'gramian[data]'.") from error
