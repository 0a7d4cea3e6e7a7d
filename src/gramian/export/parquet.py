"""Learned coordinates as a Parquet file, and points from one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gramian._settings import Count
from gramian.export.base import Map, Reader, place, scanned
from gramian.export.points import Columns, batch, matrix, schema
from gramian.export.tables import TableTarget
from gramian.persist import replacing

VECTOR = """
import gramian as gm, numpy as np, pyarrow.parquet as pq
table = pq.read_table("{name}")
Z = np.stack(table["learned"].to_numpy())
z = {metric}.transform([x])
ids = table["id"].to_numpy()[((Z - z) ** 2).sum(axis=1).argsort()[:10]]
"""
QUERY = """
import gramian as gm, numpy as np, pyarrow.parquet as pq
(q, c), table = {metric}.view([x]).affine.query([x]), pq.read_table("{name}")
table = {{name: np.stack(table[name].to_numpy()) for name in table.column_names}}
d2 = {score}  # but for a constant
ids = table["id"][d2.argsort()[:10]]
"""


class Parquet(TableTarget):
    """A Parquet file with the columns ``id`` and ``learned`` = E(x), written block by block."""

    name, package, suffix, forms = "parquet", "pyarrow", ".parquet", True
    without = ("source", "table")
    written = "columns {columns}."
    queries = {"vector": VECTOR, "query": QUERY}
    terms = {
        "norm": 'table["norm"]',
        "size": 'table["size"]',
        "product": '(table["original"] @ q[0])',
        "shift": "c[0]",
    }
    reads = '"items.parquet", "embedding"'

    @contextmanager
    def opened(self, path: Any, owner: str, read_only: bool = False) -> Iterator[Any]:
        target = place(path, owner, "a file")
        with replacing(target, owner) as temporary:
            yield temporary, target

    def create(self, sink: Any, table: str, stored: Columns) -> Any:
        import pyarrow.parquet as pq

        form = schema(stored)
        return pq.ParquetWriter(sink, form), form

    def insert(self, place: Any, ids: np.ndarray, values: dict[str, np.ndarray]) -> None:
        writer, form = place
        writer.write_batch(batch(form, ids, values))

    def finish(self, place: Any) -> None:
        place[0].close()

    def open(self, path: Any, map: Map, table: str | None, form: str) -> Reader:
        read = self.needs("check", "pyarrow.parquet").read_table(path)
        name = "learned" if form == "vector" else "original"
        if name not in read.column_names:
            raise ValueError(f"check: {str(path)!r} has no column {name!r}; export to it first.")
        norm, size = (read[key].to_numpy() if key in read.column_names else 1 for key in ("norm", "size"))
        return scanned(read["id"].to_numpy(), matrix(read[name]), norm if form == "query" else None, size)

    def read(
        self, path: Any, column: str | None = None, *, id: str | None = None, block: Count = 8192
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Blocks (ids, vectors) of a Parquet file, read as they are asked for.

        Without a column of lists of numbers, all columns of numbers together are the points.
        """
        owner = "from_parquet"
        pq, pa = self.needs(owner, "pyarrow.parquet"), self.needs(owner, "pyarrow")
        if not os.path.isfile(path):
            raise FileNotFoundError(f"{owner}: no file at {str(path)!r}.")
        try:
            file = pq.ParquetFile(path)
        except pa.ArrowInvalid as error:
            raise ValueError(f"{owner}: {str(path)!r} is not a Parquet file.") from error
        vectors, names = columns_of(pa, file.schema_arrow, column, id, str(path), owner)
        start = 0
        for rows in file.iter_batches(block, columns=[*vectors, *([names] if names else [])]):
            n = len(rows)  # of this block
            ids = np.arange(start, start + n) if names is None else rows.column(names).to_numpy(zero_copy_only=False)
            start += n
            if n:
                yield ids, _points(rows, vectors, owner)


def columns_of(
    pa: Any, form: Any, column: str | None, id: str | None, where: str, owner: str
) -> tuple[list[str], str | None]:
    """Names of the columns that hold the points, and of the column of ids."""
    kinds = (pa.types.is_list, pa.types.is_fixed_size_list, pa.types.is_large_list)
    lists = [field.name for field in form if any(is_kind(field.type) for is_kind in kinds)]  # columns of vectors
    names = id if id is not None else ("id" if "id" in form.names else None)
    for wanted in (column, id):
        if wanted is not None and wanted not in form.names:
            raise ValueError(f"{owner}: {where} has no column {wanted!r}; it has {', '.join(form.names)}.")
    if column is not None:
        return [column], names
    if len(lists) > 1:
        raise ValueError(f"{owner}: {where} has several columns of vectors, {', '.join(lists)}; name one.")
    numbers = [f.name for f in form if pa.types.is_floating(f.type) or pa.types.is_integer(f.type)]
    vectors = lists or [name for name in numbers if name != names]
    if not vectors:
        raise ValueError(f"{owner}: {where} has no column of vectors or numbers.")
    return vectors, names


def _points(rows: Any, vectors: list[str], owner: str) -> np.ndarray:
    column = rows.column(vectors[0])
    if not hasattr(column.type, "value_type"):
        return np.column_stack([rows.column(name).to_numpy(zero_copy_only=False) for name in vectors])  # (n, d)
    widths = np.asarray(column.value_lengths()) if hasattr(column, "value_lengths") else None
    if column.null_count or (widths is not None and len(set(widths.tolist())) > 1):
        raise ValueError(f"{owner}: column {vectors[0]!r} must hold vectors of one length, without gaps.")
    return matrix(column)
