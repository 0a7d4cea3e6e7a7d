"""Learned coordinates as a Milvus collection, on a server or in a Milvus Lite database."""

from pathlib import Path
from typing import Any

import numpy as np

from gramian.export.base import place
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

    live = "create_collection"

    def connect(self, path: Any, owner: str, read_only: bool = False) -> tuple[Any, Path | None]:
        client = self.needs(owner, "pymilvus").MilvusClient
        if isinstance(path, str) and "://" in path:
            return client(path), None
        target = place(path, owner, "a database that ends in .db")
        if target.suffix != ".db":
            raise ValueError(f"{owner}: path must end in .db, as Milvus Lite asks, got {target.name!r}.")
        if not target.parent.is_dir():
            raise FileNotFoundError(f"{owner}: no folder at {str(target.parent)!r}.")
        return client(str(target)), target

    def existing(self, client: Any, table: str) -> dict[str, tuple[int, str]]:
        fields = client.describe_collection(table)["fields"] if client.has_collection(table) else []
        return {field["name"]: (int(field["params"].get("dim", 0)), "float32") for field in fields}

    def create(self, sink: Any, table: str, stored: Columns) -> Any:
        from pymilvus import DataType

        if sink.has_collection(table):
            sink.drop_collection(table)
        schema, index = sink.create_schema(auto_id=False), sink.prepare_index_params()  # both empty, filled below
        kind = {"datatype": DataType.VARCHAR, "max_length": 512} if stored.text else {"datatype": DataType.INT64}
        schema.add_field("id", is_primary=True, **kind)
        for name, width in stored.widths.items():
            schema.add_field(name, DataType.FLOAT_VECTOR, dim=width)
            index.add_index(name, index_type="FLAT", metric_type="L2")
        sink.create_collection(table, schema=schema, index_params=index)
        return sink, table

    def insert(self, place: Any, ids: np.ndarray, values: dict[str, np.ndarray]) -> None:
        client, table = place
        names = ["id", *values]
        client.insert(table, [dict(zip(names, row)) for row in zip(ids.tolist(), *values.values())])

    def finish(self, place: Any) -> None:
        client, table = place
        client.flush(table)

    def count(self, client: Any, table: str) -> int:
        client.load_collection(table)
        return int(client.get_collection_stats(table)["row_count"])

    def vectors(self, client: Any, table: str, column: str, ids: list[Any]) -> dict[Any, Any]:
        return {row["id"]: row[column] for row in client.get(table, ids=ids, output_fields=["id", column])}

    def nearest(self, client: Any, table: str, Q: np.ndarray, k: int, angle: bool | None) -> list[Any]:
        answer = client.search(table, Q.tolist(), anns_field="learned", limit=k, output_fields=["id"])
        return [[hit["id"] for hit in hits] for hits in answer]
