"""Duels: two rankings on one screen, and the judgments of people who do not know whose result is whose.

Old clicks cannot tell whether a metric helps, since people click on what was shown. So a candidate and the active
version are asked the same query, and one list is made of both answers. An item of both stands there without a side.
The others come in pairs, the best that only one shows beside the best that only the other shows, and a coin says
which of the two stands first: whatever people do by the place alone favors nobody. What the judgments of the pairs
say is a vote, and votes decide (:mod:`gramian.service.wealth`).
"""

import json
import math
import secrets
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian.service import wealth
from gramian.service.errors import SpaceError, Unknown
from gramian.service.snapshot import Builder
from gramian.service.writer import Draft

NOBODY = -1
"""The side of an item that both rankings show."""
MOST_LOG = 700.0
"""Of a wealth that is told."""
REIGN = "reign "
"""How the key begins under which the space keeps what earlier candidates won against the version in use."""


@dataclass(frozen=True)
class Duel:
    """One list of two rankings: the items in their order, and for each the version that alone shows it, or −1."""

    id: str
    version: int
    against: int
    ids: list[int]
    teams: list[int]


def interleave(
    version: int, ranking: Sequence[int], against: int, other: Sequence[int], k: int, rng: np.random.Generator
) -> Duel:
    """A list of k items: pairs of those that only one ranking has at the top, and the best of the others.

    The top ends where the two differ most. Which items are shown, and where, has the same chances when the rankings
    change places.
    """
    orders = [[int(item) for item in order[:k]] for order in (ranking, other)]
    places = [{item: place for place, item in enumerate(order)} for order in orders]
    depth = parting(*orders)
    mine, its = ([i for i in one[:depth] if two.get(i, k) >= depth] for one, two in zip(orders, places[::-1]))
    mean = {item: sum(side.get(item, k) for side in places) / 2 for order in orders for item in order}
    blocks = []
    for pair in list(zip(mine, its))[: k // 2]:
        sides = [(pair[0], version), (pair[1], against)]
        blocks.append(((mean.pop(pair[0]) + mean.pop(pair[1])) / 2, sides if rng.random() < 0.5 else sides[::-1]))
    rest = sorted((place, rng.random(), item) for item, place in mean.items())[: k - 2 * len(blocks)]
    blocks += [(place, [(item, NOBODY)]) for place, _, item in rest]
    shown = [one for _, block in sorted(blocks, key=lambda block: block[0]) for one in block]
    return Duel(secrets.token_hex(8), version, against, [item for item, _ in shown], [team for _, team in shown])


def parting(ranking: list[int], other: list[int]) -> int:
    """The length at which the beginnings of two rankings have the fewest items in common, the longest one of several.

    Examples
    --------
    >>> from gramian.service.duels import parting
    >>> parting([1, 2, 3, 4], [1, 2, 4, 3]), parting([1, 2, 3, 4], [5, 6, 1, 2])
    (3, 4)
    """
    alone: set[int] = set()
    best = (0, 0)
    for depth, pair in enumerate(zip(ranking, other), 1):
        alone ^= {pair[0]}
        alone ^= {pair[1]}
        best = max(best, (len(alone), depth))
    return best[1]


@dataclass(frozen=True)
class Record:
    """Duels of a candidate against one version: likes of what only one of them showed, and a vote for each duel."""

    version: int
    against: int
    likes: int
    likes_against: int
    votes: np.ndarray

    def summary(self) -> dict[str, Any]:
        """The record in plain numbers; ``difference`` is the mean vote."""
        n = len(self.votes)
        mean = float(self.votes.mean()) if n else 0.0
        error = math.sqrt(max(float(self.votes.var(ddof=1)), 1 / n) / n) if n > 1 else None
        likes = {"likes": self.likes, "likes_against": self.likes_against}
        return {"against": self.against, "queries": n, **likes, "difference": mean, "error": error}


@dataclass(frozen=True)
class Reign:
    """How often people chose the metric in use, and log gains (J, stakes) of earlier candidates against this one."""

    choices: int = 0
    parts: tuple[tuple[float, ...], ...] = ()

    @classmethod
    def of(cls, db: sqlite3.Connection, name: str) -> "Reign":
        """The present one of a collection."""
        row = db.execute("SELECT value FROM space WHERE key = ?", (REIGN + name,)).fetchone()
        return cls() if row is None else cls.read(json.loads(row["value"]))

    @classmethod
    def read(cls, fields: dict[str, Any]) -> "Reign":
        """From plain numbers; before there were choices, each metric in use counted."""
        choices = fields["choices"] if "choices" in fields else fields["reign"] - 1
        return cls(choices, tuple(map(tuple, fields["parts"])))

    def plain(self) -> dict[str, Any]:
        """As plain numbers."""
        return {"choices": self.choices, "parts": [list(part) for part in self.parts]}

    def after(self, votes: np.ndarray) -> "Reign":
        """With what one more candidate won or lost."""
        return Reign(self.choices, (*self.parts, tuple(wealth.log_gains(votes).tolist()))) if len(votes) else self

    def keep(self, draft: Draft, name: str) -> None:
        """Write it down."""
        text = "INSERT OR REPLACE INTO space VALUES (?, ?, NULL)"
        draft.db.execute(text, (REIGN + name, json.dumps(self.plain())))

    def summary(self, record: Record) -> dict[str, float]:
        """What a bettor would own who began with 1, and how much is needed."""
        own = self.after(record.votes)
        logs = wealth.log_wealth(own.parts), wealth.log_needed(self.choices)
        return {"wealth": math.exp(min(logs[0], MOST_LOG)), "needed": math.exp(logs[1])}


def kept(version: int, ids: Sequence[int]) -> Duel:
    """A list of one version, kept as it was shown: on nobody's side."""
    return Duel(secrets.token_hex(8), version, version, list(ids), [NOBODY] * len(ids))


def team_of(db: sqlite3.Connection, collection: int, duel: str, item: int) -> int:
    """The version that put an item into a duel, −1 for both."""
    row = db.execute("SELECT * FROM duels WHERE id = ? AND collection = ?", (duel, collection)).fetchone()
    if row is None:
        raise Unknown(f"Space: no duel {duel!r:.80}.")
    ids = np.frombuffer(row["ids"], np.int64)
    if item not in ids:
        raise SpaceError(f"Space: item must be one that duel {duel!r} showed, got {item}.")
    return int(np.frombuffer(row["teams"], np.int64)[ids == item][0])


def record(db: sqlite3.Connection, collection: int, version: int, against: int) -> Record:
    """Live judgments in the duels of two versions; of several on one item in one duel the last counts."""
    rows = db.execute(
        """
        SELECT sum(liked > 0 AND team = ?2) AS won, sum(liked > 0 AND team = ?3) AS lost,
          sum(CASE WHEN liked > 0 THEN 1 ELSE -1 END * CASE team WHEN ?2 THEN 1 ELSE -1 END) AS sum, count(*) AS n
        FROM (
          SELECT d.seq AS opened, f.item, f.liked, f.team, max(f.seq) FROM duels d JOIN feedback f ON f.duel = d.id
          WHERE d.collection = ?1 AND d.version = ?2 AND d.against = ?3 AND f.undone IS NULL
          GROUP BY f.duel, f.item
        ) WHERE team IN (?2, ?3) GROUP BY opened ORDER BY opened
        """,
        (collection, version, against),
    ).fetchall()
    votes = np.array([row["sum"] / row["n"] for row in rows], float)
    return Record(version, against, sum(row["won"] for row in rows), sum(row["lost"] for row in rows), votes)


def challenge(draft: Draft, row: sqlite3.Row, number: int) -> None:
    """Let a version be the candidate of a collection; of one that was waiting what it won is kept."""
    if row["candidate"] is not None:
        fights = record(draft.db, row["number"], row["candidate"], row["active"])
        Reign.of(draft.db, row["name"]).after(fights.votes).keep(draft, row["name"])
        set_status(draft, row, row["candidate"], "superseded")
    use(draft, row, row["active"], number)


def crown(draft: Draft, name: str, by_people: bool) -> None:
    """Another version is in use from here on, against which nothing has been won yet."""
    Reign(Reign.of(draft.db, name).choices + by_people).keep(draft, name)


def set_status(draft: Draft, row: sqlite3.Row, number: int, status: str) -> None:
    """Record what became of a version."""
    where = (status, row["number"], number)
    draft.db.execute("UPDATE versions SET status = ? WHERE collection = ? AND number = ?", where)
    draft.tell(Builder.status, row["name"], number, status)


def use(draft: Draft, row: sqlite3.Row, active: int, candidate: int | None) -> None:
    """Let one version answer and another one duel with it."""
    text = "UPDATE collections SET active = ?, candidate = ? WHERE number = ?"
    draft.db.execute(text, (active, candidate, row["number"]))
    draft.tell(Builder.use, row["name"], active, candidate)


def open_duel(draft: Draft, name: str, duel: Duel, query: Any, user: str | None = None) -> dict[str, Any]:
    """Keep who showed what, so that a click can be credited."""
    data = {"duel_id": duel.id, "query": query, "version": duel.version, "against": duel.against}
    seq = draft.event("duel", {**data, "ids": duel.ids, "team": duel.teams}, name, user)
    blobs = np.asarray(duel.ids, np.int64).tobytes(), np.asarray(duel.teams, np.int64).tobytes()
    row = (duel.id, draft.collection(name)["number"], seq, duel.version, duel.against, *blobs)
    draft.db.execute("INSERT INTO duels VALUES (?, ?, ?, ?, ?, ?, ?, NULL)", row)
    return {"seq": seq}


def judge(draft: Draft, name: str) -> None:
    """Adopt the candidate when the votes are enough, drop it when they say the contrary."""
    row = draft.collection(name)
    if row["candidate"] is None:
        return
    fights, reign = record(draft.db, row["number"], row["candidate"], row["active"]), Reign.of(draft.db, name)
    decision = wealth.decided(reign.parts, fights.votes, reign.choices)
    if decision is None:
        return
    duels = {**fights.summary(), **reign.summary(fights)}
    draft.event("verdict", {"version": row["candidate"], "verdict": decision, "duels": duels, **reign.plain()}, name)
    set_status(draft, row, row["candidate"], decision)
    if decision == "adopted":
        crown(draft, name, by_people=False)
        use(draft, row, row["candidate"], None)
    else:
        reign.after(fights.votes).keep(draft, name)
        use(draft, row, row["active"], None)


def judge_again(draft: Draft, name: str, duel: str) -> None:
    """After a click of a duel was undone: what it decided stands only where the other clicks decide the same."""
    row = draft.collection(name)
    sides = draft.db.execute("SELECT version, against FROM duels WHERE id = ?", (duel,)).fetchone()
    if sides["version"] == sides["against"]:  # a list that was only kept
        return
    if row["candidate"] == sides["version"]:
        judge(draft, name)
        return
    text = """
      SELECT op, data FROM events WHERE collection = ? AND op IN ('verdict', 'version', 'activate')
      ORDER BY seq DESC LIMIT 1
    """
    last = draft.db.execute(text, (name,)).fetchone()
    data = {} if last is None else json.loads(last["data"])
    if data.get("verdict", "withdrawn") == "withdrawn" or data["version"] != sides["version"] or "choices" not in data:
        return
    fights, reign = record(draft.db, row["number"], sides["version"], sides["against"]), Reign.read(data)
    if wealth.decided(reign.parts, fights.votes, reign.choices) == data["verdict"]:
        return
    duels = {**fights.summary(), **reign.summary(fights)}
    draft.event("verdict", {"version": sides["version"], "verdict": "withdrawn", "duels": duels, **reign.plain()}, name)
    reign.keep(draft, name)
    set_status(draft, row, sides["version"], "candidate")
    use(draft, row, sides["against"], sides["version"])
