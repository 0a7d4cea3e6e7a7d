"""What readers see: immutable values, replaced as a whole when a transaction is durable."""

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from gramian import persist
from gramian.metrics import Mahalanobis, Metric
from gramian.search import ExactIndex
from gramian.service.errors import Unknown
from gramian.service.vectors import Vectors

MOST_HIDDEN = 64
"""Removed items that an index may still hold; queries ask for as many more."""


_make: dict[str, Callable[[Metric], Any]] = {"index": ExactIndex}
"""What indexes of collections are made by."""


@contextmanager
def indexes_by(make: Callable[[Metric], Any]) -> Iterator[None]:
    """Meanwhile an empty index of a metric is what ``make`` gives, such as one whose items are on other machines."""
    before = _make["index"]
    _make["index"] = make
    try:
        yield
    finally:
        _make["index"] = before


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

    @cached_property
    def straight(self) -> bool:
        """Whether the rows are those of all items in the order of their ids."""
        return len(self.rows) == len(self.vectors) and bool((np.diff(self.rows) == 1).all())

    @property
    def in_use(self) -> set[int]:
        """Versions that have an index."""
        return {0, self.active} | ({self.candidate} if self.candidate is not None else set())

    def known(self, ids: np.ndarray) -> np.ndarray:
        """Which of the ids are there."""
        at = np.searchsorted(self.ids, ids)
        known = at < len(self.ids)
        known[known] = self.ids[at[known]] == ids[known]
        return known

    def find(self, ids: Any) -> np.ndarray:
        """Rows of items; an id that is not there raises."""
        ids = np.asarray(ids, np.int64).reshape(-1)
        known = self.known(ids)
        if not known.all():
            raise Unknown(f"Space: no item {int(ids[~known][0])} in {self.name!r}.")
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
        return _make["index"](metric).add(self.vectors.take(self.rows), self.ids)

    def indexed(self) -> "Collection":
        """The same with an index for every version in use and none for the others."""
        view = self
        for number in sorted(self.in_use):
            if number not in view.indexes:
                index = view.build_index(self.versions[number].metric)
                view = replace(view, indexes=MappingProxyType({**view.indexes, number: index}))
        kept = {number: view.indexes[number] for number in sorted(self.in_use)}
        return replace(view, indexes=MappingProxyType(kept))


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


def new_collection(number: int, name: str, n_features: int) -> Collection:
    """A collection without items."""
    plain = Version(0, "plain features", source=_plain_metric(n_features))
    vectors = Vectors((), n_features)
    versions = MappingProxyType({0: plain})
    return Collection(number, name, n_features, vectors, versions=versions).indexed()


class ItemChanges:
    """Items that one transaction places and removes, applied to a collection at once."""

    def __init__(self) -> None:
        self.placed: dict[int, int | None] = {}
        self.vectors: Vectors | None = None

    def place(self, ids: Any, first_row: int) -> None:
        """Items now stand in the rows from ``first_row`` on."""
        self.placed.update(zip(ids, range(first_row, first_row + len(ids))))

    def remove(self, number: int) -> None:
        """An item is gone."""
        self.placed[number] = None

    def apply(self, view: Collection, seq: int) -> Collection:
        """The collection after all changes, with its indexes."""
        touched = np.fromiter(self.placed, np.int64, len(self.placed))
        gone = touched[np.isin(touched, view.ids)]
        fresh = np.array(sorted(i for i, row in self.placed.items() if row is not None), np.int64)
        rows = np.array([self.placed[i] for i in fresh.tolist()], np.int64)
        ids, all_rows = _merged(view, gone, fresh, rows)
        hidden = view.hidden | set(gone.tolist())
        crowded = len(hidden - set(fresh.tolist())) > MOST_HIDDEN
        dropped = hidden if crowded or hidden & set(fresh.tolist()) else frozenset()
        X = view.vectors.take(rows)
        indexes = {n: _moved(index, sorted(dropped), X, fresh) for n, index in view.indexes.items()}
        return replace(
            view,
            ids=ids,
            rows=all_rows,
            hidden=frozenset() if dropped else frozenset(hidden),
            revision=seq,
            indexes=MappingProxyType(indexes),
        )


def _merged(view: Collection, gone: np.ndarray, fresh: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ids in ascending order and their rows, without ``gone`` and with ``fresh``."""
    kept = ~np.isin(view.ids, gone) if len(gone) else slice(None)
    ids = np.concatenate([view.ids[kept], fresh])
    all_rows = np.concatenate([view.rows[kept], rows])
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
