"""What a sidecar remembers and writes down: searches while they may be judged, and in a space those that were.

A search that nobody judges leaves nothing on the disk. With its first judgment the query becomes an item of the space
that names the documents shown, the list an impression or a duel, and the judgment a click; documents that were judged
become items too, with the vectors they have in the database.
"""

import json
import os
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

from gramian.beside.engine import Id
from gramian.beside.turning import LEARNER
from gramian.service import Space, changes, duels
from gramian.service.changes import Batch, Click, text_of
from gramian.service.snapshot import Collection
from gramian.service.writer import Draft

REMEMBERED = 10_000
"""Searches that can be judged: the last ones."""
BESIDE = 10
"""Documents at the top of a judged list that are learned from as what an answer is found among."""
FETCHED = 256
"""Documents of one request."""


def number(id: Any) -> int:
    """The number under which a space has a document, from the id that the database gives it."""
    return int.from_bytes(blake2b(str(id).encode(), digest_size=8).digest(), signed=True)


@dataclass(frozen=True, eq=False)
class Shown:
    """A list that was shown: to which query (d,), which documents, by which version, and the duel where it is one."""

    x: np.ndarray
    ids: list[Any]
    version: int = 0
    duel: duels.Duel | None = None
    user: str | None = None
    id: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def query(self) -> int:
        """The number of the query in the space."""
        return number(f"query {self.id}")

    def as_duel(self) -> duels.Duel:
        """What the log keeps of it."""
        ids = [number(name) for name in self.ids]
        return self.duel or duels.Duel(self.id, self.version, self.version, ids, [duels.NOBODY] * len(ids))

    @classmethod
    def pair(cls, x: np.ndarray, id: Any) -> "Shown":
        """A query with one document, from elsewhere: the same list whenever it comes."""
        digest = blake2b(x.tobytes() + str(id).encode(), digest_size=8).hexdigest()
        return cls(x, [id], id=digest)


class Recent:
    """The last searches."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shown: OrderedDict[str, Shown] = OrderedDict()

    def add(self, shown: Shown) -> str:
        """Remember one; returns its id."""
        with self._lock:
            self._shown[shown.id] = shown
            if len(self._shown) > REMEMBERED:
                self._shown.popitem(last=False)
        return shown.id

    def get(self, id: str) -> Shown | None:
        """A search that is remembered."""
        return self._shown.get(id)


class Log:
    """The space of a sidecar, with one collection.

    Parameters
    ----------
    folder : path
    name : str
        Of the collection in the database.
    width : int
    """

    def __init__(self, folder: Any, name: str, width: int) -> None:
        self.name = re.sub(r"[^A-Za-z0-9_.-]", "-", name).lstrip("_.-")[:64] or "documents"
        self.space = Space(folder, learning=False, learner=LEARNER)
        self.space.asker.warm = lambda view: None  # type: ignore[method-assign] # nobody asks the space itself
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._through, self._missing = 0, dict[int, Any]()
        try:
            self.space.create(self.name, width)
        except BaseException:
            self.space.close()
            raise

    @property
    def here(self) -> bool:
        """Whether this process opened the folder, and was not forked off from the one that did."""
        return os.getpid() == self._process

    @property
    def alive(self) -> bool:
        """Whether judgments are taken: here, and while the writer of the space is well."""
        return self.here and self.space.alive

    @property
    def view(self) -> Collection:
        """The collection as it is now."""
        return self.space.collection(self.name)

    def stored(self, id: str) -> Shown | None:
        """A list that was judged before, perhaps by an earlier process."""
        query, view = number(f"query {id}"), self.view
        with self.space.store.reading() as db:
            row = db.execute("SELECT 1 FROM duels WHERE id = ? AND collection = ?", (id, view.number)).fetchone()
        if row is None or not view.known(np.array([query])).all():
            return None
        return Shown(view.points([query])[0].astype(np.float32), named(view, query), id=id)

    def judge(self, shown: Shown, item: int, like: bool | None, user: str | None) -> int:
        """Write a judgment down, and what it is about where that is not there yet; returns the number of the click."""

        def change(draft: Draft) -> dict[str, Any]:
            if draft.db.execute("SELECT 1 FROM duels WHERE id = ?", (shown.id,)).fetchone() is None:
                changes.add_items(draft, self.name, batch, user=shown.user)
                duels.open_duel(draft, self.name, shown.as_duel(), shown.query, shown.user)
            return changes.take_click(draft, self.name, Click(shown.query, item, like, user, shown.id))

        batch = Batch([shown.query], shown.x[None], [text_of({"shown": shown.ids})])
        return self.space.transact(change)["seq"]

    def collect(self, vectors: Callable[[list[Id]], dict[Id, Any]]) -> None:
        """Fetch the documents of judged lists that are not in the space yet; those that are gone are left out."""
        with self._lock:
            self._look_for()
            while self._missing:
                some = dict(list(self._missing.items())[:FETCHED])
                read = {number(name): x for name, x in vectors(list(some.values())).items()}
                there = [i for i in some if i in read]
                if there:
                    X = np.array([read[i] for i in there], dtype=np.float32)
                    meta = [{"id": some[i]} for i in there]
                    self.space.add(self.name, X, there, meta=meta, upsert=True)
                for i in some:
                    del self._missing[i]

    def _look_for(self) -> None:
        """Documents judged, or shown beside those, since this was asked last."""
        text = "SELECT seq, query_id, item FROM feedback WHERE collection = ? AND seq > ? AND seq <= ? ORDER BY seq"
        snapshot = self.space.snapshot  # the queries of these clicks are in it
        view = snapshot.collection(self.name)
        with self.space.store.reading() as db:
            rows = db.execute(text, (view.number, self._through, snapshot.seq)).fetchall()
        for row in rows:
            self._through = row["seq"]
            names = {} if row["query_id"] is None else {number(name): name for name in named(view, row["query_id"])}
            near = [row["item"], *names][: 1 + BESIDE]
            ids = np.array([i for i in near if i in names], np.int64)
            self._missing |= {i: names[i] for i in ids[~view.known(ids)].tolist()}


def named(view: Collection, query: int) -> list[Any]:
    """The documents that were shown to a query, as the database names them."""
    meta = view.metas[int(view.find([query])[0])]
    return json.loads(meta or "{}").get("shown", [])


def readable(vectors: Callable[[list[Id]], dict[Id, Any]], ids: list[Id]) -> dict[Id, Any]:
    """Vectors of documents; where one of several cannot be asked for, as an id that is none, those of the others."""
    try:
        return vectors(ids)
    except Exception:
        read: dict[Id, Any] = {}
        for name in ids if len(ids) > 1 else ():
            with suppress(Exception):
                read |= vectors([name])
        if not read:  # it is the database, or nobody knows
            raise
        return read
