r"""Duels: two rankings on one screen, and the likes of people who do not know whose result is whose.

Old clicks cannot tell whether a metric helps, since people click on what was shown. So a candidate and the active
version are asked the same query, their answers interleaved by team draft (Radlinski, Kurup and Joachims 2008, §4.3),
and each like credited to the version that put the item there. With d_i the likes of the candidate minus those of the
active version in duel i, the candidate is adopted once the mean of d lies above zero, and dropped once it lies below,
by a confidence sequence that holds at all n together (Waudby-Smith et al. 2024, Theorem 2.2)::

    |mean(d)| > s sqrt(2 (nρ² + 1) / (n²ρ²) · log(sqrt(nρ² + 1) / α))

so one may look after every click. The i-th candidate of a collection is given α_i = α / (i (i + 1)), which sum to α.
"""

import json
import math
import secrets
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian.service.errors import SpaceError, Unknown
from gramian.service.snapshot import Builder
from gramian.service.writer import Draft

ALPHA = 0.1
"""Probability of any wrong verdict, over all candidates of a collection: half of it are wrong adoptions."""
SHARPEST = 50
"""Number of duels at which the bound is tightest."""
FEWEST = 10
"""Duels before a verdict."""
MOST = 1000
"""Duels after which a candidate that neither won nor lost steps back."""


@dataclass(frozen=True)
class Duel:
    """One interleaved answer: the items in their order, and for each the version that put it there."""

    id: str
    version: int
    against: int
    ids: list[int]
    teams: list[int]


def interleave(
    version: int, ranking: Sequence[int], against: int, other: Sequence[int], k: int, rng: np.random.Generator
) -> Duel:
    """Team draft: in each round a coin says who picks first, and each picks its best item that is not yet there."""
    ids: list[int] = []
    teams: list[int] = []
    rankings = {version: list(ranking), against: list(other)}
    while len(ids) < k and any(rankings.values()):
        order = (version, against) if rng.random() < 0.5 else (against, version)
        for team in order:
            rest = [i for i in rankings[team] if i not in ids]
            rankings[team] = rest[1:]
            if rest and len(ids) < k:
                ids.append(int(rest[0]))
                teams.append(team)
    return Duel(secrets.token_hex(8), version, against, ids, teams)


@dataclass(frozen=True)
class Record:
    """Duels of a candidate against one version; ``differences`` has an entry for each duel with a click."""

    version: int
    against: int
    likes: int
    likes_against: int
    differences: np.ndarray

    @property
    def mean(self) -> float:
        """Likes of the candidate above those of the other, per duel."""
        return float(self.differences.mean()) if len(self.differences) else 0.0

    @property
    def spread(self) -> float:
        """Standard deviation of the differences, never zero."""
        n = len(self.differences)
        return math.sqrt(max(float(self.differences.var(ddof=1)), 1 / n)) if n > 1 else 1.0

    def summary(self) -> dict[str, Any]:
        """The record in plain numbers."""
        n = len(self.differences)
        error = self.spread / math.sqrt(n) if n > 1 else None
        likes = {"likes": self.likes, "likes_against": self.likes_against}
        return {"against": self.against, "queries": n, **likes, "difference": self.mean, "error": error}


def verdict(record: Record, tries: int) -> str | None:
    """``"adopted"``, ``"lost"``, ``"undecided"`` after too many duels, or None: go on."""
    n = len(record.differences)
    if n < FEWEST:
        return None
    if abs(record.mean) > bound(n, record.spread, ALPHA / (tries * (tries + 1))):
        return "adopted" if record.mean > 0 else "lost"
    return "undecided" if n >= MOST else None


def bound(n: int, spread: float, alpha: float) -> float:
    """Half the width of the confidence sequence after n duels."""
    quantile = -2 * math.log(alpha)
    rho2 = (quantile + math.log(quantile + 1)) / SHARPEST
    grown = n * rho2 + 1
    return spread * math.sqrt(2 * grown / (n * n * rho2) * math.log(math.sqrt(grown) / alpha))


