"""Files of one JSON document a line, as Elasticsearch, OpenSearch and Weaviate import them."""

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gramian.export.base import Map, Reader, place, scanned
from gramian.export.points import Columns, by_angle, texts
from gramian.export.tables import TableTarget
from gramian.persist import replacing

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
import elasticsearch, gramian as gm; e = {metric}.view([x]).affine; q, c = e.query([x])
source = "1 / (1 + Math.max(0, doc['norm'].value - 2 * {product} + params.n))"
script = dict(source=source, params=dict(q=q[0].tolist(), c=float(c[0]), n=float(e.sizes([x])[0][0])))
ask = dict(index="{table}", query=dict(script_score=dict(query=dict(match_all={{}}), script=script)))
ids = [h["_source"]["id"] for h in elasticsearch.Elasticsearch("http://localhost:9200").search(**ask)["hits"]["hits"]]
"""
PLAIN = "dotProduct(params.q, 'original')"
ANGLE = "(dotProduct(params.q, 'original') + params.c) / doc['size'].value"
OPEN = """
import gramian as gm
from opensearchpy import OpenSearch
near = dict(knn=dict(learned=dict(vector={metric}.transform([x])[0].tolist(), k=10)))
found = OpenSearch("http://localhost:9200").search(index="{table}", body=dict(size=10, query=near))
ids = [hit["_source"]["id"] for hit in found["hits"]["hits"]]
"""
OBJECTS = """
curl localhost:8080/v1/schema -H 'Content-Type: application/json' --data-binary @{index}
split -l 1000 {name} part.
for part in part.*; do
  (printf '{{"objects": ['; paste -sd, $part; printf ']}}') |
    curl localhost:8080/v1/batch/objects -H 'Content-Type: application/json' --data-binary @-
done
"""
WEAVIATE = """
import gramian as gm, weaviate
z = {metric}.transform([x])[0].tolist()
with weaviate.connect_to_local() as client:
    found = client.collections.get("{table}").query.near_vector(z, target_vector="learned", limit=10)
