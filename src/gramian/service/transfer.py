"""Events as JSON lines: out of a space, and into another."""

import json
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from gramian.service.draft import public
from gramian.service.replaying import Replay
from gramian.service.space import Space

PAGE = 500
"""Events that are read together."""


def export_events(space: Space) -> Iterator[str]:
    """The log as JSON lines, vectors and metrics included; items that were removed or replaced since are left out."""
    seq, last = 0, space.seq
    while seq < last:
        with space.store.reading() as db:
            rows = db.execute("SELECT * FROM events WHERE seq > ? AND seq <= ? LIMIT ?", (seq, last, PAGE)).fetchall()
            lines = [json.dumps({**public(row), **_more(db, space, row)}) for row in rows]
        yield from lines
        seq = rows[-1]["seq"]


def _more(db: Any, space: Space, row: Any) -> dict[str, Any]:
    """What an event holds outside of the log."""
    if row["op"] not in ("items", "version"):
        return {}
    view = space.collection(row["collection"])
    if row["op"] == "version":
        return {"components": view.version(json.loads(row["data"])["version"]).metric.components.tolist()}
    found = "SELECT id, meta FROM items WHERE collection = ? AND seq = ? ORDER BY row"
    items = db.execute(found, (view.number, row["seq"])).fetchall()
    points = view.points([item["id"] for item in items]).tolist()
    return {"items": [{"id": i["id"], "x": x, "meta": json.loads(i["meta"] or "{}")} for i, x in zip(items, points)]}


def import_events(space: Space, lines: Iterable[str]) -> dict[str, int]:
    """Replay exported events, or lines of a stream, into a space, all or none; their numbers are counted anew.

    Verdicts follow from the duels and are not copied; tokens and lessons of a stream are left out.
    """
    done = space.transact(partial(Replay().all, enumerate(lines, 1)))
    return {"events": done, "seq": space.seq}
