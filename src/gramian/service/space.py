"""A space: collections of items that learn from clicks, in one folder, with or without HTTP in front."""

import os
from collections.abc import Callable, Container, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

import numpy as np

from gramian import _checks, _parameters
from gramian.service import adding, changes, maps, querying, reports, teaching, versions
from gramian.service.asking import Asker
from gramian.service.changes import Request
from gramian.service.draft import Draft
from gramian.service.learning import named_learner
from gramian.service.querying import one_id, one_point
from gramian.service.snapshot import Collection, Snapshot
from gramian.service.store import Store
from gramian.service.upkeep import Upkeep
from gramian.service.words import WORDS
from gramian.service.writer import Writer


@_parameters.checked_methods(**WORDS)
class Space:
    """Collections of vectors that answer by similarity and learn it from clicks, durable in a folder.

    Every change is an event with a number, and its method returns once the event is on disk. Readers see one
    immutable snapshot, so all methods may be called from any thread. One process may have a folder open.

    Parameters
    ----------
    folder : path
        Made when it is not there.
    learning : bool
        Whether candidates are learned in the background as clicks come; :meth:`learn` does it on demand.
    learner : {"gmml", "lego", "auto"}
        What learns them: the anchored geometric mean of ``gramian.service.learning``, LEGO along the clicks,
        or AutoMetric, which takes the best of many learners on held-out clicks.

    Attributes
    ----------
    snapshot : Snapshot
        What is durable.

    Examples
    --------
    >>> import gramian as gm, tempfile
    >>> space = gm.service.Space(tempfile.mkdtemp(), learning=False)
    >>> space.create("fruit", n_features=2)["seq"]
    1
    >>> space.add("fruit", [[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], ids=[7, 8, 9])["seq"]
    2
    >>> space.query("fruit", id=7, k=2)["ids"]
    [8, 9]
    >>> seq = space.feedback("fruit", query=7, item=9, like=True)["seq"]
    >>> space.undo("fruit", seq)["seq"]
    4
    >>> space.close()
    """

    def __init__(self, folder: str | os.PathLike, *, learning: bool = True, learner: str = "gmml") -> None:
        self.learner = named_learner(learner)
        self.store = Store(folder)
        self._closed = False
        try:
            self._writer = Writer(self.store)
            self.asker = Asker()
            self.teacher = versions.Teacher(self)
            self._upkeep = Upkeep(self, learning)
        except BaseException:
            self.store.close()
            raise

    @property
    def snapshot(self) -> Snapshot:
        """What is durable, as one immutable value."""
        return self._writer.snapshot

    @property
    def alive(self) -> bool:
        """Whether changes are taken."""
        return self._writer.alive

    @property
    def seq(self) -> int:
        """Number of the last event."""
        return self.snapshot.seq

    def collection(self, name: str) -> Collection:
        """A collection as it is now."""
        return self.snapshot.collection(name)

    def listen(self, listener: Callable[[int], None]) -> Callable[[], None]:
        """Call ``listener(seq)`` after each commit, in the thread that writes; returns what stops it."""
        self._writer.listeners.append(listener)
        return partial(self._writer.listeners.remove, listener)

    def submit(self, change: Callable[..., Any], *values: Any, **named: Any) -> Future:
        """Queue one of the changes of ``gramian.service.changes``; the future has its answer once it is durable."""
        return self._writer.submit(lambda draft: change(draft, *values, **named))

    def transact(self, change: Callable[[Draft], Any]) -> Any:
        """Run a change of one's own in the thread that writes."""
        return self._writer.submit(change).result()

    def close(self) -> None:
        """Finish what is queued and let go of the folder; may be called twice."""
        if self._closed:
            return
        self._closed = True
        self._upkeep.close()
        self._writer.close()
        self.store.close()

    def __enter__(self) -> "Space":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    # Items

    def create(self, name: str, n_features: int, user: str | None = None) -> dict[str, Any]:
        """Make a collection of vectors with so many features."""
        n_features = _checks.number(n_features, "Space", "n_features", low=1, integer=True)
        return self.submit(changes.make_collection, name, n_features, user).result()

    def add(
        self,
        name: str,
        X: Any,
        ids: Sequence[int | None] | None = None,
        *,
        meta: Sequence[dict[str, Any] | None] | None = None,
        upsert: bool | Container[int | None] = False,
        user: str | None = None,
        request: Request | None = None,
    ) -> dict[str, Any]:
        """Add items; ids default to the numbers after the largest one ever used.

        A known id is refused unless ``upsert`` is true or holds it.
        """
        return self.add_later(name, X, ids, meta=meta, upsert=upsert, user=user, request=request).result()

    def add_later(self, name: str, X: Any, ids: Any = None, *, meta: Any = None, **named: Any) -> Future:
        """As :meth:`add`, with a future in place of the answer."""
        return adding.add(self, name, X, ids, meta, **named)

    def remove(self, name: str, id: int, user: str | None = None) -> dict[str, Any]:
        """Remove an item."""
        return self.submit(changes.remove_item, name, id, user).result()

    def item(self, name: str, id: int) -> dict[str, Any]:
        """An item with its vector and meta."""
        return reports.item(self.collection(name), one_id(id, "id"))

    # Questions

    def query(
        self,
        name: str,
        x: Any = None,
        *,
        id: int | None = None,
        k: int = 10,
        likes: Sequence[int] = (),
        dislikes: Sequence[int] = (),
        version: Any = "active",
        where: dict[str, Any] | None = None,
        duel: bool = False,
        unseen: bool = False,
        user: str | None = None,
    ) -> dict[str, Any]:
        """The k items most like a point or an item, under a version of the metric.

        Parameters
        ----------
        name : str
            The collection.
        x : vector, or id : int
            What to look for; an item is left out of its own answer.
        k : int
            At most 1,000.
        likes, dislikes : ids
            Clicks on the results so far: the answer is then ranked by a model of this query, with ``score``.
        version : "active", "plain" or int
        where : dict
            Only items whose meta has these values (or one of a list of values).
        duel : bool
            Interleave the candidate's answer with the active one's; ``team`` says whose item it is.
        unseen : bool
            Leave liked and disliked items out.
        """
        asked = {"x": x, "id": id, "k": k, "likes": likes, "dislikes": dislikes, "where": where, "unseen": unseen}
        return querying.query(self, name, version, duel, user, **asked)

    def transform(self, name: str, X: Any, version: Any = "active") -> np.ndarray:
        """Coordinates in which the plain Euclidean distance is that of a version."""
        return self.collection(name).version(version).metric.transform(X)

    def map(self, name: str, version: Any = "active") -> np.ndarray:
        """All items in the plane, float32 (n, 2), in the order of ascending ids."""
        return maps.plane(self.collection(name), version)

    # Clicks

    def feedback(
        self,
        name: str,
        query: Any,
        item: int,
        like: bool,
        *,
        user: str | None = None,
        duel_id: str | None = None,
        request: Request | None = None,
    ) -> dict[str, Any]:
        """Say that an item is (not) like a query, an id or a vector; returns when it is durable."""
        return self.feedback_later(name, query, item, like, user=user, duel_id=duel_id, request=request).result()

    def feedback_later(
        self,
        name: str,
        query: Any,
        item: int,
        like: bool,
        *,
        user: Any = None,
        duel_id: Any = None,
        request: Any = None,
    ) -> Future:
        """As :meth:`feedback`, with a future in place of the answer."""
        view = self.collection(name)
        query = one_id(query, "query") if isinstance(query, int | np.integer) else one_point(query, view, "query")
        click = teaching.Click(query, one_id(item, "item"), bool(like), user, duel_id)
        return self.submit(teaching.give_feedback, name, click, request)

    def undo(self, name: str, seq: int, user: str | None = None, request: Request | None = None) -> dict[str, Any]:
        """Take a click back; what is learned afterwards is as if it had never been."""
        return self.submit(teaching.undo, name, seq, user, request).result()

    def clicks(self, name: str, after: int = 0, limit: int = 1000) -> list[dict[str, Any]]:
        """Clicks in the order of their events, undone ones among them."""
        return reports.clicks(self, name, after, limit)

    def events(self, after: int = 0, limit: int = 1000) -> list[dict[str, Any]]:
        """Events after a number."""
        return reports.events(self, after, limit)

    # Versions

    def learn(
        self, name: str, learner: str | None = None, label: str | None = None, user: str | None = None
    ) -> dict[str, Any]:
        """Learn a candidate from all live clicks, now, with the learner of the space unless another is named."""
        return self.teacher.learn(name, learner or self.learner, label, user)

    def activate(self, name: str, version: int, user: str | None = None) -> dict[str, Any]:
        """Let a version answer from here on."""
        return self.teacher.activate(name, version, user)

    def versions(self, name: str) -> dict[str, Any]:
        """All versions with their records in duels, and which one is active."""
        return reports.versions(self, name)

    def diff(self, name: str, version: int, to: int, k: int = 10) -> dict[str, Any]:
        """Which neighbors changed most between two versions."""
        return reports.diff(self, name, version, to, k)
