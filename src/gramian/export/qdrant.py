"""Learned coordinates as the named vector ``learned`` of a Qdrant collection."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gramian.export.base import Map, Reader, folder
from gramian.export.points import Columns, by_angle
from gramian.export.tables import TableTarget

BATCH = 256
"""Points of one request."""

VECTOR = """
import gramian as gm
from qdrant_client import QdrantClient
z = {metric}.transform([x])[0].tolist()
answer = QdrantClient(path="{name}").query_points("{table}", query=z, using="learned", limit=10)
ids = [point.id for point in answer.points]
"""
QUERY = """
import gramian as gm; from qdrant_client import QdrantClient, models as m
(q, c), client = {metric}.view([x]).affine.query([x]), QdrantClient(path="{name}")
near = m.Prefetch(query=q[0].tolist(), using="original", limit=client.count("{table}").count)
d2 = m.FormulaQuery(formula=m.SumExpression(sum=[{score}, m.MultExpression(mult=[-0.5, "norm"])]))  # −d²/2
ids = [p.id for p in client.query_points("{table}", prefetch=near, query=d2, limit=10).points]
"""
DIVIDED = 'm.DivExpression(div=m.DivParams(left=m.SumExpression(sum=["$score", float(c[0])]), right="size"))'


class Qdrant(TableTarget):
    """A Qdrant collection with the named vector ``learned`` = E(x) beside ``original`` = x.

    It is compared by the Euclidean distance, or by the cosine where the metric is one of the angle. With ``X=None`` a
    collection that is there gets ``learned`` beside the vectors it has (Qdrant 1.18 or later). A collection of this
    name that an earlier export made is replaced; another one is refused and stays as it is.
    """

    name, package, suffix, forms, block = "qdrant", "qdrant_client", "-qdrant", True, BATCH
    without = ()
    defaults = {"X": None, "original": True}
    written = "collection `{table}` of a local Qdrant database."
    queries = {"vector": VECTOR, "query": QUERY}
    words = {
        "X": ("array (n, d), or an iterator of blocks (ids, X), or None", "The points; None for those that are there."),
        "path": (
            "path, URL or client",
            """The folder of a local database, made when absent, with a README.md in it and beside it; the URL of a
            server; a ``QdrantClient``.""",
        ),
        "ids": (
            "integers from 0 on, or words (n,), optional",
            "0 … n − 1 when not given. Words become UUIDs, with the word in the payload ``id``.",
        ),
        "table": ("str", "The collection."),
        "source": ("str, optional", "With ``X=None``: the named vector to read; the only one when not given."),
        "vector": ("str, optional", "The named vector; the only one but ``learned`` when not given."),
    }
    returns = "path, or the client where one is given"
    example = """
