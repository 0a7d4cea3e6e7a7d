"""A sidecar in LlamaIndex's own interface: ``make frameworks``."""

import pytest

import gramian as gm
from tests.frameworks.problems import TEXTS, collection, embed

pytest.importorskip("llama_index.core")


def words():
    from llama_index.core.base.embeddings.base import BaseEmbedding

    class Words(BaseEmbedding):
        def _get_query_embedding(self, query):
            return embed(query)

        async def _aget_query_embedding(self, query):
            return embed(query)

        def _get_text_embedding(self, text):
            return embed(text)

    return Words()


def test_a_retriever_finds_nodes_and_takes_judgments(tmp_path):
    with gm.beside.Qdrant(collection(), "docs", space=tmp_path) as docs:
        nodes = gm.beside.llama_index.retriever(docs, words(), k=3).retrieve("push a branch")
        assert nodes[0].text == "push a branch" and len(nodes) == 3 and nodes[0].score > nodes[1].score
        meta = nodes[0].metadata
        assert meta["words"] == 3 and nodes[0].node_id == str(meta["id"]) == str(TEXTS.index("push a branch"))
        assert docs.useful(meta["query_id"], meta["id"]) and docs.report()["clicks"] == 1
