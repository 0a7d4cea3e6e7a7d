"""Learned coordinates as the named vector ``learned`` of a Qdrant collection."""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gramian._parameters import checked
from gramian.export.columns import Columns, columns
from gramian.export.maps import Isometry, isometry
from gramian.export.places import folder, loading, needs, readme, required
from gramian.export.rows import rows
from gramian.export.tables import OWN, check_name
from gramian.export.words import SOURCE, WORDS
from gramian.search.progress import progress

BATCH = 256
"""Points of one request."""

VECTOR = """
import gramian as gm
from qdrant_client import QdrantClient
z = {metric}.transform([x])[0].tolist()
found = QdrantClient(path="{name}").query_points("{table}", query=z, using="learned", limit=10)
ids = [point.id for point in found.points]
"""
QUERY = """
import gramian as gm
from qdrant_client import QdrantClient, models as m
near = m.Prefetch(query=({metric}.matrix @ x).tolist(), using="original", limit={count})
d2 = m.FormulaQuery(formula=m.SumExpression(sum=["$score", m.MultExpression(mult=[-0.5, "norm"])]))
ids = [p.id for p in QdrantClient(path="{name}").query_points("{table}", prefetch=near, query=d2, limit=10).points]
"""


@checked(**WORDS)
def to_qdrant(
    metric: Any,
    X: Any = None,
    path: Any = None,
    *,
    ids: Any = None,
    out: Any = None,
    table: str = "items",
    form: str = "vector",
    original: bool = True,
    source: str | None = None,
    verbose: bool = False,
    callback: Callable | None = None,
) -> Any:
    """A Qdrant collection with the named vector ``learned`` = E(x), Euclidean, beside ``original`` = x.

    With ``X=None`` a collection that is there gets ``learned`` beside the vectors it has (Qdrant 1.18 or later). A
    collection of this name that an earlier export made is replaced; another one is refused and stays as it is.

    Parameters
    ----------
    metric : Metric with finite coordinates, KernelFeatures, fitted learner, or the file of a metric
    X : array (n, d), or an iterator of blocks (ids, X), or None
    path : path, URL or client
        The folder of a local database, made when absent, with a README.md in it and beside it; the URL of a server; a
        ``QdrantClient``. ``out`` is the same.
    ids : integers from 0 on, or words (n,), optional
        0 … n − 1 when not given. Words become UUIDs, with the word in the payload ``id``.
    table : str
        The collection.
    form : {"vector", "query"}
        ``learned``; or ``original`` by inner product and ``norm`` = xᵀMx in the payload, to be searched with q′ = Mq
        and the formula q′ᵀx − norm/2.
    original : bool
        Store x beside ``learned``.
    source : str, optional
        With ``X=None``: the named vector to read; the only one when not given.
    verbose, callback
        A progress bar; ``callback(rows, total)``.

    Returns
    -------
    path, or the client where one is given

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> metric = gm.Mahalanobis.from_matrix(np.diag([1.0, 2.0, 0.0]))
    >>> gm.export.to_qdrant(metric, np.eye(3), "database")  # doctest: +SKIP
    PosixPath('database')
    """
    owner = "to_qdrant"
    needs("qdrant_client", owner, "qdrant")
    inner = isometry(metric, owner)
    client, target = connected(path if out is None else out, owner)
    check_name(table, owner)
    try:
        if X is None:
            total = _add(client, inner, table, source, verbose, callback)
        else:
            points = rows(X, ids, owner, inner.n_features, BATCH)
            stored = columns(inner, points, form, original)
            _create(client, table, stored, form, owner)
            total = _upload(client, table, stored, verbose, callback, owner)
    finally:
        if target is not None:
            client.close()
    if not isinstance(target, Path):
        return target or client
    code = VECTOR if form == "vector" else QUERY
    code = code.format(name=target.name, table=table, count=total, metric=loading(inner, target))
    readme(target, inner, f"collection `{table}` of a local Qdrant database.", code)
    return target


def connected(path: Any, owner: str) -> tuple[Any, Any]:
    """A client, and the folder or URL that it was opened for; None when it was given."""
    from qdrant_client import QdrantClient

    if hasattr(path, "upload_collection"):
        return path, None
    if isinstance(path, str) and "://" in path:
        return QdrantClient(url=path), path
    target = folder(required(path, None, owner, "the folder of the database"), owner)
    try:
        return QdrantClient(path=str(target)), target
    except RuntimeError as error:
        raise ValueError(f"{owner}: {str(target)!r} cannot be opened ({str(error).splitlines()[0]})") from error


