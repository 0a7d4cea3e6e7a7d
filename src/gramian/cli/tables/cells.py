"""What the cells of a column are: numbers in any notation, dates, or words."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import numpy as np

from gramian.cli.tables.files import MISSING, NUMBER, holds_codes, is_number

DAY = 86_400.0
"""Seconds."""
ENOUGH = 0.5
"""A column is of numbers, or of dates, when more than this share of its cells is; the others are mistakes."""
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
COMMA = re.compile(r"[+-]?(\d+|\d{1,3}([. ]\d{3})+)?(,\d*)?([eE][+-]?\d+)?")
DATES = ("%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%m-%d-%Y", "%d-%m-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%Y/%m/%d")
TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p")
FORMATS = ("iso", *(date + time for time in TIMES for date in DATES))
"""Dates that are known, with or without a time; of two that fit all cells the first is taken."""
LOOKED_AT = 200
"""Cells that say which forms are worth reading all cells in: half of a column cannot hide from them."""

Parser = Callable[[str], float | None]


@dataclass(frozen=True)
class Column:
    """How one column of a table becomes numbers, as a file of a metric keeps it.

    ``kind`` is "number", "date" (days since 1970) or "words"; ``form`` how numbers ("plain", "1,234.5", "1.234,5") or
    dates ("iso", "%d.%m.%Y", …) are written; ``words`` those that are told apart, sorted: two of them are one column of
    0 and 1, more have one column each. ``fill`` is the median, for cells without a number; None where there was none.
    """

    name: str
    kind: str
    form: str = "plain"
    words: tuple[str, ...] = ()
    fill: float | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The words that have a column."""
        return self.words[1:] if len(self.words) == 2 else self.words

    @property
    def names(self) -> list[str]:
        """Names of the columns of numbers that this one becomes."""
        return [f"{self.name}={word}" for word in self.columns] if self.kind == "words" else [self.name]

    def numbers(self, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values (n, c), NaN where nothing is said, and where (n,) a cell says something that cannot be read.

        A word that was never seen is none of those that were.
        """
        if self.kind != "words" and cells.dtype.kind in "biuf":
            return cells.astype(np.float64)[:, None], np.zeros(len(cells), dtype=bool)
        if self.kind == "words":
            texts = as_words(cells)
            values = np.stack([texts == word for word in self.columns], axis=1).astype(np.float64)  # (n, c)
            values[is_missing(texts)] = np.nan
            return values, np.zeros(len(cells), dtype=bool)
        form = self.form
        if form == "plain":  # the file of the fit may have had no commas to learn from
            again = column(self.name, cells)
            form = again.form if again.kind == "number" else form
        values = parsed(cells, parser(self.kind, form))[:, None]  # (n, 1)
        return values, np.isnan(values[:, 0]) & ~is_missing(cells)


def column(name: str, cells: np.ndarray, decimal_comma: bool = False) -> Column:
    """What a column of cells is: as numbers, dates or words, whichever most of them can be read as.

    ``decimal_comma`` says what 1,234 is where nothing else in the column does.
    """
    if cells.dtype.kind in "biuf":
        return Column(name, "number", fill=median(cells))
    full = cells[~is_missing(cells)]  # those that say something
    if len(full) == 0:
        return Column(name, "number")
    words = Column(name, "words", words=tuple(np.unique(full).tolist()))
    if holds_codes(cell for cell in full.tolist() if NUMBER.fullmatch(cell.strip())):
        return words
    commas = ("1.234,5", "1,234.5") if decimal_comma else ("1,234.5", "1.234,5")
    readings = [("number", form) for form in ("plain", *commas)] + [("date", form) for form in FORMATS]
    return best_reading(name, full, readings) or words


def best_reading(name: str, cells: np.ndarray, readings: list[tuple[str, str]]) -> Column | None:
    """The reading of most cells, the first of equals; None where none reads enough of them."""
    best, share = None, ENOUGH
    sample = cells[np.random.RandomState(0).permutation(len(cells))[:LOOKED_AT]]
    for kind, form in readings:
        if np.isnan(parsed(sample, parser(kind, form))).all():
            continue
        values = parsed(cells, parser(kind, form))
        read = float(np.mean(~np.isnan(values)))  # share of cells
        if read > share:
            best, share = Column(name, kind, form, fill=median(values)), read
    return best


def parser(kind: str, form: str) -> Parser:
    """The function that reads one cell, None where it cannot."""
    if kind == "date":
        return partial(day, form=form)
    return {"plain": number, "1,234.5": with_thousands, "1.234,5": with_comma}[form]


def number(cell: str) -> float | None:
    """3.5"""
    return float(cell) if is_number(cell) else None


def with_thousands(cell: str) -> float | None:
    """1,234.5"""
    return float(cell.replace(",", "")) if THOUSANDS.fullmatch(cell) else number(cell)


def with_comma(cell: str) -> float | None:
    """1.234,5"""
    return number(re.sub("[. ]", "", cell).replace(",", ".")) if COMMA.fullmatch(cell) else None


def day(cell: str, form: str) -> float | None:
    """A date as days since 1970, in the time zone that it names."""
    try:
        date = datetime.fromisoformat(cell) if form == "iso" else datetime.strptime(cell, form)
    except ValueError:
        return None
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() / DAY


def parsed(cells: np.ndarray, parse: Parser) -> np.ndarray:
    """Values of cells, NaN where there is none; each different cell is read once."""
    distinct, place = np.unique(cells, return_inverse=True)  # (u,), (n,)
    values = [parse(str(cell)) for cell in distinct]
    return np.array([np.nan if value is None else value for value in values])[place]


def as_words(cells: np.ndarray) -> np.ndarray:
    """Cells as text; whole numbers without a point."""
    if cells.dtype.kind != "f":
        return cells.astype(str)
    texts = [str(int(value)) if value.is_integer() else repr(value) for value in np.nan_to_num(cells).tolist()]
    return np.where(np.isfinite(cells), texts, "")


def is_missing(cells: np.ndarray) -> np.ndarray:
    """Where a cell says nothing."""
    if cells.dtype.kind in "US":
        return np.isin(np.char.lower(np.char.strip(cells)), MISSING)
    return ~np.isfinite(cells) if cells.dtype.kind == "f" else np.zeros(len(cells), dtype=bool)


def median(values: np.ndarray) -> float | None:
    """The median of what is finite."""
    finite = values[np.isfinite(values)]
    return 2 * float(np.median(finite / 2)) if len(finite) else None  # so that the sum of two does not overflow
