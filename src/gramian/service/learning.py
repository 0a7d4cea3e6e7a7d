r"""From clicks to a metric for every new query.

A like says that a query q and an item x belong together, a dislike that they do not although the item was near enough
to be shown. With B the scatter of random pairs of items, and a little of the identity where they span little, the
candidate is the geometric mean metric (Zadeh et al. 2016) of the two scatters, both anchored to B::

    S = (n₊ S₊ + n₀ s B) / (n₊ + n₀)        D = ¾ (n₋ D₋ + n₀ s B) / (n₋ + n₀) + ¼ s B        M = S⁻¹ ♯ D

where S₊ and D₋ are the mean scatters of liked and disliked pairs, scaled to the trace s tr B of S₊. Without clicks
S = D, and M is a multiple of the identity: the plain features. The evidence of n₀ clicks counts as much as
the anchor. Everything is a function of the live clicks and the items alone; nothing is drawn at random.
"""

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gramian import linalg
from gramian.metrics import Mahalanobis, Metric
from gramian.service.errors import Conflict, SpaceError
from gramian.service.snapshot import Collection
from gramian.service.sums import PairSums

ANCHOR = 50
"""n₀, clicks that weigh as much as the plain features; chosen on tasks of their own (benchmarks/serve)."""
BACKGROUND = 0.25
"""Share of random pairs among those that shall be far."""
RIDGE = 1e-5
"""Part of the mean variance that B gets in every direction: S½ D S½ has the square of it, far above rounding."""
SAMPLE = 20_000
"""Items from which the background of a metric is computed."""
MOST_LEARNED = 2048
"""Widest vectors for which a d × d matrix is learned."""
BATCH = 4096
"""Clicks that are read together."""

