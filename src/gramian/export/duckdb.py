"""Learned coordinates as a table of a DuckDB file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gramian._parameters import checked
from gramian.export import arrow
from gramian.export.columns import Columns, columns
from gramian.export.maps import isometry
from gramian.export.places import loading, needs, readme, required
from gramian.export.rows import rows
from gramian.export.tables import check_name, ours
from gramian.export.words import WORDS
from gramian.search.progress import progress

VECTOR = """
import duckdb, gramian as gm
z = {metric}.transform([x])[0].tolist()
nearest = 'select id from "{table}" order by array_distance(learned, ?::float[{width}]) limit 10'
found = duckdb.connect("{name}", read_only=True).execute(nearest, [z]).fetchall()
ids = [row[0] for row in found]
"""
QUERY = """
import duckdb, gramian as gm
q = ({metric}.matrix @ x).tolist()
nearest = 'select id from "{table}" order by norm - 2 * array_inner_product(original, ?::float[{width}]) limit 10'
found = duckdb.connect("{name}", read_only=True).execute(nearest, [q]).fetchall()
ids = [row[0] for row in found]
"""


@checked(**WORDS)
def to_duckdb(
    metric: Any,
    X: Any,
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
    """A table with the columns ``id`` and ``learned`` = E(x), float[r], in a DuckDB file.

    A table of this name that an earlier export made is replaced; another one is refused and stays as it is.

    Parameters
    ----------
    metric : Metric with finite coordinates, KernelFeatures, fitted learner, or the file of a metric
    X : array (n, d), or an iterator of blocks (ids, X)
    path : path or connection
        The file, new or a database that is there, with a README.md beside it; ``out`` is the same.
    ids : integers or words (n,), optional
        0 … n − 1 when not given.
    table : str
    form : {"vector", "query"}
        ``learned``; or ``original`` = x and ``norm`` = xᵀMx, to be searched with q′ = Mq: norm − 2 q′ᵀx is d² but
        for a constant of the query.
    original : bool
        Store x beside ``learned``.
    verbose, callback
        A progress bar; ``callback(rows, total)``.

    Returns
    -------
    path, or the connection where one is given

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> metric = gm.Mahalanobis.from_matrix(np.diag([1.0, 2.0, 0.0]))
    >>> gm.export.to_duckdb(metric, np.eye(3), "items.duckdb")  # doctest: +SKIP
    PosixPath('items.duckdb')
    """
    owner = "to_duckdb"
    duckdb = needs("duckdb", owner, "duckdb")
    inner = isometry(metric, owner)
    stored = columns(inner, rows(X, ids, owner, inner.n_features), form, original)
    with progress(owner, stored.total, verbose, callback) as report:
        if hasattr(path, "execute"):
            _write(path, check_name(table, owner), stored, report, owner)
            return path
        target = required(path, out, owner, "a file")
        with opened(duckdb, target, owner) as connection:
            _write(connection, check_name(table, owner), stored, report, owner)
    code = VECTOR if form == "vector" else QUERY
    width = inner.width if form == "vector" else inner.n_features
    code = code.format(name=target.name, table=table, width=width, metric=loading(inner, target))
    names = ", ".join(f"`{name}`" for name in stored.widths)
    readme(target, inner, f"table `{table}` with the columns `id`, {names}.", code)
    return target


def opened(duckdb: Any, path: Path, owner: str, read_only: bool = False) -> Any:
    """A connection to a file, or one sentence."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{owner}: no folder at {str(path.parent)!r}.")
    try:
        return duckdb.connect(str(path), read_only=read_only)
    except duckdb.IOException as error:
        first = str(error).splitlines()[0]
        raise ValueError(f"{owner}: {str(path)!r} cannot be opened as a DuckDB file ({first}).") from error


def _write(connection: Any, table: str, stored: Columns, report: Any, owner: str) -> None:
    import pyarrow as pa

    found = connection.execute(
        "select column_name from information_schema.columns where table_name = ? and table_schema = current_schema()",
        [table],
    ).fetchall()
    ours(table, {row[0] for row in found}, owner)
    connection.execute("begin")
    try:
        connection.execute(f'create or replace table "{table}" ({_definition(stored)})')
        for batch in arrow.batches(pa, stored, report):
            block = pa.Table.from_batches([batch])  # noqa: F841  # DuckDB finds it by its name
            connection.execute(f'insert into "{table}" select * from block')
        connection.execute("commit")
    except BaseException:
        connection.execute("rollback")
        raise


def _definition(stored: Columns) -> str:
    kinds = ["id varchar primary key" if stored.text else "id bigint primary key"]
    kinds += [f"{name} float[{width}]" if width else f"{name} float" for name, width in stored.widths.items()]
    return ", ".join(kinds)
