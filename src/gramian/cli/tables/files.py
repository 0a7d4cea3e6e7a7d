"""Files as named columns: CSV (also packed, and in UTF-16), NPY, NPZ, and Parquet where pandas is installed."""

import csv
import gzip
import io
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np

CELLS = 500_000
"""Cells of a text file that are read at a time."""
ROWS = 32
"""Rows that are read at a time, however wide they are."""
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
GUESSED = 20
"""Lines from which the separator is guessed."""
LISTED = 5
"""Uneven lines that are listed."""

Columns = dict[str, np.ndarray]


class TableError(ValueError):
    """A table that cannot be used; the message is for the person who gave it."""


def read_columns(path: Path, absent: Sequence[str] = ()) -> tuple[Columns, Columns]:
    """Columns by name, and (NPZ only) the other arrays of the file by name; the words ``absent`` say nothing."""
    cells, arrays = columns_of(path)
    return {name: without(column, absent) for name, column in cells.items()}, arrays


def without(cells: np.ndarray, absent: Sequence[str]) -> np.ndarray:
    """Cells of which some words stand for nothing; what is then numbers alone is read as such."""
    words = [word.strip().lower() for word in absent]
    if cells.dtype.kind != "U" or not (gaps := np.isin(np.char.lower(cells), words)).any():
        return cells
    return as_read(np.where(gaps, "", cells).tolist())


def columns_of(path: Path) -> tuple[Columns, Columns]:
    """Columns by name, and (NPZ only) the other arrays of the file by name."""
    if not path.is_file():
        raise TableError(f"{path}: no such file.")
    suffix = path.suffix.lower()
    if suffix in (".parquet", ".pq"):
        return of_parquet(path), {}
    if suffix not in (".npy", ".npz"):
        return of_text(path), {}
    arrays = load_numpy(path)
    if suffix == ".npy":
        return numbered(path, arrays), {}
    if "X" not in arrays:
        raise TableError(f"{path}: needs an array named X, it has {', '.join(arrays) or 'none'}.")
    return numbered(path, arrays.pop("X")), arrays


def of_text(path: Path) -> Columns:
    """Columns of comma-separated values."""
    try:
        with opened(path) as stream:
            mark = separator([line for line in islice(stream, GUESSED) if line.strip()])
            names, blocks = blocks_of(path, stream, mark)
            kinds = [{column.dtype.kind for column in columns} for columns in zip(*blocks)]
            mixed = {j for j, kind in enumerate(kinds) if len(kind) > 1}
            if mixed:  # what is text further down is so from the beginning
                names, blocks = blocks_of(path, stream, mark, mixed)
    except (UnicodeError, csv.Error, EOFError, gzip.BadGzipFile) as error:
        raise TableError(f"{path}: not a text file of comma-separated values ({error}).") from error
    return {name: np.concatenate(columns) for name, columns in zip(names, zip(*blocks))}


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
        text = raw.read().decode("utf-16")  # a text in UTF-16 is read whole
    if "\n" not in text and "\r" not in text:
        raise UnicodeError("no line ends")
    return io.StringIO(text, newline="")


def separator(lines: list[str]) -> str:
    """Tab, semicolon or comma: the first of these that every line has equally often, or the most frequent one.

    A comma may stand within numbers (1,5) where another mark separates them, so it comes last.
    """
    bare = [re.sub(r'"[^"]*"', "", line) for line in lines]  # without what is quoted
    for mark in "\t;":
        counts = {line.count(mark) for line in bare}
        if len(counts) == 1 and counts != {0}:
            return mark
    return max(",;\t", key=bare[0].count) if bare else ","


