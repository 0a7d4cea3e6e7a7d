"""Events as JSON lines: out of a space, and into another, with the new numbers of what they speak of."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from gramian import _validate
from gramian.metrics import Mahalanobis
from gramian.service import changes, duels
from gramian.service.changes import Batch, Click
from gramian.service.errors import SpaceError
from gramian.service.learning import save_metric
from gramian.service.snapshot import Version
from gramian.service.space import Space
from gramian.service.vectors import narrow
from gramian.service.writer import Draft, Request, public

PAGE = 500
"""Events that are read together."""
Event = dict[str, Any]


def export_events(space: Space) -> Iterator[str]:
    """The log as JSON lines, vectors and metrics included; items that were removed or replaced since are left out."""
    seq, last = 0, space.seq
    while seq < last:
        with space.store.reading() as db:
            rows = db.execute("SELECT * FROM events WHERE seq > ? AND seq <= ? LIMIT ?", (seq, last, PAGE)).fetchall()
            lines = [json.dumps({**public(row), **_more(db, space, row)}) for row in rows]
        yield from lines
        seq = rows[-1]["seq"]


def _more(db: Any, space: Space, row: Any) -> Event:
    """What an event holds outside of the log."""
    if row["op"] not in ("items", "version"):
        return {}
    view = space.collection(row["collection"])
    if row["op"] == "version":
        return {"components": view.version(json.loads(row["data"])["version"]).metric.components.tolist()}
    text = "SELECT id, meta FROM items WHERE collection = ? AND seq = ? ORDER BY row"
    items = db.execute(text, (view.number, row["seq"])).fetchall()
    points = view.points([item["id"] for item in items]).tolist()
    return {"items": [{"id": i["id"], "x": x, "meta": json.loads(i["meta"] or "{}")} for i, x in zip(items, points)]}


def import_events(space: Space, lines: Iterable[str]) -> dict[str, int]:
    """Replay exported events, or lines of a stream, into a space, all or none; their numbers are counted anew.

    Verdicts follow from the duels and are not copied; tokens and lessons of a stream are left out.
    """
    done = space.transact(lambda draft: Replay(draft).all(lines))
    return {"events": done, "seq": space.seq}


class Replay:
    """Events of one space as changes of another, in one transaction."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.events: dict[int, int] = {}
        self.versions: dict[tuple[str, int], int] = {}

    def all(self, lines: Iterable[str]) -> int:
        """Make the events of all lines happen; returns how many did."""
        done = 0
        for number, line in enumerate(lines, 1):
            try:
                done += bool(line.strip()) and self.take(json.loads(line))
            except (KeyError, TypeError, ValueError) as error:
                reason = f"needs {error}" if isinstance(error, KeyError) else str(error)
                raise SpaceError(f"import: line {number} cannot be replayed ({reason}).") from error
        return done

    def take(self, event: Event) -> bool:
        """Make one event happen; False when there is nothing to do for it."""
        if "op" not in event and "action_name" in event:
            return self.insight(event)
        make = CHANGES.get(event["op"])
        done = None if make is None else make(self, event, event.get("collection") or "stream")
        if done is not None and "seq" in event:
            self.events[event["seq"]] = done["seq"]
        return done is not None

    def collection(self, event: Event, name: str) -> Any:
        """Make a collection."""
        return changes.make_collection(self.draft, name, event["n_features"], event.get("user"))

    def items(self, event: Event, name: str) -> Any:
        """Add or replace items."""
        items = event["items"]
        row = self.draft.collection(name)
        data: Event = {word: event[word] for word in ("added", "updated", "ids") if word in event}
        seq = self.draft.event("items", data or {"added": len(items), "updated": 0}, name, event.get("user"))
        for number in data.get("ids", ()):  # also of those that were removed or replaced since
            changes.use_up(self.draft, name, number)
        if items:
            row = self.draft.collection(name)
            X = _validate.points([item["x"] for item in items], "import", n_features=row["n_features"])
            metas = [changes.text_of(item.get("meta")) for item in items]
            ids = changes.numbered([item["id"] for item in items], row["next_id"])
            changes.place(self.draft, row, ids, Batch(list(ids), narrow(X), metas), seq)
        return {"seq": seq}

    def add(self, event: Event, name: str) -> Any:
        """Add the item of a line of a stream."""
        changes.make_collection(self.draft, name, len(event["x"]))
        return self.items({"items": [event]}, name)

    def remove(self, event: Event, name: str) -> Any:
        """Remove an item; one that is gone already leaves its event. Its id is not handed out again."""
        changes.use_up(self.draft, name, event["id"])
        if changes.stored_ids(self.draft.db, self.draft.collection(name)["number"], [event["id"]]):
            return changes.remove_item(self.draft, name, event["id"], event.get("user"))
        return {"seq": self.draft.event("remove", {"id": event["id"]}, name, event.get("user"))}

    def click(self, event: Event, name: str) -> Any:
        """Take a click."""
        query = event["query"]
        if not isinstance(query, int):
            query = _validate.vector(query, "import", "query", self.draft.collection(name)["n_features"])
        weight, key = event.get("weight"), event.get("key")
        click = Click(query, event["item"], event["like"], event.get("user"), event.get("duel_id"), weight)
        request = None if key is None else Request(key=key)
        return self.draft.answered(name, request) or changes.take_click(self.draft, name, click, request)

    def insight(self, event: Event) -> bool:
        """Take an event of User Behavior Insights: a like, a dislike or a click; others and undone ones are left out.

        Its collection is what follows ``/`` in ``application``, its query ``event_attributes.query`` (an id or a
        vector), or the number in a ``query_id`` as ``item-7``.
        """
        if event["action_name"] not in LIKES or event.get("message_type") == "UNDONE":
            return False
        attributes = event["event_attributes"]
        query = attributes.get("query")
        if query is None:
            head, _, number = str(event.get("query_id", "")).rpartition("-")
            if head != "item" or not number.lstrip("-").isdigit():
                raise ValueError("event_attributes.query must be an id or a vector, got none; query_id is no item-N")
            query = int(number)
        click = {"query": query, "item": int(attributes["object"]["object_id"]), "like": LIKES[event["action_name"]]}
        self.click({**click, "user": event.get("client_id")}, event["application"].rpartition("/")[2])
        return True

    def undo(self, event: Event, name: str) -> Any:
        """Take a click back, where it is known."""
        target = self.events.get(event["undone"])
        return None if target is None else changes.undo(self.draft, name, target, event.get("user"))

    def version(self, event: Event, name: str) -> Any:
        """Add a learned version."""
        through = self.events.get(event["through"], self.draft.seq)
        status = event.get("status", "candidate")
        version = Version(0, event["name"], event["learner"], 0, event["events"], through, status)
        file = save_metric(self.draft.store.metrics, Mahalanobis(np.array(event["components"])), version)
        done = changes.add_version(self.draft, name, version, file, user=event.get("user"))
        self.versions[name, event["version"]] = done["version"]
        return done

    def activate(self, event: Event, name: str) -> Any:
        """Let a version answer."""
        return changes.activate(self.draft, name, self._number(name, event["version"]), user=event.get("user"))

    def duel(self, event: Event, name: str) -> Any:
        """Open a duel."""
        version, against = self._number(name, event["version"]), self._number(name, event["against"])
        teams = [self._number(name, team) for team in event["team"]]
        duel = duels.Duel(event["duel_id"], version, against, event["ids"], teams)
        return duels.open_duel(self.draft, name, duel, event["query"], event.get("user"))

    def _number(self, name: str, version: int) -> int:
        """The new number of a version."""
        return self.versions.get((name, version), version)


LIKES = {"like": True, "dislike": False, "click": None}
"""What actions of User Behavior Insights say of an item."""
CHANGES: dict[str, Callable[[Replay, Event, str], Any]] = {
    "collection": Replay.collection,
    "items": Replay.items,
    "add": Replay.add,
    "remove": Replay.remove,
    "feedback": Replay.click,
    "undo": Replay.undo,
    "version": Replay.version,
    "activate": Replay.activate,
    "duel": Replay.duel,
}
"""What each kind of event does to a space."""
