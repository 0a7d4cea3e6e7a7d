"""Learned coordinates as a LanceDB table."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gramian._parameters import checked
from gramian.export import arrow
from gramian.export.columns import columns
from gramian.export.maps import isometry
from gramian.export.parquet import chosen
from gramian.export.places import folder, loading, needs, readme, required
from gramian.export.rows import rows
from gramian.export.tables import check_name, ours
from gramian.export.words import SOURCE, WORDS
from gramian.search.progress import progress

QUERY = """
import gramian as gm, lancedb
z = {metric}.transform([x])[0].astype("float32")
table = lancedb.connect("{name}").open_table("{table}")
found = table.search(z, vector_column_name="learned").distance_type("l2").limit(10)
ids = found.to_arrow()["id"].to_pylist()
"""


@checked(**WORDS)
def to_lancedb(
    metric: Any,
    X: Any,
    path: Any = None,
    *,
    ids: Any = None,
    out: Any = None,
    table: str = "items",
    original: bool = False,
    verbose: bool = False,
    callback: Callable | None = None,
) -> Any:
    """A LanceDB table with the columns ``id`` and ``learned`` = E(x), written block by block.

    A table of this name that an earlier export made is replaced; another one is refused and stays as it is. The search
    is exact until you create an index.

    Parameters
    ----------
    metric : Metric with finite coordinates, KernelFeatures, fitted learner, or the file of a metric
    X : array (n, d), or an iterator of blocks (ids, X)
    path : path or connection
        The folder of the database, made when absent; ``out`` is the same. A README.md is written into it and beside it.
    ids : integers or words (n,), optional
        0 … n − 1 when not given.
    table : str
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
    >>> gm.export.to_lancedb(metric, np.eye(3), "database")  # doctest: +SKIP
    PosixPath('database')
    """
    owner = "to_lancedb"
    lancedb = needs("lancedb", owner, "lancedb")
    import pyarrow as pa

    inner = isometry(metric, owner)
    stored = columns(inner, rows(X, ids, owner, inner.n_features), "vector", original)
    live = hasattr(path, "create_table")
    target = None if live else folder(required(path, out, owner, "the folder of the database"), owner)
    database = path if live else lancedb.connect(str(target))
    if check_name(table, owner) in names(database):
        ours(table, database.open_table(table).schema.names, owner)
    with progress(owner, stored.total, verbose, callback) as report:
        blocks = arrow.batches(pa, stored, report)
        database.create_table(table, blocks, schema=arrow.schema(pa, stored), mode="overwrite")
    if target is None:
        return database
    code = QUERY.format(name=target.name, table=table, metric=loading(inner, target))
    readme(target, inner, f"table `{table}` of a LanceDB database.", code)
    return target


def names(database: Any) -> list[str]:
    """Names of all tables of a database."""
    if not hasattr(database, "list_tables"):
        return list(database.table_names(limit=10_000))
    found = database.list_tables(limit=10_000)
    return list(getattr(found, "tables", found))


@checked(**SOURCE)
def from_lancedb(
    path: Any, table: str = "items", *, column: str | None = None, id: str | None = None, block: int = 8192
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Blocks (ids, vectors) of a LanceDB table.

    Parameters
    ----------
    path : path or connection
        The folder of the database.
    table : str
    column : str, optional
        The column of vectors; the only one when not given.
    id : str, optional
        The column of ids; ``id`` where there is one, otherwise rows are numbered.
    block : int
        Rows at a time.

    Examples
    --------
    >>> import gramian as gm
    >>> blocks = gm.export.from_lancedb("database", "items", column="vector")  # doctest: +SKIP
    >>> index = gm.export.fill(gm.HashIndex(metric), blocks)  # doctest: +SKIP
    """
    owner = "from_lancedb"
    lancedb = needs("lancedb", owner, "lancedb")
    import pyarrow as pa

    database = path if hasattr(path, "open_table") else lancedb.connect(str(path))
    opened = database.open_table(table)
    vectors, numbers = chosen(pa, opened.schema, column, id, f"table {table!r}", owner)
    for start in range(0, opened.count_rows(), block):
        ask = opened.search().select([*vectors, *([numbers] if numbers else [])]).offset(start).limit(block)
        part = ask.to_arrow()
        ids = np.arange(start, start + len(part)) if numbers is None else part[numbers].to_numpy()
        yield ids, arrow.matrix(part[vectors[0]])
