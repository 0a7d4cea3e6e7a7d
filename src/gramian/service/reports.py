"""What a space tells about itself: items, clicks, events, versions and what changed between them."""

import datetime
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from gramian import _checks, linalg
from gramian.service import duels
from gramian.service.draft import public
from gramian.service.snapshot import Collection

if TYPE_CHECKING:
    from gramian.service.asking import Asker
    from gramian.service.open_folder import OpenFolder

COMPARED = 500
"""Items whose neighbors are compared between two versions, evenly spaced by id."""
SHOWN = 20
"""Items that a comparison names."""
MOST_K = 1000
"""Results of one query, and neighbors that are compared."""


def metas(view: Collection, ids: Any) -> list[dict[str, Any]]:
    """Meta of items, empty for those without."""
    texts = [view.metas[row] for row in view.find(ids).tolist()]
    return [json.loads(text) if text else {} for text in texts]


def item(view: Collection, number: int) -> dict[str, Any]:
    """An item with its vector and meta."""
    return {"id": number, "x": view.points([number])[0].tolist(), "meta": metas(view, [number])[0]}


def events(space: "OpenFolder", after: int, limit: int) -> list[dict[str, Any]]:
    """Events after a number, in their order."""
    with space.store.reading() as db:
        rows = db.execute("SELECT * FROM events WHERE seq > ? ORDER BY seq LIMIT ?", (after, limit)).fetchall()
    return [public(row) for row in rows]


def clicks(space: "OpenFolder", name: str, after: int, limit: int) -> list[dict[str, Any]]:
    """Clicks after an event, in their order, undone ones among them."""
    view = space.collection(name)
    text = """
      SELECT f.*, e.time FROM feedback f JOIN events e ON e.seq = f.seq
      WHERE f.collection = ? AND f.seq > ? ORDER BY f.seq LIMIT ?
    """
    with space.store.reading() as db:
        rows = db.execute(text, (view.number, after, limit)).fetchall()
    return [_click(row) for row in rows]


def _click(row: Any) -> dict[str, Any]:
    query = row["query_id"] if row["query_x"] is None else np.frombuffer(row["query_x"], np.float64).tolist()
    said = {"seq": row["seq"], "query": query, "item": row["item"], "like": bool(row["liked"]), "user": row["user"]}
    return {**said, "undone": row["undone"] is not None, "duel_id": row["duel"], "time": row["time"]}


def ubi(click: dict[str, Any], collection: str, position: int | None) -> dict[str, Any]:
    """A click as an event of User Behavior Insights 1.3 (OpenSearch)."""
    moment = datetime.datetime.fromtimestamp(click["time"], datetime.UTC)
    query = click["query"]
    name = click["duel_id"] or (f"item-{query}" if isinstance(query, int) else f"vector-{click['seq']}")
    attributes: dict[str, Any] = {"object": {"object_id": str(click["item"]), "object_id_field": "id"}}
    attributes["position"] = {"ordinal": 0 if position is None else position}
    return {
        "application": f"gramian/{collection}",
        "action_name": "like" if click["like"] else "dislike",
        "query_id": name[:100],
        "client_id": (click["user"] or "anonymous")[:100],
        "timestamp": moment.isoformat().replace("+00:00", "Z"),
        "message_type": "UNDONE" if click["undone"] else "FEEDBACK",
        "event_attributes": attributes,
    }


def positions(space: "OpenFolder", found: list[dict[str, Any]]) -> list[int | None]:
    """Where each click's item stood in the list that its duel showed, counted from 1; None where nobody knows."""
    shown: dict[str, list[int]] = {}
    with space.store.reading() as db:
        for duel in {click["duel_id"] for click in found} - {None}:
            row = db.execute("SELECT ids FROM duels WHERE id = ?", (duel,)).fetchone()
            shown[duel] = np.frombuffer(row["ids"], np.int64).tolist()
    return [shown[c["duel_id"]].index(c["item"]) + 1 if c["duel_id"] else None for c in found]


def versions(space: "OpenFolder", name: str) -> dict[str, Any]:
    """All versions with their records, and which one is active."""
    view = space.collection(name)
    with space.store.reading() as db:
        listed = [_version(db, view, number) for number in sorted(view.versions)]
    return {"versions": listed, "active": view.active, "candidate": view.candidate}


def _version(db: Any, view: Collection, number: int) -> dict[str, Any]:
    version = view.versions[number]
    names = ("name", "learner", "base", "events", "through", "status")
    last = "SELECT against FROM duels WHERE collection = ? AND version = ? ORDER BY seq DESC LIMIT 1"
    row = db.execute(last, (view.number, number)).fetchone()
    against = view.active if row is None else row["against"]
    record = duels.record(db, view.number, number, against).summary()
    return {
        "version": number,
        **{n: getattr(version, n) for n in names},
        "active": number == view.active,
        "duels": record,
    }


def diff(asker: "Asker", view: Collection, number: int, to: int, k: int) -> dict[str, Any]:
    """How the k nearest items of each item differ between two versions; those that changed most come first."""
    k = _checks.number(k, "Space", "k", low=1, high=MOST_K, integer=True)
    chosen = view.ids[linalg.spread(len(view.ids), COMPARED)]
    X = view.points(chosen)
    sides = [neighbors(asker, view, view.version(v), X, chosen, k) for v in (number, to)]
    rows = []
    for own, before, after in zip(chosen.tolist(), *sides):
        gone = [i for i in before if i not in after]
        new = [i for i in after if i not in before]
        kept = len(before) - len(gone)
        rows.append({"id": own, "kept": kept, "gone": gone, "new": new})
    rows.sort(key=lambda row: (row["kept"], row["id"]))
    mean = float(np.mean([row["kept"] / max(len(b), 1) for row, b in zip(rows, sides[0])])) if rows else 1.0
    return {"version": number, "to": to, "k": k, "compared": len(rows), "kept_share": mean, "items": rows[:SHOWN]}


def neighbors(asker: "Asker", view: Collection, version: Any, X: Any, own: Any, k: int) -> list[list[int]]:
    """The k nearest other items of some items."""
    if len(view.ids) == 0:
        return []
    ids, _ = asker.index(view, version).query(X, k + 1 + len(view.hidden))
    return [[i for i in row if i != o and i not in view.hidden][:k] for row, o in zip(ids.tolist(), own.tolist())]
