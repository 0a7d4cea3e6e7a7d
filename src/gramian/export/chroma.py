"""Learned coordinates as a Chroma collection."""

from pathlib import Path
from typing import Any

import numpy as np

from gramian.export.base import folder
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

    live, exact = "get_or_create_collection", False

    def connect(self, path: Any, owner: str, read_only: bool = False) -> tuple[Any, Path]:
        target = folder(path, owner, "the folder of the database")
        return self.needs(owner, "chromadb").PersistentClient(str(target)), target

    def close(self, client: Any) -> None:
        """Clients of one folder share what is open."""

    def existing(self, client: Any, table: str) -> dict[str, tuple[int, str]]:
        collection = named(client, table)
        if collection is None:
            return {}
        row = collection.get(limit=1, include=["embeddings"])["embeddings"]  # (1, r)
        ours = "integers" in (collection.metadata or {})
        return {"learned" if ours else "embeddings": (len(row[0]) if len(row) else 0, "float32")}

    def create(self, sink: Any, table: str, stored: Columns) -> Any:
        if named(sink, table) is not None:
            sink.delete_collection(table)
        links = 16 if stored.map.width <= 128 else 32  # wide vectors need more for the same recall
        graph = {"space": "l2", "ef_construction": 200, "max_neighbors": links, "ef_search": 512}
        settings = {"metadata": {"integers": not stored.text}, "configuration": {"hnsw": graph}}
        return sink.create_collection(table, embedding_function=None, **settings)

    def insert(self, collection: Any, ids: np.ndarray, values: dict[str, np.ndarray]) -> None:
        collection.add(ids=ids.astype(str).tolist(), embeddings=values["learned"])

    def count(self, client: Any, table: str) -> int:
        return named(client, table).count()

    def vectors(self, client: Any, table: str, column: str, ids: list[Any]) -> dict[Any, Any]:
        rows = named(client, table).get(ids=[str(name) for name in ids], include=["embeddings"])
        values = dict(zip(rows["ids"], rows["embeddings"]))  # in an order of its own
        return {name: values[str(name)] for name in ids}

    def nearest(self, client: Any, table: str, Q: np.ndarray, k: int, angle: bool | None) -> list[Any]:
        collection = named(client, table)
        answer = collection.query(query_embeddings=Q, n_results=k, include=[])["ids"]
        read = int if collection.metadata["integers"] else str
        return [[read(name) for name in names] for names in answer]


def named(client: Any, table: str) -> Any:
    """A collection, None where there is none of this name."""
    names = [getattr(collection, "name", collection) for collection in client.list_collections()]
    return client.get_collection(table, embedding_function=None) if table in names else None
