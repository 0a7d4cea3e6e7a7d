"""What readers see: immutable values, replaced as a whole when a transaction is durable."""

import copy
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from gramian import linalg, persist
from gramian.metrics import Mahalanobis, Metric
from gramian.search import ExactIndex
from gramian.service.errors import Unknown
from gramian.service.store import Store
from gramian.service.vectors import Vectors, checksum, map_array

MOST_HIDDEN = 64
"""Removed items that an index may still hold; queries ask for as many more."""
SAMPLE = 20_000
"""Items from which the background of a collection is computed."""
SCHEDULER_SECONDS = 10
"""Time that the scheduler of a cluster has to answer."""
_makers: list[Callable[[Metric], Any]] = [ExactIndex]
"""What indexes of collections are made by: the last one."""


@contextmanager
def indexes_by(make: Callable[[Metric], Any]) -> Iterator[None]:
    """Meanwhile an empty index of a metric is what ``make`` gives, such as one whose items are on other machines."""
    _makers.append(make)
    try:
        yield
    finally:
        _makers.remove(make)


@contextmanager
def on_cluster(address: str, folder: Path) -> Iterator[None]:
    """Meanwhile the items of collections are held by the workers of the Dask scheduler at an address.

    ``folder`` keeps their shards, on a disk that all workers see: a worker that is lost is replaced by what its files
    say. An item that is added writes one shard anew, so add many at a time.
    """
    try:
        from distributed import Client

        from gramian.dask import ShardedIndex
    except ImportError as error:
        raise ImportError("gramian serve: --dask needs dask and distributed; pip install 'gramian[dask]'.") from error
    with (
        Client(address, timeout=SCHEDULER_SECONDS) as client,
        indexes_by(lambda metric: ShardedIndex(client, metric, ExactIndex, folder=folder)),
    ):
        yield


def _none() -> Any:
    return field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True)
class Version:
    """A metric with where it came from; number 0 is the plain features."""

    number: int
    name: str
    learner: str = "none"
    base: int = 0
    events: int = 0
    through: int = 0
    status: str = "plain"
    source: Any = None

    @property
    def metric(self) -> Mahalanobis:
        """The metric itself; read from its file when it is not among the last ones used."""
        return _read_metric(self.source) if isinstance(self.source, Path) else self.source


_plain_metric = lru_cache(maxsize=8)(Mahalanobis.euclidean)


@lru_cache(maxsize=16)
def _read_metric(path: Path) -> Mahalanobis:
    return persist.load(path)


@dataclass(frozen=True)
class Background:
    """How the items lie, whatever people say: center, scatter of random pairs, and the scale of both."""

    center: np.ndarray
    scatter: np.ndarray

    @property
    def size(self) -> float:
        """Mean squared distance of two random items."""
        return float(np.trace(self.scatter))


