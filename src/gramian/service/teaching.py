"""Changes by teaching: clicks and their undoing, candidates, duels and verdicts."""

import json
import sqlite3
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian.service import duels
from gramian.service.changes import Request, known_ids
from gramian.service.draft import Draft
from gramian.service.errors import Conflict, Denied, Unknown
from gramian.service.snapshot import Version


@dataclass(frozen=True)
class Click:
    """A judgment: this item is (not) like this query, an item or a vector."""

    query: int | np.ndarray
    item: int
    like: bool
    user: str | None = None
    duel: str | None = None


def give_feedback(draft: Draft, name: str, click: Click, request: Request | None = None) -> dict[str, Any]:
    """Take a click on items that are there; one of a duel is credited, and may decide it."""
    earlier = draft.answered(name, request)
    if earlier is not None:
        return {"seq": earlier["seq"]}
    own = draft.collection(name)
    for number in (click.item, *(() if isinstance(click.query, np.ndarray) else (click.query,))):
        if not known_ids(draft.db, own["number"], [number]):
            raise Unknown(f"Space: no item {number} in {name!r}.")
    return take_click(draft, name, click, request)


def take_click(draft: Draft, name: str, click: Click, request: Request | None = None) -> dict[str, Any]:
    """Write a click, whether or not its items are still there."""
    own = draft.collection(name)
    team = None if click.duel is None else duels.team_of(draft.db, own["number"], click.duel, click.item)
    x = click.query.tobytes() if isinstance(click.query, np.ndarray) else None
    query = click.query.tolist() if isinstance(click.query, np.ndarray) else click.query
    data = {"query": query, "item": click.item, "like": click.like, **({"duel_id": click.duel} if click.duel else {})}
    seq = draft.event("feedback", data, collection=name, user=click.user, request=request)
    said = (query if x is None else None, x, click.item, click.like, click.user, request.actor if request else None)
    row = (seq, own["number"], *said, click.duel, team, None)
    draft.db.execute("INSERT INTO feedback VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)", row)
    if click.duel is not None:
        judge(draft, name)
    return {"seq": seq}


def undo(
    draft: Draft, name: str, target: int, user: str | None = None, request: Request | None = None
) -> dict[str, Any]:
    """Take a click back: from here on the space learns as if it had never been."""
    own = draft.collection(name)
    row = draft.db.execute(
        "SELECT * FROM feedback WHERE seq = ? AND collection = ?", (target, own["number"])
    ).fetchone()
    if row is None:
        raise Unknown(f"Space: no feedback {target} in {name!r}.")
    if row["undone"] is not None:
        raise Conflict(f"Space: feedback {target} was already undone by event {row['undone']}.")
    if request is not None and not request.admin and row["actor"] != request.actor:
        raise Denied(f"Space: feedback {target} is another person's; only they or an admin may undo it.")
    seq = draft.event("undo", {"undone": target}, collection=name, user=user)
    draft.db.execute("UPDATE feedback SET undone = ? WHERE seq = ?", (seq, target))
    if row["duel"] is not None:
        judge_again(draft, name, row["duel"])
    return {"seq": seq, "undone": target}


def add_version(
    draft: Draft,
    name: str,
    version: Version,
    file: str,
    *,
    index: Any = None,
    revision: int = 0,
    user: str | None = None,
) -> dict[str, Any]:
    """Take a learned metric as the candidate; one that was waiting steps back.

    A version that comes with the status ``"same"`` answers as the one in use, so there is nothing to duel about.
    """
    own = draft.collection(name)
    number = (
        1
        + draft.db.execute(
            "SELECT coalesce(max(number), 0) FROM versions WHERE collection = ?", (own["number"],)
        ).fetchone()[0]
    )
    dueling = version.status != "same"
    status = "candidate" if dueling else "same"
    new = replace(version, number=number, status=status, source=draft.store.metrics / file)
    if dueling and own["candidate"] is not None:
        set_status(draft, own, own["candidate"], "superseded")
    data = {"version": number, "name": new.name, "learner": new.learner, "base": new.base}
    data |= {"events": new.events, "through": new.through, "status": status}
    seq = draft.event("version", data, collection=name, user=user)
    row = (own["number"], number, seq, new.name, new.learner, new.base, new.events, new.through, status, file)
    draft.db.execute("INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)", row)
    draft.deltas.append(lambda builder: builder.version(name, new, index, revision))
    if dueling:
        draft.db.execute("UPDATE collections SET candidate = ? WHERE number = ?", (number, own["number"]))
        draft.deltas.append(lambda builder: builder.use(name, candidate=number))
    return {**data, "seq": seq}


