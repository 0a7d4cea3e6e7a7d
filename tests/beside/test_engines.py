"""Real databases: they answer as they would, learn the same map, and say what they cannot do."""

import contextlib
import tempfile
import uuid

import numpy as np
import pytest

import gramian as gm
from tests.beside.problems import by_hand, people, twisted

Q, X = twisted()
WORDS = [f"text {i}" for i in range(len(X))]


def in_qdrant(folder, X):
    from qdrant_client import QdrantClient, models

    client = QdrantClient(":memory:")
    size = models.VectorParams(size=X.shape[1], distance=models.Distance.COSINE)
    client.create_collection("docs", vectors_config={"other": size, "own": size})
    points = [models.PointStruct(id=i, vector={"own": x.tolist()}, payload={"text": WORDS[i]}) for i, x in enumerate(X)]
    client.upsert("docs", points)
    yield lambda: gm.beside.Qdrant(client, "docs", space=folder, using="own")


def in_chroma(folder, X):
    import chromadb

    client = chromadb.PersistentClient(str(folder.with_name("chroma")))
    graph = {"space": "cosine", "ef_search": 200}
    made = client.create_collection("docs", embedding_function=None, configuration={"hnsw": graph})
    made.add(ids=[str(i) for i in range(len(X))], embeddings=X, documents=WORDS)
    yield lambda: gm.beside.Chroma(made, space=folder)


@contextlib.contextmanager
def server():
    """An embedded Postgres; where root runs the tests it has a user of its own, who may not look into tmp_path."""
    import pgserver
    import psycopg

    with tempfile.TemporaryDirectory() as home:
        running = pgserver.get_server(home)
        with psycopg.connect(running.get_uri(), autocommit=True) as connection:
            connection.execute("create extension if not exists vector")
            yield running, connection
        running.cleanup()


def in_postgres(folder, X):
    with server() as (_, connection):
        connection.execute("create table docs (id bigint primary key, text text, embedding vector(8))")
        for i, x in enumerate(X):
            connection.execute("insert into docs values (%s, %s, %s)", [i, WORDS[i], str(x.tolist())])
        yield lambda: gm.beside.Postgres(connection, "docs", columns=["text"], space=folder)


ENGINES = [
    in_qdrant,
    pytest.param(in_chroma, marks=pytest.mark.engines),
    pytest.param(in_postgres, marks=pytest.mark.engines),
]


@pytest.fixture(params=ENGINES)
def opening(request, tmp_path):
    made = contextlib.contextmanager(request.param)(tmp_path / "space", X)
    with made as opened:
        yield opened


def test_an_engine_learns_what_the_library_learns_and_gains_as_much(opening):
    with opening() as docs:
        answer = docs.search(Q[0].tolist(), 5)
        assert [int(name) for name in answer.ids] == by_hand(X, Q[0], 5) and docs.engine.count() == 120
        field = "document" if isinstance(docs, gm.beside.Chroma) else "text"
        assert [record[field] for record in answer.records] == [WORDS[int(name)] for name in answer.ids]
        people(docs, Q, range(60))
        version = docs.learn()["version"]
        lists = {i: by_hand(X, Q[i]) for i in range(60)}
        rows = [i for i in range(60) if i in lists[i]]
        near = sorted({j for i in rows for j in lists[i]})
        pairs = np.array([(at, near.index(i)) for at, i in enumerate(rows)])
        adapter = gm.QueryAdapter(random_state=0).fit(Q[rows], X[near], pairs)
        turned = adapter.transform_queries(Q[60:])
        turn = docs._turn(docs._log.view, version)
        np.testing.assert_allclose([turn(q) / np.linalg.norm(q) for q in Q[60:]], turned, atol=1e-4)
        found = docs.engine.search([turn(q) for q in Q[60:]], 10)
        assert [[int(hit.id) for hit in hits] for hits in found] == [by_hand(X, q) for q in turned]
        people(docs, Q, range(60, 120))
        assert docs.report()["version"] == version and docs.troubles == []
    with opening() as docs:  # again
        ranks = [[int(name) for name in docs.search(q, 10).ids] for q in Q[60:]]
        assert ranks == [by_hand(X, q) for q in turned] and docs.undo() == 0


def test_filters_are_those_of_qdrant(tmp_path):
    from qdrant_client import models as m

    for opened in in_qdrant(tmp_path / "s", X):
        with opened() as docs:
            only = m.Filter(must=[m.HasIdCondition(has_id=[3, 4, 5])])
            assert set(docs.search(Q[0], 10, query_filter=only, timeout=5).ids) == {3, 4, 5}
            assert docs.search(Q[0], 1, with_payload=False).records == [{}]


