"""Events of one space as changes of another."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from gramian import _checks
from gramian.metrics import Mahalanobis
from gramian.service import changes, teaching, versions
from gramian.service.changes import Batch, known_ids
from gramian.service.draft import Draft
from gramian.service.duels import Duel
from gramian.service.errors import SpaceError
from gramian.service.files import narrow
from gramian.service.snapshot import Version

Event = dict[str, Any]


class Replay:
    """Events of one space as changes of another, with the new numbers of what they speak of."""

    def __init__(self) -> None:
        self.events: dict[int, int] = {}
        self.versions: dict[tuple[str, int], int] = {}

    def all(self, lines: Iterable[tuple[int, str]], draft: Draft) -> int:
        """Make the events of numbered lines happen in one transaction; returns how many did."""
        done = 0
        for number, line in lines:
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
        make = CHANGES.get(event["op"])
        done = None if make is None else make(self, draft, event, event.get("collection") or "stream")
        if done is not None and "seq" in event:
            self.events[event["seq"]] = done["seq"]
        return done is not None

    def version(self, name: str, number: int) -> int:
        """The new number of a version."""
        return self.versions.get((name, number), number)


def make_collection(replay: Replay, draft: Draft, event: Event, name: str) -> Any:
    """Make a collection."""
    return changes.make_collection(draft, name, event["n_features"], event.get("user"))


def place_items(replay: Replay, draft: Draft, event: Event, name: str) -> Any:
    """Add or replace items."""
    items = event["items"]
    own = draft.collection(name)
    said: dict[str, Any] = {word: event[word] for word in ("added", "updated", "ids") if word in event}
    seq = draft.event("items", said or {"added": len(items), "updated": 0}, collection=name, user=event.get("user"))
    for number in said.get("ids", ()):  # also of those that were removed or replaced since
        changes.use_up(draft, name, number)
    if items:
        own = draft.collection(name)
        X = _checks.points([item["x"] for item in items], "import", n_features=own["n_features"])
        metas = [json.dumps(item["meta"], separators=(",", ":")) if item.get("meta") else None for item in items]
        ids = changes.numbered([item["id"] for item in items], own["next_id"])
        changes.place(draft, own, ids, Batch(list(ids), narrow(X), metas), seq)
    return {"seq": seq}


def add_item(replay: Replay, draft: Draft, event: Event, name: str) -> Any:
    """Add the item of a line of a stream."""
    changes.make_collection(draft, name, len(event["x"]))
    return place_items(replay, draft, {"items": [event]}, name)


def remove_item(replay: Replay, draft: Draft, event: Event, name: str) -> Any:
    """Remove an item; one that is gone already leaves its event. Its id is not handed out again."""
    changes.use_up(draft, name, event["id"])
    if known_ids(draft.db, draft.collection(name)["number"], [event["id"]]):
        return changes.remove_item(draft, name, event["id"], event.get("user"))
    return {"seq": draft.event("remove", {"id": event["id"]}, collection=name, user=event.get("user"))}


def take_click(replay: Replay, draft: Draft, event: Event, name: str) -> Any:
    """Take a click."""
    query = event["query"]
    if not isinstance(query, int):
        query = _checks.vector(query, "import", "query", draft.collection(name)["n_features"])
    click = teaching.Click(query, event["item"], event["like"], event.get("user"), event.get("duel_id"))
    return teaching.take_click(draft, name, click)


def undo_click(replay: Replay, draft: Draft, event: Event, name: str) -> Any:
    """Take a click back, where it is known."""
    target = replay.events.get(event["undone"])
    return None if target is None else teaching.undo(draft, name, target, event.get("user"))


def add_version(replay: Replay, draft: Draft, event: Event, name: str) -> Any:
    """Add a learned version."""
    through = replay.events.get(event["through"], draft.seq)
    status = event.get("status", "candidate")
    version = Version(0, event["name"], event["learner"], 0, event["events"], through, status)
    file = versions.save_metric(draft.store.metrics, Mahalanobis(np.array(event["components"])), version)
    done = teaching.add_version(draft, name, version, file, revision=-1, user=event.get("user"))
    replay.versions[name, event["version"]] = done["version"]
    return done


def activate(replay: Replay, draft: Draft, event: Event, name: str) -> Any:
    """Let a version answer."""
    return teaching.activate(draft, name, replay.version(name, event["version"]), revision=-1, user=event.get("user"))


def open_duel(replay: Replay, draft: Draft, event: Event, name: str) -> Any:
    """Open a duel."""
    version, against = replay.version(name, event["version"]), replay.version(name, event["against"])
    teams = [replay.version(name, team) for team in event["team"]]
    duel = Duel(event["duel_id"], version, against, event["ids"], teams)
    return teaching.open_duel(draft, name, duel, event["query"], event.get("user"))


CHANGES: dict[str, Callable[[Replay, Draft, Event, str], Any]] = {
    "collection": make_collection,
    "items": place_items,
    "add": add_item,
    "remove": remove_item,
    "feedback": take_click,
    "undo": undo_click,
    "version": add_version,
    "activate": activate,
    "duel": open_duel,
}
"""What each kind of event does to a space."""
