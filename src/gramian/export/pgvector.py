"""Learned coordinates in Postgres: a script with COPY data, and the map itself as an SQL function."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np

from gramian._parameters import checked
from gramian.export import sql
from gramian.export.columns import columns
from gramian.export.maps import isometry
from gramian.export.places import loading, needs, readme, required
from gramian.export.rows import rows
from gramian.export.tables import check_name
from gramian.export.words import SOURCE, WORDS
from gramian.persist import replacing
from gramian.search.progress import progress

WIDEST = 16_000
"""Dimensions that the type vector holds."""


@checked(**WORDS)
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
    sql.check_widths(inner, stored, form)
    with ExitStack() as stack:
        report = stack.enter_context(progress(owner, stored.total if stored else None, verbose, callback))
        parts = sql.parts(inner, stored, table, form, report)
        if hasattr(path, "cursor") or (isinstance(path, str) and "://" in path):
            _execute(path, parts, owner)
            return path
        if hasattr(path, "write"):
            path.writelines(sql.script(parts))
            return path
        target = required(path, None, owner, "a script that ends in .sql")
        temporary = stack.enter_context(replacing(target, owner))
        with open(temporary, "w", encoding="utf-8") as stream:
            stream.writelines(sql.script(parts))
    score, code = sql.score(inner, table, form), sql.SQL if inner.is_linear else sql.KERNEL
    code = code.format(table=table, score=score, metric=loading(inner, target))
    readme(target, inner, f"a script for psql that makes the table `{table}`: `psql -f {target.name}`.", code)
    return target


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


@checked(**SOURCE)
def from_pgvector(
    path: Any, table: str = "items", *, column: str = "embedding", id: str = "id", block: int = 8192
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
    >>> blocks = gm.export.from_pgvector("postgresql://localhost/shop", "items", column="embedding")  # doctest: +SKIP
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
