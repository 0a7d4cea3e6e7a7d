"""Learned coordinates in Postgres: a script with COPY data, and the map itself as SQL functions."""

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from gramian._settings import Count
from gramian.export.base import Map, Reader, place
from gramian.export.points import Columns, by_angle, single, texts
from gramian.export.tables import OURS, SCORE, TableTarget, check_name
from gramian.persist import replacing

WIDEST = 16_000
"""Dimensions that the type vector holds."""
Piece = tuple[str, Iterator[str] | None]
"""A statement, or a COPY command with its lines."""

CREATE = """create extension if not exists vector;
do $$ begin
  if exists (select from information_schema.columns where table_schema = current_schema()
             and table_name = '{table}' and column_name not in ({ours})) then
    raise exception 'table {table} is there with other columns, which no export made; name another table';
  end if;
end $$;
drop table if exists "{table}";
create table "{table}" (id {kind} primary key, {definition});
"""
STAGE = """create extension if not exists vector;
drop table if exists "{table}_{stage}" cascade;
create table "{table}_{stage}" (i integer primary key, weights vector({d}), bias real);
"""
PRODUCTS = 'select i, bias - (weights <#> {v}) as v from "{table}_{stage}"{rows}'
LENGTH_ONE = "select i, v / coalesce(nullif(sqrt(sum(v * v) over ()), 0), 1) as v from ({products}) products"
GATHERED = "(select array_agg(v order by i)::vector from ({rows}) gathered)"
FUNCTION = """create or replace function "{table}_{name}"(x vector) returns vector language sql stable as
  $$ select {value} $$;
"""
HINT = """-- For many rows: create index on "{table}" using hnsw ({column} {operators}); at most 2000 dimensions.
-- For a table of your own: alter table yours add column learned vector({r});
-- update yours set learned = "{table}_{name}"(embedding);
"""
SQL = """
import psycopg
point = "[" + ",".join(map(str, x)) + "]"
ask = '''select id from "{table}" order by {score} limit 10'''
with psycopg.connect("postgresql://localhost/postgres") as connection:
    ids = [row[0] for row in connection.execute(ask, {{"x": point}})]
"""
CURVED = SQL.replace(
    'import psycopg\npoint = "[" + ",".join(map(str, x)) + "]"',
    "import gramian as gm, psycopg\npoint = str({metric}.transform([x])[0].tolist())",
)
WIDTH = """select atttypmod from pg_attribute
where attrelid = to_regclass(format('%%I', %s::text)) and attname = %s"""
TERMS = {
    "norm": "norm",
    "size": "size",
    "product": '-(original <#> (select "{table}_query"(%(x)s::vector)))',
    "shift": "-((select \"{table}_shift\"(%(x)s::vector)) <#> '[1]')",
}


