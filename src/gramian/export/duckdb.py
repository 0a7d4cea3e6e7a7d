"""Learned coordinates as a table of a DuckDB file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from gramian.export.base import Map, Reader, place
from gramian.export.points import Columns, batch, by_angle, schema
from gramian.export.tables import SCORE, TableTarget

DISTANCE = "array_distance(learned, ?::float[{width}])"
PRODUCT = "array_inner_product(original, ?::float[{width}])"
VECTOR = f"""
import duckdb, gramian as gm
z = {{metric}}.transform([x])[0].tolist()
nearest = 'select id from "{{table}}" order by {DISTANCE} limit 10'
answer = duckdb.connect("{{name}}", read_only=True).execute(nearest, [z]).fetchall()
ids = [row[0] for row in answer]
"""
QUERY = """
import duckdb, gramian as gm
q, c = {metric}.view([x]).affine.query([x])
nearest = 'select id from "{table}" order by {score} limit 10'
answer = duckdb.connect("{name}", read_only=True).execute(nearest, [{given}]).fetchall()
ids = [row[0] for row in answer]
"""
COLUMNS = """select column_name, data_type from information_schema.columns
where table_name = ? and table_schema = current_schema()"""


class Duckdb(TableTarget):
    """A table with the columns ``id`` and ``learned`` = E(x), float[r], in a DuckDB file.

    A table of this name that an earlier export made is replaced; another one is refused and stays as it is.
    """

    name, package, suffix, forms = "duckdb", "duckdb", ".duckdb", True
    queries = {"vector": VECTOR, "query": QUERY}
    terms = {"norm": "norm", "size": "size", "product": PRODUCT, "shift": "?"}
    words = {"path": ("path or connection", "The file, new or a database, with a README.md beside it.")}
    returns = "path, or the connection where one is given"
    example = """
>>> gm.export.to_duckdb(metric, np.eye(2), "items.duckdb")
PosixPath('items.duckdb')
"""

    @contextmanager
    def opened(self, path: Any, owner: str) -> Iterator[Any]:
        self.needs(owner, "pyarrow")
        live = hasattr(path, "execute")
        connection, target = (path, None) if live else self.connected(path, owner)
        connection.execute("begin")
        try:
            yield connection, target
            connection.execute("commit")
        except BaseException:
            connection.execute("rollback")
            raise
        finally:
            if not live:
                connection.close()

    def connected(self, path: Any, owner: str, read_only: bool = False) -> tuple[Any, Path]:
        """A connection to a file, or one sentence."""
        duckdb, target = self.needs(owner, "duckdb"), place(path, owner, "a file")
        if not target.parent.is_dir():
            raise FileNotFoundError(f"{owner}: no folder at {str(target.parent)!r}.")
        try:
            return duckdb.connect(str(target), read_only=read_only), target
        except duckdb.IOException as error:
            first = str(error).splitlines()[0]
            raise ValueError(f"{owner}: {str(target)!r} cannot be opened as a DuckDB file ({first}).") from error

    def existing(self, sink: Any, table: str) -> set[str]:
        return {row[0] for row in sink.execute(COLUMNS, [table]).fetchall()}

    def create(self, sink: Any, table: str, stored: Columns) -> Any:
        kinds = ["id varchar primary key" if stored.text else "id bigint primary key"]
        kinds += [f"{name} float[{width}]" if width else f"{name} float" for name, width in stored.widths.items()]
        sink.execute(f'create or replace table "{table}" ({", ".join(kinds)})')
        return sink, table, schema(stored)

    def insert(self, made: Any, ids: np.ndarray, values: dict[str, np.ndarray]) -> None:
        import pyarrow as pa

        connection, table, form = made
        block = pa.Table.from_batches([batch(form, ids, values)])  # noqa: F841  # DuckDB finds it by its name
        connection.execute(f'insert into "{table}" select * from block')

    def open(self, path: Any, map: Map, table: str | None, form: str) -> Reader:
        connection, _ = self.connected(path, "check", read_only=True)
        table, column = table or "items", "learned" if form == "vector" else "original"
        kinds = dict(connection.execute(COLUMNS, [table]).fetchall())
        if column not in kinds:
            connection.close()
            raise ValueError(f"check: table {table!r} has no column {column!r}; export to it first.")
        kind, _, size = kinds[column].partition("[")
        width = int(size.rstrip("]") or 0)
        score = DISTANCE if form == "vector" else SCORE[by_angle(map)].format(**self.terms)
        ask = f'select id from "{table}" order by {score.format(width=width)} limit'

        def rows(statement: str, values: Any) -> Any:
            return [[row[0] for row in connection.execute(statement, value).fetchall()] for value in values]

        def search(Q: np.ndarray, k: int) -> np.ndarray:
            asked = ([row[:width], *row[width:]][: score.count("?")] for row in Q.astype(np.float32).tolist())
            return np.array(rows(f"{ask} {k}", asked))

        def fetch(ids: np.ndarray) -> np.ndarray:
            return np.array(rows(f'select {column} from "{table}" where id = ?', zip(ids.tolist())))[:, 0]

        dtype = {"FLOAT": "float32", "DOUBLE": "float64"}.get(kind, kind)
        count = connection.execute(f'select count(*) from "{table}"').fetchone()[0]
        return Reader(width, count, search, fetch, form, column, dtype, close=connection.close)
