"""Learned coordinates as a bulk file of Elasticsearch or OpenSearch."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gramian._parameters import checked
from gramian.export import bulk
from gramian.export.columns import Columns, columns
from gramian.export.maps import Isometry, isometry
from gramian.export.places import loading, required
from gramian.export.rows import rows
from gramian.export.tables import check_name
from gramian.export.words import WORDS

WIDEST = {"elasticsearch": 4096, "opensearch": 16_000}
"""Dimensions that a field of vectors holds."""

LOAD = """
curl -X PUT localhost:9200/{table} -H 'Content-Type: application/json' --data-binary @{index}
split -l 2000 {name} part.
for part in part.*; do curl localhost:9200/_bulk -H 'Content-Type: application/x-ndjson' --data-binary @$part; done
"""
ELASTIC = """
import gramian as gm
from elasticsearch import Elasticsearch
near = dict(field="learned", query_vector={metric}.transform([x])[0].tolist(), k=10, num_candidates=200)
found = Elasticsearch("http://localhost:9200").search(index="{table}", knn=near)
ids = [hit["_source"]["id"] for hit in found["hits"]["hits"]]
"""
SCRIPT = """
import elasticsearch, gramian as gm, numpy as np; x = np.asarray(x); q = {metric}.matrix @ x
d2 = "1 / (1 + Math.max(0, doc['norm'].value - 2 * dotProduct(params.q, 'original') + params.c))"
script = dict(query=dict(match_all={{}}), script=dict(source=d2, params=dict(q=q.tolist(), c=float(q @ x))))
ask = dict(index="{table}", query=dict(script_score=script))
ids = [h["_source"]["id"] for h in elasticsearch.Elasticsearch("http://localhost:9200").search(**ask)["hits"]["hits"]]
"""
OPEN = """
import gramian as gm
from opensearchpy import OpenSearch
near = dict(knn=dict(learned=dict(vector={metric}.transform([x])[0].tolist(), k=10)))
found = OpenSearch("http://localhost:9200").search(index="{table}", body=dict(size=10, query=near))
ids = [hit["_source"]["id"] for hit in found["hits"]["hits"]]
"""


@checked(**WORDS)
def to_elasticsearch(
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
) -> Path:
    """A bulk file of Elasticsearch: documents with ``id`` and the ``dense_vector`` ``learned`` = E(x).

    The definition of the index (l2_norm, HNSW) is written beside it as ``NAME.index.json``. The format is tested, no
    server was asked.

    Parameters
    ----------
    metric : Metric with finite coordinates, KernelFeatures, fitted learner, or the file of a metric
    X : array (n, d), or an iterator of blocks (ids, X)
    path : path
        The file, with a README.md beside it; ``out`` is the same.
    ids : integers or words (n,), optional
        0 … n − 1 when not given.
    table : str
        The index.
    form : {"vector", "query"}
        ``learned``; or ``original`` = x and ``norm`` = xᵀMx, to be ranked with q′ = Mq by a script_score query.
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
    >>> gm.export.to_elasticsearch(metric, np.eye(3), "items.ndjson")  # doctest: +SKIP
    PosixPath('items.ndjson')
    """
    owner = "to_elasticsearch"
    target = required(path, out, owner, "a file")
    inner = isometry(metric, owner)
    stored = columns(inner, rows(X, ids, owner, inner.n_features), form, original)
    properties: dict[str, Any] = {"id": {"type": "keyword" if stored.text else "long"}, "norm": {"type": "float"}}
    for name, width in _widths(stored, "elasticsearch", owner).items():
        ranked = {"index": True, "similarity": "l2_norm"} if name == "learned" else {"index": False}
        properties[name] = {"type": "dense_vector", "dims": width, **ranked}
    code = ELASTIC if form == "vector" else SCRIPT
    _write(target, inner, stored, table, {"mappings": {"properties": properties}}, code, verbose, callback)
    return target


@checked(**WORDS)
def to_opensearch(
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
) -> Path:
    """A bulk file of OpenSearch: documents with ``id`` and the ``knn_vector`` ``learned`` = E(x).

    The definition of the index (l2, HNSW) is written beside it as ``NAME.index.json``. The format is tested, no server
    was asked.

    Parameters
    ----------
    metric : Metric with finite coordinates, KernelFeatures, fitted learner, or the file of a metric
    X : array (n, d), or an iterator of blocks (ids, X)
    path : path
        The file, with a README.md beside it; ``out`` is the same.
    ids : integers or words (n,), optional
        0 … n − 1 when not given.
    table : str
        The index.
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
    >>> gm.export.to_opensearch(metric, np.eye(3), "items.ndjson")  # doctest: +SKIP
    PosixPath('items.ndjson')
    """
    owner = "to_opensearch"
    target = required(path, out, owner, "a file")
    inner = isometry(metric, owner)
    stored = columns(inner, rows(X, ids, owner, inner.n_features), "vector", original)
    properties: dict[str, Any] = {"id": {"type": "keyword" if stored.text else "long"}}
    for name, width in _widths(stored, "opensearch", owner).items():
        method = {"name": "hnsw", "space_type": "l2", "engine": "faiss"}
        properties[name] = {"type": "knn_vector", "dimension": width, "method": method}
    definition = {"settings": {"index": {"knn": True}}, "mappings": {"properties": properties}}
    _write(target, inner, stored, table, definition, OPEN, verbose, callback)
    return target


def _widths(stored: Columns, engine: str, owner: str) -> dict[str, int]:
    wide = {name: width for name, width in stored.widths.items() if width}
    if max(wide.values()) > WIDEST[engine]:
        raise ValueError(f"{owner}: a vector has at most {WIDEST[engine]} dimensions there, got {max(wide.values())}.")
    return wide


def _write(
    target: Path,
    inner: Isometry,
    stored: Columns,
    table: str,
    definition: dict[str, Any],
    code: str,
    verbose: bool,
    callback: Callable | None,
) -> None:
    check_name(table, inner.owner)

    def document(name: Any, values: dict[str, str]) -> str:
        head = json.dumps({"index": {"_index": table, "_id": str(name)}})
        fields = "".join(f', "{field}": {text}' for field, text in values.items())
        return f'{head}\n{{"id": {json.dumps(name)}{fields}}}\n'

    bulk.write(target, inner, stored, document, definition, verbose, callback)
    load = LOAD.format(table=table, name=target.name, index=bulk.index_file(target).name)
    code = code.format(table=table, metric=loading(inner, target))
    bulk.explain(target, inner, f"documents of the index `{table}`. Load them with", load, code)