def vector_sizes(client: Any, table: str) -> dict[str, int]:
    """Widths of the vectors of a collection by name; an unnamed one has the name ''."""
    found = client.get_collection(table).config.params.vectors
    if hasattr(found, "size"):
        return {"": found.size}
    return {name: vector.size for name, vector in found.items()}


def _create(client: Any, table: str, stored: Columns, form: str, owner: str) -> None:
    from qdrant_client import models

    if client.collection_exists(table):
        foreign = set(vector_sizes(client, table)) - OWN
        if foreign:
            raise ValueError(
                f"{owner}: collection {table!r} is there with the vector {sorted(foreign)[0]!r}, which no export made; "
                "name another table, or add to it with X=None."
            )
        client.delete_collection(table)
    metric = models.Distance.EUCLID if form == "vector" else models.Distance.DOT
    wide = {name: width for name, width in stored.widths.items() if width}
    vectors = {name: models.VectorParams(size=width, distance=metric) for name, width in wide.items()}
    client.create_collection(table, vectors_config=vectors)


def _upload(client: Any, table: str, stored: Columns, verbose: bool, callback: Callable | None, owner: str) -> int:
    from qdrant_client import models

    done = 0
    with progress(owner, stored.total, verbose, callback) as report:
        for ids, values in stored.blocks:
            payloads = [{"id": word} if stored.text else {} for word in ids.tolist()]
            for payload, norm in zip(payloads, values.get("norm", np.zeros(0)).tolist()):
                payload["norm"] = norm
            vectors = {name: value.tolist() for name, value in values.items() if name != "norm"}
            batch = models.Batch(ids=point_ids(ids, owner), vectors=vectors, payloads=payloads)
            client.upsert(table, points=batch)
            done += len(ids)
            report(len(ids))
    return done


def point_ids(ids: np.ndarray, owner: str) -> list[int] | list[str]:
    """Ids as Qdrant takes them: integers from 0 on, or UUIDs."""
    if ids.dtype.kind != "U":
        if len(ids) and ids.min() < 0:
            raise ValueError(f"{owner}: ids must be integers from 0 on or words, got {ids.min()}.")
        return ids.tolist()
    return [str(uuid.uuid5(uuid.NAMESPACE_OID, word)) for word in ids.tolist()]


def _add(client: Any, inner: Isometry, table: str, source: str | None, verbose: bool, callback: Callable | None) -> int:
    """Give the points of a collection their ``learned``."""
    from qdrant_client import models

    if not client.collection_exists(table):
        raise ValueError(f"{inner.owner}: there is no collection {table!r} to add to; give X.")
    if "learned" not in vector_sizes(client, table):
        dense = models.DenseVectorConfig(size=inner.width, distance=models.Distance.EUCLID)
        client.create_vector_name(table, "learned", models.DenseVectorNameConfig(dense=dense))
    total = client.count(table).count
    with progress(inner.owner, total, verbose, callback) as report:
        for names, X in from_qdrant(client, table, vector=source, block=BATCH):
            Z = inner(X).astype(np.float32).tolist()
            vectors = [models.PointVectors(id=name, vector={"learned": z}) for name, z in zip(names.tolist(), Z)]
            client.update_vectors(table, vectors)
            report(len(names))
    return total


@checked(**SOURCE)
def from_qdrant(
    path: Any, table: str = "items", *, vector: str | None = None, block: int = 1024
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Blocks (ids, vectors) of a Qdrant collection.

    Parameters
    ----------
    path : path, URL or client
    table : str
        The collection.
    vector : str, optional
        The named vector; the only one but ``learned`` when not given.
    block : int
        Points of one request.

    Examples
    --------
    >>> import gramian as gm
    >>> blocks = gm.export.from_qdrant("http://localhost:6333", "items")  # doctest: +SKIP
    >>> index = gm.export.fill(gm.HashIndex(metric), blocks)  # doctest: +SKIP
    """
    owner = "from_qdrant"
    needs("qdrant_client", owner, "qdrant")
    client, opened = connected(path, owner)
    try:
        name = _only(client, table, vector, owner)
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
        if opened is not None:
            client.close()


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
