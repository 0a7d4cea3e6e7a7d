"""Learned coordinates as a LanceDB table."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gramian._settings import Count
from gramian.export.base import folder
from gramian.export.parquet import columns_of
from gramian.export.points import Columns, batch, matrix, schema
from gramian.export.tables import TableTarget

QUERY = """
import gramian as gm, lancedb
z = {metric}.transform([x])[0].astype("float32")
table = lancedb.connect("{name}").open_table("{table}")
nearest = table.search(z, vector_column_name="learned").distance_type("l2").limit(10)
ids = nearest.to_arrow()["id"].to_pylist()
"""


class Lancedb(TableTarget):
    """A LanceDB table with the columns ``id`` and ``learned`` = E(x), written block by block.

    A table of this name that an earlier export made is replaced; another one is refused and stays as it is. The search
    is exact until you create an index.
    """

    name, package, suffix = "lancedb", "lancedb", "-lancedb"
    without = ("source", "form")
    queries = {"vector": QUERY}
    words = {"path": ("path or connection", "The folder of the database, made when absent, with a README.md in it.")}
    returns = "path, or the connection where one is given"
    handle = "open_table"
    reads = '"database", "items", column="vector"'

    live = "create_table"

    def connect(self, path: Any, owner: str, read_only: bool = False) -> tuple[Any, Path]:
        target = folder(path, owner, "the folder of the database")
        return self.needs(owner, "lancedb").connect(str(target)), target

    def close(self, client: Any) -> None:
        """A connection holds nothing."""

    def existing(self, client: Any, table: str) -> dict[str, tuple[int, str]]:
        if table not in names(client):
            return {}
        kinds = {field.name: field.type for field in client.open_table(table).schema}  # Arrow types
        values = {name: str(getattr(kind, "value_type", kind)) for name, kind in kinds.items()}
        dtypes = {"float": "float32", "double": "float64"}
        return {n: (getattr(kinds[n], "list_size", 0), dtypes.get(value, value)) for n, value in values.items()}

    def fill(self, sink: Any, table: str, stored: Columns, report: Callable[[int], None]) -> None:
        form = schema(stored)  # Arrow fields

        def blocks() -> Iterator[Any]:
            for ids, values in stored.blocks:
                yield batch(form, ids, values)
                report(len(ids))

        sink.create_table(table, blocks(), schema=form, mode="overwrite")

    def count(self, client: Any, table: str) -> int:
        return client.open_table(table).count_rows()

    def vectors(self, client: Any, table: str, column: str, ids: list[Any]) -> dict[Any, Any]:
        words = ", ".join(f"'{value}'" if isinstance(value, str) else str(value) for value in ids)
        rows = client.open_table(table).search().where(f"id in ({words})").select(["id", column]).limit(len(ids))
        answer = rows.to_arrow()
        return dict(zip(answer["id"].to_pylist(), matrix(answer[column])))

    def nearest(self, client: Any, table: str, Q: np.ndarray, k: int, angle: bool | None) -> list[Any]:
        rows = client.open_table(table)
        ask = (rows.search(q, vector_column_name="learned").distance_type("l2") for q in Q)
        return [one.select(["id", "_distance"]).limit(k).to_arrow()["id"].to_pylist() for one in ask]

    def read(
        self, path: Any, table: str = "items", *, column: str | None = None, id: str | None = None, block: Count = 8192
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Blocks (ids, vectors) of a LanceDB table."""
        owner = "from_lancedb"
        lancedb, pa = self.needs(owner, "lancedb"), self.needs(owner, "pyarrow")
        database = path if hasattr(path, "open_table") else lancedb.connect(str(path))
        rows = database.open_table(table)
        vectors, numbers = columns_of(pa, rows.schema, column, id, f"table {table!r}", owner)
        for start in range(0, rows.count_rows(), block):
            ask = rows.search().select([*vectors, *([numbers] if numbers else [])]).offset(start).limit(block)
            span = ask.to_arrow()
            ids = np.arange(start, start + len(span)) if numbers is None else span[numbers].to_numpy()
            yield ids, matrix(span[vectors[0]])


def names(database: Any) -> list[str]:
    """Names of all tables of a database."""
    if not hasattr(database, "list_tables"):
        return list(database.table_names(limit=10_000))
    listed = database.list_tables(limit=10_000)
    return list(getattr(listed, "tables", listed))
