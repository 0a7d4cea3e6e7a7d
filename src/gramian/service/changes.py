"""Changes of collections and items: checked in a transaction, written with their event, told to the next snapshot."""

import json
import re
import sqlite3
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian import _settings
from gramian.service.draft import Draft
from gramian.service.errors import Conflict, SpaceError, Unknown
from gramian.service.files import checksum

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
MOST_FEATURES = 4096
SHOWN_IDS = 100
"""Ids that an event names; of more items it only says how many."""


@dataclass(frozen=True)
class Request:
    """Who asks, and under which key a repeated request is known."""

    actor: str | None = None
    admin: bool = True
    key: str | None = None
    digest: bytes | None = None


@dataclass(frozen=True)
class Batch:
    """Items to write: ids (None: the next free one), vectors, meta as JSON; vectors of a large batch are in a file."""

    ids: list[int | None]
    X: np.ndarray
    metas: list[str | None]
    file: str | None = None


def make_collection(draft: Draft, name: str, n_features: int, user: str | None = None) -> dict[str, Any]:
    """A collection of vectors of a width; one that is there with the same width stays as it is."""
    if not NAME.fullmatch(name):
        raise SpaceError(f"Space: collection must be letters, digits, '_', '-' or '.' (at most 64), got {name!r:.80}.")
    row = draft.db.execute("SELECT * FROM collections WHERE name = ?", (name,)).fetchone()
    if row is not None and row["n_features"] != n_features:
        raise Conflict(
            f"Space: collection {name!r} has {row['n_features']} features, got {n_features}; use another name."
        )
    if row is None:
        insert_collection(draft, name, n_features)
        draft.event("collection", {"n_features": n_features}, collection=name, user=user)
    return {"name": name, "n_features": n_features, "created": row is None, "seq": draft.seq}


def insert_collection(draft: Draft, name: str, n_features: int) -> None:
    """Write a collection that is not there."""
    if not 1 <= n_features <= MOST_FEATURES:
        raise SpaceError(f"Space: n_features must be in [1, {MOST_FEATURES}], got {n_features}.")
    cursor = draft.db.execute("INSERT INTO collections (name, n_features) VALUES (?, ?)", (name, n_features))
    number = int(cursor.lastrowid or 0)
    draft.deltas.append(lambda builder: builder.collection(number, name, n_features))


def add_items(
    draft: Draft,
    name: str,
    batch: Batch,
    *,
    upsert: bool | Container[int | None] = False,
    user: str | None = None,
    request: Request | None = None,
) -> dict[str, Any]:
    """Write items; a known id is refused unless ``upsert`` is true or holds it."""
    earlier = draft.answered(name, request)
    if earlier is not None:
        said = json.loads(earlier["data"])
        return {"added": said["added"], "updated": said["updated"], "seq": earlier["seq"]}
    own = draft.collection(name)
    ids = numbered(batch.ids, own["next_id"])
    known = known_ids(draft.db, own["number"], ids)
    refused = _refused(known, upsert)
    if refused:
        raise Conflict(
            f"Space: ids must be new, got {refused[0]}, which {name!r} already holds; say upsert to replace it."
        )
    n = len(ids)
    data = {"added": n, "updated": len(known), **({"ids": ids} if n <= SHOWN_IDS else {})}
    seq = draft.event("items", data, collection=name, user=user, request=request)
    place(draft, own, ids, batch, seq)
    return {"added": n, "updated": len(known), "seq": seq}


def _refused(known: list[int], upsert: Any) -> list[int]:
    """Ids that are there already and may not be replaced."""
    if _settings.holds(bool, upsert):
        return [] if upsert else known
    replaced = set(upsert.tolist()) if isinstance(upsert, np.ndarray) else upsert
    return [i for i in known if i not in replaced]


