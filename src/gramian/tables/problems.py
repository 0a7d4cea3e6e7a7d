"""What is wrong with a table, all of it at once, and which columns look like ids or give the label away."""

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gramian.tables.cells import Column, is_missing
from gramian.tables.files import TableError

MOST_WORDS = 100
"""Different words of a column that are told apart at most."""
FEW_WORDS = 20
"""As many different words are always a column of kinds, however few the rows are."""
FEWEST = 20
"""Rows below which nothing is said about ids and labels."""
IDENTIFIERS = re.compile(r"(.*[\s_.-])?(id|ids|index|idx|uuid|guid|key|row|rownum|rowid|nr)|unnamed.*", re.IGNORECASE)
CAMEL = re.compile(r".*[a-z](Id|ID|Index|Key)")


@dataclass(frozen=True)
class Remedies:
    """How a column is left out, and gaps are filled, where the table came from."""

    drop: Callable[[str], str]
    fill: str


COMMAND = Remedies(lambda name: f"--drop {shlex.quote(name)}", "--missing median or --missing drop")
PYTHON = Remedies(lambda name: f"drop=[{name!r}]", "missing='median'")


def raise_all(source: str, found: Sequence[str]) -> None:
    """One message for all problems; nothing where there is none."""
    if len(found) == 1:
        raise TableError(f"{source}: {found[0]}.")
    if found:
        lines = "".join(f"\n  {number}. {sentence}." for number, sentence in enumerate(found, 1))
        raise TableError(f"{source}: {len(found)} problems.{lines}")


def of_cells(
    column: Column, cells: np.ndarray, values: np.ndarray, bad: np.ndarray, missing: str, remedies: Remedies = COMMAND
) -> Iterator[str]:
    """What is wrong with the cells of one column, where gaps are to be refused, dropped or filled."""
    name, without = column.name, remedies.drop(column.name)
    if bad.any():
        example = str(cells[bad.argmax()])
        written = "a date" if column.kind == "date" else "numeric"
        remedy = f"correct it, or leave the column out with {without}"
        yield f"column {name!r} is not {written}, it holds {example!r} in {rows(bad)}; {remedy}"
    gone = ~np.isfinite(values).all(axis=1) & ~bad
    if gone.all():
        yield f"column {name!r} is empty; leave it out with {without}"
    elif gone.any() and missing == "refuse":
        what = "no word" if column.kind == "words" else "no finite number"
        yield f"column {name!r} has {what} in {rows(gone)}; fill in or drop them first: {remedies.fill}"
    if column.kind == "words" and too_many(column, len(cells)):
        count = f"{len(column.words)} different words, such as {column.words[0]!r}, in {len(cells)} rows"
        yield f"column {name!r} holds {count}, as names and texts do; leave it out with {without}"


def too_many(column: Column, n: int) -> bool:
    """Whether the words of a column are names or texts and not kinds."""
    count = len(column.words)
    return count > MOST_WORDS or (count > FEW_WORDS and 2 * count > n)


def rows(mask: np.ndarray) -> str:
    """Where a mask is true, in words; rows count from 1 below the header."""
    found = np.flatnonzero(mask) + 1
    if len(found) == 1:
        return f"row {found[0]}"
    return f"{len(found)} rows, first in row {found[0]}"


def suspicions(columns: dict[str, np.ndarray], y: np.ndarray | None, remedies: Remedies = COMMAND) -> list[str]:
    """Columns that look like ids, or that tell the label by themselves, a sentence for each."""
    found = []
    for name, cells in columns.items():
        if len(cells) < FEWEST:
            continue
        leave = f"leave it out with {remedies.drop(name)} unless it"
        if is_identifier(name, cells):
            found.append(
                f"column {name!r} holds a different whole number in every row, as an id or an index does; "
                f"{leave} means something"
            )
        elif y is not None and y.ndim == 1 and tells_label(cells, y):
            found.append(f"column {name!r} alone tells the label of every row; {leave} is known before the label is")
    return found


def is_identifier(name: str, cells: np.ndarray) -> bool:
    """Whether a column numbers the rows: whole numbers without repetition that are dense, or are called an id."""
    if cells.dtype.kind not in "iuf" or is_missing(cells).any():
        return False
    whole = cells.dtype.kind in "iu" or bool((cells == np.round(cells)).all())
    if not whole or len(np.unique(cells)) < len(cells):
        return False
    dense = float(cells.max()) - float(cells.min()) < 2 * len(cells)
    steady = len(np.unique(np.diff(cells))) == 1
    return dense or steady or is_named_id(name)


def is_named_id(name: str) -> bool:
    """Whether a name is that of an identifier: id, customer_id, rowIndex, Unnamed: 0."""
    return bool(IDENTIFIERS.fullmatch(name.strip()) or CAMEL.fullmatch(name.strip()))


def tells_label(cells: np.ndarray, y: np.ndarray) -> bool:
    """Whether a few values stand for one label each, as a code of the label does."""
    known = ~is_missing(cells)
    classes, codes = np.unique(y[known], return_inverse=True)
    if known.sum() < max(FEWEST, 5 * len(classes)) or len(classes) < 2:
        return False
    values, place = np.unique(cells[known], return_inverse=True)
    pairs = np.unique(place * len(classes) + codes)
    return len(pairs) == len(values) <= 2 * len(classes)
