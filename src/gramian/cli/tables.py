"""Tables that commands read, with what a saved metric knows of the table it was learned from."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gramian.tables import Column, Table, read

__all__ = ["Table", "columns_of", "plain_data", "read", "read_again"]


def plain_data(columns: Sequence[Column]) -> list[dict[str, Any]]:
    """Columns as a file keeps them."""
    return [{**vars(column), "words": list(column.words)} for column in columns]


def columns_of(about: dict[str, Any]) -> list[Column] | None:
    """How the columns of a fit became numbers; None where the file does not say, or where they had no names."""
    kept = about.get("columns")
    if not kept or all(str(one["name"]).isdigit() for one in kept):
        return None
    return [Column(**{**one, "words": tuple(one["words"])}) for one in kept]


def read_again(
    data: Path, about: dict[str, Any], label: str | None, drop: Sequence[str], missing: str | None = None
) -> Table:
    """A table as that of a fit was read: columns by their names, words as the words they were.

    Gaps are filled in, where nothing else is asked for, when the fit did so.
    """
    if missing is None:
        missing = "median" if about.get("missing") == "median" else "refuse"
    columns = columns_of(about)
    features = about.get("features", [])
    only = None if columns or not features or all(name.isdigit() for name in features) else features
    return read(data, label, drop, only, missing=missing, columns=columns)
