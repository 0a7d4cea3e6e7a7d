"""Learned coordinates as the named vector ``learned`` of a Qdrant collection."""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gramian._settings import Count
from gramian.export.base import Map, folder
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
    handle = "scroll"
    reads = '"http://localhost:6333", "items"'

    live = "upload_collection"

    def connect(self, path: Any, owner: str, read_only: bool = False) -> tuple[Any, Path | None]:
        client = self.needs(owner, "qdrant_client").QdrantClient
        if isinstance(path, str) and "://" in path:
            return client(url=path), None
        target = folder(path, owner, "the folder of the database")
        try:
            return client(path=str(target)), target
        except RuntimeError as error:
            raise ValueError(f"{owner}: {str(target)!r} cannot be opened ({str(error).splitlines()[0]})") from error

    def existing(self, client: Any, table: str) -> dict[str, tuple[int, str]]:
        """Its vectors; an unnamed one has the name ''."""
        if not client.collection_exists(table):
            return {}
        vectors = client.get_collection(table).config.params.vectors
        vectors = {"": vectors} if hasattr(vectors, "size") else vectors
        return {name: (vector.size, "float32") for name, vector in vectors.items()}

    def create(self, sink: Any, table: str, stored: Columns) -> Any:
        from qdrant_client import models

        if sink.collection_exists(table):
            sink.delete_collection(table)
        original = models.Distance.EUCLID if "learned" in stored.widths else models.Distance.DOT
        kinds = {"learned": distance(stored.map), "original": original}
        vectors = {
            name: models.VectorParams(size=width, distance=kinds[name])
            for name, width in stored.widths.items()
            if width
        }
        sink.create_collection(table, vectors_config=vectors)
        return sink, table

    def insert(self, place: Any, ids: np.ndarray, values: dict[str, np.ndarray]) -> None:
        from qdrant_client import models

        client, table = place
        facts = {"id": ids.tolist()} if ids.dtype.kind == "U" else {}
        facts |= {name: values[name].tolist() for name in ("norm", "size") if name in values}
        payloads = [dict(zip(facts, row)) for row in zip(*facts.values())] or None
        vectors = {name: value.tolist() for name, value in values.items() if value.ndim == 2}
        client.upsert(table, points=models.Batch(ids=point_ids(ids, "to_qdrant"), vectors=vectors, payloads=payloads))

    def lines(self, map: Map, target: Any, table: str, form: str, stored: Columns | None) -> tuple[str, str]:
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
        if "learned" not in self.existing(sink, table):
            dense = models.DenseVectorConfig(size=map.width, distance=distance(map))
            sink.create_vector_name(table, "learned", models.DenseVectorNameConfig(dense=dense))
        for names, X in self.read(sink, table, vector=source, block=BATCH):
            Z = map(X).astype(np.float32).tolist()  # (n, r)
            vectors = [models.PointVectors(id=name, vector={"learned": z}) for name, z in zip(names.tolist(), Z)]
            sink.update_vectors(table, vectors)
            report(len(names))

    def count(self, client: Any, table: str) -> int:
        return client.count(table).count

    def vectors(self, client: Any, table: str, column: str, ids: list[Any]) -> dict[Any, Any]:
        names = point_ids(np.array(ids), "check")
        points = client.retrieve(table, ids=names, with_vectors=[column])
        values = {point.id: point.vector[column] for point in points}
        return {value: values[name] for value, name in zip(ids, names)}

    def nearest(self, client: Any, table: str, Q: np.ndarray, k: int, angle: bool | None) -> list[Any]:
        from qdrant_client import models as m

        def ask(q: list[float]) -> dict[str, Any]:
            if angle is None:
                return {"query": q, "using": "learned"}
            product: Any = "$score"
            if angle:
                product = m.DivExpression(div=m.DivParams(left=m.SumExpression(sum=["$score", q[-1]]), right="size"))
            score = m.SumExpression(sum=[product, m.MultExpression(mult=[-0.5, "norm"])])
            scan = m.Prefetch(query=q[:-1], using="original", limit=client.count(table).count)
            return {"prefetch": scan, "query": m.FormulaQuery(formula=score)}

        answers = (client.query_points(table, limit=k, **ask(q)).points for q in Q.tolist())
        return [[(point.payload or {}).get("id", point.id) for point in points] for points in answers]

    def read(
        self, path: Any, table: str = "items", *, vector: str | None = None, block: Count = 1024
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Blocks (ids, vectors) of a Qdrant collection."""
        with self.opened(path, "from_qdrant") as (client, _):
            name = self._only(client, table, vector)
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

    def _only(self, client: Any, table: str, vector: str | None) -> str:
        """The vector that was named, or the only one but ours."""
        owner, names = "from_qdrant", list(self.existing(client, table)) if table else []
        if not names:
            raise ValueError(f"{owner}: there is no collection {table!r}.")
        if vector is not None and vector not in names:
            raise ValueError(f"{owner}: collection {table!r} has no vector {vector!r}; it has {', '.join(names)}.")
        names = [name for name in names if name != "learned"] or names
        if vector is None and len(names) > 1:
            raise ValueError(f"{owner}: collection {table!r} has the vectors {', '.join(names)}; name one.")
        return names[0] if vector is None else vector


def distance(map: Map) -> Any:
    """The cosine of coordinates that have length one by the angle; otherwise the Euclidean distance."""
    from qdrant_client import models

    unit = map.affine is not None and map.affine.by_angle and map.affine.C is None
    return models.Distance.COSINE if unit else models.Distance.EUCLID


def point_ids(ids: np.ndarray, owner: str) -> list[int] | list[str]:
    """Ids as Qdrant takes them: integers from 0 on, or UUIDs."""
    if ids.dtype.kind != "U":
        if len(ids) and ids.min() < 0:
            raise ValueError(f"{owner}: ids must be integers from 0 on or words, got {ids.min()}.")
        return ids.tolist()
    return [str(uuid.uuid5(uuid.NAMESPACE_OID, word)) for word in ids.tolist()]  # the same for the same word
