"""What all tables and collections share: their names, and which of them may be replaced."""

import re
from collections.abc import Collection

from gramian import _checks

OWN = {"id", "learned", "original", "norm"}
"""Columns of an export."""


def check_name(table: str, owner: str) -> str:
    """The name of a table: a word."""
    if not isinstance(table, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,62}", table):
        raise ValueError(f"{owner}: table must be a name of letters, digits and _, got {_checks.shown(table)}.")
    return table


def ours(table: str, columns: Collection[str], owner: str) -> None:
    """Refuse to replace a table that no export made: one with other columns than ours."""
    foreign = set(columns) - OWN
    if foreign:
        raise ValueError(
            f"{owner}: table {table!r} is there with the column {sorted(foreign)[0]!r}, which no export made; "
            "name another table."
        )