def blocks_of(
    path: Path, stream: TextIO, mark: str, texts: Collection[int] = ()
) -> tuple[list[str], list[list[np.ndarray]]]:
    """Names of the columns, and the columns in blocks of some thousand rows, numbers as numbers but for ``texts``."""
    stream.seek(0)
    reader = csv.reader(stream, delimiter=mark)
    names, lines = header(path, ((reader.line_num, row) for row in reader if any(row)))
    blocks: list[list[np.ndarray]] = []
    uneven: list[str] = []
    while block := list(islice(lines, max(CELLS // len(names), ROWS))):
        uneven += [f"line {line} has {len(row)} cells" for line, row in block if len(row) != len(names)]
        if not uneven:
            blocks.append(transposed((row for _, row in block), texts))
    require_even(path, uneven, len(names))
    if not blocks:
        raise TableError(f"{path}: there is a header and no rows.")
    return names, blocks


def transposed(rows: Iterable[list[str]], texts: Collection[int]) -> list[np.ndarray]:
    """Columns of rows, numbers as numbers but for ``texts``."""
    return [as_text(column) if j in texts else as_read(column) for j, column in enumerate(zip(*rows))]


def require_even(path: Path, uneven: list[str], width: int) -> None:
    """Raise one sentence about all lines that are not as wide as the header."""
    if uneven:
        more = f" and {len(uneven) - LISTED} lines more are as uneven" if len(uneven) > LISTED else ""
        raise TableError(f"{path}: {', '.join(uneven[:LISTED])}{more}, the header has {width}.")


def header(path: Path, lines: Iterator[tuple[int, list[str]]]) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Names of the columns, which are numbers where the first line is one of data, and the lines of data."""
    start = list(islice(lines, 2))
    if not start:
        raise TableError(f"{path}: the file is empty.")
    names = [name.strip() or f"Unnamed: {j}" for j, name in enumerate(start[0][1])]  # as pandas calls its index
    if not are_names(names, start[1][1] if len(start) > 1 else []):
        return [str(j) for j in range(len(names))], chain(start, lines)
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise TableError(f"{path}: two columns are named {name!r}.")
    return names, chain(start[1:], lines)


def are_names(cells: list[str], below: list[str]) -> bool:
    """Whether a first line has names of columns: words, or years above what is none."""
    return any(not is_number(cell.replace(",", ".")) for cell in cells) or (are_years(cells) and not are_years(below))


def are_years(cells: list[str]) -> bool:
    """Whether cells are different years, as the names of columns may be."""
    return len(set(cells)) == len(cells) > 1 and all(YEAR.fullmatch(cell.strip()) for cell in cells)


def as_text(cells: Sequence[str]) -> np.ndarray:
    """Cells without the blanks around them."""
    return np.char.strip(np.array(cells))


def as_read(cells: Sequence[str]) -> np.ndarray:
    """Cells as numbers where all of them are numbers or say nothing, otherwise as text."""
    with suppress(ValueError):
        return as_numbers(cells)
    words = as_text(cells)
    with suppress(ValueError):
        return as_numbers(np.where(np.isin(np.char.lower(words), MISSING), "nan", words).tolist())
    return words


def as_numbers(cells: Sequence[str]) -> np.ndarray:
    """Cells as numbers; a ValueError where one is none."""
    numbers = np.array(cells, dtype=np.float64)
    if holds_codes(cells):
        raise ValueError("codes are no numbers")
    return numbers


def is_number(cell: str) -> bool:
    """Whether a cell is written as a number, and is none of what only looks like one."""
    return NUMBER.fullmatch(cell.strip()) is not None and not holds_codes([cell])


def holds_codes(cells: Iterable[str]) -> bool:
    """Whether among cells that Python reads as numbers one is a code (zip, phone, article), a word, or too long."""
    text = "\n".join(["", *cells, ""])
    return any(mark in text for mark in "_iI") or any(is_code(odd.group(1)) for odd in ODD.finditer(text))


def is_code(odd: str) -> bool:
    """Whether digits stand for something else than their value."""
    digits = odd.lstrip("+-")
    return not digits.isdigit() or digits.startswith("0") or int(odd) != int(float(odd))


def load_numpy(path: Path, mapped: bool = False) -> Any:
    """The array of an NPY file, or the arrays of an NPZ file by name; nothing is unpickled.

    With ``mapped`` the array of an NPY file stays on disk until it is touched.
    """
    try:
        loaded = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
        return loaded if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in loaded.files}
    except Exception as error:
        raise TableError(f"{path}: not a readable {path.suffix} file of plain arrays.") from error


def numbered(path: Path, array: Any) -> Columns:
    """The columns of an array by their numbers."""
    if not isinstance(array, np.ndarray) or array.ndim != 2:
        raise TableError(f"{path}: needs an array of shape (n, d), got {getattr(array, 'shape', 'several arrays')}.")
    if array.dtype.kind == "c":
        raise TableError(f"{path}: needs real numbers, got complex ones.")
    return {str(j): array[:, j] for j in range(array.shape[1])}


def of_parquet(path: Path) -> Columns:
    """Columns of a Parquet file."""
    try:
        import pandas

        frame = pandas.read_parquet(path)
    except ImportError as error:
        raise TableError(f"{path}: Parquet needs pandas and pyarrow: pip install 'gramian[data]'.") from error
    except Exception as error:
        raise TableError(f"{path}: not a readable Parquet file ({type(error).__name__}).") from error
    return {str(name): plain(frame[name]) for name in frame.columns}


def plain(column: Any) -> np.ndarray:
    """A column of a frame as numbers, or as text with nothing for what is missing."""
    missing = column.isna()
    whole = column.dtype.kind in "iu" and missing.any()  # double precision would round long ones
    if column.dtype.kind in "biuf" and not (whole and not column.dropna().between(-(2**53), 2**53).all()):
        return column.to_numpy(dtype=float, na_value=np.nan) if missing.any() else column.to_numpy()
    return column.astype(str).where(~missing, "").to_numpy(dtype=str)
