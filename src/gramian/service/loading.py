"""From the folder to the first snapshot."""

import sqlite3
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from gramian import persist
from gramian.service.files import checksum, map_array
from gramian.service.snapshot import Collection, Snapshot, Version, new_collection
from gramian.service.store import Store
from gramian.service.vectors import Vectors


def load(store: Store) -> Snapshot:
    """Everything that is durable in a folder, with the indexes of the versions in use."""
    collections = {row["name"]: _collection(store, row) for row in store.db.execute("SELECT * FROM collections")}
    return Snapshot(store.seq, MappingProxyType(collections))


def _collection(store: Store, row: sqlite3.Row) -> Collection:
    view = new_collection(row["number"], row["name"], row["n_features"])
    rows = "SELECT id, row, meta FROM items WHERE collection = ? ORDER BY id"
    items = store.db.execute(rows, (row["number"],)).fetchall()
    metas: list[str | None] = [None] * row["n_rows"]
    for item in items:
        metas[item["row"]] = item["meta"]
    last = "SELECT coalesce(max(seq), 0) FROM events WHERE collection = ? AND op IN ('items', 'remove')"
    versions = {0: view.versions[0]}
    stored = "SELECT * FROM versions WHERE collection = ? ORDER BY number"
    for version in store.db.execute(stored, (row["number"],)):
        versions[version["number"]] = _version(store, version)
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
    parts = store.db.execute("SELECT * FROM parts WHERE collection = ? ORDER BY first_row", (row["number"],)).fetchall()
    expected = 0
    for part in parts:
        X = _part(store, part, row["n_features"])
        if part["first_row"] != expected or len(X) != part["n_rows"]:
            raise persist.PersistError(f"Space: vectors of {row['name']!r} have a hole at row {expected}.")
        expected += len(X)
        settled = part["file"] is not None and len(vectors.tail) == 0
        vectors = vectors.extend(X) if settled else vectors.append(X)
    if expected != row["n_rows"]:
        raise persist.PersistError(f"Space: vectors of {row['name']!r} end at row {expected} of {row['n_rows']}.")
    return vectors


def _part(store: Store, part: Any, n_features: int) -> np.ndarray:
    if part["file"] is not None:
        return map_array(store.vectors / part["file"], part["sum"])
    X = np.frombuffer(part["x"], np.dtype(part["dtype"])).reshape(-1, n_features)
    if checksum(X) != part["sum"]:
        raise persist.PersistError("Space: vectors in space.db are damaged; restore a backup.")
    return X
