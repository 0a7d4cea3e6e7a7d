"""What is wrong with a table, all of it at once, and which columns look like ids or give the label away."""

import re
import shlex
from collections.abc import Iterator, Sequence

import numpy as np

from gramian.cli.tables.cells import Column, is_missing
from gramian.cli.tables.files import TableError

MOST_WORDS = 100
"""Different words of a column that are told apart at most."""
FEW_WORDS = 20
"""As many different words are always a column of kinds, however few the rows are."""
FEWEST = 20
"""Rows below which nothing is said about ids and labels."""
IDENTIFIERS = re.compile(r"(.*[\s_.-])?(id|ids|index|idx|uuid|guid|key|row|rownum|rowid|nr)|unnamed.*", re.IGNORECASE)
CAMEL = re.compile(r".*[a-z](Id|ID|Index|Key)")


def raise_all(source: str, problems: Sequence[str]) -> None:
    """One message for all problems; nothing where there is none."""
    if len(problems) == 1:
        raise TableError(f"{source}: {problems[0]}.")
    if problems:
        lines = "".join(f"\n  {number}. {sentence}." for number, sentence in enumerate(problems, 1))
        raise TableError(f"{source}: {len(problems)} problems.{lines}")


def of_cells(column: Column, cells: np.ndarray, values: np.ndarray, bad: np.ndarray, missing: str) -> Iterator[str]:
    """What is wrong with the cells of one column, where gaps are to be refused, dropped or filled."""
    name, without = column.name, without_column(column.name)
    if bad.any():
        written = "a date" if column.kind == "date" else "numeric"
        what = f"it holds {str(cells[bad.argmax()])!r} in {rows(bad)}"
        word = shlex.quote(str(cells[bad.argmax()]))
        remedies = f"correct it, say --na {word} where it stands for no value, or leave the column out with {without}"
        yield f"column {name!r} is not {written}, {what}; {remedies}"
    gaps = ~np.isfinite(values).all(axis=1) & ~bad  # (n,)
    if gaps.all():
        yield f"column {name!r} is empty; leave it out with {without}"
    elif gaps.any() and missing == "refuse":
        what = f"{'no word' if column.kind == 'words' else 'no finite number'} in {rows(gaps)}"
        yield f"column {name!r} has {what}; fill in or drop them first: --missing median or --missing drop"
    count = len(column.words)
    if count > MOST_WORDS or (count > FEW_WORDS and 2 * count > len(cells)):
        what = f"{count} different words, such as {column.words[0]!r}, in {len(cells)} rows"
        yield f"column {name!r} holds {what}, as names and texts do; leave it out with {without}"


def without_column(name: str) -> str:
    """How a column is left out."""
    return f"--drop {shlex.quote(name)}"


def rows(mask: np.ndarray) -> str:
    """Where a mask is true, in words; rows count from 1 below the header."""
    places = np.flatnonzero(mask) + 1
    return f"row {places[0]}" if len(places) == 1 else f"{len(places)} rows, first in row {places[0]}"


def suspicions(columns: dict[str, np.ndarray], y: np.ndarray | None) -> list[str]:
    """Columns that look like ids, or that tell the label by themselves, a sentence for each."""
    sentences = []
    for name, cells in columns.items():
        if len(cells) < FEWEST:
            continue
        leave = f"leave it out with {without_column(name)} unless it"
        if is_identifier(name, cells):
            what = "holds a different whole number in every row, as an id or an index does"
            sentences.append(f"column {name!r} {what}; {leave} means something")
        elif y is not None and tells_label(cells, y):
            what = "alone tells the label of every row"
            sentences.append(f"column {name!r} {what}; {leave} is known before the label is")
    return sentences


def is_identifier(name: str, cells: np.ndarray) -> bool:
    """Whether a column numbers the rows: whole numbers without repetition that are dense, or are called an id."""
    if cells.dtype.kind not in "iuf" or is_missing(cells).any():
        return False
    if (cells != np.round(cells)).any() or len(np.unique(cells)) < len(cells):
        return False
    dense = float(cells.max()) - float(cells.min()) < 2 * len(cells)
    return dense or len(np.unique(np.diff(cells))) == 1 or is_named_id(name)


def is_named_id(name: str) -> bool:
    """Whether a name is that of an identifier: id, customer_id, rowIndex, Unnamed: 0."""
    return bool(IDENTIFIERS.fullmatch(name.strip()) or CAMEL.fullmatch(name.strip()))


def tells_label(cells: np.ndarray, y: np.ndarray) -> bool:
    """Whether a few values stand for one label each, as a code of the label does."""
    full = ~is_missing(cells)
    classes, codes = np.unique(y[full], return_inverse=True)  # (c,), (n,)
    if full.sum() < max(FEWEST, 5 * len(classes)) or len(classes) < 2:
        return False
    values, place = np.unique(cells[full], return_inverse=True)  # (v,), (n,)
    pairs = np.unique(place * len(classes) + codes)  # (value, class) that occur together
    return len(pairs) == len(values) <= 2 * len(classes)
