"""A sidecar as a retriever of LlamaIndex."""

from typing import Any

from gramian.beside.engine import package
from gramian.beside.langchain import parted
from gramian.beside.sidecar import Sidecar


def retriever(sidecar: Sidecar, model: Any, *, k: int = 4, text: str | None = None, **options: Any) -> Any:
    """A ``BaseRetriever`` whose nodes carry ``query_id`` in their metadata, to be judged by.

    Parameters
    ----------
    sidecar : Sidecar
    model : llama_index.core.base.embeddings.base.BaseEmbedding
        What the documents of the collection were embedded with.
    k : int
        Nodes of an answer.
    text : str, optional
        The field of a record that is the text; ``page_content``, ``document`` or ``text`` when not given.
    **options
        For every search, as filters.

    Returns
    -------
    retriever : llama_index.core.retrievers.BaseRetriever

    Examples
    --------
    >>> retriever = gm.beside.llama_index.retriever(docs, OpenAIEmbedding(), k=5)  # doctest: +SKIP
    >>> best = retriever.retrieve("undo the last commit")[0]  # doctest: +SKIP
    >>> docs.useful(best.metadata["query_id"], best.metadata["id"])  # doctest: +SKIP
    """
    base: Any = package(
        "llama_index.core.base.base_retriever", "gramian.beside.llama_index", "frameworks"
    ).BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    class SidecarRetriever(base):
        """Nodes of a sidecar."""

        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            vector = query_bundle.embedding or model.get_query_embedding(query_bundle.query_str)
            answer = sidecar.search(vector, k, **options)
            told = {"query_id": answer.query_id}
            return [
                NodeWithScore(
                    node=TextNode(id_=str(name), text=content, metadata=more | {"id": name} | told), score=score
                )
                for name, score, (content, more) in zip(answer.ids, answer.scores, parted(answer.records, text))
            ]

    return SidecarRetriever()
