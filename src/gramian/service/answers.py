"""Questions to a collection: nearest items under a version, ranked items after clicks, filtered by meta."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian import _validate
from gramian.service import query_model
from gramian.service.errors import SpaceError
from gramian.service.meta import Fields, Texts, metas
from gramian.service.query_model import Cloud, Examples, Norms
from gramian.service.snapshot import Collection, Version
from gramian.service.vectors import Vectors

MOST_K = 1000
"""Results of one query, and neighbors that are compared."""
MOST_CLICKS = 1000
"""Likes, and dislikes, of one query."""
MOST_INDEXES = 2
"""Indexes of versions that are not in use which are kept for a while."""
MOST_TOGETHER = 16
"""Questions of one pass."""
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

    @classmethod
    def of(
        cls, view: Collection, x: Any, id: Any, k: Any, likes: Any, dislikes: Any, where: Any, unseen: bool
    ) -> "Question":
        """A question at the door: checked."""
        k = _validate.number(k, "Space", "k", low=1, high=MOST_K, integer=True)
        if x is not None and id is not None:
            raise SpaceError("Space: a query must have x or id, got both.")
        for word, clicked in (("likes", likes), ("dislikes", dislikes)):
            if len(clicked) > MOST_CLICKS:
                raise SpaceError(f"Space: {word} must be at most {MOST_CLICKS} ids, got {len(clicked)}.")
        point = None
        if id is not None:
            point = view.points([one_id(id, "id")])[0]
        elif x is not None:
            point = one_point(x, view, "x")
        liked, disliked = (
            tuple(one_id(i, word) for i in ids) for word, ids in (("likes", likes), ("dislikes", dislikes))
        )
        return cls(point, k, id, liked, disliked, where, unseen)

    @property
    def clicked(self) -> bool:
        """Whether it comes with clicks."""
        return bool(self.likes or self.dislikes)

    def judged(self, view: Collection) -> tuple[np.ndarray, np.ndarray]:
        """Points that should be near and far: what is asked for with what is liked, and what is disliked."""
        wanted, unwanted = view.points(self.likes), view.points(self.dislikes)
        if self.x is not None:
            wanted = np.concatenate([self.x[None], wanted])
        if len(wanted) == 0:
            raise SpaceError("Space: a query with dislikes alone must have x, id or likes, got none of them.")
        return wanted, unwanted

    def barred(self, view: Collection) -> np.ndarray:
        """Positions of the items that are left out."""
        ids = [] if self.own is None else [self.own]
        ids += [*self.likes, *self.dislikes] if self.unseen else []
        return np.unique(np.searchsorted(view.ids, ids))


def one_id(value: Any, name: str) -> int:
    """A number that can be the id of an item."""
    return _validate.number(value, "Space", name, low=-(2**63), high=2**63 - 1, integer=True)


def one_point(x: Any, view: Collection, name: str) -> np.ndarray:
    """A vector of the width of a collection, whose squares are finite."""
    point = _validate.vector(x, "Space", name, view.n_features)
    return _validate.points(point[None], "Space", name=name)[0]


class Asker:
    """Answers questions about snapshots; what it keeps is only for speed.

    Attributes
    ----------
    fields : Fields
        Meta as columns.
    texts : Texts
        Search by words.
    """

    def __init__(self) -> None:
        self.fields = Fields()
        self.texts = Texts()
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

    def reply(self, view: Collection, version: Version, question: Question) -> dict[str, Any]:
        """The answer in plain data."""
        ids, values = self.answer(view, version, question)
        word = "score" if question.clicked else "sqdist"
        return {"ids": ids.tolist(), word: values.tolist(), "meta": metas(view, ids), "version": version.number}

    def answer(self, view: Collection, version: Version, question: Question) -> tuple[np.ndarray, np.ndarray]:
        """Ids of the best items and their squared distances, or scores when there are clicks."""
        if question.clicked:
            return self._ranked(view, version, question)
        if question.x is None:
            raise SpaceError("Space: a query must have x, id or likes, got none of them.")
        return self._nearest(view, version, question, question.x)

    def neighbors(self, view: Collection, version: Version, ids: np.ndarray, k: int) -> list[list[int]]:
        """The k nearest other items of some items."""
        if len(view.ids) == 0:
            return []
        listed, _ = self.index(view, version).query(view.points(ids), k + 1 + len(view.hidden))
        return [
            [i for i in row if i != o and i not in view.hidden][:k] for row, o in zip(listed.tolist(), ids.tolist())
        ]

    def index(self, view: Collection, version: Version) -> Any:
        """The index of a version; that of one which is not in use is built and kept for a while."""
        if version.number in view.indexes:
            return view.indexes[version.number]
        key = (view.number, version.number, view.revision)
        with self._maker("index", view.number, version.number):
            index = self._indexes.get(key)
            if index is None:
                index = view.build_index(version.metric)
                with self._lock:
                    recent = list(self._indexes.items())[-(MOST_INDEXES - 1) :]
                    self._indexes = dict([*recent, (key, index)])
            return index

    def cloud(self, view: Collection, version: Version) -> Cloud:
        """How the items lie under a version."""
        key = (view.number, version.number)
        with self._maker("cloud", *key):
            revision, cloud = self._clouds.get(key, (None, None))
            if revision != view.revision or cloud is None:
                cloud = Cloud.of(view, version.metric)
                self._clouds[key] = (view.revision, cloud)
            return cloud

    def norms(self, view: Collection, version: Version) -> Norms:
        """Squared distances of every row from one point, computed once for each row."""
        key = (view.number, version.number)
        with self._maker("norms", *key):
            norms = self._norms.get(key) or Norms(self.cloud(view, version).center, np.zeros(0, np.float32))
            if len(norms.values) < len(view.vectors):
                norms = norms.extended(view, version.metric)
                with self._lock:
                    used = {k: v for k, v in self._norms.items() if k[0] != view.number or k[1] in view.in_use}
                    self._norms = {**used, key: norms}
            return norms

    def _nearest(
        self, view: Collection, version: Version, question: Question, x: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Nearest items through the index, of those that match and without the question's own."""
        mask = None if question.where is None else self.fields.matching(view, question.where)
        if mask is not None and question.own is not None:
            mask &= view.ids != question.own
        if len(view.ids) == 0 or (mask is not None and not mask.any()):
            return np.zeros(0, np.int64), np.zeros(0)
        index = self.index(view, version)
        if mask is not None:
            ids, values = index.query(x[None], question.k, within=view.ids[mask])
            return ids[0], values[0]
        out = sorted(view.hidden) + ([question.own] if question.own is not None else [])
        ids, sqdist = self._together(neighbors, view).ask((index, x, question.k + len(out)))
        stay = ~np.isin(ids, out)
        return ids[stay][: question.k], sqdist[stay][: question.k]

    def _ranked(self, view: Collection, version: Version, question: Question) -> tuple[np.ndarray, np.ndarray]:
        examples = Examples.of(view, self.cloud(view, version), *question.judged(view))
        out = question.barred(view)
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
        norms, scout = self.norms(view, version), query_model.fit_scout(examples)
        product = self._together(products, view).ask((view.vectors, scout.product(norms.origin)))
        scores = scout.scores(view, norms, product)
        scores[out] = -np.inf
        return highest(scores, LISTED)

    def _together(self, work: Any, view: Collection) -> "Together":
        with self._lock:
            return self._passes.setdefault((work, view.number), Together(work))


