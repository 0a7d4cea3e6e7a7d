"""A sidecar as a retriever of LangChain."""

from typing import Any

from gramian.beside.engine import package
from gramian.beside.sidecar import Sidecar


def retriever(sidecar: Sidecar, embeddings: Any, *, k: int = 4, text: str | None = None, **options: Any) -> Any:
    """A ``BaseRetriever`` whose documents carry ``query_id`` in their metadata, to be judged by.

    Parameters
    ----------
    sidecar : Sidecar
    embeddings : langchain_core.embeddings.Embeddings
        What the documents of the collection were embedded with.
    k : int
        Documents of an answer.
    text : str, optional
        The field of a record that is the text; ``page_content``, ``document`` or ``text`` when not given.
    **options
        For every search, as filters.

    Returns
    -------
    retriever : langchain_core.retrievers.BaseRetriever

    Examples
    --------
    >>> retriever = gm.beside.langchain.retriever(docs, OpenAIEmbeddings(), k=5)  # doctest: +SKIP
    >>> best = retriever.invoke("undo the last commit")[0]  # doctest: +SKIP
    >>> docs.useful(best.metadata["query_id"], best.metadata["id"])  # doctest: +SKIP
    """
    base: Any = package("langchain_core.retrievers", "gramian.beside.langchain", "frameworks").BaseRetriever
    from langchain_core.documents import Document

    class SidecarRetriever(base):
        """Documents of a sidecar."""

        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            answer = sidecar.search(embeddings.embed_query(query), k, **options)
            return [
                Document(
                    content, id=str(name), metadata=more | {"id": name, "score": score, "query_id": answer.query_id}
                )
                for name, score, (content, more) in zip(answer.ids, answer.scores, parted(answer.records, text))
            ]

    return SidecarRetriever()


TEXTS = ("page_content", "document", "text")


def parted(records: list[dict[str, Any]], text: str | None) -> list[tuple[str, dict[str, Any]]]:
    """The text of each record, and the rest of it; what LangChain nests as ``metadata`` is the rest."""
    parts = []
    for record in records:
        name = text or next((name for name in TEXTS if name in record), "")
        if name not in record:
            raise ValueError(
                f"gramian.beside: text must name the field with the text, got {text!r} for {list(record)}."
            )
        rest = {key: value for key, value in record.items() if key not in (name, "metadata")}
        nested = record.get("metadata")
        parts.append((str(record[name]), rest | (nested if isinstance(nested, dict) else {})))
    return parts
