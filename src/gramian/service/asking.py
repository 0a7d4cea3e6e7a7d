"""Questions to a collection: nearest items under a version, ranked items after clicks, filtered by meta."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian.service import query_model, scout
from gramian.service.errors import SpaceError
from gramian.service.fields import Fields
from gramian.service.query_model import Cloud, Examples
from gramian.service.scout import Norms
from gramian.service.snapshot import Collection, Version
from gramian.service.together import Together
from gramian.service.vectors import Vectors

MOST_INDEXES = 2
"""Indexes of versions that are not in use which are kept for a while."""
SHORTEST, LONGEST = 16, 256
"""Scores whose maximum is looked at first."""
LISTED = 2048
"""Items that a query model ranks; of more a first pass finds the most promising."""


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
        self._passes: dict[tuple[Any, int], Together] = {}

    def warm(self, view: Collection) -> None:
        """Make beforehand what the first question with clicks would wait for, for all versions in use."""
        for number in sorted(view.in_use) if len(view.ids) else ():
            self.cloud(view, view.versions[number])
            if len(view.ids) > LISTED:
                self.norms(view, view.versions[number])

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
        index = self.index(view, version)
        if allowed is not None:
            ids, values = index.query(question.x[None], question.k, within=view.ids[allowed])  # type: ignore[index]
            return ids[0], values[0]
        out = sorted(view.hidden) + ([question.own] if question.own is not None else [])
        found, sqdist = self._together(neighbors, view).ask((index, question.x, question.k + len(out)))
        keep = ~np.isin(found, out)
        return found[keep][: question.k], sqdist[keep][: question.k]

    def _ranked(self, view: Collection, version: Version, question: Question) -> tuple[np.ndarray, np.ndarray]:
        near, far = judged(view, question)
        examples = Examples.of(view, self.cloud(view, version), near, far)
        out = barred(view, question)
        if question.where is not None:
            out = np.union1d(out, np.flatnonzero(~self.fields.matching(view, question.where)))
        at = self._listed(view, version, examples, out)
        if len(at) == 0:
            return np.zeros(0, np.int64), np.zeros(0)
        scores = query_model.fit(examples).scores(view.vectors.take(view.rows[at]).astype(np.float64))
        best = np.lexsort((view.ids[at], -scores))[: question.k]
        return view.ids[at][best], scores[best]

    def _listed(self, view: Collection, version: Version, examples: Examples, out: np.ndarray) -> np.ndarray:
        """Positions of the items that are ranked: all but those that are out, or the best of them by a first pass."""
        if len(view.ids) - len(out) <= LISTED:
            return np.delete(np.arange(len(view.ids)), out)
        norms, first = self.norms(view, version), scout.fit(examples)
        product = self._together(products, view).ask((view.vectors, first.product(norms.origin)))
        scores = first.scores(view, norms, product)
        scores[out] = -np.inf
        return highest(scores, LISTED)

    def _together(self, work: Any, view: Collection) -> Together:
        with self._lock:
            return self._passes.setdefault((work, view.number), Together(work))


def judged(view: Collection, question: Question) -> tuple[np.ndarray, np.ndarray]:
    """Points that should be near and far: what is asked for with what is liked, and what is disliked."""
    near, far = view.points(question.likes), view.points(question.dislikes)
    if question.x is not None:
        near = np.concatenate([question.x[None], near])
    if len(near) == 0:
        raise SpaceError("Space: a query with dislikes alone must have x, id or likes, got none of them.")
    return near, far


def barred(view: Collection, question: Question) -> np.ndarray:
    """Positions of the items that are left out."""
    ids = [] if question.own is None else [question.own]
    ids += [*question.likes, *question.dislikes] if question.unseen else []
    return np.unique(np.searchsorted(view.ids, ids))


def neighbors(asked: list[tuple[Any, np.ndarray, int]]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Answers of indexes to (index, point, k); those to one index by one pass."""
    answers: list[Any] = [None] * len(asked)
    for index, places in by_first(asked):
        ids, sqdist = index.query(np.stack([asked[i][1] for i in places]), max(asked[i][2] for i in places))
        for i, row, values in zip(places, ids, sqdist):
            answers[i] = row[: asked[i][2]], values[: asked[i][2]]
    return answers


def products(asked: list[tuple[Vectors, np.ndarray]]) -> list[np.ndarray]:
    """Inner products of all rows with w for (vectors, w); those of one collection by one pass."""
    answers: list[Any] = [None] * len(asked)
    for vectors, places in by_first(asked):
        found = vectors.product(np.column_stack([asked[i][1] for i in places]))
        for i, column in zip(places, found.T):
            answers[i] = column
    return answers


def by_first(asked: list[Any]) -> Iterator[tuple[Any, list[int]]]:
    """The objects that questions begin with, each with the places of its questions."""
    for one in {id(question[0]): question[0] for question in asked}.values():
        yield one, [i for i, question in enumerate(asked) if question[0] is one]


def highest(scores: np.ndarray, k: int) -> np.ndarray:
    """Positions of the k highest scores, ascending.

    The k-th highest of the maxima of short blocks is a floor that at least k scores reach, and few others do.
    """
    block = max(SHORTEST, min(LONGEST, len(scores) // (4 * k)))
    tops = scores[: len(scores) // block * block].reshape(-1, block).max(axis=1)
    at = np.arange(len(scores))
    if k < len(tops):
        at = np.flatnonzero(scores >= np.partition(tops, -k)[-k])
    if k < len(at):
        at = np.sort(at[np.argpartition(-scores[at], k - 1)[:k]])
    return at
