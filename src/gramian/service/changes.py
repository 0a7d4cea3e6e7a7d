"""Changes of a space: checked in a transaction, written with their event, told to the next snapshot."""

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Container
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gramian import _settings, _validate
from gramian.service import duels
from gramian.service.errors import Conflict, Denied, SpaceError, StorageFull, Unknown, refused_by_disk
from gramian.service.evidence import CLICKED
from gramian.service.snapshot import Builder, Collection, Version
from gramian.service.vectors import checksum, narrow, write_array
from gramian.service.writer import Draft, Request

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
MOST_FEATURES = 4096
SHOWN_IDS = 100
"""Ids that an event names; of more items it only says how many."""
LARGE_BATCH = 1 << 20
"""Bytes of vectors from which on a batch gets a file of its own."""
MOST_META = 1 << 16
"""Characters of JSON that may belong to an item."""
LOOKED_UP = 500
"""Ids that one statement asks for."""


@dataclass(frozen=True)
class Batch:
    """Items to write: ids (None: the next free one), vectors, meta as JSON; vectors of a large batch are in a file."""

    ids: list[int | None]
    X: np.ndarray
    metas: list[str | None]
    file: Path | None = None

    @classmethod
    def of(cls, view: Collection, X: Any, ids: Any, meta: Any, folder: Path) -> "Batch":
        """Items checked at the door, in the narrowest form that loses nothing; many are written beforehand."""
        points = narrow(
            _validate.points(X, "Space", n_features=view.n_features, allow_sparse=False, name="x")
        )  # (n, d)
        numbers: list[int | None] = (
            [None] * len(points) if ids is None else [None if i is None else int(i) for i in ids]
        )
        metas: list[str | None] = [None] * len(points) if meta is None else [text_of(m) for m in meta]
        if not len(numbers) == len(metas) == len(points):
            raise SpaceError(f"Space: ids and meta must have one entry per point ({len(points)}).")
        if points.nbytes < LARGE_BATCH:
            return cls(numbers, points, metas)
        try:
            return cls(numbers, points, metas, folder / write_array(folder, points)[0])
        except OSError as error:
            if refused_by_disk(error):
                raise StorageFull(f"Space: the disk did not take the vectors ({error}); make room first.") from error
            raise