def set_status(draft: Draft, own: sqlite3.Row, number: int, status: str) -> None:
    """Record what became of a version."""
    where = (status, own["number"], number)
    draft.db.execute("UPDATE versions SET status = ? WHERE collection = ? AND number = ?", where)
    draft.deltas.append(lambda builder: builder.status(own["name"], number, status))


def activate(
    draft: Draft, name: str, number: int, *, index: Any = None, revision: int = 0, user: str | None = None
) -> dict[str, Any]:
    """Let a version answer from here on, by a person's decision."""
    own = draft.collection(name)
    known = draft.db.execute("SELECT 1 FROM versions WHERE collection = ? AND number = ?", (own["number"], number))
    if number != 0 and known.fetchone() is None:
        raise Unknown(f"Space: no version {number} in {name!r}.")
    seq = draft.event("activate", {"version": number, "before": own["active"]}, collection=name, user=user)
    draft.deltas.append(lambda builder: builder.offer(name, number, index, revision))
    if number != 0:
        set_status(draft, own, number, "adopted")
    _use(draft, own, number, None if own["candidate"] == number else own["candidate"])
    return {"active": number, "seq": seq}


def _use(draft: Draft, own: sqlite3.Row, active: int, candidate: int | None) -> None:
    row = (active, candidate, own["number"])
    draft.db.execute("UPDATE collections SET active = ?, candidate = ? WHERE number = ?", row)
    draft.deltas.append(lambda builder: builder.use(own["name"], active=active, candidate=candidate))


def open_duel(draft: Draft, name: str, duel: "duels.Duel", query: Any, user: str | None = None) -> dict[str, Any]:
    """Keep who showed what, so that a click can be credited."""
    own = draft.collection(name)
    data = {"duel_id": duel.id, "query": query, "version": duel.version, "against": duel.against}
    seq = draft.event("duel", {**data, "ids": duel.ids, "team": duel.teams}, collection=name, user=user)
    blobs = np.asarray(duel.ids, np.int64).tobytes(), np.asarray(duel.teams, np.int64).tobytes()
    row = (duel.id, own["number"], seq, duel.version, duel.against, *blobs)
    draft.db.execute("INSERT INTO duels VALUES (?, ?, ?, ?, ?, ?, ?, NULL)", row)
    return {"seq": seq}


def judge_again(draft: Draft, name: str, duel: str) -> None:
    """After a click of a duel was undone: what it decided stands only where the other clicks decide the same."""
    own = draft.collection(name)
    sides = draft.db.execute("SELECT version, against FROM duels WHERE id = ?", (duel,)).fetchone()
    if own["candidate"] == sides["version"]:
        judge(draft, name)
        return
    text = """
      SELECT op, data FROM events WHERE collection = ? AND op IN ('verdict', 'version', 'activate')
      ORDER BY seq DESC LIMIT 1
    """
    last = draft.db.execute(text, (name,)).fetchone()
    said = json.loads(last["data"])
    if last["op"] != "verdict" or said["version"] != sides["version"] or said["verdict"] == "withdrawn":
        return
    record = duels.record(draft.db, own["number"], sides["version"], sides["against"])
    if duels.verdict(record, duels.tries(draft.db, own["number"])) == said["verdict"]:
        return
    data = {"version": sides["version"], "verdict": "withdrawn", "duels": record.summary()}
    draft.event("verdict", data, collection=name)
    set_status(draft, own, sides["version"], "candidate")
    _use(draft, own, sides["against"], sides["version"])


def judge(draft: Draft, name: str) -> None:
    """Adopt the candidate when its duels say so beyond their error, drop it when they say the contrary."""
    own = draft.collection(name)
    if own["candidate"] is None:
        return
    record = duels.record(draft.db, own["number"], own["candidate"], own["active"])
    verdict = duels.verdict(record, duels.tries(draft.db, own["number"]))
    if verdict is None:
        return
    data = {"version": own["candidate"], "verdict": verdict, "duels": record.summary()}
    draft.event("verdict", data, collection=name)
    set_status(draft, own, own["candidate"], verdict)
    _use(draft, own, own["candidate"] if verdict == "adopted" else own["active"], None)
