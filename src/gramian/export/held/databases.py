"""Written tables of DuckDB, LanceDB and Milvus, as the check asks them."""

from pathlib import Path
from typing import Any

import numpy as np

from gramian.export import arrow
from gramian.export.duckdb import opened
from gramian.export.lancedb import names
from gramian.export.milvus import connected
from gramian.export.places import needs


class HeldDuckdb:
    """A written table of a DuckDB file, as the check asks it."""

    exact = True

    def __init__(self, path: Path, width: int, table: str = "items", form: str = "vector"):
        duckdb = needs("duckdb", "check", "duckdb")
        self.takes, self.table = form, table
        self.connection = opened(duckdb, path, "check", read_only=True)
        self.column = "learned" if form == "vector" else "original"
        kinds = dict(
            self.connection.execute(
                "select column_name, data_type from information_schema.columns where table_name = ?", [table]
            ).fetchall()
        )
        if self.column not in kinds:
            raise ValueError(f"check: table {table!r} has no column {self.column!r}; export to it first.")
        kind, _, size = kinds[self.column].partition("[")
        self.dtype = {"FLOAT": "float32", "DOUBLE": "float64"}.get(kind, kind)
        self.width = int(size.rstrip("]") or 0)
        self.count = self.connection.execute(f'select count(*) from "{table}"').fetchone()[0]

    def fetch(self, ids: np.ndarray) -> np.ndarray:
        """Stored vectors."""
        ask = f'select {self.column} from "{self.table}" where id = ?'
        return np.array([self.connection.execute(ask, [value]).fetchone()[0] for value in ids.tolist()])

    def search(self, Q: np.ndarray, k: int) -> np.ndarray:
        """Ids of the k nearest."""
        score = {
            "vector": f"array_distance(learned, ?::float[{self.width}])",
            "query": f"norm - 2 * array_inner_product(original, ?::float[{self.width}])",
        }[self.takes]
        ask = f'select id from "{self.table}" order by {score} limit {k}'
        found = [self.connection.execute(ask, [query]).fetchall() for query in Q.astype(np.float32).tolist()]
        return np.array([[row[0] for row in rows] for rows in found])


class HeldLancedb:
    """A written LanceDB table, as the check asks it."""

    takes, exact = "vector", True

    def __init__(self, path: Path, width: int, table: str = "items", form: str = "vector"):
        lancedb = needs("lancedb", "check", "lancedb")
        database = lancedb.connect(str(path))
        if table not in names(database):
            raise ValueError(f"check: {str(path)!r} has no table {table!r}; it has {', '.join(names(database))}.")
        self.table = database.open_table(table)
        if "learned" not in self.table.schema.names:
            raise ValueError(f"check: table {table!r} has no column 'learned'; export to it first.")
        kind = self.table.schema.field("learned").type
        self.width, self.count = kind.list_size, self.table.count_rows()
        self.dtype = {"float": "float32", "double": "float64"}.get(str(kind.value_type), str(kind.value_type))

    def fetch(self, ids: np.ndarray) -> np.ndarray:
        """Stored vectors."""
        words = ", ".join(f"'{value}'" if isinstance(value, str) else str(value) for value in ids.tolist())
        part = self.table.search().where(f"id in ({words})").select(["id", "learned"]).limit(len(ids)).to_arrow()
        values = dict(zip(part["id"].to_pylist(), arrow.matrix(part["learned"])))
        return np.array([values[value] for value in ids.tolist()])

    def search(self, Q: np.ndarray, k: int) -> np.ndarray:
        """Ids of the k nearest."""
        ask = [self.table.search(q, vector_column_name="learned").distance_type("l2") for q in Q.astype(np.float32)]
        return np.array([one.select(["id", "_distance"]).limit(k).to_arrow()["id"].to_pylist() for one in ask])


class HeldMilvus:
    """A written collection, as the check asks it."""

    takes, exact, dtype = "vector", True, "float32"

    def __init__(self, path: Any, width: int, table: str = "items", form: str = "vector"):
        needs("pymilvus", "check", "milvus")
        self.client, self.opened = connected(path, "check")
        self.table = table
        found = self.client.describe_collection(table)["fields"] if self.client.has_collection(table) else []
        sizes = {field["name"]: field["params"].get("dim") for field in found}
        if "learned" not in sizes:
            self.close()
            raise ValueError(f"check: collection {table!r} has no field 'learned'; export to it first.")
        self.client.load_collection(table)
        self.width = int(sizes["learned"])
        self.count = int(self.client.get_collection_stats(table)["row_count"])

    def fetch(self, ids: np.ndarray) -> np.ndarray:
        """Stored vectors."""
        found = self.client.get(self.table, ids=ids.tolist(), output_fields=["id", "learned"])
        values = {row["id"]: row["learned"] for row in found}
        return np.array([values[name] for name in ids.tolist()])

    def search(self, Q: np.ndarray, k: int) -> np.ndarray:
        """Ids of the k nearest."""
        queries = Q.astype(np.float32).tolist()
        found = self.client.search(self.table, queries, anns_field="learned", limit=k, output_fields=["id"])
        return np.array([[hit["id"] for hit in hits] for hits in found])

    def close(self) -> None:
        """Let go of the database."""
        if self.opened is not None:
            self.client.close()