class Pgvector(TableTarget):
    """A script for psql that makes a table with the columns ``id`` and ``learned`` = E(x), and fills it with COPY.

    A linear metric, or one by the angle, comes along inside SQL: the function ``TABLE_learned(x vector)`` computes E(x)
    from the rows of L in ``TABLE_map``, so that raw points can be asked for, and a column that is there can be mapped,
    in the database alone. With ``X=None`` the script holds only that. In the form "query" ``TABLE_query(x)`` is q′. A
    table of this name that an earlier export made is replaced; another one stops the script and stays as it is.
    """

    name, package, suffix, forms = "pgvector", "pyarrow", ".sql", True
    defaults = {"X": None}
    written = "a script for psql that makes the table `{table}`: `psql -f {name}`."
    words = {
        "X": ("array (n, d), or an iterator of blocks (ids, X), or None", "The points; None for the map alone."),
        "path": (
            "path, text stream, ``postgresql://`` address or psycopg connection",
            """The script (``psql -f items.sql``), with a README.md beside it; a stream, as ``sys.stdout`` for a pipe
            into psql; a database to write to, or to read from.""",
        ),
        "table": ("str", "Name of the table."),
        "column": ("str", "Name of the column of vectors."),
        "id": ("str", "Name of the column of ids."),
    }
    returns = "path, or the stream or connection where one is given"
    handle = "cursor"
    reads = '"postgresql://localhost/shop", "items", column="embedding"'

    @contextmanager
    def opened(self, path: Any, owner: str, read_only: bool = False) -> Iterator[Any]:
        with ExitStack() as stack:
            if hasattr(path, "cursor") or (isinstance(path, str) and "://" in path):
                connection = path
                if isinstance(path, str):
                    connection = stack.enter_context(self.needs(owner, "psycopg").connect(path))
                stack.enter_context(connection.transaction())
                yield (lambda pieces: _execute(stack.enter_context(connection.cursor()), pieces)), None
            elif hasattr(path, "write"):
                yield (lambda pieces: path.writelines(_script(pieces))), None
            else:
                target = place(path, owner, "a script that ends in .sql")
                stream = stack.enter_context(open(stack.enter_context(replacing(target, owner)), "w", encoding="utf-8"))
                yield (lambda pieces: stream.writelines(_script(pieces))), target

    def fill(self, sink: Any, table: str, stored: Columns, report: Callable[[int], None]) -> None:
        form = "query" if "norm" in stored.widths else "vector"
        check_width(stored.map, *stored.widths.values())

        def pieces() -> Iterator[Piece]:
            kinds = [f"{name} vector({width})" if width else f"{name} real" for name, width in stored.widths.items()]
            ours, kind = ", ".join(f"'{name}'" for name in sorted(OURS)), "text" if stored.text else "bigint"
            yield CREATE.format(table=table, ours=ours, kind=kind, definition=", ".join(kinds)), None
            yield f'copy "{table}" ({", ".join(["id", *stored.widths])}) from stdin', _lines(stored, report)
            if stored.map.affine is not None:
                yield from map_pieces(stored.map, table, form)

        sink(pieces())

    def without_rows(
        self, sink: Any, table: str, map: Map, form: str, source: str | None, report: Callable[[int], None]
    ) -> None:
        if map.affine is None:
            raise TypeError(f"{map.owner}: a map that is not linear has no SQL form; give X to export its coordinates.")
        check_width(map)
        sink(map_pieces(map, table, form))

    def lines(self, map: Map, target: Path, table: str, form: str, stored: Columns | None) -> tuple[str, str]:
        facts = {"table": table, "score": score(map, table, form), "metric": map.loading(target)}
        code = CURVED if map.affine is None else SQL
        return self.written.format(table=table, name=target.name), code.format(**facts)

    def open(self, path: Any, map: Map, table: str | None, form: str) -> Reader:
        psycopg, stack, table = self.needs("check", "psycopg"), ExitStack(), table or "items"
        column, order = "learned" if form == "vector" else "original", score(map, table, form)
        address = str(path) if "://" in str(path) else stack.enter_context(embedded(self, Path(path)))
        connection = stack.enter_context(psycopg.connect(address, autocommit=True))
        width = connection.execute(WIDTH, [table, column]).fetchone()  # None: there is no such column
        if width is None:
            stack.close()
            raise ValueError(f"check: table {table!r} has no column {column!r}; export to it first.")

        def fetch(ids: np.ndarray) -> np.ndarray:
            ask = f'select {column}::text from "{table}" where id = %s'
            return np.stack([parsed(connection.execute(ask, [name]).fetchone()[0]) for name in ids.tolist()])

        def search(Q: np.ndarray, k: int) -> np.ndarray:
            ask, ids = f'select id from "{table}" order by {order} limit {k}', []
            for q in Q.astype(np.float32).tolist():
                with connection.transaction():
                    connection.execute("set local enable_indexscan = off")  # an index would answer approximately
                    ids.append([row[0] for row in connection.execute(ask, {"x": str(q)})])
            return np.array(ids)

        count = connection.execute(f'select count(*) from "{table}"').fetchone()[0]
        takes = "vector" if map.affine is None else "raw"
        return Reader(int(width[0]), count, search, fetch, takes, column, close=stack.close)

    def read(
        self, path: Any, table: str = "items", *, column: str = "embedding", id: str = "id", block: Count = 8192
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Blocks (ids, vectors) of a table with a column of the type vector."""
        owner = "from_pgvector"
        psycopg = self.needs(owner, "psycopg")
        names = [check_name(name, owner) for name in (id, column, table)]
        with ExitStack() as stack:
            connection = stack.enter_context(psycopg.connect(path)) if isinstance(path, str) else path
            stack.enter_context(connection.transaction())
            cursor = stack.enter_context(connection.cursor(name="gramian"))  # of the server, which then sends blocks
            cursor.itersize = block
            cursor.execute(f'select "{names[0]}", "{names[1]}"::text from "{names[2]}" order by 1')
            while rows := cursor.fetchmany(block):
                yield np.array([name for name, _ in rows]), np.stack([parsed(text) for _, text in rows])


def check_width(map: Map, *widths: int) -> None:
    """Refuse what pgvector cannot hold."""
    widest = max([*widths, 0 if map.affine is None else map.n_features or 0])
    if widest > WIDEST:
        raise ValueError(f"{map.owner}: pgvector holds at most {WIDEST} dimensions, got {widest}.")


def score(map: Map, table: str, form: str) -> str:
    """What to order by, for a raw point in the place of %(x)s, or for its coordinates under a curved metric."""
    if form == "query":
        return SCORE[by_angle(map)].format(**TERMS).format(table=table)
    point = "%(x)s::vector" if map.affine is None else f'(select "{table}_learned"(%(x)s::vector))'
    return f"learned <-> {point}"


def map_pieces(map: Map, table: str, form: str) -> Iterator[Piece]:
    """E(x), or q′ and c, as tables of weights and functions over them."""
    affine = map.formula
    L = np.eye(map.n_features or 0) if affine.L is None else affine.L  # (r, d)
    b = np.zeros(len(L)) if affine.b is None else affine.b  # (r,)
    names, last = ["learned"], affine.C
    if form == "query":
        names = ["query", "shift"] if affine.by_angle else ["query"]
        N = np.eye(len(L)) if last is None else last.T @ last  # CᵀC, (r, r)
        # By the angle q′ = LᵀN u/|u| and c = bᵀN u/|u|, in rows one below the other.
        L, b, last = (L, b, np.vstack([L.T @ N, b @ N])) if affine.by_angle else (L.T @ L, np.zeros(L.shape[1]), None)
    yield from _stage(map, table, "map", L, b)
    value = inner = PRODUCTS.format(v="x", table=table, stage="map", rows="")  # Lx + b
    if affine.by_angle:
        value = inner = LENGTH_ONE.format(products=inner)
    if last is not None:
        yield from _stage(map, table, "last", last, np.zeros(len(last)))
    for name in names:
        if last is not None:
            rows = {"learned": "", "query": f" where i < {L.shape[1]}", "shift": f" where i = {L.shape[1]}"}[name]
            value = PRODUCTS.format(v=GATHERED.format(rows=inner), table=table, stage="last", rows=rows)
        yield FUNCTION.format(table=table, name=name, value=GATHERED.format(rows=value)), None
    column, operators = ("original", "vector_ip_ops") if form == "query" else ("learned", "vector_l2_ops")
    yield HINT.format(table=table, name=names[0], r=map.width, column=column, operators=operators), None


def _stage(map: Map, table: str, stage: str, L: np.ndarray, b: np.ndarray) -> Iterator[Piece]:
    yield STAGE.format(table=table, stage=stage, d=L.shape[1]), None
    rows = (f"{i}\t[{row}]\t{shift:.9g}\n" for i, (row, shift) in enumerate(zip(texts(single(L, map.owner)), b)))
    yield f'copy "{table}_{stage}" (i, weights, bias) from stdin', rows


def _lines(stored: Columns, report: Callable[[int], None]) -> Iterator[str]:
    marks = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})  # as the text format of COPY has them
    for ids, values in stored.blocks:
        cells = [[word.translate(marks) for word in ids.tolist()] if stored.text else ids.astype(str).tolist()]
        for name, width in stored.widths.items():
            written = texts(values[name])
            cells.append([f"[{row}]" for row in written] if width else written)
        yield "".join(["\t".join(row) + "\n" for row in zip(*cells)])
        report(len(ids))


def _script(pieces: Iterator[Piece]) -> Iterator[str]:
    """The pieces as text for psql, in one transaction."""
    yield "\\set ON_ERROR_STOP on\nbegin;\n"
    for text, lines in pieces:
        yield text if lines is None else f"{text};\n"
        if lines is not None:
            yield from lines
            yield "\\.\n"
    yield "commit;\n"


def _execute(cursor: Any, pieces: Iterator[Piece]) -> None:
    """Run the pieces in a database."""
    for text, lines in pieces:
        if lines is None:
            cursor.execute(text)
            continue
        with cursor.copy(text) as stream:
            for line in lines:
                stream.write(line)


def parsed(text: str) -> np.ndarray:
    """A vector as Postgres writes it."""
    return np.fromstring(text[1:-1], dtype=np.float32, sep=",")


@contextmanager
def embedded(target: Pgvector, script: Path) -> Iterator[str]:
    """The address of an embedded Postgres that has run a script, while a block lasts."""
    pgserver = target.needs("check", "pgserver")
    with tempfile.TemporaryDirectory() as home:
        server = pgserver.get_server(home)
        try:
            psql = Path(pgserver.__file__).parent / "pginstall" / "bin" / "psql"
            address = server.get_uri()
            done = subprocess.run([psql, address, "-q", "-f", script], capture_output=True, text=True)
            if done.returncode:
                raise ValueError(f"check: psql stopped: {done.stderr.strip()}")
            yield address
        finally:
            server.cleanup()
