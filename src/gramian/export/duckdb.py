"""Learned coordinates as a table of a DuckDB file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gramian.export.base import place
from gramian.export.points import Columns, batch, schema
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

    live = "execute"

    def connect(self, path: Any, owner: str, read_only: bool = False) -> tuple[Any, Path]:
        duckdb, target = self.needs(owner, "duckdb"), place(path, owner, "a file")
        if not target.parent.is_dir():
            raise FileNotFoundError(f"{owner}: no folder at {str(target.parent)!r}.")
        try:
            return duckdb.connect(str(target), read_only=read_only), target
        except duckdb.IOException as error:
            reason = str(error).splitlines()[0]
            raise ValueError(f"{owner}: {str(target)!r} cannot be opened as a DuckDB file ({reason}).") from error

    def existing(self, client: Any, table: str) -> dict[str, tuple[int, str]]:
        kinds = [(name, *kind.partition("[")[::2]) for name, kind in client.execute(COLUMNS, [table]).fetchall()]
        dtypes = {"FLOAT": "float32", "DOUBLE": "float64"}
        return {name: (int(size.rstrip("]") or 0), dtypes.get(kind, kind)) for name, kind, size in kinds}

    def fill(self, sink: Any, table: str, stored: Columns, report: Callable[[int], None]) -> None:
        self.needs(stored.map.owner, "pyarrow")
        sink.execute("begin")
        try:
            super().fill(sink, table, stored, report)
            sink.execute("commit")
        except BaseException:
            sink.execute("rollback")
            raise

    def create(self, sink: Any, table: str, stored: Columns) -> Any:
        kinds = ["id varchar primary key" if stored.text else "id bigint primary key"]
        kinds += [f"{name} float[{width}]" if width else f"{name} float" for name, width in stored.widths.items()]
        sink.execute(f'create or replace table "{table}" ({", ".join(kinds)})')
        return sink, table, schema(stored)

    def insert(self, place: Any, ids: np.ndarray, values: dict[str, np.ndarray]) -> None:
        import pyarrow as pa

        connection, table, form = place
        block = pa.Table.from_batches([batch(form, ids, values)])  # noqa: F841  # DuckDB finds it by its name
        connection.execute(f'insert into "{table}" select * from block')

    def count(self, client: Any, table: str) -> int:
        return client.execute(f'select count(*) from "{table}"').fetchone()[0]

    def vectors(self, client: Any, table: str, column: str, ids: list[Any]) -> dict[Any, Any]:
        return dict(client.execute(f'select id, {column} from "{table}" where id in ?', [ids]).fetchall())

    def nearest(self, client: Any, table: str, Q: np.ndarray, k: int, angle: bool | None) -> list[Any]:
        score = DISTANCE if angle is None else SCORE[angle].format(**self.terms)
        width = Q.shape[1] - (angle is not None)  # without c
        ask = f'select id from "{table}" order by {score.format(width=width)} limit {k}'
        values = ([row[:width], *row[width:]][: score.count("?")] for row in Q.tolist())
        return [[row[0] for row in client.execute(ask, one).fetchall()] for one in values]