@dataclass(frozen=True)
class Collection:
    """Items with their vectors, and versions of the metric with an index for those in use."""

    number: int
    name: str
    n_features: int
    vectors: Vectors
    ids: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    rows: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    metas: list[str | None] = field(default_factory=list)
    hidden: frozenset[int] = frozenset()
    revision: int = 0
    versions: MappingProxyType[int, Version] = _none()
    indexes: MappingProxyType[int, Any] = _none()
    active: int = 0
    candidate: int | None = None

    @classmethod
    def empty(cls, number: int, name: str, n_features: int) -> "Collection":
        """A collection without items."""
        plain = Version(0, "plain features", source=_plain_metric(n_features))
        vectors = Vectors((), n_features)
        return cls(number, name, n_features, vectors, versions=MappingProxyType({0: plain})).indexed()

    @cached_property
    def straight(self) -> bool:
        """Whether the rows are those of all items in the order of their ids."""
        return len(self.rows) == len(self.vectors) and bool((np.diff(self.rows) == 1).all())

    @cached_property
    def background(self) -> Background:
        """Of at most ``SAMPLE`` items, evenly spaced by id."""
        X = self.points(self.ids[linalg.spread(len(self.ids), SAMPLE)])  # (n, d)
        center = X.mean(axis=0) if len(X) else np.zeros(self.n_features)
        X -= center
        return Background(center, 2 * X.T @ X / max(len(X), 1))

    @property
    def in_use(self) -> set[int]:
        """Versions that have an index."""
        return {0, self.active} | ({self.candidate} if self.candidate is not None else set())

    def known(self, ids: np.ndarray) -> np.ndarray:
        """Which of the ids are there."""
        at = np.searchsorted(self.ids, ids)
        mask = at < len(self.ids)
        mask[mask] = self.ids[at[mask]] == ids[mask]
        return mask

    def find(self, ids: Any) -> np.ndarray:
        """Rows of items; an id that is not there raises."""
        ids = np.asarray(ids, np.int64).reshape(-1)
        mask = self.known(ids)
        if not mask.all():
            raise Unknown(f"Space: no item {int(ids[~mask][0])} in {self.name!r}.")
        return self.rows[np.searchsorted(self.ids, ids)]

    def points(self, ids: Any) -> np.ndarray:
        """Vectors of items, float64 (m, d)."""
        return self.vectors.take(self.find(ids)).astype(np.float64)

    def version(self, number: Any) -> Version:
        """A version by its number, "active" or "plain"."""
        number = {"active": self.active, "plain": 0}.get(number, number)
        if number not in self.versions:
            raise Unknown(f"Space: no version {number!r} in {self.name!r}; it has {len(self.versions)}.")
        return self.versions[number]

    def build_index(self, metric: Metric) -> Any:
        """An index of all items under a metric."""
        plain = self.indexes.get(0)
        if plain is not None:
            return plain.with_metric(metric)
        return _makers[-1](metric).add(self.vectors.take(self.rows), self.ids)

    def indexed(self) -> "Collection":
        """The same with an index for every version in use and none for the others."""
        view = self
        for number in sorted(self.in_use):
            if number not in view.indexes:
                index = view.build_index(self.versions[number].metric)
                view = replace(view, indexes=MappingProxyType({**view.indexes, number: index}))
        indexes = {number: view.indexes[number] for number in sorted(self.in_use)}
        return replace(view, indexes=MappingProxyType(indexes))

    def changed(self, placed: dict[int, int | None], seq: int) -> "Collection":
        """The collection and its indexes after items were placed in rows, or removed (None), up to event ``seq``."""
        touched = np.fromiter(placed, np.int64, len(placed))
        gone = touched[np.isin(touched, self.ids)]
        fresh = np.array(sorted(i for i, row in placed.items() if row is not None), np.int64)
        rows = np.array([placed[i] for i in fresh.tolist()], np.int64)
        ids, all_rows = _merged(self, gone, fresh, rows)
        hidden = self.hidden | set(gone.tolist())
        crowded = len(hidden - set(fresh.tolist())) > MOST_HIDDEN
        dropped = hidden if crowded or hidden & set(fresh.tolist()) else frozenset()
        X = self.vectors.take(rows)
        indexes = {n: _moved(index, sorted(dropped), X, fresh) for n, index in self.indexes.items()}
        hidden = frozenset() if dropped else frozenset(hidden)
        return replace(self, ids=ids, rows=all_rows, hidden=hidden, revision=seq, indexes=MappingProxyType(indexes))


