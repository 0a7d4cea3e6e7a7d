"""What people said, as learners take it: the live clicks of a collection, and sums of them."""

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian.service.snapshot import Background, Collection

BATCH = 4096
"""Clicks that are read together, so that learning takes no more memory the more of them there are."""
CHUNK = 4096
"""Pairs in one product."""

CLICKED = 2
"""What the table of clicks holds in ``liked`` for a click without a judgment; 1 is a like, 0 a dislike."""
WEAK = 0.3
"""What a click without a judgment counts as a like, at the first place."""
PRIOR = 5.0
"""Clicks on each place of a pair that are taken for granted, so that few clicks say little about places."""

Judged = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Queries (m, d), items (m, d), whether they were liked (m,), and what each counts (m,)."""


class Scatter:
    """Σ v vᵀ over pair differences v, added up in the same chunks however they come in."""

    def __init__(self, n_features: int) -> None:
        self.n = 0.0
        self._total = np.zeros((n_features, n_features))
        self._rest = np.zeros((0, n_features))

    @classmethod
    def of(cls, V: np.ndarray) -> "Scatter":
        """Of the rows of V (m, d)."""
        return cls(V.shape[1]).add(V)

    def add(self, V: np.ndarray, weights: np.ndarray | None = None) -> "Scatter":
        """Take in the rows of V (m, d), each once or with a weight (m,)."""
        self.n += float(len(V) if weights is None else weights.sum())
        self._rest = np.concatenate([self._rest, V if weights is None else V * np.sqrt(weights)[:, None]])
        while len(self._rest) >= CHUNK:
            whole, self._rest = self._rest[:CHUNK], self._rest[CHUNK:]
            self._total += whole.T @ whole
        return self

    @property
    def mean(self) -> np.ndarray:
        """Mean of v vᵀ, (d, d); zero without pairs."""
        return (self._total + self._rest.T @ self._rest) / (self.n or 1.0)


@dataclass(frozen=True)
class Evidence:
    """Live clicks of a collection as sums, with the background, and the clicks themselves on demand."""

    likes: Scatter
    dislikes: Scatter
    background: Background
    through: int
    pairs: Callable[[], Judged]
    clicks: int | None = None
    view: Collection | None = None

    @property
    def n(self) -> int:
        """Number of clicks used."""
        return int(self.likes.n + self.dislikes.n) if self.clicks is None else self.clicks


def gather(db: sqlite3.Connection, view: Collection, through: int) -> Evidence:
    """The evidence of all live clicks up to an event: a function of them and of the items, whatever was undone."""
    likes, dislikes, n = Scatter(view.n_features), Scatter(view.n_features), 0
    for queries, items, liked, weights in judged(db, view, through):
        likes.add((queries - items)[liked], weights[liked])
        dislikes.add((queries - items)[~liked], weights[~liked])
        n += len(liked)

    def pairs() -> Judged:
        queries, items, liked, weights = zip(*judged(db, view, through), judgments([], view, np.ones(0)))
        return np.concatenate(queries), np.concatenate(items), np.concatenate(liked), np.concatenate(weights)

    return Evidence(likes, dislikes, view.background, through, pairs, n, view)


def n_live(db: sqlite3.Connection, view: Collection) -> int:
    """Number of clicks from which a version would be learned: not undone, on items that are all still there."""
    text = """
      SELECT count(*) FROM feedback f WHERE f.collection = ? AND f.undone IS NULL
      AND EXISTS (SELECT 1 FROM items WHERE collection = f.collection AND id = f.item)
      AND (f.query_id IS NULL OR EXISTS (SELECT 1 FROM items WHERE collection = f.collection AND id = f.query_id))
    """
    return db.execute(text, (view.number,)).fetchone()[0]


def judged(db: sqlite3.Connection, view: Collection, through: int) -> Iterator[Judged]:
    """Live clicks, as they were after an event, in their order."""
    text = """
      SELECT f.query_id, f.query_x, f.item, f.liked, CASE f.liked WHEN 2 THEN d.ids END AS ids,
        CASE WHEN f.duel IS NULL AND instr(e.data, '"weight"') THEN json_extract(e.data, '$.weight') END AS weight
      FROM feedback f JOIN events e ON e.seq = f.seq LEFT JOIN duels d ON d.id = f.duel
      WHERE f.collection = ?1 AND f.seq <= ?2 AND (f.undone IS NULL OR f.undone > ?2) ORDER BY f.seq
    """
    looks = propensities(db, view.number, through)
    clicks = db.execute(text, (view.number, through))
    while rows := clicks.fetchmany(BATCH):
        yield judgments(rows, view, looks)


def propensities(db: sqlite3.Connection, collection: int, through: int) -> np.ndarray:
    """How likely each place of a list is looked at, the first as 1, from clicks without a judgment.

    The coin of a duel says which item of a pair stands first, so in the long run both places of pairs hold equally good
    items, and the clicks on the one by those on the other are how much less the lower one is looked at.
    """
    text = """
      SELECT d.ids, d.teams, f.item FROM feedback f JOIN duels d ON d.id = f.duel
      WHERE f.collection = ?1 AND f.liked = 2 AND f.team >= 0 AND f.seq <= ?2 AND (f.undone IS NULL OR f.undone > ?2)
    """
    clicks: dict[int, list[int]] = {}
    for row in db.execute(text, (collection, through)):
        place = int(np.flatnonzero(np.frombuffer(row["ids"], np.int64) == row["item"])[0])
        alone = np.flatnonzero(np.frombuffer(row["teams"], np.int64) >= 0)  # pairs stand side by side
        lower = int(np.flatnonzero(alone == place)[0]) % 2
        clicks.setdefault(place - lower, [0, 0])[lower] += 1
    looks = [1.0]
    for place in range(max(clicks, default=-1) + 1):
        upper, below = clicks.get(place, (0, 0))
        looks.append(looks[-1] * min(1.0, (below + PRIOR) / (upper + PRIOR)))
    return np.array(looks)


def weight_of(row: Any, looks: np.ndarray) -> float:
    """What a click counts: its weight, or 1 with a judgment; else more, the less its place is looked at."""
    if row["liked"] != CLICKED:
        return 1.0 if row["weight"] is None else row["weight"]
    if row["ids"] is None:
        return WEAK
    place = int(np.flatnonzero(np.frombuffer(row["ids"], np.int64) == row["item"])[0])
    return float(min(1.0, WEAK / looks[min(place, len(looks) - 1)]))


def judgments(rows: list[Any], view: Collection, looks: np.ndarray) -> Judged:
    """Queries, items and judgments; clicks on items that are gone are left out."""
    items = view.known(np.array([row["item"] for row in rows], np.int64))
    queries = view.known(np.array([row["item"] if row["query_x"] else row["query_id"] for row in rows], np.int64))
    rows = [row for row, known in zip(rows, items & queries) if known]
    X = np.zeros((len(rows), view.n_features))  # (m, d)
    by_id = [i for i, row in enumerate(rows) if row["query_x"] is None]
    X[by_id] = view.points([rows[i]["query_id"] for i in by_id])
    for i, row in enumerate(rows):
        if row["query_x"] is not None:
            X[i] = np.frombuffer(row["query_x"], np.float64)
    weights = np.array([weight_of(row, looks) for row in rows])
    liked = np.array([bool(row["liked"]) for row in rows], bool)
    return X, view.points([row["item"] for row in rows]), liked, weights