Judged = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Queries, items, and whether they were liked."""


@dataclass(frozen=True)
class Background:
    """How the items lie, whatever people say: center, scatter of random pairs, and the scale of both."""

    center: np.ndarray
    scatter: np.ndarray

    @classmethod
    def of(cls, view: Collection) -> "Background":
        """Of the items of a collection, at most ``SAMPLE`` of them, evenly spaced by id."""
        X = view.points(view.ids[linalg.spread(len(view.ids), SAMPLE)])
        center = X.mean(axis=0) if len(X) else np.zeros(view.n_features)
        X -= center
        return cls(center, 2 * X.T @ X / max(len(X), 1))

    @property
    def size(self) -> float:
        """Mean squared distance of two random items."""
        return float(np.trace(self.scatter))


@dataclass(frozen=True)
class Evidence:
    """Live clicks of a collection as sums, with the background, and the clicks themselves on demand."""

    likes: PairSums
    dislikes: PairSums
    background: Background
    through: int
    pairs: Callable[[], Judged]

    @property
    def n(self) -> int:
        """Number of clicks used."""
        return self.likes.n + self.dislikes.n


def gmml(evidence: Evidence) -> Metric:
    """The anchored geometric mean metric, scaled so that random pairs keep their mean squared distance."""
    from gramian.learners.gmml import geodesic

    background = evidence.background
    d = len(background.center)
    B = background.scatter + RIDGE * background.size / d * np.eye(d)
    near = _anchored(evidence.likes, B)
    far = (1 - BACKGROUND) * _anchored(evidence.dislikes, B) + BACKGROUND * B
    M = geodesic(near, far, 0.5)
    return _metric(M * (background.size / float((M * background.scatter).sum())))


def _metric(M: np.ndarray) -> Metric:
    """The metric of M projected on the cone: rounding leaves eigenvalues just below zero where items span little."""
    return Mahalanobis(linalg.psd_sqrt(M))


def _anchored(sums: PairSums, B: np.ndarray) -> np.ndarray:
    """(n S + n₀ B) / (n + n₀) with S scaled to the trace of B."""
    S = sums.mean
    size = np.trace(S)
    S = S * (np.trace(B) / size) if size > 0 else B
    return (sums.n * S + ANCHOR * B) / (sums.n + ANCHOR)


def lego(evidence: Evidence) -> Metric:
    """LEGO along the clicks: liked pairs within 0.3, disliked ones beyond 1.0 of the mean squared distance."""
    from gramian.online import LEGO

    left, right, liked = evidence.pairs()
    unit = np.sqrt(evidence.background.size)
    learner = LEGO(eta="auto").start(left.shape[1])
    for u, v, like in zip(left / unit, right / unit, liked):
        learner.learn_one(u, v, 0.3 if like else 1.0, "at_most" if like else "at_least")
    return _metric(learner.metric_.matrix)


def automatic(evidence: Evidence) -> Metric:
    """AutoMetric on the clicks as pairs: the best of its candidates on held-out clicks, or the plain features."""
    from gramian.learners import AutoMetric

    left, right, liked = evidence.pairs()
    if liked.all() or not liked.any():
        raise Conflict("Space: the learner 'auto' needs likes and dislikes; click on more items first.")
    learner = AutoMetric(normalize=False, random_state=0)
    learner.fit(np.stack([left, right], axis=1), np.where(liked, 1, -1))
    return _metric(learner.metric_.matrix)


LEARNERS: dict[str, Callable[[Evidence], Metric]] = {"gmml": gmml, "lego": lego, "auto": automatic}
"""Learners by name: a function from the evidence to a metric on the features."""


def named_learner(name: str) -> str:
    """The name of a learner, which must be one of those there are."""
    if name not in LEARNERS:
        raise SpaceError(f"Space: learner must be one of {', '.join(LEARNERS)}, got {name!r:.80}.")
    return name


def learn(name: str, evidence: Evidence) -> Metric:
    """Learn a metric with the learner of a name."""
    named_learner(name)
    if evidence.n == 0:
        raise Conflict("Space: there is no live feedback to learn from; like or dislike some items first.")
    if len(evidence.background.center) > MOST_LEARNED:
        raise Conflict(f"Space: a metric is learned for at most {MOST_LEARNED} features; reduce the vectors first.")
    if evidence.background.size == 0:
        raise Conflict("Space: all items are at one place, there is nothing to learn.")
    return LEARNERS[name](evidence)


class Clicks:
    """The evidence of one collection, kept up to date click by click.

    Only what came since the last time is read and added, and what was undone since is subtracted; when items were
    changed or the sums need another grid, everything is counted anew, with the same result.
    """

    def __init__(self) -> None:
        self._through = 0
        self._revision = -1
        self._sums: dict[bool, PairSums] = {}
        self._background: Background | None = None

    def evidence(self, db: sqlite3.Connection, view: Collection, through: int) -> Evidence:
        """The evidence of all live clicks up to an event."""
        same = self._background is not None and self._revision == view.revision
        if not (same and self._advance(db, view, through)):
            self._begin(db, view, through)
        self._through = through
        assert self._background is not None
        likes, dislikes = self._sums[True], self._sums[False]
        return Evidence(likes, dislikes, self._background, through, lambda: _together(_live(db, view, through), view))

    def _begin(self, db: sqlite3.Connection, view: Collection, through: int) -> None:
        self._background = Background.of(view)
        self._revision = view.revision

        def differences(like: bool) -> Iterator[np.ndarray]:
            for left, right, liked in _live(db, view, through):
                yield (left - right)[liked == like]

        self._sums = {like: PairSums.of_batches(partial(differences, like), view.n_features) for like in (True, False)}

    def _advance(self, db: sqlite3.Connection, view: Collection, through: int) -> bool:
        new = _clicks(db, view, "seq > ? AND seq <= ? AND undone IS NULL", (self._through, through))
        gone = _clicks(db, view, "seq <= ? AND undone > ? AND undone <= ?", (self._through, self._through, through))
        for clicks, forget in ((new, False), (gone, True)):
            for left, right, liked in clicks:
                for like, sums in self._sums.items():
                    V = (left - right)[liked == like]
                    if not (sums.forget(V) if forget else sums.add(V)):
                        return False
        return True


def _live(db: sqlite3.Connection, view: Collection, through: int) -> Iterator[Judged]:
    return _clicks(db, view, "seq <= ? AND (undone IS NULL OR undone > ?)", (through, through))


def n_live(db: sqlite3.Connection, view: Collection) -> int:
    """Number of clicks from which a version would be learned: not undone, on items that are all still there."""
    text = """
      SELECT count(*) FROM feedback f WHERE f.collection = ? AND f.undone IS NULL
      AND EXISTS (SELECT 1 FROM items WHERE collection = f.collection AND id = f.item)
      AND (f.query_id IS NULL OR EXISTS (SELECT 1 FROM items WHERE collection = f.collection AND id = f.query_id))
    """
    return db.execute(text, (view.number,)).fetchone()[0]


def _clicks(db: sqlite3.Connection, view: Collection, where: str, values: tuple[int, ...]) -> Iterator[Judged]:
    """Clicks, some at a time, so that learning takes no more memory the more of them there are."""
    text = f"SELECT query_id, query_x, item, liked FROM feedback WHERE collection = ? AND {where} ORDER BY seq"
    found = db.execute(text, (view.number, *values))
    while rows := found.fetchmany(BATCH):
        yield _pairs(rows, view)


def _together(batches: Iterator[Judged], view: Collection) -> Judged:
    """All clicks in memory."""
    left, right, liked = zip(*batches, _pairs([], view))
    return np.concatenate(left), np.concatenate(right), np.concatenate(liked)


def _pairs(rows: list[Any], view: Collection) -> Judged:
    """Queries, items and judgments; clicks on items that are gone are left out."""
    there = view.known(np.array([row["item"] for row in rows], np.int64))
    asked = view.known(np.array([row["item"] if row["query_x"] else row["query_id"] for row in rows], np.int64))
    rows = [row for row, known in zip(rows, there & asked) if known]
    left = np.zeros((len(rows), view.n_features))
    by_id = [i for i, row in enumerate(rows) if row["query_x"] is None]
    left[by_id] = view.points([rows[i]["query_id"] for i in by_id])
    for i, row in enumerate(rows):
        if row["query_x"] is not None:
            left[i] = np.frombuffer(row["query_x"], np.float64)
    right = view.points([row["item"] for row in rows])
    return left, right, np.array([bool(row["liked"]) for row in rows], bool)
