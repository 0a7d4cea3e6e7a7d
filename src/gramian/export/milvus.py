"""Learned coordinates as a Milvus collection, on a server or in a Milvus Lite database."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gramian._parameters import checked
from gramian.export.columns import Columns, columns
from gramian.export.maps import isometry
from gramian.export.places import loading, needs, readme, required
from gramian.export.rows import rows
from gramian.export.tables import check_name, ours
from gramian.export.words import WORDS
from gramian.search.progress import progress

BATCH = 1024
"""Rows of one request."""

QUERY = """
import gramian as gm
from pymilvus import MilvusClient
z = {metric}.transform([x]).tolist()
found = MilvusClient("{name}").search("{table}", z, anns_field="learned", limit=10, output_fields=["id"])
ids = [hit["id"] for hit in found[0]]
"""


@checked(**WORDS)
def to_milvus(
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
    """A Milvus collection with the fields ``id`` and ``learned`` = E(x), with an exact (FLAT) index in L2.

    A collection of this name that an earlier export made is replaced; another one is refused and stays as it is.

    Parameters
    ----------
    metric : Metric with finite coordinates, KernelFeatures, fitted learner, or the file of a metric
    X : array (n, d), or an iterator of blocks (ids, X)
    path : path, URI or client
        A Milvus Lite database (a name that ends in ``.db``), with a README.md beside it; the URI of a server; a
        ``MilvusClient``. ``out`` is the same.
    ids : integers or words (n,), optional
        0 … n − 1 when not given.
    table : str
        The collection.
    original : bool
        Store x beside ``learned``.
    verbose, callback
        A progress bar; ``callback(rows, total)``.

    Returns
    -------
    path, or the client where one is given

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> metric = gm.Mahalanobis.from_matrix(np.diag([1.0, 2.0, 0.0]))
    >>> gm.export.to_milvus(metric, np.eye(3), "items.db")  # doctest: +SKIP
    PosixPath('items.db')
    """
    owner = "to_milvus"
    needs("pymilvus", owner, "milvus")
    inner = isometry(metric, owner)
    stored = columns(inner, rows(X, ids, owner, inner.n_features, BATCH), "vector", original)
    client, target = connected(path if out is None else out, owner)
    try:
        _create(client, check_name(table, owner), stored, owner)
        with progress(owner, stored.total, verbose, callback) as report:
            for names, values in stored.blocks:
                client.insert(table, _entities(names, values))
                report(len(names))
        client.flush(table)
    finally:
        if target is not None:
            client.close()
    if not isinstance(target, Path):
        return target or client
    code = QUERY.format(name=target.name, table=table, metric=loading(inner, target))
    readme(target, inner, f"collection `{table}` of a Milvus Lite database.", code)
    return target


def _entities(names: np.ndarray, values: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    rows = [{"id": name} for name in names.tolist()]
    for field, vectors in values.items():
        for row, vector in zip(rows, vectors):
            row[field] = vector
    return rows


def connected(path: Any, owner: str) -> tuple[Any, Any]:
    """A client, and the path or URI that it was opened for; None when it was given."""
    from pymilvus import MilvusClient

    if hasattr(path, "create_collection"):
        return path, None
    if isinstance(path, str) and "://" in path:
        return MilvusClient(path), path
    target = required(path, None, owner, "a database that ends in .db")
    if target.suffix != ".db":
        raise ValueError(f"{owner}: path must end in .db, as Milvus Lite asks, got {target.name!r}.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{owner}: no folder at {str(target.parent)!r}.")
    return MilvusClient(str(target)), target


def _create(client: Any, table: str, stored: Columns, owner: str) -> None:
    from pymilvus import DataType

    if client.has_collection(table):
        ours(table, [field["name"] for field in client.describe_collection(table)["fields"]], owner)
        client.drop_collection(table)
    schema = client.create_schema(auto_id=False)
    if stored.text:
        schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=512)
    else:
        schema.add_field("id", DataType.INT64, is_primary=True)
    index = client.prepare_index_params()
    for name, width in stored.widths.items():
        schema.add_field(name, DataType.FLOAT_VECTOR, dim=width)
        index.add_index(name, index_type="FLAT", metric_type="L2")
    client.create_collection(table, schema=schema, index_params=index)
