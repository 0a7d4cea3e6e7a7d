"""Learned coordinates as a file of Weaviate objects."""

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gramian._parameters import checked
from gramian.export import bulk
from gramian.export.columns import columns
from gramian.export.maps import isometry
from gramian.export.places import loading, required
from gramian.export.rows import rows
from gramian.export.tables import check_name
from gramian.export.words import WORDS

LOAD = """
curl localhost:8080/v1/schema -H 'Content-Type: application/json' --data-binary @{index}
split -l 1000 {name} part.
for part in part.*; do
  (printf '{{"objects": ['; paste -sd, $part; printf ']}}') |
    curl localhost:8080/v1/batch/objects -H 'Content-Type: application/json' --data-binary @-
done
"""
QUERY = """
import gramian as gm, weaviate
z = {metric}.transform([x])[0].tolist()
with weaviate.connect_to_local() as client:
    found = client.collections.get("{table}").query.near_vector(z, target_vector="learned", limit=10)
ids = [thing.properties["item"] for thing in found.objects]
"""


@checked(**WORDS)
def to_weaviate(
    metric: Any,
    X: Any,
    path: Any = None,
    *,
    ids: Any = None,
    out: Any = None,
    table: str = "Items",
    original: bool = False,
    verbose: bool = False,
    callback: Callable | None = None,
) -> Path:
    """A file of Weaviate objects, one a line, with the named vector ``learned`` = E(x) and the property ``item``.

    Weaviate keeps the name ``id`` for UUIDs, so that the id of a point is the property ``item``; its UUID is that
    number, or is derived from the word. The definition of the collection (l2-squared, HNSW) is written beside it as
    ``NAME.index.json``. The format is tested, no server was asked.

    Parameters
    ----------
    metric : Metric with finite coordinates, KernelFeatures, fitted learner, or the file of a metric
    X : array (n, d), or an iterator of blocks (ids, X)
    path : path
        The file, with a README.md beside it; ``out`` is the same.
    ids : integers or words (n,), optional
        0 … n − 1 when not given.
    table : str
        The collection; its first letter is made large, as Weaviate asks.
    original : bool
        Store x beside ``learned``.
    verbose, callback
        A progress bar; ``callback(rows, total)``.

    Returns
    -------
    path

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> metric = gm.Mahalanobis.from_matrix(np.diag([1.0, 2.0, 0.0]))
    >>> gm.export.to_weaviate(metric, np.eye(3), "items.ndjson")  # doctest: +SKIP
    PosixPath('items.ndjson')
    """
    owner = "to_weaviate"
    target = required(path, out, owner, "a file")
    inner = isometry(metric, owner)
    stored = columns(inner, rows(X, ids, owner, inner.n_features), "vector", original)
    table = check_name(table, owner)[0].upper() + table[1:]

    def document(name: Any, values: dict[str, str]) -> str:
        vectors = ", ".join(f'"{field}": {text}' for field, text in values.items())
        head = json.dumps({"class": table, "id": key(name), "properties": {"item": name}})
        return f'{head[:-1]}, "vectors": {{{vectors}}}}}\n'

    near = {"vectorizer": {"none": {}}, "vectorIndexType": "hnsw", "vectorIndexConfig": {"distance": "l2-squared"}}
    definition = {
        "class": table,
        "vectorConfig": dict.fromkeys(stored.widths, near),
        "properties": [{"name": "item", "dataType": ["text" if stored.text else "int"]}],
    }
    bulk.write(target, inner, stored, document, definition, verbose, callback)
    load = LOAD.format(name=target.name, index=bulk.index_file(target).name)
    code = QUERY.format(table=table, metric=loading(inner, target))
    bulk.explain(target, inner, f"objects of the collection `{table}`. Load them with", load, code)
    return target


def key(name: int | str) -> str:
    """The UUID of an id: the number itself, or one derived from the word."""
    if isinstance(name, str) or name < 0:
        return str(uuid.uuid5(uuid.NAMESPACE_OID, str(name)))
    return str(uuid.UUID(int=name))
