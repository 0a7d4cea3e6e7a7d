"""Learned coordinates as a Chroma collection."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gramian.export.base import Map, Reader, folder
from gramian.export.points import Columns
from gramian.export.tables import TableTarget

QUERY = """
import chromadb, gramian as gm
z = {metric}.transform([x]).tolist()
table = chromadb.PersistentClient("{name}").get_collection("{table}")
answer = table.query(query_embeddings=z, n_results=10, include=[])
ids = [int(name) if table.metadata["integers"] else name for name in answer["ids"][0]]
"""


class Chroma(TableTarget):
    """A Chroma collection whose embeddings are E(x), in L2, under the ids as words.

    A collection of this name that an earlier export made is replaced; another one is refused and stays as it is. Chroma
    searches a graph (HNSW), whose beam is set so that it finds nearly all neighbors.
    """

    name, package, suffix, block = "chroma", "chromadb", "-chroma", 1024
    without = ("source", "form", "original")
    written = "collection `{table}` of a local Chroma database."
    queries = {"vector": QUERY}
    words = {
        "path": (
            "path or client",
            "The folder of a local database, made when absent, with a README.md in it; a client of Chroma.",
        ),
        "table": ("str", "The collection."),
    }
    returns = "path, or the client where one is given"
    example = """
>>> gm.export.to_chroma(metric, np.eye(2), "database")
PosixPath('database')
"""

    @contextmanager
    def opened(self, path: Any, owner: str) -> Iterator[Any]:
        yield self.connected(path, owner)

    def connected(self, path: Any, owner: str) -> tuple[Any, Any]:
        """A client, and the folder that it was opened for."""
        chromadb = self.needs(owner, "chromadb")
        if hasattr(path, "get_or_create_collection"):
            return path, None
        target = folder(path, owner, "the folder of the database")
        return chromadb.PersistentClient(str(target)), target

    def existing(self, sink: Any, table: str) -> set[str]:
        collection = named(sink, table)
        if collection is None:
            return set()
        return {"learned"} if "integers" in (collection.metadata or {}) else {"embeddings"}

    def create(self, sink: Any, table: str, stored: Columns) -> Any:
        if named(sink, table) is not None:
            sink.delete_collection(table)
        links = 16 if stored.map.width <= 128 else 32
        graph = {"space": "l2", "ef_construction": 200, "max_neighbors": links, "ef_search": 512}
        settings = {"metadata": {"integers": not stored.text}, "configuration": {"hnsw": graph}}
        return sink.create_collection(table, embedding_function=None, **settings)

    def insert(self, made: Any, ids: np.ndarray, values: dict[str, np.ndarray]) -> None:
        made.add(ids=ids.astype(str).tolist(), embeddings=values["learned"])

    def open(self, path: Any, map: Map, table: str | None, form: str) -> Reader:
        collection = named(self.connected(path, "check")[0], table or "items")
        facts = {} if collection is None else collection.metadata or {}
        if "integers" not in facts:
            raise ValueError(f"check: collection {table or 'items'!r} is of no export; export to it first.")

        def fetch(ids: np.ndarray) -> np.ndarray:
            rows = collection.get(ids=ids.astype(str).tolist(), include=["embeddings"])
            values = dict(zip(rows["ids"], rows["embeddings"]))
            return np.array([values[name] for name in ids.astype(str).tolist()])

        def search(Q: np.ndarray, k: int) -> np.ndarray:
            names = collection.query(query_embeddings=Q.astype(np.float32), n_results=k, include=[])["ids"]
            return np.array(names).astype(np.int64 if facts["integers"] else str)

        width = len(collection.get(limit=1, include=["embeddings"])["embeddings"][0])
        return Reader(width, collection.count(), search, fetch, exact=False)


def named(client: Any, table: str) -> Any:
    """A collection, None where there is none of this name."""
    names = [getattr(collection, "name", collection) for collection in client.list_collections()]
    return client.get_collection(table, embedding_function=None) if table in names else None