>>> gm.export.to_qdrant(metric, np.eye(2), "database")
PosixPath('database')
"""
    reads = '"http://localhost:6333", "items"'

    @contextmanager
    def opened(self, path: Any, owner: str) -> Iterator[Any]:
        client, target = self.connected(path, owner)
        try:
            yield client, target
        finally:
            if client is not path:
                client.close()

    def connected(self, path: Any, owner: str) -> tuple[Any, Any]:
        """A client, and the folder that it was opened for."""
        client = self.needs(owner, "qdrant_client").QdrantClient
        if hasattr(path, "upload_collection"):
            return path, None
        if isinstance(path, str) and "://" in path:
            return client(url=path), None
        target = folder(path, owner, "the folder of the database")
        try:
            return client(path=str(target)), target
        except RuntimeError as error:
            raise ValueError(f"{owner}: {str(target)!r} cannot be opened ({str(error).splitlines()[0]})") from error

    def existing(self, sink: Any, table: str) -> set[str]:
        return set(vector_sizes(sink, table))

    def create(self, sink: Any, table: str, stored: Columns) -> Any:
        from qdrant_client import models

        if sink.collection_exists(table):
            sink.delete_collection(table)
        other = models.Distance.EUCLID if "learned" in stored.widths else models.Distance.DOT
        kinds = {"learned": distance(stored.map), "original": other}
        vectors = {
            name: models.VectorParams(size=width, distance=kinds[name])
            for name, width in stored.widths.items()
            if width
        }
        sink.create_collection(table, vectors_config=vectors)
        return sink, table

    def insert(self, made: Any, ids: np.ndarray, values: dict[str, np.ndarray]) -> None:
        from qdrant_client import models

        client, table = made
        payloads: list[dict[str, Any]] = [{"id": word} if ids.dtype.kind == "U" else {} for word in ids.tolist()]
        for name in {"norm", "size"} & values.keys():
            for payload, number in zip(payloads, values[name].tolist()):
                payload[name] = number
        vectors = {name: value.tolist() for name, value in values.items() if value.ndim == 2}
        client.upsert(table, points=models.Batch(ids=point_ids(ids, "to_qdrant"), vectors=vectors, payloads=payloads))

    def lines(self, map: Map, target: Any, table: str, form: str, stored: Columns | None) -> tuple[str, str]:
        """What was written, and the lines of a query."""
        facts = {
            "name": target.name,
            "table": table,
            "metric": map.loading(target),
            "score": DIVIDED if by_angle(map) else '"$score"',
        }
        return self.written.format(table=table), self.queries[form].format(**facts)

    def without_rows(
        self, sink: Any, table: str, map: Map, form: str, source: str | None, report: Callable[[int], None]
    ) -> None:
        from qdrant_client import models

        if not sink.collection_exists(table):
            raise ValueError(f"{map.owner}: there is no collection {table!r} to add to; give X.")
        if "learned" not in vector_sizes(sink, table):
            dense = models.DenseVectorConfig(size=map.width, distance=distance(map))
            sink.create_vector_name(table, "learned", models.DenseVectorNameConfig(dense=dense))
        for names, X in self.read(sink, table, vector=source, block=BATCH):
            Z = map(X).astype(np.float32).tolist()
            vectors = [models.PointVectors(id=name, vector={"learned": z}) for name, z in zip(names.tolist(), Z)]
            sink.update_vectors(table, vectors)
            report(len(names))

    def open(self, path: Any, map: Map, table: str | None, form: str) -> Reader:
        client, _ = self.connected(path, "check")
        close = client.close if client is not path else lambda: None
        table, name = table or "items", "learned" if form == "vector" else "original"
        sizes = vector_sizes(client, table)
        if name not in sizes:
            close()
            raise ValueError(f"check: collection {table!r} has no vector {name!r}; export to it first.")
        width, count = sizes[name], client.count(table).count

        def fetch(ids: np.ndarray) -> np.ndarray:
            points = client.retrieve(table, ids=point_ids(ids, "check"), with_vectors=[name])
            values = {point.id: point.vector[name] for point in points}
            return np.array([values[value] for value in point_ids(ids, "check")])

        def search(Q: np.ndarray, k: int) -> np.ndarray:
            return np.array([one(q, k) for q in Q.astype(np.float32).tolist()])

        def one(q: list[float], k: int) -> list[Any]:
            ask = {"query": q, "using": "learned"} if form == "vector" else formula(q, width, count, by_angle(map))
            points = client.query_points(table, limit=k, **ask).points
            return [(point.payload or {}).get("id", point.id) for point in points]

        return Reader(width, count, search, fetch, form, name, close=close)

    def read(
        self, path: Any, table: str = "items", *, vector: str | None = None, block: int = 1024
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Blocks (ids, vectors) of a Qdrant collection."""
        client, _ = self.connected(path, "from_qdrant")
        try:
            name = _only(client, table, vector, "from_qdrant")
            following: Any = None
            while True:
                points, following = client.scroll(
                    table, limit=block, offset=following, with_payload=False, with_vectors=[name] if name else True
                )
                if points:
                    vectors = [point.vector[name] if name else point.vector for point in points]
                    yield np.array([point.id for point in points]), np.array(vectors, dtype=np.float32)
                if following is None:
                    return
        finally:
            if client is not path:
                client.close()


def formula(q: list[float], width: int, count: int, angle: bool) -> dict[str, Any]:
    """The request for −d²/2 of originals, but for a constant, of a row (q′, c)."""
    from qdrant_client import models as m

    product: Any = "$score"
    if angle:
        product = m.DivExpression(div=m.DivParams(left=m.SumExpression(sum=["$score", q[-1]]), right="size"))
    score = m.SumExpression(sum=[product, m.MultExpression(mult=[-0.5, "norm"])])
    near = m.Prefetch(query=q[:width], using="original", limit=count)
    return {"prefetch": near, "query": m.FormulaQuery(formula=score)}


def distance(map: Map) -> Any:
    """The cosine of coordinates that have length one by the angle; otherwise the Euclidean distance."""
    from qdrant_client import models

    unit = map.affine is not None and map.affine.by_angle and map.affine.C is None
    return models.Distance.COSINE if unit else models.Distance.EUCLID


def vector_sizes(client: Any, table: str) -> dict[str, int]:
    """Widths of the vectors of a collection by name, an unnamed one under ''; none where there is no collection."""
    if not client.collection_exists(table):
        return {}
    vectors = client.get_collection(table).config.params.vectors
    if hasattr(vectors, "size"):
        return {"": vectors.size}
    return {name: vector.size for name, vector in vectors.items()}


def point_ids(ids: np.ndarray, owner: str) -> list[int] | list[str]:
    """Ids as Qdrant takes them: integers from 0 on, or UUIDs."""
    if ids.dtype.kind != "U":
        if len(ids) and ids.min() < 0:
            raise ValueError(f"{owner}: ids must be integers from 0 on or words, got {ids.min()}.")
        return ids.tolist()
    return [str(uuid.uuid5(uuid.NAMESPACE_OID, word)) for word in ids.tolist()]


def _only(client: Any, table: str, vector: str | None, owner: str) -> str:
    if not client.collection_exists(table):
        raise ValueError(f"{owner}: there is no collection {table!r}.")
    names = list(vector_sizes(client, table))
    if vector is not None:
        if vector not in names:
            raise ValueError(f"{owner}: collection {table!r} has no vector {vector!r}; it has {', '.join(names)}.")
        return vector
    others = [name for name in names if name != "learned"] or names
    if len(others) > 1:
        raise ValueError(f"{owner}: collection {table!r} has the vectors {', '.join(others)}; name one.")
    return others[0]