class Together:
    """Lets one of those who ask at the same time work for all of them.

    A pass over a million vectors reads all of their memory, for several questions as for one. So whoever finds no pass
    under way begins one at once, and all who come meanwhile are served by the next: nobody waits for more
    than the present pass and their own, unless more than ``MOST_TOGETHER`` wait.

    Parameters
    ----------
    work : function of a list of questions → a list of answers
    """

    def __init__(self, work: Callable[[list[Any]], list[Any]]) -> None:
        self.work = work
        self._working = threading.Lock()
        self._list = threading.Lock()
        self._waiting: list[tuple[Any, Future]] = []

    def ask(self, question: Any) -> Any:
        """The answer to a question, by this thread or another."""
        future: Future = Future()
        with self._list:
            self._waiting.append((question, future))
        while not future.done():
            with self._working:
                if not future.done():
                    self._serve()
        return future.result()

    def _serve(self) -> None:
        with self._list:
            served, self._waiting = self._waiting[:MOST_TOGETHER], self._waiting[MOST_TOGETHER:]
        try:
            answers = self.work([question for question, _ in served])
        except Exception as error:
            for _, future in served:
                future.set_exception(error)
            return
        for (_, future), answer in zip(served, answers, strict=True):
            future.set_result(answer)


def neighbors(questions: list[tuple[Any, np.ndarray, int]]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Answers of indexes to (index, point, k); those to one index by one pass."""
    answers: list[Any] = [None] * len(questions)
    for index, places in by_owner(questions):
        X = np.stack([questions[i][1] for i in places])  # (q, d)
        ids, sqdist = index.query(X, max(questions[i][2] for i in places))
        for i, row, values in zip(places, ids, sqdist):
            answers[i] = row[: questions[i][2]], values[: questions[i][2]]
    return answers


def products(questions: list[tuple[Vectors, np.ndarray]]) -> list[np.ndarray]:
    """Inner products of all rows with w for (vectors, w); those of one collection by one pass."""
    answers: list[Any] = [None] * len(questions)
    for vectors, places in by_owner(questions):
        columns = vectors.product(np.column_stack([questions[i][1] for i in places]))  # (n, q)
        for i, column in zip(places, columns.T):
            answers[i] = column
    return answers


def by_owner(questions: list[Any]) -> Iterator[tuple[Any, list[int]]]:
    """The objects that questions begin with, each with the places of its questions."""
    for owner in {id(question[0]): question[0] for question in questions}.values():
        yield owner, [i for i, question in enumerate(questions) if question[0] is owner]


def highest(scores: np.ndarray, k: int) -> np.ndarray:
    """Positions of the k highest scores, ascending.

    The k-th highest of the maxima of short blocks is a floor that at least k scores reach, and few more do.
    """
    block = max(SHORTEST, min(LONGEST, len(scores) // (4 * k)))
    tops = scores[: len(scores) // block * block].reshape(-1, block).max(axis=1)
    at = np.arange(len(scores))
    if k < len(tops):
        at = np.flatnonzero(scores >= np.partition(tops, -k)[-k])
    if k < len(at):
        at = np.sort(at[np.argpartition(-scores[at], k - 1)[:k]])
    return at
