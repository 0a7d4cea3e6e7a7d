r"""Checksums of the rows of a space: written with every row, compared at the door.

Each table has a column ``row_sum``, the CRC-32 of the other columns of its row in their order, as Python writes them,
with ``"\x1f"`` between two; vectors in ``parts`` have a checksum of their own instead. Triggers that only the
connection of the writer has compute them, so whatever else changes a row is noticed.
"""

import sqlite3
import zlib
from collections.abc import Iterator
from typing import Any

TABLES = ("space", "events", "collections", "items", "parts", "feedback", "versions", "duels", "tokens")


def row_sum(*values: Any) -> int:
    """CRC-32 of the values of a row."""
    return zlib.crc32("\x1f".join(map(repr, values)).encode())


def know(db: sqlite3.Connection) -> None:
    """Let the statements of a connection use :func:`row_sum`."""
    db.create_function("row_sum", -1, row_sum, deterministic=True)


def keep(db: sqlite3.Connection) -> None:
    """Let every row that a connection inserts or changes get its checksum; one that comes with the row is taken."""
    for table in TABLES:
        names, keys = columns(db, table), _keys(db, table)
        place = " AND ".join(f"{key} = NEW.{key}" for key in keys)
        values = ", ".join(f"NEW.{name}" for name in names)
        change = f"BEGIN UPDATE {table} SET row_sum = row_sum({values}) WHERE {place}; END"
        after = f"CREATE TEMP TRIGGER {table}_%s AFTER %s ON main.{table}"
        db.execute(f"{after % ('inserted', 'INSERT')} WHEN NEW.row_sum IS NULL {change}")
        db.execute(f"{after % ('updated', 'UPDATE OF ' + ', '.join(names))} {change}")


def damaged(db: sqlite3.Connection) -> Iterator[str]:
    """Rows that are not what they were, the first one of each table."""
    for table in TABLES:
        text = f"SELECT * FROM {table} WHERE row_sum IS NOT row_sum({', '.join(columns(db, table))}) LIMIT 1"
        row = db.execute(text).fetchone()
        if row is not None:
            yield f"event {row['seq']}" if table == "events" else f"a row of {table!r}"


def columns(db: sqlite3.Connection, table: str) -> list[str]:
    """Columns under the checksum."""
    names = [row["name"] for row in db.execute(f"PRAGMA table_info({table})")]
    return [name for name in names if name != "row_sum" and (table, name) != ("parts", "x")]


def _keys(db: sqlite3.Connection, table: str) -> list[str]:
    return [row["name"] for row in db.execute(f"PRAGMA table_info({table})") if row["pk"]]
