"""Questions to a collection: nearest items under a version, ranked items after clicks, filtered by meta."""

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian.service import query_model
from gramian.service.errors import SpaceError
from gramian.service.fields import Fields
from gramian.service.query_model import Cloud, Norms
from gramian.service.snapshot import Collection, Version

MOST_INDEXES = 2
"""Indexes of versions that are not in use which are kept for a while."""
BLOCK = 256
"""Scores whose maximum is looked at first."""
SPARE = 32
"""Items beyond the k best of a scan in single precision that are scored again in double."""


@dataclass(frozen=True)
class Question:
    """What is asked: a point, how many items, and which ones are left out."""

    x: np.ndarray | None
    k: int
    own: int | None = None
    likes: tuple[int, ...] = ()
    dislikes: tuple[int, ...] = ()
    where: dict[str, Any] | None = None
    unseen: bool = False


class Asker:
    """Answers questions about snapshots; what it keeps is only for speed."""

    def __init__(self) -> None:
        self.fields = Fields()
        self._lock = threading.Lock()
        self._making: dict[tuple, threading.Lock] = {}
        self._norms: dict[tuple[int, int], Norms] = {}
        self._clouds: dict[tuple[int, int], tuple[int, Cloud]] = {}
        self._indexes: dict[tuple[int, int, int], Any] = {}

    def warm(self, view: Collection) -> None:
        """Make beforehand what the first question with clicks would wait for, for all versions in use."""
        for number in sorted(view.in_use) if len(view.ids) else ():
            self.norms(view, view.versions[number])
            self.cloud(view, view.versions[number])

    def _maker(self, *key: Any) -> threading.Lock:
        """What those hold who make one thing, so that only those wait who need the same thing."""
        with self._lock:
            return self._making.setdefault(key, threading.Lock())

    def answer(self, view: Collection, version: Version, question: Question) -> tuple[np.ndarray, np.ndarray]:
        """Ids of the best items and their squared distances, or scores when there are clicks."""
        if question.likes or question.dislikes:
            return self._ranked(view, version, question)
        if question.x is None:
            raise SpaceError("Space: a query must have x, id or likes, got none of them.")
        return self._nearest(view, version, question)

    def index(self, view: Collection, version: Version) -> Any:
        """The index of a version; that of one which is not in use is built and kept for a while."""
        if version.number in view.indexes:
            return view.indexes[version.number]
        key = (view.number, version.number, view.revision)
        with self._maker("index", view.number, version.number):
            found = self._indexes.get(key)
            if found is None:
                found = view.build_index(version.metric)
                with self._lock:
                    others = list(self._indexes.items())[-(MOST_INDEXES - 1) :]
                    self._indexes = dict([*others, (key, found)])
            return found

    def cloud(self, view: Collection, version: Version) -> Cloud:
        """How the items lie under a version."""
        key = (view.number, version.number)
        with self._maker("cloud", *key):
            revision, found = self._clouds.get(key, (None, None))
            if revision != view.revision or found is None:
                found = Cloud.of(view, version.metric)
                self._clouds[key] = (view.revision, found)
            return found

    def norms(self, view: Collection, version: Version) -> Norms:
        """Squared distances of every row from one point, computed once for each row."""
        key = (view.number, version.number)
        with self._maker("norms", *key):
            known = self._norms.get(key) or Norms(self.cloud(view, version).center, np.zeros(0, np.float32))
            if len(known.values) < len(view.vectors):
                known = known.extended(view, version.metric)
                with self._lock:
                    kept = {k: v for k, v in self._norms.items() if k[0] != view.number or k[1] in view.in_use}
                    self._norms = {**kept, key: known}
            return known

    def _nearest(self, view: Collection, version: Version, question: Question) -> tuple[np.ndarray, np.ndarray]:
        """Nearest items through the index, of those that match and without the question's own."""
        allowed = None if question.where is None else self.fields.matching(view, question.where)
        if allowed is not None and question.own is not None:
            allowed &= view.ids != question.own
        if len(view.ids) == 0 or (allowed is not None and not allowed.any()):
            return np.zeros(0, np.int64), np.zeros(0)
        if allowed is not None:
            X, within, out = question.x[None], view.ids[allowed], []  # type: ignore[index]
        else:
            X, within, out = question.x[None], None, sorted(view.hidden)  # type: ignore[index]
            out += [question.own] if question.own is not None else []
        found, sqdist = self.index(view, version).query(X, question.k + len(out), within=within)
        keep = ~np.isin(found[0], out)
        return found[0][keep][: question.k], sqdist[0][keep][: question.k]

    def _ranked(self, view: Collection, version: Version, question: Question) -> tuple[np.ndarray, np.ndarray]:
        near, far = view.points(question.likes), view.points(question.dislikes)
        if question.x is not None:
            near = np.concatenate([question.x[None], near])
        if len(near) == 0:
            raise SpaceError("Space: a query with dislikes alone must have x, id or likes, got none of them.")
        model = query_model.fit(view, version.metric, self.cloud(view, version), near, far)
        scores = model.scores(view, self.norms(view, version))
        barred = [] if question.own is None else [question.own]
        barred += [*question.likes, *question.dislikes] if question.unseen else []
        scores[np.searchsorted(view.ids, barred)] = -np.inf
        if question.where is not None:
            scores[~self.fields.matching(view, question.where)] = -np.inf
        at = highest(scores, question.k + SPARE)
        at = at[scores[at] > -np.inf]
        if len(at) == 0:
            return np.zeros(0, np.int64), np.zeros(0)
        exact = model.exact(view.vectors.take(view.rows[at]).astype(np.float64))
        ids, negated = _sorted(view.ids[at], -exact, question.k)
        return ids, -negated


def highest(scores: np.ndarray, k: int) -> np.ndarray:
    """Positions of the k highest scores, ascending.

    The k-th highest of the maxima of short blocks is a floor that at least k scores reach, and few others do.
    """
    tops = scores[: len(scores) // BLOCK * BLOCK].reshape(-1, BLOCK).max(axis=1)
    at = np.arange(len(scores))
    if k < len(tops):
        at = np.flatnonzero(scores >= np.partition(tops, -k)[-k])
    if k < len(at):
        at = np.sort(at[np.argpartition(-scores[at], k - 1)[:k]])
    return at


def _sorted(ids: np.ndarray, values: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k smallest values with their ids, ties by id."""
    order = np.lexsort((ids, values))[:k]
    return ids[order], values[order]