def test_qdrant_says_what_it_cannot_do(tmp_path):
    from qdrant_client import AsyncQdrantClient, QdrantClient
    from qdrant_client import models as m

    client = QdrantClient(":memory:")
    two = {name: m.VectorParams(size=4, distance=m.Distance.MANHATTAN) for name in "ab"}
    client.create_collection("two", vectors_config=two)
    with pytest.raises(ValueError, match=r"using must name one of the vectors of 'two' \('a', 'b'\), got None"):
        gm.beside.Qdrant(client, "two", space=tmp_path)
    with pytest.raises(ValueError, match="must compare by cosine, dot, euclid, got Manhattan"):
        gm.beside.Qdrant(client, "two", space=tmp_path, using="a")
    with pytest.raises(TypeError, match="client must be a QdrantClient, got an asynchronous one"):
        gm.beside.Qdrant(AsyncQdrantClient(":memory:"), "two", space=tmp_path)
    with pytest.raises(ValueError, match="Collection none not found"):  # theirs
        gm.beside.Qdrant(client, "none", space=tmp_path)


def test_a_collection_that_was_made_anew_and_then_is_gone(tmp_path):
    from qdrant_client import QdrantClient
    from qdrant_client import models as m

    client = QdrantClient(":memory:")
    for width in (8, 12):
        size = m.VectorParams(size=width, distance=m.Distance.COSINE)
        client.delete_collection("docs")
        client.create_collection("docs", vectors_config=size)
        client.upload_collection("docs", np.eye(width), ids=range(width))
        if width == 8:
            docs = gm.beside.Qdrant(client, "docs", space=tmp_path)
    with docs, pytest.warns(UserWarning, match="must be 8 finite numbers, not all zero, got 12 numbers"):
        assert docs.search(np.eye(12)[3], 1).ids == [3]
        client.delete_collection("docs")
        with pytest.raises(ValueError, match="Collection docs not found"):
            docs.search(np.eye(8)[3], 1)


@pytest.mark.engines
@pytest.mark.filterwarnings("ignore")
def test_chroma_by_the_euclidean_distance(tmp_path):
    import chromadb

    client = chromadb.PersistentClient(str(tmp_path / "chroma"))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    for name, rows in (("unit", unit), ("raw", X)):
        client.create_collection(name, embedding_function=None).add(ids=WORDS, embeddings=rows)
    with gm.beside.Chroma(client.get_collection("unit"), space=tmp_path / "s") as docs:
        answer = docs.search(Q[0], 5, where=None)
        assert answer.ids == [WORDS[i] for i in by_hand(X, Q[0], 5)] and docs.engine.metric == "l2"
    with pytest.raises(ValueError, match="documents of different lengths"):
        gm.beside.Chroma(client.get_collection("raw"), space=tmp_path / "t")
    with pytest.raises(ValueError, match="collection 'empty' must have documents"):
        gm.beside.Chroma(client.create_collection("empty"), space=tmp_path / "t")


@pytest.mark.engines
def test_postgres_takes_names_indexes_conditions_and_pools(tmp_path):
    import psycopg

    with server() as (running, connection):
        connection.execute('create schema "My Shop"')
        table = '"My Shop"."Order"'
        connection.execute(f'create table {table} ("Id" uuid primary key, lang text, "Embedding" vector(8))')
        ids = [uuid.UUID(int=i) for i in range(len(X))]
        for i, x in zip(ids, X):
            lang = "en" if i.int % 2 else "de"
            connection.execute(f"insert into {table} values (%s, %s, %s)", [i, lang, str(x.tolist())])
        connection.execute(f'create index on {table} using hnsw ("Embedding" vector_ip_ops)')
        names = {"table": "My Shop.Order", "column": "Embedding", "id": "Id", "columns": ["lang"]}

        class Pool:
            getconn = None

            @contextlib.contextmanager
            def connection(self):
                with psycopg.connect(running.get_uri()) as one:
                    yield one

        for given in (connection, Pool()):
            with gm.beside.Postgres(given, **names, space=tmp_path / type(given).__name__) as docs:
                answer = docs.search(Q[0], 5, where="lang = %s", params=["en"])
                best = [i for i in np.argsort(-(X @ Q[0])) if i % 2][:5]
                assert docs.engine.metric == "dot" and answer.ids == [ids[i] for i in best]
                assert {record["lang"] for record in answer.records} == {"en"}
                docs.undo(docs.useful(answer.query_id, str(answer.ids[0])))
                assert docs.report()["clicks"] == 0
                assert set(docs.engine.vectors([str(ids[0]), str(uuid.uuid4())])) == {ids[0]}
        for wrong, words in (
            ({"table": "none"}, "table 'none' must have the columns 'Id' and 'Embedding', a vector"),
            ({"column": "lang"}, "must have the columns 'Id' and 'lang', a vector"),
        ):
            with pytest.raises(ValueError, match=words):
                gm.beside.Postgres(connection, **(names | wrong), space=tmp_path / "x")
        with psycopg.connect(running.get_uri()) as other, pytest.raises(ValueError, match="autocommit=True"):
            gm.beside.Postgres(other, **names, space=tmp_path / "x")
