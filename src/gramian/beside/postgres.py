"""A sidecar of a column of vectors in Postgres with pgvector."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import Any, Literal

import numpy as np

from gramian import _settings
from gramian.beside.engine import Engine, Hit, Id, package
from gramian.beside.sidecar import Sidecar

OPERATORS = {"cosine": "<=>", "dot": "<#>", "l2": "<->"}
CLASSES = {"vector_cosine_ops": "cosine", "vector_ip_ops": "dot", "vector_l2_ops": "l2"}
"""Operator classes of indexes, and what they compare by."""
FACTS = """select attname, atttypmod, format_type(atttypid, null) from pg_attribute
where attrelid = to_regclass(%s) and attname = any(%s) and not attisdropped"""
SEARCH = """(select {i}, {id}, {column} {op} %s::vector as score{more} from {table} where {where}
order by 3 limit %s)"""
INDEXED = """select distinct opcname from pg_index i join pg_attribute a on a.attrelid = i.indrelid
cross join unnest(i.indclass) c join pg_opclass o on o.oid = c
where i.indrelid = to_regclass(%s) and a.attname = %s and a.attnum = any(i.indkey)"""


class PostgresEngine(Engine):
    """A table with a column of the type vector."""

    def __init__(
        self, connection: Any, table: str, column: str, id: str, columns: Sequence[str], metric: str | None
    ) -> None:
        sql = package("psycopg.sql", "Postgres", "pgvector")
        pool = hasattr(connection, "getconn")
        if not pool and not getattr(connection, "autocommit", False):
            raise ValueError(
                "Postgres: connection must be a pool, or a connection of psycopg 3 with autocommit=True: documents are "
                "read in a thread of their own, which must not take part in a transaction of yours."
            )
        self.connection, self.name, self._alone = connection, f"{table}.{column}", None if pool else RLock()
        place = sql.Identifier(*table.split("."))
        with self._cursor() as cursor:
            regclass = place.as_string(cursor)
            cursor.execute(FACTS, [regclass, [id, column]])
            facts = {row[0]: row[1:] for row in cursor.fetchall()}
            cursor.execute(INDEXED, [regclass, column])
            known = [CLASSES[row[0]] for row in cursor.fetchall() if row[0] in CLASSES]
        if {id, column} - set(facts) or facts[column][1] != "vector":
            raise ValueError(f"Postgres: table {table!r} must have the columns {id!r} and {column!r}, a vector.")
        if facts[column][0] < 1:
            raise ValueError(f"Postgres: column {column!r} must say its width, as vector(384), got vector.")
        self.width = int(facts[column][0])
        self.metric = metric or (known[0] if len(set(known)) == 1 else "cosine")
        names = {"id": id, "column": column}
        parts = {word: sql.Identifier(name) for word, name in names.items()} | {"table": place}
        parts |= {"more": sql.SQL("").join(sql.SQL(", {}").format(sql.Identifier(name)) for name in columns)}
        parts |= {"op": sql.SQL(OPERATORS[self.metric]), "type": sql.SQL(facts[id][1])}
        self._columns, self._sql, self._parts = list(columns), sql, parts

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        """A cursor, for one thread at a time where there is one connection."""
        if self._alone is None:
            with self.connection.connection() as connection, connection.cursor() as cursor:
                yield cursor
        else:
            with self._alone, self.connection.cursor() as cursor:
                yield cursor

    def search(self, vectors: Sequence[Any], k: int, **options: Any) -> list[list[Hit]]:
        sql, where, params = self._sql, options.pop("where", "true"), options.pop("params", ())
        if options:
            raise TypeError(f"Postgres: search takes where and params, got {', '.join(options)}.")
        condition = sql.SQL(where) if isinstance(where, str) else where
        asked = [sql.SQL(SEARCH).format(i=i, where=condition, **self._parts) for i in range(len(vectors))]
        values = [value for vector in vectors for value in (texted(vector), *params, k)]
        with self._cursor() as cursor:
            cursor.execute(sql.SQL(" union all ").join(asked), values)
            rows = cursor.fetchall()
        hits: list[list[Hit]] = [[] for _ in vectors]
        for i, name, score, *more in sorted(rows, key=lambda row: (row[0], row[2])):
            hits[i].append(Hit(name, score, dict(zip(self._columns, more))))
        return hits

    def vectors(self, ids: list[Id]) -> dict[Id, Any]:
        text = self._sql.SQL("select {id}, {column}::text from {table} where {id} = any(%s::{type}[])")
        with self._cursor() as cursor:
            cursor.execute(text.format(**self._parts), [[str(name) for name in ids]])
            rows = cursor.fetchall()
        return {name: np.fromstring(x[1:-1], dtype=np.float32, sep=",") for name, x in rows if x is not None}

    def count(self) -> int:
        with self._cursor() as cursor:
            cursor.execute(self._sql.SQL("select count(*) from {table}").format(**self._parts))
            return cursor.fetchone()[0]


def texted(vector: Any) -> str:
    """A vector as pgvector reads it."""
    return str(vector.tolist() if hasattr(vector, "tolist") else list(vector))


class Postgres(Sidecar):
    """Let a table of Postgres with pgvector learn from what people found useful, without touching it.

    See :class:`Sidecar` for the methods. ``search`` also takes ``where``, SQL that you wrote yourself, with ``params``
    for its placeholders: ``docs.search(x, 10, where="lang = %s", params=["en"])``.

    Parameters
    ----------
    connection : psycopg_pool.ConnectionPool or psycopg.Connection
        A connection must be in autocommit mode and is used by one thread at a time; give a pool where many search.
    table : str
        Its name, with that of its schema where it is not in the search path: ``"shop.items"``.
    column : str
        The vectors.
    space : path
        Folder of what is logged and learned; made when it is not there. One process may have it open.
    id : str
        The column that names rows.
    columns : list of str
        More columns to return, as ``records``.
    metric : {"cosine", "dot", "l2"}, optional
        How vectors are compared: as the index of the column does, or by the cosine without one, when not given.

    Examples
    --------
    >>> pool = psycopg_pool.ConnectionPool("postgresql://localhost/shop")  # doctest: +SKIP
    >>> docs = gm.beside.Postgres(pool, "items", "embedding", columns=["title"], space="space")  # doctest: +SKIP
    >>> answer = docs.search(embed("undo a commit"), 5)  # doctest: +SKIP
    >>> click = docs.useful(answer.query_id, answer.ids[0])  # doctest: +SKIP
    """

    def __init__(
        self,
        connection: Any,
        table: str,
        column: str = "embedding",
        *,
        space: _settings.Path,
        id: str = "id",
        columns: _settings.Names = (),
        metric: Literal["cosine", "dot", "l2"] | None = None,
    ) -> None:
        super().__init__(PostgresEngine(connection, table, column, id, columns, metric), space)
