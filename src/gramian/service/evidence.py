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

Judged = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Queries (m, d), items (m, d), and whether they were liked (m,)."""


class Scatter:
    """Σ v vᵀ over pair differences v, added up in the same chunks however they come in."""

    def __init__(self, n_features: int) -> None:
        self.n = 0
        self._total = np.zeros((n_features, n_features))
        self._rest = np.zeros((0, n_features))

    @classmethod
    def of(cls, V: np.ndarray) -> "Scatter":
        """Of the rows of V (m, d)."""
        return cls(V.shape[1]).add(V)

    def add(self, V: np.ndarray) -> "Scatter":
        """Take in the rows of V (m, d)."""
        self.n += len(V)
        self._rest = np.concatenate([self._rest, V])
        while len(self._rest) >= CHUNK:
            whole, self._rest = self._rest[:CHUNK], self._rest[CHUNK:]
            self._total += whole.T @ whole
        return self

    @property
    def mean(self) -> np.ndarray:
        """Mean of v vᵀ, (d, d); zero without pairs."""
        return (self._total + self._rest.T @ self._rest) / max(self.n, 1)


@dataclass(frozen=True)
class Evidence:
    """Live clicks of a collection as sums, with the background, and the clicks themselves on demand."""

    likes: Scatter
    dislikes: Scatter
    background: Background
    through: int
    pairs: Callable[[], Judged]

    @property
    def n(self) -> int:
        """Number of clicks used."""
        return self.likes.n + self.dislikes.n


def gather(db: sqlite3.Connection, view: Collection, through: int) -> Evidence:
    """The evidence of all live clicks up to an event: a function of them and of the items, whatever was undone."""
    likes, dislikes = Scatter(view.n_features), Scatter(view.n_features)
    for queries, items, liked in judged(db, view, through):
        likes.add((queries - items)[liked])
        dislikes.add((queries - items)[~liked])

    def pairs() -> Judged:
        queries, items, liked = zip(*judged(db, view, through), judgments([], view))
        return np.concatenate(queries), np.concatenate(items), np.concatenate(liked)

    return Evidence(likes, dislikes, view.background, through, pairs)


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
      SELECT query_id, query_x, item, liked FROM feedback
      WHERE collection = ? AND seq <= ? AND (undone IS NULL OR undone > ?) ORDER BY seq
    """
    clicks = db.execute(text, (view.number, through, through))
    while rows := clicks.fetchmany(BATCH):
        yield judgments(rows, view)


def judgments(rows: list[Any], view: Collection) -> Judged:
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
    return X, view.points([row["item"] for row in rows]), np.array([bool(row["liked"]) for row in rows], bool)
