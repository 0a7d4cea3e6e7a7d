"""From one snapshot to the next: what the events of a transaction change."""

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from gramian.service.snapshot import Collection, ItemChanges, Snapshot, Version, new_collection


class Builder:
    """The next snapshot in the making; the one before stays as it is.

    Each method is the effect of one kind of event. Items are gathered and applied together at the end.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.collections = dict(snapshot.collections)
        self.items: dict[str, ItemChanges] = {}

    def result(self, seq: int) -> Snapshot:
        """The snapshot after event ``seq``."""
        for name, changes in self.items.items():
            self.collections[name] = changes.apply(self.collections[name], seq)
        for name, view in self.collections.items():
            if view.in_use != set(view.indexes):
                self.collections[name] = view.indexed()
        return Snapshot(seq, MappingProxyType(self.collections))

    def _replace(self, name: str, **fields: Any) -> None:
        self.collections[name] = replace(self.collections[name], **fields)

    def collection(self, number: int, name: str, n_features: int) -> None:
        """A new collection."""
        self.collections[name] = new_collection(number, name, n_features)

    def add_items(self, name: str, ids: list[int], X: np.ndarray, metas: list[str | None], mapped: bool) -> None:
        """Items in new rows; ``mapped`` vectors are a part of their own."""
        view = self.collections[name]
        first_row = len(view.vectors)
        del view.metas[first_row:]  # left behind by a transaction that failed after it was applied
        view.metas.extend(metas)
        vectors = view.vectors.extend(X) if mapped and len(view.vectors.tail) == 0 else view.vectors.append(X)
        self._replace(name, vectors=vectors)
        self.items.setdefault(name, ItemChanges()).place(ids, first_row)

    def remove_item(self, name: str, number: int) -> None:
        """An item is gone."""
        self.items.setdefault(name, ItemChanges()).remove(number)

    def settle(self, name: str, parts: tuple[np.ndarray, ...]) -> None:
        """The first rows now stand in these parts."""
        self._replace(name, vectors=self.collections[name].vectors.settled(parts))

    def version(self, name: str, version: Version, index: Any = None, revision: int | None = None) -> None:
        """A new version; its index is taken when it was built on the items that are there now."""
        view = self.collections[name]
        versions = MappingProxyType({**view.versions, version.number: version})
        self._replace(name, versions=versions)
        self.offer(name, version.number, index, revision)

    def offer(self, name: str, number: int, index: Any, revision: int | None) -> None:
        """An index of a version that was built beforehand."""
        view = self.collections[name]
        if index is not None and revision == view.revision and name not in self.items:
            self._replace(name, indexes=MappingProxyType({**view.indexes, number: index}))

    def status(self, name: str, number: int, status: str) -> None:
        """A version has another standing."""
        view = self.collections[name]
        changed = replace(view.versions[number], status=status)
        self._replace(name, versions=MappingProxyType({**view.versions, number: changed}))

    def use(self, name: str, *, active: int | None = None, candidate: int | None = None) -> None:
        """Which version answers, and which one duels with it (None: none)."""
        view: Collection = self.collections[name]
        self._replace(name, active=view.active if active is None else active, candidate=candidate)