ids = [thing.properties["item"] for thing in found.objects]
"""


@dataclass
class Document:
    """A file of documents that grows, and the definition of its index."""

    table: str
    stream: Any
    definition: dict[str, Any]
    beside: Path


class Jsonl(TableTarget):
    """One document a line: a dialect gives ``definition`` and ``document``, and how a file is loaded."""

    package, suffix = "pyarrow", ".ndjson"
    without: tuple[str, ...] = ("source", "form")
    widest: int | None = None
    """Dimensions that a field of vectors holds."""
    load: str
    words = {"table": ("str", "The index, or the collection.")}

    @contextmanager
    def opened(self, path: Any, owner: str, read_only: bool = False) -> Iterator[Any]:
        target = place(path, owner, "a file")
        with replacing(target, owner) as temporary, open(temporary, "w", encoding="utf-8") as stream:
            yield (stream, target), target

    def create(self, sink: Any, table: str, stored: Columns) -> Any:
        stream, target = sink
        widest = max(stored.vectors.values())
        if self.widest is not None and widest > self.widest:
            raise ValueError(f"{stored.map.owner}: a vector has at most {self.widest} dimensions there, got {widest}.")
        return Document(table, stream, self.definition(table, stored), index_file(target))

    def insert(self, file: Any, ids: np.ndarray, values: dict[str, np.ndarray]) -> None:
        cells = [[f"[{row}]" for row in texts(v)] if v.ndim == 2 else texts(v) for v in values.values()]
        rows = (", ".join(f'"{name}": {cell}' for name, cell in zip(values, row)) for row in zip(*cells))
        file.stream.write("".join([self.document(file.table, name, row) for name, row in zip(ids.tolist(), rows)]))

    def finish(self, file: Any) -> None:
        file.stream.flush()
        with replacing(file.beside, f"to_{self.module}") as temporary:
            temporary.write_text(json.dumps(file.definition, indent=2) + "\n", encoding="utf-8")

    def definition(self, table: str, stored: Columns) -> dict[str, Any]:
        raise NotImplementedError

    def document(self, table: str, name: Any, values: str) -> str:
        head = json.dumps({"index": {"_index": table, "_id": str(name)}})  # where the next line goes
        return f'{head}\n{{"id": {json.dumps(name)}, {values}}}\n'

    def lines(self, map: Map, target: Path, table: str, form: str, stored: Columns | None) -> tuple[str, str]:
        """How to load the file, and how to ask."""
        facts = {"name": target.name, "table": table, "index": index_file(target).name}
        load, product = self.load.format(**facts).strip(), ANGLE if by_angle(map) else PLAIN
        what = f"documents of the index `{table}`. Load them with\n\n```sh\n{load}\n```\n\nThen"
        return what, self.queries[form].format(table=table, metric=map.loading(target), product=product)

    def open(self, path: Any, map: Map, table: str | None, form: str) -> Reader:
        name = "learned" if form == "vector" else "original"
        ids, rows = [], []
        with open(path, encoding="utf-8") as lines:
            for document in documents(lines):
                values = document.get("vectors", document)
                if name not in values:
                    raise ValueError(f"check: {str(path)!r} has documents without {name!r}; export to it first.")
                ids.append(document["properties"]["item"] if "properties" in document else document["id"])
                rows.append((np.array(values[name], np.float32), document.get("norm", 0.0), document.get("size", 1.0)))
        vectors, norm, size = (np.array(column, np.float32) for column in zip(*rows))  # (n, r), (n,), (n,)
        return scanned(np.array(ids), vectors, norm if form == "query" else None, size)


def documents(lines: Any) -> Iterator[dict[str, Any]]:
    """Documents of a file, without the lines that say where they go."""
    return (document for document in map(json.loads, lines) if "index" not in document)


def index_file(target: Path) -> Path:
    """Where the definition of the index of a file lies."""
    return target.with_name(f"{target.name}.index.json")


class Elasticsearch(Jsonl):
    """A bulk file of Elasticsearch: documents with ``id`` and the ``dense_vector`` ``learned`` = E(x).

    The definition of the index (l2_norm, HNSW) is written beside it as ``NAME.index.json``. The form "query" is ranked
    by a script_score query. The format is tested, no server was asked.
    """

    name, widest, load, forms, without = "elasticsearch", 4096, LOAD, True, ("source",)
    queries = {"vector": ELASTIC, "query": SCRIPT}

    def definition(self, table: str, stored: Columns) -> dict[str, Any]:
        properties: dict[str, Any] = {"id": {"type": "keyword" if stored.text else "long"}}
        properties |= dict.fromkeys(("norm", "size"), {"type": "float"})
        for name, width in stored.vectors.items():
            ranked = {"index": True, "similarity": "l2_norm"} if name == "learned" else {"index": False}
            properties[name] = {"type": "dense_vector", "dims": width, **ranked}
        return {"mappings": {"properties": properties}}


class Opensearch(Jsonl):
    """A bulk file of OpenSearch: documents with ``id`` and the ``knn_vector`` ``learned`` = E(x).

    The definition of the index (l2, HNSW) is written beside it as ``NAME.index.json``. The format is tested, no server
    was asked.
    """

    name, widest, load, queries = "opensearch", 16_000, LOAD, {"vector": OPEN}

    def definition(self, table: str, stored: Columns) -> dict[str, Any]:
        properties: dict[str, Any] = {"id": {"type": "keyword" if stored.text else "long"}}
        for name, width in stored.vectors.items():
            method = {"name": "hnsw", "space_type": "l2", "engine": "faiss"}
            properties[name] = {"type": "knn_vector", "dimension": width, "method": method}
        return {"settings": {"index": {"knn": True}}, "mappings": {"properties": properties}}


class Weaviate(Jsonl):
    """A file of Weaviate objects, one a line, with the named vector ``learned`` = E(x) and the property ``item``.

    Weaviate keeps the name ``id`` for UUIDs, so that the id of a point is the property ``item``; its UUID is that
    number, or is derived from the word. The definition of the collection (l2-squared, HNSW) is written beside it as
    ``NAME.index.json``. The format is tested, no server was asked.
    """

    name, load, queries, defaults = "weaviate", OBJECTS, {"vector": WEAVIATE}, {"table": "Items"}
    words = {"table": ("str", "The collection; its first letter is made large, as Weaviate asks.")}

    def named(self, table: str) -> str:
        return table[0].upper() + table[1:]

    def definition(self, table: str, stored: Columns) -> dict[str, Any]:
        graph = {"vectorizer": {"none": {}}, "vectorIndexType": "hnsw", "vectorIndexConfig": {"distance": "l2-squared"}}
        item = {"name": "item", "dataType": ["text" if stored.text else "int"]}
        return {"class": table, "vectorConfig": dict.fromkeys(stored.widths, graph), "properties": [item]}

    def document(self, table: str, name: Any, values: str) -> str:
        head = json.dumps({"class": table, "id": key(name), "properties": {"item": name}})
        return f'{head[:-1]}, "vectors": {{{values}}}}}\n'


def key(name: int | str) -> str:
    """The UUID of an id: the number itself, or one derived from the word."""
    if isinstance(name, str) or name < 0:
        return str(uuid.uuid5(uuid.NAMESPACE_OID, str(name)))  # the same word has the same UUID in every export
    return str(uuid.UUID(int=name))
