"""Collections in the embedded engines, each with the search that one would write without a sidecar."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import gramian as gm

BLOCK = 5000
"""Rows of one insertion."""


@dataclass(frozen=True)
class Opened:
    """A filled collection: ``beside(space)`` opens a sidecar, ``direct(q, k)`` asks without one."""

    beside: Callable[[str], gm.beside.Sidecar]
    direct: Callable[[list[float], int], Any]


@contextmanager
def qdrant(X: np.ndarray, index: bool) -> Iterator[Opened]:
    """Local mode, which scans."""
    from qdrant_client import QdrantClient, models

    client = QdrantClient(":memory:")
    size = models.VectorParams(size=X.shape[1], distance=models.Distance.COSINE)
    client.create_collection("docs", vectors_config=size)
    for start in range(0, len(X), BLOCK):
        rows = X[start : start + BLOCK]
        client.upload_collection("docs", rows, ids=range(start, start + len(rows)))
    yield Opened(
        lambda space: gm.beside.Qdrant(client, "docs", space=space),
        lambda q, k: client.query_points("docs", query=q, limit=k).points,
    )


@contextmanager
def chroma(X: np.ndarray, index: bool) -> Iterator[Opened]:
    """Embedded, with its HNSW; a long beam where the answers shall be those of a scan."""
    import chromadb

    client = chromadb.PersistentClient(tempfile.mkdtemp())
    graph = {"space": "cosine"} | ({} if index else {"ef_search": 500, "ef_construction": 200, "max_neighbors": 32})
    made = client.create_collection("docs", embedding_function=None, configuration={"hnsw": graph})
    for start in range(0, len(X), BLOCK):
        rows = X[start : start + BLOCK]
        made.add(ids=[str(i) for i in range(start, start + len(rows))], embeddings=rows)
    yield Opened(
        lambda space: gm.beside.Chroma(made, space=space),
        lambda q, k: made.query(query_embeddings=[q], n_results=k, include=["distances", "documents", "metadatas"]),
    )


@contextmanager
def postgres(X: np.ndarray, index: bool) -> Iterator[Opened]:
    """Embedded, with an HNSW index, or without where the answers shall be those of a scan."""
    import pgserver
    import psycopg

    with tempfile.TemporaryDirectory() as home:
        server = pgserver.get_server(home)
        connection = psycopg.connect(server.get_uri(), autocommit=True)
        connection.execute("create extension if not exists vector")
        connection.execute(f"create table docs (id bigint primary key, embedding vector({X.shape[1]}))")
        with connection.cursor() as cursor, cursor.copy("copy docs (id, embedding) from stdin") as stream:
            for i, x in enumerate(X):
                stream.write_row((i, str(x.tolist())))
        if index:
            connection.execute("set maintenance_work_mem = '1GB'")
            connection.execute("create index on docs using hnsw (embedding vector_cosine_ops)")
        ask = "select id, embedding <=> %s::vector as score from docs order by 2 limit %s"
        yield Opened(
            lambda space: gm.beside.Postgres(connection, "docs", space=space),
            lambda q, k: connection.execute(ask, [str(q), k]).fetchall(),
        )
        connection.close()
        server.cleanup()


ENGINES = {"Qdrant": qdrant, "Chroma": chroma, "Postgres": postgres}