def text_of(meta: dict[str, Any] | None) -> str | None:
    """Meta as JSON, None for none."""
    if not meta:
        return None
    try:
        text = json.dumps(meta, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise SpaceError(f"Space: meta must be what JSON can hold ({error}).") from error
    if len(text) > MOST_META:
        raise SpaceError(f"Space: meta must be at most {MOST_META} characters of JSON, got {len(text)}.")
    return text


@dataclass(frozen=True)
class Click:
    """A judgment: this item is (not) like this query, an item or a vector; or only a click on it (None).

    Without a weight it counts 1, a click less (:mod:`gramian.service.evidence`).
    """

    query: int | np.ndarray
    item: int
    like: bool | None
    user: str | None = None
    duel: str | None = None
    weight: float | None = None


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
        draft.event("collection", {"n_features": n_features}, name, user)
    return {"name": name, "n_features": n_features, "created": row is None, "seq": draft.seq}


def insert_collection(draft: Draft, name: str, n_features: int) -> None:
    """Write a collection that is not there."""
    if not 1 <= n_features <= MOST_FEATURES:
        raise SpaceError(f"Space: n_features must be in [1, {MOST_FEATURES}], got {n_features}.")
    cursor = draft.db.execute("INSERT INTO collections (name, n_features) VALUES (?, ?)", (name, n_features))
    draft.tell(Builder.collection, int(cursor.lastrowid or 0), name, n_features)


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
        data = json.loads(earlier["data"])
        return {"added": data["added"], "updated": data["updated"], "seq": earlier["seq"]}
    row = draft.collection(name)
    ids = numbered(batch.ids, row["next_id"])
    known_ids = stored_ids(draft.db, row["number"], ids)
    repeated = not_replaced(known_ids, upsert)
    if repeated:
        raise Conflict(
            f"Space: ids must be new, got {repeated[0]}, which {name!r} already holds; say upsert to replace it."
        )
    data = {"added": len(ids), "updated": len(known_ids), **({"ids": ids} if len(ids) <= SHOWN_IDS else {})}
    seq = draft.event("items", data, name, user, request)
    place(draft, row, ids, batch, seq)
    return {"added": len(ids), "updated": len(known_ids), "seq": seq}


def not_replaced(ids: list[int], upsert: Any) -> list[int]:
    """Ids that are there already and may not be replaced."""
    if _settings.holds(bool, upsert):
        return [] if upsert else ids
    replaced = set(upsert.tolist()) if isinstance(upsert, np.ndarray) else upsert
    return [i for i in ids if i not in replaced]


def place(draft: Draft, row: sqlite3.Row, ids: list[int], batch: Batch, seq: int) -> None:
    """Write items into new rows, in the place of those that have the same ids."""
    first_row, n, number = row["n_rows"], len(ids), row["number"]
    items = zip([number] * n, ids, range(first_row, first_row + n), [seq] * n, batch.metas)
    text = "INSERT OR REPLACE INTO items VALUES (?1, ?2, ?3, ?4, ?5, row_sum(?1, ?2, ?3, ?4, ?5))"
    draft.db.executemany(text, items)
    insert_part(draft.db, number, first_row, batch.X, batch.file.name if batch.file else None)
    use_up(draft, row["name"], max(ids))
    draft.db.execute("UPDATE collections SET n_rows = ? WHERE number = ?", (first_row + n, number))
    draft.tell(Builder.add_items, row["name"], ids, batch.X, batch.metas, batch.file is not None)


def insert_part(db: sqlite3.Connection, number: int, first_row: int, X: np.ndarray, file: str | None) -> None:
    """Let vectors stand in rows, in a file or in the database."""
    part = (number, first_row, len(X), file, None if file else X.tobytes(), X.dtype.name, checksum(X))
    db.execute("INSERT INTO parts VALUES (?, ?, ?, ?, ?, ?, ?, NULL)", part)


def parts_between(db: sqlite3.Connection, number: int, rows: range) -> list[tuple]:
    """The parts of some rows, in their order: first row, number of rows, file, type and checksum."""
    text = "SELECT first_row, n_rows, file, dtype, sum FROM parts WHERE collection = ? AND first_row >= ?"
    listed = db.execute(f"{text} AND first_row < ? ORDER BY first_row", (number, rows.start, rows.stop))
    return [tuple(part) for part in listed]


def replace_parts(db: sqlite3.Connection, number: int, rows: range, X: np.ndarray, file: str) -> list[str]:
    """Let a file of vectors take the place of some rows; returns the files that nothing names any more."""
    replaced = [part[2] for part in parts_between(db, number, rows) if part[2] is not None]
    text = "DELETE FROM parts WHERE collection = ? AND first_row >= ? AND first_row < ?"
    db.execute(text, (number, rows.start, rows.stop))
    insert_part(db, number, rows.start, X, file)
    return replaced


def use_up(draft: Draft, name: str, number: int) -> None:
    """Hand out only greater ids from here on."""
    text = "UPDATE collections SET next_id = max(next_id, ?) WHERE name = ?"
    draft.db.execute(text, (min(number + 1, 2**63 - 1), name))


def numbered(ids: list[int | None], next_id: int) -> list[int]:
    """Ids with the free ones filled in; they must be distinct and fit 64 bits."""
    free = max([next_id, *(i + 1 for i in ids if i is not None)])
    numbers = []
    for i in ids:
        numbers.append(free if i is None else i)
        free += i is None
    if not numbers:
        raise SpaceError("Space: items must hold at least one item, got none.")
    if not -(2**63) <= min(numbers) <= max(numbers) < 2**63:
        raise SpaceError("Space: ids must be 64-bit integers.")
    if len(set(numbers)) < len(numbers):
        twice = next(i for i, count in Counter(numbers).items() if count > 1)
        raise SpaceError(f"Space: ids must be distinct, got {twice} more than once.")
    return numbers


def stored_ids(db: sqlite3.Connection, collection: int, ids: list[int]) -> list[int]:
    """Those of the ids that the collection holds."""
    stored: list[int] = []
    for start in range(0, len(ids), LOOKED_UP):
        page = ids[start : start + LOOKED_UP]
        marks = ",".join("?" * len(page))
        rows = db.execute(f"SELECT id FROM items WHERE collection = ? AND id IN ({marks})", (collection, *page))
        stored += [row["id"] for row in rows]
    return stored


def remove_item(draft: Draft, name: str, number: int, user: str | None = None) -> dict[str, Any]:
    """Remove an item."""
    row = draft.collection(name)
    gone = draft.db.execute("DELETE FROM items WHERE collection = ? AND id = ?", (row["number"], number))
    if gone.rowcount == 0:
        raise Unknown(f"Space: no item {number} in {name!r}.")
    seq = draft.event("remove", {"id": number}, name, user)
    draft.tell(Builder.remove_item, name, number)
    return {"seq": seq}


def give_feedback(draft: Draft, name: str, click: Click, request: Request | None = None) -> dict[str, Any]:
    """Take a click on items that are there; one of a duel is credited, and may decide it."""
    earlier = draft.answered(name, request)
    if earlier is not None:
        return {"seq": earlier["seq"]}
    row = draft.collection(name)
    for number in (click.item, *(() if isinstance(click.query, np.ndarray) else (click.query,))):
        if not stored_ids(draft.db, row["number"], [number]):
            raise Unknown(f"Space: no item {number} in {name!r}.")
    return take_click(draft, name, click, request)


def take_click(draft: Draft, name: str, click: Click, request: Request | None = None) -> dict[str, Any]:
    """Write a click, whether or not its items are still there."""
    number = draft.collection(name)["number"]
    team = None if click.duel is None else duels.team_of(draft.db, number, click.duel, click.item)
    vector = click.query if isinstance(click.query, np.ndarray) else None
    query, x = (click.query, None) if vector is None else (None, vector.tobytes())
    data = {"query": query if vector is None else vector.tolist(), "item": click.item, "like": click.like}
    data |= {"duel_id": click.duel} if click.duel else {}
    if click.weight is not None and request is not None:
        data |= {"weight": click.weight, "key": request.key}
    seq = draft.event("feedback", data, name, click.user, request)
    actor = request.actor if request else None
    liked = CLICKED if click.like is None else int(click.like)
    row = (seq, number, query, x, click.item, liked, click.user, actor, click.duel, team, None)
    draft.db.execute("INSERT INTO feedback VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)", row)
    if click.duel is not None:
        duels.judge(draft, name)
    return {"seq": seq}


def undo(
    draft: Draft, name: str, target: int, user: str | None = None, request: Request | None = None
) -> dict[str, Any]:
    """Take a click back: from here on the space learns as if it had never been."""
    where = (target, draft.collection(name)["number"])
    row = draft.db.execute("SELECT * FROM feedback WHERE seq = ? AND collection = ?", where).fetchone()
    if row is None:
        raise Unknown(f"Space: no feedback {target} in {name!r}.")
    if row["undone"] is not None:
        raise Conflict(f"Space: feedback {target} was already undone by event {row['undone']}.")
    if request is not None and not request.admin and row["actor"] != request.actor:
        raise Denied(f"Space: feedback {target} is another person's; only they or an admin may undo it.")
    seq = draft.event("undo", {"undone": target}, name, user)
    draft.db.execute("UPDATE feedback SET undone = ? WHERE seq = ?", (seq, target))
    if row["duel"] is not None:
        duels.judge_again(draft, name, row["duel"])
    return {"seq": seq, "undone": target}


def add_version(
    draft: Draft,
    name: str,
    version: Version,
    file: Path,
    index: Any = None,
    revision: int = 0,
    user: str | None = None,
) -> dict[str, Any]:
    """Take a learned metric as the candidate; one that was waiting steps back.

    A version that comes with the status ``"same"`` answers as the one in use, so there is nothing to duel about.
    """
    row = draft.collection(name)
    last = "SELECT coalesce(max(number), 0) FROM versions WHERE collection = ?"
    number = 1 + draft.db.execute(last, (row["number"],)).fetchone()[0]
    status = "same" if version.status == "same" else "candidate"
    new = replace(version, number=number, status=status, source=file)
    fields = {name: getattr(new, name) for name in ("name", "learner", "base", "events", "through", "status")}
    seq = draft.event("version", {"version": number, **fields}, name, user)
    stored = (row["number"], number, seq, *fields.values(), file.name)
    draft.db.execute("INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)", stored)
    draft.tell(Builder.version, name, new)
    draft.tell(Builder.offer, name, number, index, revision)
    if status == "candidate":
        duels.challenge(draft, row, number)
    return {"version": number, **fields, "seq": seq}


def activate(
    draft: Draft, name: str, number: int, index: Any = None, revision: int = 0, user: str | None = None
) -> dict[str, Any]:
    """Let a version answer from here on, by a person's decision."""
    row = draft.collection(name)
    text = "SELECT 1 FROM versions WHERE collection = ? AND number = ?"
    if number != 0 and draft.db.execute(text, (row["number"], number)).fetchone() is None:
        raise Unknown(f"Space: no version {number} in {name!r}.")
    seq = draft.event("activate", {"version": number, "before": row["active"]}, name, user)
    draft.tell(Builder.offer, name, number, index, revision)
    if number != 0:
        duels.set_status(draft, row, number, "adopted")
    if number != row["active"]:
        duels.crown(draft, name, by_people=True)
    duels.use(draft, row, number, None if row["candidate"] == number else row["candidate"])
    return {"active": number, "seq": seq}
