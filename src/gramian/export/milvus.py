"""Learned coordinates as a Milvus collection, on a server or in a Milvus Lite database."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gramian.export.base import Map, Reader, place
from gramian.export.points import Columns
from gramian.export.tables import TableTarget

QUERY = """
import gramian as gm
from pymilvus import MilvusClient
z = {metric}.transform([x]).tolist()
answer = MilvusClient("{name}").search("{table}", z, anns_field="learned", limit=10, output_fields=["id"])
ids = [hit["id"] for hit in answer[0]]
"""


class Milvus(TableTarget):
    """A Milvus collection with the fields ``id`` and ``learned`` = E(x), with an exact (FLAT) index in L2.

    A collection of this name that an earlier export made is replaced; another one is refused and stays as it is.
    """

    name, package, suffix, block = "milvus", "pymilvus", ".db", 1024
    without = ("source", "form")
    written = "collection `{table}` of a Milvus Lite database."
    queries = {"vector": QUERY}
    words = {
        "path": (
            "path, URI or client",
            """A Milvus Lite database (a name that ends in ``.db``), with a README.md beside it; the URI of a server; a
            ``MilvusClient``.""",
        ),
        "table": ("str", "The collection."),
    }
    returns = "path, or the client where one is given"
    example = """
>>> gm.export.to_milvus(metric, np.eye(2), "items.db")
PosixPath('items.db')
"""

    @contextmanager
    def opened(self, path: Any, owner: str) -> Iterator[Any]:
        client, target = self.connected(path, owner)
        try:
            yield client, target
        finally:
            if client is not path:
                client.close()

    def connected(self, path: Any, owner: str) -> tuple[Any, Any]:
        """A client, and the file that it was opened for."""
        pymilvus = self.needs(owner, "pymilvus")
        if hasattr(path, "create_collection"):
            return path, None
        if isinstance(path, str) and "://" in path:
            return pymilvus.MilvusClient(path), None
        target = place(path, owner, "a database that ends in .db")
        if target.suffix != ".db":
            raise ValueError(f"{owner}: path must end in .db, as Milvus Lite asks, got {target.name!r}.")
        if not target.parent.is_dir():
            raise FileNotFoundError(f"{owner}: no folder at {str(target.parent)!r}.")
        return pymilvus.MilvusClient(str(target)), target

    def existing(self, sink: Any, table: str) -> set[str]:
        return {field["name"] for field in fields(sink, table)}

    def create(self, sink: Any, table: str, stored: Columns) -> Any:
        from pymilvus import DataType

        if sink.has_collection(table):
            sink.drop_collection(table)
        schema, index = sink.create_schema(auto_id=False), sink.prepare_index_params()
        kind = {"datatype": DataType.VARCHAR, "max_length": 512} if stored.text else {"datatype": DataType.INT64}
        schema.add_field("id", is_primary=True, **kind)
        for name, width in stored.widths.items():
            schema.add_field(name, DataType.FLOAT_VECTOR, dim=width)
            index.add_index(name, index_type="FLAT", metric_type="L2")
        sink.create_collection(table, schema=schema, index_params=index)
        return sink, table

    def insert(self, made: Any, ids: np.ndarray, values: dict[str, np.ndarray]) -> None:
        client, table = made
        names = ["id", *values]
        client.insert(table, [dict(zip(names, row)) for row in zip(ids.tolist(), *values.values())])

    def finish(self, made: Any) -> None:
        client, table = made
        client.flush(table)

    def open(self, path: Any, map: Map, table: str | None, form: str) -> Reader:
        client, _ = self.connected(path, "check")
        close = client.close if client is not path else lambda: None
        name, names = table or "items", ["id", "learned"]
        sizes = {field["name"]: field["params"].get("dim") for field in fields(client, name)}
        if "learned" not in sizes:
            close()
            raise ValueError(f"check: collection {name!r} has no field 'learned'; export to it first.")
        client.load_collection(name)

        def fetch(ids: np.ndarray) -> np.ndarray:
            values = {row["id"]: row["learned"] for row in client.get(name, ids=ids.tolist(), output_fields=names)}
            return np.array([values[value] for value in ids.tolist()])

        def search(Q: np.ndarray, k: int) -> np.ndarray:
            queries = Q.astype(np.float32).tolist()
            answer = client.search(name, queries, anns_field="learned", limit=k, output_fields=["id"])
            return np.array([[hit["id"] for hit in hits] for hits in answer])

        count = int(client.get_collection_stats(name)["row_count"])
        return Reader(int(sizes["learned"]), count, search, fetch, close=close)


def fields(client: Any, table: str) -> list[dict[str, Any]]:
    """Fields of a collection; none where there is no such collection."""
    return client.describe_collection(table)["fields"] if client.has_collection(table) else []
