"""A space: collections of items that learn from clicks, in one folder, with or without HTTP in front."""

import os
from collections.abc import Container, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np

from gramian import _checks
from gramian.service import adding, changes, maps, querying, reports, versions
from gramian.service.asking import Asker
from gramian.service.changes import Request
from gramian.service.learning import named_learner
from gramian.service.opening import sweep
from gramian.service.querying import one_id
from gramian.service.store import Store
from gramian.service.teachable import Teachable
from gramian.service.upkeep import Upkeep
from gramian.service.words import checked
from gramian.service.writer import Writer


@checked
class Space(Teachable):
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
            sweep(self.store)
            self.asker = Asker()
            self.teacher = versions.Teacher(self)
            self._upkeep = Upkeep(self, learning)
        except BaseException:
            self.store.close()
            raise

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