def tries(db: sqlite3.Connection, collection: int) -> int:
    """Candidates of a collection that have dueled, the present one included."""
    rows = db.execute("SELECT count(DISTINCT version) FROM duels WHERE collection = ?", (collection,))
    return max(1, rows.fetchone()[0])


def team_of(db: sqlite3.Connection, collection: int, duel: str, item: int) -> int:
    """The version that put an item into a duel."""
    row = db.execute("SELECT * FROM duels WHERE id = ? AND collection = ?", (duel, collection)).fetchone()
    if row is None:
        raise Unknown(f"Space: no duel {duel!r:.80}.")
    ids = np.frombuffer(row["ids"], np.int64)
    if item not in ids:
        raise SpaceError(f"Space: item must be one that duel {duel!r} showed, got {item}.")
    return int(np.frombuffer(row["teams"], np.int64)[ids == item][0])


def record(db: sqlite3.Connection, collection: int, version: int, against: int) -> Record:
    """Live likes in the duels of two versions; of several clicks on one item in one duel the last counts."""
    rows = db.execute(
        """
        SELECT sum(liked AND team = ?2) AS won, sum(liked AND team = ?3) AS lost FROM (
          SELECT f.duel, f.liked, f.team, max(f.seq) FROM duels d JOIN feedback f ON f.duel = d.id
          WHERE d.collection = ?1 AND d.version = ?2 AND d.against = ?3 AND f.undone IS NULL
          GROUP BY f.duel, f.item
        ) GROUP BY duel
        """,
        (collection, version, against),
    ).fetchall()
    won = np.array([row["won"] for row in rows], float)
    lost = np.array([row["lost"] for row in rows], float)
    return Record(version, against, int(won.sum()), int(lost.sum()), won - lost)


def challenge(draft: Draft, row: sqlite3.Row, number: int) -> None:
    """Let a version be the candidate of a collection; one that was waiting steps back."""
    if row["candidate"] is not None:
        set_status(draft, row, row["candidate"], "superseded")
    use(draft, row, row["active"], number)


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
    """Adopt the candidate when its duels say so beyond their error, drop it when they say the contrary."""
    row = draft.collection(name)
    if row["candidate"] is None:
        return
    fights = record(draft.db, row["number"], row["candidate"], row["active"])
    decision = verdict(fights, tries(draft.db, row["number"]))
    if decision is None:
        return
    draft.event("verdict", {"version": row["candidate"], "verdict": decision, "duels": fights.summary()}, name)
    set_status(draft, row, row["candidate"], decision)
    use(draft, row, row["candidate"] if decision == "adopted" else row["active"], None)


def judge_again(draft: Draft, name: str, duel: str) -> None:
    """After a click of a duel was undone: what it decided stands only where the other clicks decide the same."""
    row = draft.collection(name)
    sides = draft.db.execute("SELECT version, against FROM duels WHERE id = ?", (duel,)).fetchone()
    if row["candidate"] == sides["version"]:
        judge(draft, name)
        return
    text = """
      SELECT op, data FROM events WHERE collection = ? AND op IN ('verdict', 'version', 'activate')
      ORDER BY seq DESC LIMIT 1
    """
    last = draft.db.execute(text, (name,)).fetchone()
    data = json.loads(last["data"])
    if last["op"] != "verdict" or data["version"] != sides["version"] or data["verdict"] == "withdrawn":
        return
    fights = record(draft.db, row["number"], sides["version"], sides["against"])
    if verdict(fights, tries(draft.db, row["number"])) == data["verdict"]:
        return
    draft.event("verdict", {"version": sides["version"], "verdict": "withdrawn", "duels": fights.summary()}, name)
    set_status(draft, row, sides["version"], "candidate")
    use(draft, row, sides["against"], sides["version"])
