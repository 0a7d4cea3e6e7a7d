"""Learned coordinates in Postgres: a script with COPY data, and the map itself as an SQL function."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from gramian.export import arrow
from gramian.export.maps import Isometry, isometry
from gramian.export.places import loading, needs, readme, replacing, required
from gramian.export.rows import Columns, check_query_form, columns, progress, rows, single
from gramian.export.tables import OWN, check_name

WIDEST = 16_000
"""Dimensions that the type vector holds."""

HEAD = """\\set ON_ERROR_STOP on
begin;
"""
CREATE = """create extension if not exists vector;
do $$ begin
  if exists (select from information_schema.columns where table_schema = current_schema()
             and table_name = '{table}' and column_name not in ({own})) then
    raise exception 'table {table} is there with other columns, which no export made; name another table';
  end if;
end $$;
drop table if exists {table};
create table {table} (id {kind} primary key, {definition});
"""
MAP = """create extension if not exists vector;
drop table if exists {table}_map cascade;
create table {table}_map (i integer primary key, weights vector({d}));
"""
FUNCTION = """create or replace function {table}_{name}(x vector) returns vector language sql stable as
  $$ select array_agg(-(weights <#> x) order by i)::vector from {table}_map $$;
"""
HINT = """-- For many rows: create index on {table} using hnsw ({column} {operators}); at most 2000 dimensions.
-- For a table of your own: alter table yours add column learned vector({r});
-- update yours set learned = {table}_{name}(embedding);
"""
SQL = """
import psycopg
point = "[" + ",".join(map(str, x)) + "]"
ask = "select id from {table} order by {score} limit 10"
with psycopg.connect("postgresql://localhost/postgres") as connection:
    ids = [row[0] for row in connection.execute(ask, [point])]
"""
KERNEL = SQL.replace(
    'import psycopg\npoint = "[" + ",".join(map(str, x)) + "]"',
    """import gramian as gm, psycopg
point = str({metric}.transform([x])[0].tolist())""",
)


def to_pgvector(
    metric: Any,
    X: Any = None,
    path: Any = None,
    *,
    ids: Any = None,
    out: Any = None,
    table: str = "items",
    form: str = "vector",
    original: bool = False,
    verbose: bool = False,
    callback: Callable | None = None,
) -> Any:
    """A script for psql that makes a table with the columns ``id`` and ``learned`` = E(x), and fills it with COPY.

    A linear metric comes along inside SQL: the function ``TABLE_learned(x vector)`` computes Lx from the rows of L
    in ``TABLE_map``, so that raw points can be asked for, and a column that is there can be mapped, in the database
    alone. With ``X=None`` the script holds only that. A table of this name that an earlier export made is replaced;
    another one stops the script and stays as it is.

    Parameters
    ----------
    metric : Metric with finite coordinates, KernelFeatures, fitted learner, or the file of a metric
    X : array (n, d), or an iterator of blocks (ids, X), or None
    path : path, text stream, ``postgresql://`` address or psycopg connection
        The script (``psql -f items.sql``), with a README.md beside it; a stream, as ``sys.stdout`` for a pipe into
        psql; a database to write to. ``out`` is the same.
    ids : integers or words (n,), optional
        0 … n − 1 when not given.
    table : str
    form : {"vector", "query"}
        ``learned``; or ``original`` = x and ``norm`` = xᵀMx, to be searched with q′ = ``TABLE_query(x)`` = Mx:
        norm + 2 (original <#> q′) is d² but for a constant of the query.
    original : bool
        Store x beside ``learned``.
    verbose, callback
        A progress bar; ``callback(rows, total)``.

    Returns
    -------
    path, or the stream or connection where one is given

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> metric = gm.Mahalanobis.from_matrix(np.diag([1.0, 2.0, 0.0]))
    >>> gm.export.to_pgvector(metric, np.eye(3), "items.sql")  # doctest: +SKIP
    PosixPath('items.sql')
    """
    owner = "to_pgvector"
    path = path if out is None else out
    inner = isometry(metric, owner)
    check_name(table, owner)
    stored = None if X is None else columns(inner, rows(X, ids, owner, inner.n_features), form, original)
    _check_widths(inner, stored, form)
    with ExitStack() as stack:
        report = stack.enter_context(progress(owner, stored.total if stored else None, verbose, callback))
        parts = _parts(inner, stored, table, form, report)
        if hasattr(path, "cursor") or (isinstance(path, str) and "://" in path):
            _execute(path, parts, owner)
            return path
        if hasattr(path, "write"):
            path.writelines(_script(parts))
            return path
        target = required(path, None, owner, "a script that ends in .sql")
        temporary = stack.enter_context(replacing(target, owner))
        with open(temporary, "w", encoding="utf-8") as stream:
            stream.writelines(_script(parts))
    score, code = _score(inner, table, form), SQL if inner.is_linear else KERNEL
    code = code.format(table=table, score=score, metric=loading(inner, target))
    readme(target, inner, f"a script for psql that makes the table `{table}`: `psql -f {target.name}`.", code)
    return target


def _check_widths(inner: Isometry, stored: Columns | None, form: str) -> None:
    if form == "query":
        check_query_form(inner)
    if stored is None and not inner.is_linear:
        raise TypeError(f"{inner.owner}: a map that is not linear has no SQL form; give X to export its coordinates.")
    widths = list(stored.widths.values()) if stored else []
    widest = max([*widths, (inner.n_features or 0) if inner.is_linear else 0])
    if widest > WIDEST:
        raise ValueError(f"{inner.owner}: pgvector holds at most {WIDEST} dimensions, got {widest}.")


def _score(inner: Isometry, table: str, form: str) -> str:
    if form == "query":
        return f"norm + 2 * (original <#> (select {table}_query(%s::vector)))"
    return f"learned <-> (select {table}_learned(%s::vector))" if inner.is_linear else "learned <-> %s::vector"


def _parts(
    inner: Isometry, stored: Columns | None, table: str, form: str, report: Callable
) -> Iterator[tuple[str, str, Any]]:
    """The script as (what, text, rows): statements, then COPY commands with the lines of their rows."""
    if stored is not None:
        wide = [f"{name} vector({width})" if width else f"{name} real" for name, width in stored.widths.items()]
        own, kind = ", ".join(f"'{name}'" for name in sorted(OWN)), "text" if stored.text else "bigint"
        yield "do", CREATE.format(table=table, own=own, kind=kind, definition=", ".join(wide)), None
        names = ", ".join(["id", *stored.widths])
        yield "copy", f"copy {table} ({names}) from stdin", _lines(stored, inner.owner, report)
    if not inner.is_linear:
        return
    name = "query" if form == "query" else "learned"
    L = inner.matrix if form == "query" else inner.components
    yield "do", MAP.format(table=table, d=L.shape[1]), None
    weights = arrow.texts(single(L, inner.owner), inner.owner, "pgvector")
    yield "copy", f"copy {table}_map (i, weights) from stdin", (f"{i}\t[{row}]\n" for i, row in enumerate(weights))
    column, operators = ("original", "vector_ip_ops") if form == "query" else ("learned", "vector_l2_ops")
    tail = FUNCTION.format(table=table, name=name) + HINT.format(
        table=table, name=name, r=len(L), column=column, operators=operators
    )
    yield "do", tail, None


def _lines(stored: Columns, owner: str, report: Callable) -> Iterator[str]:
    for ids, values in stored.blocks:
        cells = [_escaped(ids) if stored.text else ids.astype(str).tolist()]
        for name, width in stored.widths.items():
            if width:
                cells.append([f"[{row}]" for row in arrow.texts(values[name], owner, "pgvector")])
            else:
                cells.append(arrow.texts(values[name][:, None], owner, "pgvector"))
        yield "".join(["\t".join(row) + "\n" for row in zip(*cells)])
        report(len(ids))


def _escaped(words: np.ndarray) -> list[str]:
    """Words as the text format of COPY has them."""
    marks = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})
    return [word.translate(marks) for word in words.tolist()]


def _script(parts: Iterator[tuple[str, str, Any]]) -> Iterator[str]:
    yield HEAD
    for what, text, lines in parts:
        if what == "do":
            yield text
        else:
            yield f"{text};\n"
            yield from lines
            yield "\\.\n"
    yield "commit;\n"


def _execute(address: Any, parts: Iterator[tuple[str, str, Any]], owner: str) -> None:
    """Run the parts in one transaction of a database."""
    psycopg = needs("psycopg", owner, "pgvector")
    connection = psycopg.connect(address) if isinstance(address, str) else address
    try:
        with connection.transaction(), connection.cursor() as cursor:
            for what, text, lines in parts:
                if what == "do":
                    cursor.execute(text)
                    continue
                with cursor.copy(text) as stream:
                    for piece in lines:
                        stream.write(piece)
    finally:
        if isinstance(address, str):
            connection.close()


def from_pgvector(
    path: Any, table: str = "items", column: str = "embedding", *, id: str = "id", block: int = 8192
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Blocks (ids, vectors) of a table with a column of the type vector.

    Parameters
    ----------
    path : ``postgresql://`` address or psycopg connection
    table, column, id : str
        Names of the table, of its vectors, and of its ids.
    block : int
        Rows at a time.

    Examples
    --------
    >>> import gramian as gm
    >>> blocks = gm.export.from_pgvector("postgresql://localhost/shop", "items", "embedding")  # doctest: +SKIP
    >>> index = gm.export.fill(gm.HashIndex(metric), blocks)  # doctest: +SKIP
    """
    owner = "from_pgvector"
    psycopg = needs("psycopg", owner, "pgvector")
    names = [check_name(name, owner) for name in (id, column, table)]
    connection = psycopg.connect(path) if isinstance(path, str) else path
    try:
        with connection.transaction(), connection.cursor(name="gramian") as cursor:
            cursor.itersize = block
            cursor.execute(f'select "{names[0]}", "{names[1]}"::text from "{names[2]}" order by 1')
            while found := cursor.fetchmany(block):
                vectors = [np.fromstring(text[1:-1], dtype=np.float32, sep=",") for _, text in found]
                yield np.array([name for name, _ in found]), np.stack(vectors)
    finally:
        if isinstance(path, str):
            connection.close()


class HeldPgvector:
    """A written script, run in an embedded Postgres (pgserver), or a table of a server, as the check asks it."""

    dtype, exact = "float32", True

    def __init__(self, path: Any, width: int, table: str = "items", form: str = "vector"):
        psycopg = needs("psycopg", "check", "pgvector")
        self.takes, self.table = form, table
        self.column = "learned" if form == "vector" else "original"
        self.stack = ExitStack()
        address = str(path)
        if "://" not in address:
            address = self.stack.enter_context(embedded(Path(path)))
        self.connection = self.stack.enter_context(psycopg.connect(address, autocommit=True))
        found = self.connection.execute(
            "select atttypmod from pg_attribute where attrelid = to_regclass(%s) and attname = %s",
            [table, self.column],
        ).fetchone()
        if found is None:
            self.close()
            raise ValueError(f"check: table {table!r} has no column {self.column!r}; export to it first.")
        self.width = int(found[0])
        self.count = self.connection.execute(f'select count(*) from "{table}"').fetchone()[0]  # type: ignore[index]

    def fetch(self, ids: np.ndarray) -> np.ndarray:
        """Stored vectors."""
        ask = f'select {self.column}::text from "{self.table}" where id = %s'
        texts = [self.connection.execute(ask, [name]).fetchone()[0] for name in ids.tolist()]  # type: ignore[index]
        return np.stack([np.fromstring(text[1:-1], sep=",") for text in texts])

    def search(self, Q: np.ndarray, k: int) -> np.ndarray:
        """Ids of the k nearest, by the exact scan."""
        score = {"vector": "learned <-> %s::vector", "query": "norm + 2 * (original <#> %s::vector)"}[self.takes]
        ask = f'select id from "{self.table}" order by {score} limit {k}'
        found = []
        for q in Q.astype(np.float32).tolist():
            with self.connection.transaction():
                self.connection.execute("set local enable_indexscan = off")
                found.append([row[0] for row in self.connection.execute(ask, [str(q)])])
        return np.array(found)

    def close(self) -> None:
        """Close the connection, and stop an embedded server."""
        self.stack.close()


class embedded:
    """An embedded Postgres that has run a script, while a block lasts; the value is its address."""

    def __init__(self, script: Path):
        self.script = script

    def __enter__(self) -> str:
        import subprocess
        import tempfile

        pgserver = needs("pgserver", "check", "engines")
        self.folder = tempfile.TemporaryDirectory()
        self.server = pgserver.get_server(self.folder.name)
        psql = Path(pgserver.__file__).parent / "pginstall" / "bin" / "psql"
        address = self.server.get_uri()
        done = subprocess.run([psql, address, "-q", "-f", self.script], capture_output=True, text=True)
        if done.returncode:
            self.__exit__()
            raise ValueError(f"check: psql stopped: {done.stderr.strip()}")
        return address

    def __exit__(self, *error: Any) -> None:
        self.server.cleanup()
        self.folder.cleanup()
