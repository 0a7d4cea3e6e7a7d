"""Events as JSON lines: out of a space, and into another."""

import json
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from gramian import _checks
from gramian.metrics import Mahalanobis
from gramian.service import changes, teaching, versions
from gramian.service.changes import Batch, known_ids
from gramian.service.draft import Draft, public
from gramian.service.duels import Duel
from gramian.service.errors import SpaceError
from gramian.service.files import narrow
from gramian.service.snapshot import Version
from gramian.service.space import Space

PAGE = 500
"""Events that are read, or written, together."""


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
    """Replay exported events, or lines of a stream, into a space; their numbers are counted anew.

    Verdicts follow from the duels and are not copied; tokens and lessons of a stream are left out.
    """
    replay, rest, done = Replay(), iter(enumerate(lines, 1)), 0
    while page := list(islice(rest, PAGE)):
        done += space.transact(partial(replay.page, page))
    return {"events": done, "seq": space.seq}


class Replay:
    """Events of one space as changes of another, with the new numbers of what they speak of."""

    def __init__(self) -> None:
        self.events: dict[int, int] = {}
        self.versions: dict[tuple[str, int], int] = {}

    def page(self, page: list[tuple[int, str]], draft: Draft) -> int:
        """Make the events of some lines happen in one transaction; returns how many did."""
        done = 0
        for number, line in page:
            if not line.strip():
                continue
            try:
                done += self.take(draft, json.loads(line))
            except (KeyError, TypeError, ValueError) as error:
                reason = f"needs {error}" if isinstance(error, KeyError) else str(error)
                raise SpaceError(f"import: line {number} cannot be replayed ({reason}).") from error
        return done

    def take(self, draft: Draft, event: dict[str, Any]) -> bool:
        """Make one event happen; False when there is nothing to do for it."""
        make = getattr(self, f"_{event['op']}", None)
        done = None if make is None else make(draft, event, event.get("collection") or "stream")
        if done is not None and "seq" in event:
            self.events[event["seq"]] = done["seq"]
        return done is not None

    def _collection(self, draft: Draft, event: dict[str, Any], name: str) -> Any:
        return changes.make_collection(draft, name, event["n_features"], event.get("user"))

    def _items(self, draft: Draft, event: dict[str, Any], name: str) -> Any:
        items = event["items"]
        own = draft.collection(name)
        said: dict[str, Any] = {word: event[word] for word in ("added", "updated", "ids") if word in event}
        seq = draft.event("items", said or {"added": len(items), "updated": 0}, collection=name, user=event.get("user"))
        if items:
            X = _checks.points([item["x"] for item in items], "import", n_features=own["n_features"])
            metas = [json.dumps(item["meta"], separators=(",", ":")) if item.get("meta") else None for item in items]
            ids = changes.numbered([item["id"] for item in items], own["next_id"])
            changes.place(draft, own, ids, Batch(list(ids), narrow(X), metas), seq)
        return {"seq": seq}

    def _add(self, draft: Draft, event: dict[str, Any], name: str) -> Any:
        changes.make_collection(draft, name, len(event["x"]))
        return self._items(draft, {"items": [event]}, name)

    def _remove(self, draft: Draft, event: dict[str, Any], name: str) -> Any:
        if known_ids(draft.db, draft.collection(name)["number"], [event["id"]]):
            return changes.remove_item(draft, name, event["id"], event.get("user"))
        return {"seq": draft.event("remove", {"id": event["id"]}, collection=name, user=event.get("user"))}

    def _feedback(self, draft: Draft, event: dict[str, Any], name: str) -> Any:
        query = event["query"]
        if not isinstance(query, int):
            query = _checks.vector(query, "import", "query", draft.collection(name)["n_features"])
        click = teaching.Click(query, event["item"], event["like"], event.get("user"), event.get("duel_id"))
        return teaching.take_click(draft, name, click)

    def _undo(self, draft: Draft, event: dict[str, Any], name: str) -> Any:
        target = self.events.get(event["undone"])
        return None if target is None else teaching.undo(draft, name, target, event.get("user"))

    def _version(self, draft: Draft, event: dict[str, Any], name: str) -> Any:
        through = self.events.get(event["through"], draft.seq)
        status = event.get("status", "candidate")
        version = Version(0, event["name"], event["learner"], 0, event["events"], through, status)
        file = versions.save_metric(draft.store.metrics, Mahalanobis(np.array(event["components"])), version)
        done = teaching.add_version(draft, name, version, file, revision=-1, user=event.get("user"))
        self.versions[name, event["version"]] = done["version"]
        return done

    def _activate(self, draft: Draft, event: dict[str, Any], name: str) -> Any:
        return teaching.activate(draft, name, self._number(name, event["version"]), revision=-1, user=event.get("user"))

    def _duel(self, draft: Draft, event: dict[str, Any], name: str) -> Any:
        version, against = self._number(name, event["version"]), self._number(name, event["against"])
        teams = [self._number(name, team) for team in event["team"]]
        duel = Duel(event["duel_id"], version, against, event["ids"], teams)
        return teaching.open_duel(draft, name, duel, event["query"], event.get("user"))

    def _number(self, name: str, number: int) -> int:
        return self.versions.get((name, number), number)