def _merged(view: Collection, gone: np.ndarray, fresh: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ids in ascending order and their rows, without ``gone`` and with ``fresh``."""
    stay = ~np.isin(view.ids, gone) if len(gone) else slice(None)
    ids = np.concatenate([view.ids[stay], fresh])
    all_rows = np.concatenate([view.rows[stay], rows])
    if len(fresh) and len(ids) > len(fresh) and ids[len(ids) - len(fresh) - 1] > fresh[0]:
        order = np.argsort(ids, kind="stable")
        ids, all_rows = ids[order], all_rows[order]
    return ids, all_rows


def _moved(index: Any, dropped: list[int], X: np.ndarray, fresh: np.ndarray) -> Any:
    """A new index; the old one stays as it is for those who read it."""
    index = copy.copy(index)
    if dropped:
        index.remove(dropped)
    return index.add(X, fresh) if len(fresh) else index


@dataclass(frozen=True)
class Snapshot:
    """Everything after event ``seq``."""

    seq: int = 0
    collections: MappingProxyType[str, Collection] = _none()

    def collection(self, name: str) -> Collection:
        """A collection by its name."""
        if name not in self.collections:
            raise Unknown(f"Space: no collection {name!r}; make it first.")
        return self.collections[name]


class Builder:
    """The next snapshot in the making; the one before stays as it is.

    Each method is the effect of one kind of event. Items are gathered and applied together at the end.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.collections = dict(snapshot.collections)
        self.placed: dict[str, dict[int, int | None]] = {}

    def result(self, seq: int) -> Snapshot:
        """The snapshot after event ``seq``."""
        for name, placed in self.placed.items():
            self.collections[name] = self.collections[name].changed(placed, seq)
        for name, view in self.collections.items():
            if view.in_use != set(view.indexes):
                self.collections[name] = view.indexed()
        return Snapshot(seq, MappingProxyType(self.collections))

    def _replace(self, name: str, **fields: Any) -> None:
        self.collections[name] = replace(self.collections[name], **fields)

    def collection(self, number: int, name: str, n_features: int) -> None:
        """A new collection."""
        self.collections[name] = Collection.empty(number, name, n_features)

    def add_items(self, name: str, ids: list[int], X: np.ndarray, metas: list[str | None], mapped: bool) -> None:
        """Items in new rows; ``mapped`` vectors are a part of their own."""
        view = self.collections[name]
        first_row = len(view.vectors)
        del view.metas[first_row:]  # left behind by a transaction that failed after it was applied
        view.metas.extend(metas)
        vectors = view.vectors.extend(X) if mapped and len(view.vectors.tail) == 0 else view.vectors.append(X)
        self._replace(name, vectors=vectors)
        self.placed.setdefault(name, {}).update(zip(ids, range(first_row, first_row + len(ids))))

    def remove_item(self, name: str, number: int) -> None:
        """An item is gone."""
        self.placed.setdefault(name, {})[number] = None

    def settle(self, name: str, parts: tuple[np.ndarray, ...]) -> None:
        """The first rows now stand in these parts."""
        self._replace(name, vectors=self.collections[name].vectors.settled(parts))

    def version(self, name: str, version: Version) -> None:
        """A new version, or one with another standing."""
        versions = {**self.collections[name].versions, version.number: version}
        self._replace(name, versions=MappingProxyType(versions))

    def status(self, name: str, number: int, status: str) -> None:
        """A version has another standing."""
        self.version(name, replace(self.collections[name].versions[number], status=status))

    def offer(self, name: str, number: int, index: Any, revision: int | None) -> None:
        """An index of a version, which is taken when it was built on the items that are there now."""
        view = self.collections[name]
        if index is not None and revision == view.revision and name not in self.placed:
            self._replace(name, indexes=MappingProxyType({**view.indexes, number: index}))

    def use(self, name: str, active: int, candidate: int | None) -> None:
        """Which version answers, and which one duels with it (None: none)."""
        self._replace(name, active=active, candidate=candidate)


def load(store: Store) -> Snapshot:
    """Everything that is durable in a folder, with the indexes of the versions in use."""
    collections = {row["name"]: _collection(store, row) for row in store.db.execute("SELECT * FROM collections")}
    return Snapshot(store.seq, MappingProxyType(collections))


def _collection(store: Store, row: sqlite3.Row) -> Collection:
    view = Collection.empty(row["number"], row["name"], row["n_features"])
    text = "SELECT id, row, meta FROM items WHERE collection = ? ORDER BY id"
    items = store.db.execute(text, (row["number"],)).fetchall()
    metas: list[str | None] = [None] * row["n_rows"]
    for item in items:
        metas[item["row"]] = item["meta"]
    last = "SELECT coalesce(max(seq), 0) FROM events WHERE collection = ? AND op IN ('items', 'remove')"
    stored = store.db.execute("SELECT * FROM versions WHERE collection = ? ORDER BY number", (row["number"],))
    versions = {0: view.versions[0], **{version["number"]: _version(store, version) for version in stored}}
    return replace(
        view,
        vectors=_vectors(store, row),
        ids=np.array([item["id"] for item in items], np.int64),
        rows=np.array([item["row"] for item in items], np.int64),
        metas=metas,
        revision=store.db.execute(last, (row["name"],)).fetchone()[0],
        versions=MappingProxyType(versions),
        indexes=MappingProxyType({}),
        active=row["active"],
        candidate=row["candidate"],
    ).indexed()


def _version(store: Store, row: sqlite3.Row) -> Version:
    names = ("number", "name", "learner", "base", "events", "through", "status")
    return Version(**{name: row[name] for name in names}, source=store.metrics / row["file"])


def _vectors(store: Store, row: sqlite3.Row) -> Vectors:
    """Files first, as memory maps; from the first part that is in the database on, the rest is the tail."""
    vectors = Vectors((), row["n_features"])
    parts = store.db.execute("SELECT * FROM parts WHERE collection = ? ORDER BY first_row", (row["number"],))
    for part in parts.fetchall():
        X = _part(store, part, row["n_features"])
        if part["first_row"] != len(vectors) or len(X) != part["n_rows"]:
            raise persist.PersistError(f"Space: vectors of {row['name']!r} have a hole at row {len(vectors)}.")
        settled = part["file"] is not None and len(vectors.tail) == 0
        vectors = vectors.extend(X) if settled else vectors.append(X)
    if len(vectors) != row["n_rows"]:
        raise persist.PersistError(f"Space: vectors of {row['name']!r} end at row {len(vectors)} of {row['n_rows']}.")
    return vectors


def _part(store: Store, part: sqlite3.Row, n_features: int) -> np.ndarray:
    if part["file"] is not None:
        return map_array(store.vectors / part["file"], part["sum"])
    X = np.frombuffer(part["x"], np.dtype(part["dtype"])).reshape(-1, n_features)
    if checksum(X) != part["sum"]:
        raise persist.PersistError("Space: vectors in space.db are damaged; restore a backup.")
    return X
