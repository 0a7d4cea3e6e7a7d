"""A sidecar in LangChain's own interface: ``make frameworks``."""

import pytest

import gramian as gm
from tests.frameworks.problems import TEXTS, collection, embed

embeddings = pytest.importorskip("langchain_core.embeddings")


class Words(embeddings.Embeddings):
    def embed_query(self, text):
        return embed(text)

    def embed_documents(self, texts):
        return [embed(text) for text in texts]


def test_a_retriever_finds_documents_and_takes_judgments(tmp_path):
    from langchain_core.runnables import RunnableLambda

    with gm.beside.Qdrant(collection(), "docs", space=tmp_path) as docs:
        retriever = gm.beside.langchain.retriever(docs, Words(), k=3)
        found = retriever.invoke("push a branch")
        assert found[0].page_content == "push a branch" and len(found) == 3
        meta = found[0].metadata
        assert meta["words"] == 3 and found[0].id == str(meta["id"]) == str(TEXTS.index("push a branch"))
        assert docs.useful(meta["query_id"], meta["id"]) and docs.report()["clicks"] == 1
        chain = retriever | RunnableLambda(lambda documents: [d.page_content for d in documents])
        assert chain.invoke("undo a tag")[0] == "undo a tag"
        wrong = gm.beside.langchain.retriever(docs, Words(), text="body")
        with pytest.raises(ValueError, match="text must name the field with the text, got 'body'"):
            wrong.invoke("undo a tag")


def test_filters_go_to_the_database(tmp_path):
    from qdrant_client import models as m

    with gm.beside.Qdrant(collection(), "docs", space=tmp_path) as docs:
        only = m.Filter(must=[m.HasIdCondition(has_id=[0, 1])])
        found = gm.beside.langchain.retriever(docs, Words(), k=5, query_filter=only).invoke("push a branch")
        assert {one.metadata["id"] for one in found} == {0, 1}
