"""The statements and COPY lines that make a table in Postgres, and the map as an SQL function."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gramian.export import arrow
from gramian.export.columns import Columns, check_query_form, single
from gramian.export.maps import Isometry
from gramian.export.tables import OWN

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
drop table if exists "{table}";
create table "{table}" (id {kind} primary key, {definition});
"""
MAP = """create extension if not exists vector;
drop table if exists "{table}_map" cascade;
create table "{table}_map" (i integer primary key, weights vector({d}), bias real);
"""
FUNCTION = """create or replace function "{table}_{name}"(x vector) returns vector language sql stable as
  $$ select array_agg(bias - (weights <#> x) order by i)::vector from "{table}_map" $$;
"""
HINT = """-- For many rows: create index on "{table}" using hnsw ({column} {operators}); at most 2000 dimensions.
-- For a table of your own: alter table yours add column learned vector({r});
-- update yours set learned = "{table}_{name}"(embedding);
"""
SQL = """
import psycopg
point = "[" + ",".join(map(str, x)) + "]"
ask = 'select id from "{table}" order by {score} limit 10'
with psycopg.connect("postgresql://localhost/postgres") as connection:
    ids = [row[0] for row in connection.execute(ask, [point])]
"""
KERNEL = SQL.replace(
    'import psycopg\npoint = "[" + ",".join(map(str, x)) + "]"',
    """import gramian as gm, psycopg
point = str({metric}.transform([x])[0].tolist())""",
)


def check_widths(inner: Isometry, stored: Columns | None, form: str) -> None:
    """Refuse what pgvector cannot hold."""
    if form == "query":
        check_query_form(inner)
    if stored is None and not inner.is_linear:
        raise TypeError(f"{inner.owner}: a map that is not linear has no SQL form; give X to export its coordinates.")
    widths = list(stored.widths.values()) if stored else []
    widest = max([*widths, (inner.n_features or 0) if inner.is_linear else 0])
    if widest > WIDEST:
        raise ValueError(f"{inner.owner}: pgvector holds at most {WIDEST} dimensions, got {widest}.")


def score(inner: Isometry, table: str, form: str) -> str:
    """What to order by, for a raw point in the place of %s, or for its coordinates under a curved metric."""
    if form == "query":
        return f'norm + 2 * (original <#> (select "{table}_query"(%s::vector)))'
    return f'learned <-> (select "{table}_learned"(%s::vector))' if inner.is_linear else "learned <-> %s::vector"


def parts(
    inner: Isometry, stored: Columns | None, table: str, form: str, report: Callable
) -> Iterator[tuple[str, str, Any]]:
    """The script as (what, text, rows): statements, then COPY commands with the lines of their rows."""
    if stored is not None:
        wide = [f"{name} vector({width})" if width else f"{name} real" for name, width in stored.widths.items()]
        own, kind = ", ".join(f"'{name}'" for name in sorted(OWN)), "text" if stored.text else "bigint"
        yield "do", CREATE.format(table=table, own=own, kind=kind, definition=", ".join(wide)), None
        names = ", ".join(["id", *stored.widths])
        yield "copy", f'copy "{table}" ({names}) from stdin', _lines(stored, inner.owner, report)
    if not inner.is_linear:
        return
    name = "query" if form == "query" else "learned"
    L = inner.matrix if form == "query" else inner.components
    yield "do", MAP.format(table=table, d=L.shape[1]), None
    weights = arrow.texts(single(L, inner.owner), inner.owner, "pgvector")
    bias = np.zeros(len(L)) if form == "query" else inner.offset
    lines = (f"{i}\t[{row}]\t{b:.9g}\n" for i, (row, b) in enumerate(zip(weights, bias)))
    yield "copy", f'copy "{table}_map" (i, weights, bias) from stdin', lines
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


def script(parts: Iterator[tuple[str, str, Any]]) -> Iterator[str]:
    """The parts as text for psql, in one transaction."""
    yield HEAD
    for what, text, lines in parts:
        if what == "do":
            yield text
        else:
            yield f"{text};\n"
            yield from lines
            yield "\\.\n"
    yield "commit;\n"
