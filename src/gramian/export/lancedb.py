"""Learned coordinates as a LanceDB table."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gramian.export.base import Map, Reader, folder
from gramian.export.parquet import chosen
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
    example = """
>>> gm.export.to_lancedb(metric, np.eye(2), "database")
PosixPath('database')
"""
    reads = '"database", "items", column="vector"'

    @contextmanager
    def opened(self, path: Any, owner: str) -> Iterator[Any]:
        target = None if hasattr(path, "create_table") else folder(path, owner, "the folder of the database")
        yield path if target is None else self.needs(owner, "lancedb").connect(str(target)), target

    def existing(self, sink: Any, table: str) -> set[str]:
        return set(sink.open_table(table).schema.names) if table in names(sink) else set()

    def fill(self, sink: Any, table: str, stored: Columns, report: Callable[[int], None]) -> None:
        form = schema(stored)

        def blocks() -> Iterator[Any]:
            for ids, values in stored.blocks:
                yield batch(form, ids, values)
                report(len(ids))

        sink.create_table(table, blocks(), schema=form, mode="overwrite")

    def open(self, path: Any, map: Map, table: str | None, form: str) -> Reader:
        database = path if hasattr(path, "open_table") else self.needs("check", "lancedb").connect(str(path))
        table = table or "items"
        if "learned" not in self.existing(database, table):
            raise ValueError(f"check: table {table!r} has no column 'learned'; export to it first.")
        rows = database.open_table(table)
        kind = rows.schema.field("learned").type

        def fetch(ids: np.ndarray) -> np.ndarray:
            words = ", ".join(f"'{value}'" if isinstance(value, str) else str(value) for value in ids.tolist())
            some = rows.search().where(f"id in ({words})").select(["id", "learned"]).limit(len(ids)).to_arrow()
            values = dict(zip(some["id"].to_pylist(), matrix(some["learned"])))
            return np.array([values[value] for value in ids.tolist()])

        def search(Q: np.ndarray, k: int) -> np.ndarray:
            ask = [rows.search(q, vector_column_name="learned").distance_type("l2") for q in Q.astype(np.float32)]
            return np.array([one.select(["id", "_distance"]).limit(k).to_arrow()["id"].to_pylist() for one in ask])

        dtype = {"float": "float32", "double": "float64"}.get(str(kind.value_type), str(kind.value_type))
        return Reader(kind.list_size, rows.count_rows(), search, fetch, dtype=dtype)

    def read(
        self, path: Any, table: str = "items", *, column: str | None = None, id: str | None = None, block: int = 8192
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Blocks (ids, vectors) of a LanceDB table."""
        owner = "from_lancedb"
        lancedb, pa = self.needs(owner, "lancedb"), self.needs(owner, "pyarrow")
        database = path if hasattr(path, "open_table") else lancedb.connect(str(path))
        rows = database.open_table(table)
        vectors, numbers = chosen(pa, rows.schema, column, id, f"table {table!r}", owner)
        for start in range(0, rows.count_rows(), block):
            ask = rows.search().select([*vectors, *([numbers] if numbers else [])]).offset(start).limit(block)
            some = ask.to_arrow()
            ids = np.arange(start, start + len(some)) if numbers is None else some[numbers].to_numpy()
            yield ids, matrix(some[vectors[0]])


def names(database: Any) -> list[str]:
    """Names of all tables of a database."""
    if not hasattr(database, "list_tables"):
        return list(database.table_names(limit=10_000))
    listed = database.list_tables(limit=10_000)
    return list(getattr(listed, "tables", listed))