def place(draft: Draft, own: sqlite3.Row, ids: list[int], batch: Batch, seq: int) -> None:
    """Write items into new rows, in the place of those that have the same ids."""
    first_row, n = own["n_rows"], len(ids)
    rows = zip([own["number"]] * n, ids, range(first_row, first_row + n), [seq] * n, batch.metas)
    text = "INSERT OR REPLACE INTO items VALUES (?1, ?2, ?3, ?4, ?5, row_sum(?1, ?2, ?3, ?4, ?5))"
    draft.db.executemany(text, rows)
    blob = None if batch.file else batch.X.tobytes()
    part = (own["number"], first_row, n, batch.file, blob, batch.X.dtype.name, checksum(batch.X))
    draft.db.execute("INSERT INTO parts VALUES (?, ?, ?, ?, ?, ?, ?, NULL)", part)
    use_up(draft, own["name"], max(ids))
    draft.db.execute("UPDATE collections SET n_rows = ? WHERE number = ?", (first_row + n, own["number"]))
    mapped = batch.file is not None
    draft.deltas.append(lambda builder: builder.add_items(own["name"], ids, batch.X, batch.metas, mapped))


def use_up(draft: Draft, name: str, number: int) -> None:
    """Hand out only greater ids from here on."""
    text = "UPDATE collections SET next_id = max(next_id, ?) WHERE name = ?"
    draft.db.execute(text, (min(number + 1, 2**63 - 1), name))


def numbered(ids: list[int | None], next_id: int) -> list[int]:
    """Ids with the free ones filled in; they must be distinct and fit 64 bits."""
    given = [i for i in ids if i is not None]
    if given:
        next_id = max(next_id, max(given) + 1)
    free = iter(range(next_id, next_id + len(ids)))
    numbers = [next(free) if i is None else i for i in ids]
    if not numbers:
        raise SpaceError("Space: items must hold at least one item, got none.")
    if not -(2**63) <= min(numbers) <= max(numbers) < 2**63:
        raise SpaceError("Space: ids must be 64-bit integers.")
    if len(set(numbers)) < len(numbers):
        seen: set[int] = set()
        twice = next(i for i in numbers if i in seen or seen.add(i))  # type: ignore[func-returns-value]
        raise SpaceError(f"Space: ids must be distinct, got {twice} more than once.")
    return numbers


def known_ids(db: sqlite3.Connection, collection: int, ids: list[int]) -> list[int]:
    """Those of the ids that the collection holds."""
    found: list[int] = []
    for start in range(0, len(ids), 500):
        some = ids[start : start + 500]
        marks = ",".join("?" * len(some))
        rows = db.execute(f"SELECT id FROM items WHERE collection = ? AND id IN ({marks})", (collection, *some))
        found += [row["id"] for row in rows]
    return found


def remove_item(draft: Draft, name: str, number: int, user: str | None = None) -> dict[str, Any]:
    """Remove an item."""
    own = draft.collection(name)
    done = draft.db.execute("DELETE FROM items WHERE collection = ? AND id = ?", (own["number"], number))
    if done.rowcount == 0:
        raise Unknown(f"Space: no item {number} in {name!r}.")
    seq = draft.event("remove", {"id": number}, collection=name, user=user)
    draft.deltas.append(lambda builder: builder.remove_item(name, number))
    return {"seq": seq}


def parts_between(db: sqlite3.Connection, number: int, first_row: int, n_rows: int) -> list[tuple]:
    """Parts of a collection that begin in so many rows: first row, rows, file, type of the numbers, and checksum."""
    text = """
      SELECT first_row, n_rows, file, dtype, sum FROM parts
      WHERE collection = ? AND first_row >= ? AND first_row < ? ORDER BY first_row
    """
    return [tuple(row) for row in db.execute(text, (number, first_row, first_row + n_rows))]


def replace_parts(draft: Draft, number: int, first_row: int, X: np.ndarray, file: str, check: int) -> list[str]:
    """Let the rows from ``first_row`` on stand in one file; returns the files that nothing names any more."""
    inside = (number, first_row, first_row + len(X))
    where = "collection = ? AND first_row >= ? AND first_row < ?"
    old = draft.db.execute(f"SELECT file FROM parts WHERE {where} AND file IS NOT NULL", inside).fetchall()
    draft.db.execute(f"DELETE FROM parts WHERE {where}", inside)
    row = (number, first_row, len(X), file, None, X.dtype.name, check)
    draft.db.execute("INSERT INTO parts VALUES (?, ?, ?, ?, ?, ?, ?, NULL)", row)
    return [part["file"] for part in old]
