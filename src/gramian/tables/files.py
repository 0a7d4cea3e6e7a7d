"""Files as named columns: CSV (also packed, and in UTF-16), NPY, NPZ, and Parquet where pandas is installed."""

import csv
import gzip
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from gramian import _settings

CELLS = 500_000
"""Cells of a text file that are read at a time."""
MISSING = ["", "na", "n/a", "nan", "null", "none", "?"]
"""Cells that stand for nothing, in lower case."""
PACKED = b"\x1f\x8b"
"""First bytes of a gzip file."""
WIDE = (b"\xff\xfe", b"\xfe\xff")
"""First bytes of a text in UTF-16."""
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
"""How a number is written."""
ODD = re.compile(r"\n\s*([+-]?(?:0[0-9]+|[0-9]+[eE][0-9]+|[0-9]{16,}))\s*(?=\n)")
"""What Python reads as a number although it may be none: 007, 1E5, and whole numbers that it would round."""
YEAR = re.compile(r"1[5-9][0-9]{2}|2[01][0-9]{2}")
LOOKED_AT = 20
"""Lines from which the separator is guessed."""


class TableError(ValueError):
    """A table that cannot be used; the message is for the person who gave it."""


@_settings.checked
def read_columns(path: _settings.Path) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Columns by name, and (NPZ only) the other arrays of the file by name."""
    path = Path(path)
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
        with opened(path) as stream:
            first = [line for line in islice(stream, LOOKED_AT) if line.strip()]
            head, parts = _read(path, stream, separator(first))
            if mixed := _mixed(parts):  # what is text further down is so from the beginning
                head, parts = _read(path, stream, separator(first), mixed)
    except (UnicodeError, csv.Error, EOFError, gzip.BadGzipFile) as error:
        raise TableError(f"{path}: not a text file of comma-separated values ({error}).") from error
    return {name: np.concatenate([part[j] for part in parts]) for j, name in enumerate(head)}


def opened(path: Path) -> TextIO:
    """The text of a file, unpacked where it is packed, in UTF-8 or, where it says so, in UTF-16."""
    with path.open("rb") as stream:
        packed = stream.read(2) == PACKED
    raw: Any = gzip.open(path, "rb") if packed else path.open("rb")  # noqa: SIM115  # closed with the text
    wide = raw.read(2) in WIDE
    raw.seek(0)
    if not wide:
        return io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")
    with raw:
        text = raw.read().decode("utf-16")
    if "\n" not in text and "\r" not in text:
        raise UnicodeError("no line ends")
    return io.StringIO(text, newline="")


def separator(lines: list[str]) -> str:
    """Tab, semicolon or comma: the first of these that every line has equally often, or the most frequent one.

    A comma may stand within numbers (1,5) where another mark separates them, so it comes last.
    """
    bare = [re.sub(r'"[^"]*"', "", line) for line in lines]
    for mark in "\t;":
        counts = {line.count(mark) for line in bare}
        if len(counts) == 1 and counts != {0}:
            return mark
    return max(",;\t", key=bare[0].count) if bare else ","


def _read(
    path: Path, stream: TextIO, mark: str, texts: frozenset[int] = frozenset()
) -> tuple[list[str], list[list[np.ndarray]]]:
    stream.seek(0)
    reader = csv.reader(stream, delimiter=mark)
    return _parts(path, ((reader.line_num, row) for row in reader if any(row)), texts)


def _mixed(parts: list[list[np.ndarray]]) -> frozenset[int]:
    """Columns that are text in some parts and numbers in others."""
    kinds = [{column.dtype.kind for column in columns} for columns in zip(*parts)]
    return frozenset(j for j, both in enumerate(kinds) if len(both) > 1)


def _parts(
    path: Path, lines: Iterator[tuple[int, list[str]]], texts: frozenset[int]
) -> tuple[list[str], list[list[np.ndarray]]]:
    """Names of the columns, and the columns in parts of some thousand rows, numbers as numbers but for ``texts``."""
    line, row = next(lines, (0, None))
    if row is None:
        raise TableError(f"{path}: the file is empty.")
    head = [name.strip() or f"Unnamed: {j}" for j, name in enumerate(row)]
    second = list(islice(lines, 1))
    lines = chain(second, lines)
    years = _are_years(head) and not (second and _are_years(second[0][1]))
    if not years and all(is_number(cell.replace(",", ".")) for cell in head):
        head = [str(j) for j in range(len(row))]
        lines = chain([(line, row)], lines)
    name, count = Counter(head).most_common(1)[0]
    if count > 1:
        raise TableError(f"{path}: two columns are named {name!r}.")
    parts = []
    uneven: list[tuple[int, int]] = []
    while block := list(islice(lines, max(CELLS // len(head), 1))):
        uneven += [(line, len(row)) for line, row in block if len(row) != len(head)]
        if uneven:
            continue
        parts.append(_columns([row for _, row in block], texts))
    if uneven:
        raise TableError(f"{path}: {_uneven(uneven)}, the header has {len(head)}.")
    if not parts:
        raise TableError(f"{path}: there is a header and no rows.")
    return head, parts


def _are_years(cells: list[str]) -> bool:
    """Whether cells are different years, as the names of columns may be."""
    return len(set(cells)) == len(cells) > 1 and all(YEAR.fullmatch(cell.strip()) for cell in cells)


def _columns(rows: list[list[str]], texts: frozenset[int] = frozenset()) -> list[np.ndarray]:
    """The columns of some rows, numbers as numbers but for ``texts``."""
    wordy = [j for j, cell in enumerate(rows[0]) if j in texts or not is_number(cell)]  # in most tables few
    with suppress(ValueError):
        bare = [left_out(row, wordy) for row in rows] if wordy else rows
        numeric = np.array(bare, dtype=np.float64)
        if not holds_codes(chain.from_iterable(bare)):
            numbers, columns = iter(numeric.T), range(len(rows[0]))
            return [_column([row[j] for row in rows], j in texts) if j in wordy else next(numbers) for j in columns]
    return [_column(cells, j in texts) for j, cells in enumerate(zip(*rows))]


def _column(cells: Sequence[str], text: bool) -> np.ndarray:
    stripped = np.char.strip(np.array(cells))
    return stripped.copy() if text else _numbers_or_text(stripped)


def left_out(row: list[str], places: list[int]) -> list[str]:
    """A row without the cells at some places, in order."""
    ends = [-1, *places, len(row)]
    return [cell for start, stop in pairwise(ends) for cell in row[start + 1 : stop]]


def _uneven(found: list[tuple[int, int]], most: int = 5) -> str:
    """Lines with another number of cells than the header, in words."""
    listed = ", ".join(f"line {line} has {count} cells" for line, count in found[:most])
    return listed if len(found) <= most else f"{listed} and {len(found) - most} lines more are as uneven"


def _numbers_or_text(cells: np.ndarray) -> np.ndarray:
    for said in (cells, np.where(np.isin(np.char.lower(cells), MISSING), "nan", cells)):
        with suppress(ValueError):
            numbers = said.astype(np.float64)
            return cells.copy() if holds_codes(cells.tolist()) else numbers
    return cells.copy()


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
    if array.dtype.kind == "c":
        raise TableError(f"{path}: needs real numbers, got complex ones.")
    return {str(j): array[:, j] for j in range(array.shape[1])}


def _parquet(path: Path) -> dict[str, np.ndarray]:
    try:
        import pandas

        frame = pandas.read_parquet(path)
    except ImportError as error:
        raise TableError(f"{path}: Parquet needs pandas and pyarrow: pip install 'gramian[data]'.") from error
    except Exception as error:
        raise TableError(f"{path}: not a readable Parquet file ({type(error).__name__}).") from error
    return {str(name): plain(frame[name]) for name in frame.columns}


def plain(column: Any) -> np.ndarray:
    """A column of a frame or an array as numbers, or as text with nothing for what is missing."""
    if hasattr(column, "isna"):
        missing = column.isna()
        if column.dtype.kind in "biuf" and not (missing.any() and _too_long(column)):
            return column.to_numpy(dtype=float, na_value=np.nan) if missing.any() else column.to_numpy()
        return column.astype(str).where(~missing, "").to_numpy(dtype=str)
    column = np.asarray(column)
    if column.dtype.kind in "biufUS":
        return column.astype(str) if column.dtype.kind == "S" else column
    if column.dtype.kind == "M":
        return np.where(np.isnat(column), "", np.datetime_as_string(column))
    cells = np.array(["" if cell is None or cell != cell else str(cell).strip() for cell in column], dtype=str)
    return _numbers_or_text(cells)


def _too_long(column: Any) -> bool:
    """Whether a column of whole numbers holds some that double precision would round."""
    return column.dtype.kind in "iu" and not bool(column.dropna().between(-(2**53), 2**53).all())


def is_number(cell: str) -> bool:
    """Whether a cell is written as a number, and is none of what only looks like one."""
    return NUMBER.fullmatch(cell.strip()) is not None and not holds_codes([cell])


def holds_codes(cells: Iterable[str]) -> bool:
    """Whether among cells that Python reads as numbers one is a code (zip, phone, article), a word, or too long."""
    text = "\n".join(["", *cells, ""])
    return any(mark in text for mark in "_iI") or any(_is_code(found.group(1)) for found in ODD.finditer(text))


def _is_code(odd: str) -> bool:
    digits = odd.lstrip("+-")
    return not digits.isdigit() or digits.startswith("0") or int(odd) != int(float(odd))
