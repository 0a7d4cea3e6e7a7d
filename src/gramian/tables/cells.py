"""What the cells of a column are: numbers in any notation, dates, or words."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np

from gramian.tables.files import MISSING, NUMBER, holds_codes, is_number

DAY = 86_400.0
"""Seconds."""
ENOUGH = 0.5
"""A column is of numbers, or of dates, when more than this share of its cells is; the others are mistakes."""
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
COMMA = re.compile(r"[+-]?(\d+|\d{1,3}([. ]\d{3})+)?(,\d*)?([eE][+-]?\d+)?")
FORMATS = ("iso", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%m-%d-%Y", "%d-%m-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y")
"""Dates that are known; of two that fit all cells the first is taken."""

Parser = Callable[[str], float | None]


@dataclass(frozen=True)
class Column:
    """How one column of a table becomes numbers: what :class:`~gramian.tables.TableEncoder` learns, as plain data.

    Parameters
    ----------
    name : str
    kind : {"number", "date", "words"}
        A date is a number of days since 1970.
    form : str
        How numbers ("plain", "1,234.5", "1.234,5") or dates ("iso", "%d.%m.%Y", …) are written.
    words : tuple of str
        The words that are told apart, sorted; two of them are one column of 0 and 1, more have one column each.
    fill : float, optional
        The median, for cells without a number; None where there was none.
    """

    name: str
    kind: str
    form: str = "plain"
    words: tuple[str, ...] = ()
    fill: float | None = None

    @property
    def names(self) -> list[str]:
        """Names of the columns of numbers that this one becomes."""
        if self.kind != "words":
            return [self.name]
        return [f"{self.name}={word}" for word in (self.words[1:] if len(self.words) == 2 else self.words)]

    def numbers(self, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values (n, c), NaN where nothing is said, and where (n,) a cell says something that cannot be read."""
        if self.kind == "words":
            return self._one_hot(as_text(cells))
        if cells.dtype.kind in "biuf":
            return cells.astype(np.float64)[:, None], np.zeros(len(cells), dtype=bool)
        form = self.form
        if form == "plain":  # the file of the fit may have had no commas to learn from
            here = column(self.name, cells)
            form = here.form if here.kind == "number" else form
        values = parsed(cells, parser(self.kind, form))
        bad = np.isnan(values) & ~is_missing(cells)
        return values[:, None], bad

    def _one_hot(self, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A word that was never seen is none of those that were."""
        shown = self.words[1:] if len(self.words) == 2 else self.words
        values = np.stack([cells == word for word in shown], axis=1).astype(np.float64)
        values[is_missing(cells)] = np.nan
        return values, np.zeros(len(cells), dtype=bool)


def column(name: str, cells: np.ndarray, decimal_comma: bool = False) -> Column:
    """What a column of cells is: as numbers, dates or words, whichever most of them can be read as.

    ``decimal_comma`` says what 1,234 is where nothing else in the column does.
    """
    if cells.dtype.kind in "biuf":
        return Column(name, "number", fill=_median(cells))
    known = cells[~is_missing(cells)]
    if len(known) == 0:
        return Column(name, "number")
    best, share = Column(name, "words", words=tuple(np.unique(known).tolist())), ENOUGH
    if _holds_codes(known):
        return best
    for kind, form in _readings(decimal_comma):
        values = parsed(known, parser(kind, form))
        read = float(np.mean(~np.isnan(values)))
        if read > share:
            best, share = Column(name, kind, form, fill=_median(values)), read
    return best


def _holds_codes(cells: np.ndarray) -> bool:
    """Whether cells that Python reads as numbers are none, such as zip codes."""
    return holds_codes(cell for cell in cells.tolist() if NUMBER.fullmatch(cell.strip()))


def _readings(decimal_comma: bool) -> list[tuple[str, str]]:
    """Kinds and forms, in the order in which they win when they read as many cells."""
    commas = ["1.234,5", "1,234.5"] if decimal_comma else ["1,234.5", "1.234,5"]
    return [("number", form) for form in ["plain", *commas]] + [("date", form) for form in FORMATS]


def parser(kind: str, form: str) -> Parser:
    """The function that reads one cell, None where it cannot."""
    if kind == "date":
        return partial(_day, form=form)
    return {"plain": _number, "1,234.5": _with_thousands, "1.234,5": _with_comma}[form]


def _number(cell: str) -> float | None:
    return float(cell) if is_number(cell) else None


def _with_thousands(cell: str) -> float | None:
    return float(cell.replace(",", "")) if THOUSANDS.fullmatch(cell) else _number(cell)


def _with_comma(cell: str) -> float | None:
    if not COMMA.fullmatch(cell):
        return None
    return _number(re.sub("[. ]", "", cell).replace(",", "."))


def _day(cell: str, form: str) -> float | None:
    """A date as days since 1970, in the time zone that it names."""
    try:
        found = datetime.fromisoformat(cell) if form == "iso" else datetime.strptime(cell, form)
    except ValueError:
        return None
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    return found.timestamp() / DAY


def parsed(cells: np.ndarray, parse: Parser) -> np.ndarray:
    """Values of cells, NaN where there is none; each different cell is read once."""
    distinct, place = np.unique(cells, return_inverse=True)
    values = [parse(str(cell)) for cell in distinct]
    return np.array([np.nan if value is None else value for value in values])[place]


def as_text(cells: np.ndarray) -> np.ndarray:
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


def _median(values: Any) -> float | None:
    values = np.asarray(values, dtype=np.float64)
    known = values[np.isfinite(values)]
    if not len(known):
        return None
    low, high = (len(known) - 1) // 2, len(known) // 2  # by hand: np.median takes ten times as long for a few rows
    known.partition((low, high))
    return float(known[low]) / 2 + float(known[high]) / 2
