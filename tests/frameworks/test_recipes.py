"""The recipes of "Queries and documents", run as they stand on the page, each in its own package."""

import asyncio
import re
from pathlib import Path

import numpy as np
import pytest

import gramian as gm

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "queries-and-documents.md"
WIDTH = 32


def recipe(word, space):
    """What the one block of Python with a word in it defines; blocks that other blocks need ran before."""
    texts = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.S | re.M)
    (code,) = [text for text in texts if word in text]
    exec(compile(code, str(PAGE), "exec"), space)
    return space


@pytest.fixture(scope="module")
def space():
    """What the page has defined above its recipes, with an adapter that does turn queries."""
    rng = np.random.default_rng(0)
    documents = rng.normal(size=(600, WIDTH))
    queries = documents @ (np.eye(WIDTH) + 0.3 * rng.normal(size=(WIDTH, WIDTH))) + rng.normal(size=(600, WIDTH))
    adapter = gm.QueryAdapter(random_state=0).fit(queries[:400], documents[:400])
    assert adapter.weight_ < 1
    return {"gm": gm, "np": np, "documents": documents, "queries": queries, "adapter": adapter, "__name__": "page"}


def order(space, query, rows):
    """Rows of documents, by the cosine to the mapped query."""
    return np.argsort(-space["adapter"].transform_queries([query])[0] @ unit(rows).T)


def unit(X):
    return X / np.linalg.norm(X, axis=-1, keepdims=True)


def vectors(space, texts):
    """Embeddings of texts "q7" and "d7": the query and the document of that row."""
    return [space["queries" if text[0] == "q" else "documents"][int(text[1:])].tolist() for text in texts]


def test_qdrant(space):
    pytest.importorskip("qdrant_client")
    hits = recipe("qdrant_client", dict(space))["hits"]
    assert [hit.id for hit in hits] == order(space, space["queries"][400], space["documents"])[:10].tolist()


def test_pgvector(space, tmp_path):
    psycopg = pytest.importorskip("psycopg")
    server = pytest.importorskip("pgserver").get_server(tmp_path / "postgres")
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("CREATE EXTENSION vector")
            connection.execute(f"CREATE TABLE items (id int, embedding vector({WIDTH}))")
            rows = [(i, str(row.tolist())) for i, row in enumerate(space["documents"][:100])]
            connection.cursor().executemany("INSERT INTO items VALUES (%s, %s)", rows)
            query = space["queries"][50]
            ids = recipe("def nearest(connection", dict(space))["nearest"](connection, query)
    finally:
        server.cleanup()
    assert [row[0] for row in ids] == order(space, query, space["documents"][:100])[:10].tolist()


def test_langchain(space):
    pytest.importorskip("langchain_core")
    page = recipe("langchain_core", dict(space))
    assert page["results"][0].page_content in page["texts"]

    class Model(page["Embeddings"]):
        def embed_documents(self, texts):
            return vectors(space, texts)

        def embed_query(self, text):
            return vectors(space, [text])[0]

    store = page["InMemoryVectorStore"].from_texts(
        [f"d{i}" for i in range(100)], page["AdaptedQueries"](Model(), page["adapter"])
    )
    best = [f"d{i}" for i in order(space, space["queries"][50], space["documents"][:100])[:10]]
    assert [one.page_content for one in store.similarity_search("q50", k=10)] == best
    assert [one.page_content for one in asyncio.run(store.asimilarity_search("q50", k=10))] == best
    assert [one.page_content for one in store.as_retriever(search_kwargs={"k": 3}).invoke("q50")] == best[:3]


def test_llama_index(space):
    pytest.importorskip("llama_index.core")
    page = recipe("llama_index", dict(space))
    assert len(page["results"]) == 1

    class Model(page["BaseEmbedding"]):
        def _get_text_embedding(self, text):
            return vectors(space, [text])[0]

        def _get_query_embedding(self, query):
            return vectors(space, [query])[0]

        async def _aget_query_embedding(self, query):
            return vectors(space, [query])[0]

    nodes = [page["TextNode"](text=f"d{i}") for i in range(100)]
    embedding = page["AdaptedEmbedding"](model=Model(), adapter=page["adapter"])
    retriever = page["VectorStoreIndex"](nodes, embed_model=embedding).as_retriever(similarity_top_k=10)
    best = [f"d{i}" for i in order(space, space["queries"][50], space["documents"][:100])[:10]]
    assert [one.node.text for one in retriever.retrieve("q50")] == best
    assert [one.node.text for one in asyncio.run(retriever.aretrieve("q50"))] == best


def test_sentence_transformers(space, tmp_path, monkeypatch):
    pytest.importorskip("sentence_transformers")
    monkeypatch.chdir(tmp_path)
    page = recipe("Router", dict(space))
    model, adapter = page["model"], page["adapter"]
    plain = page["SentenceTransformer"](modules=list(page["encoder"]), device="cpu")
    Q, D = plain.encode(["w0 w3", "w5 w5 w9"]), plain.encode(["w3 w4", "w7"])
    np.testing.assert_allclose(model.encode_query(["w0 w3", "w5 w5 w9"]), adapter.transform_queries(Q), atol=1e-5)
    np.testing.assert_allclose(model.encode_document(["w3 w4", "w7"]), unit(D), atol=1e-6)
    assert tuple(page["scores"].shape) == (1, 2)
