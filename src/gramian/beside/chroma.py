"""A sidecar of a Chroma collection."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gramian import _settings
from gramian.beside.engine import Engine, Hit, Id, comparison
from gramian.beside.sidecar import Sidecar

KINDS = {"cosine": "cosine", "ip": "dot", "l2": "l2"}
SAID = {"documents": "document", "uris": "uri"}
"""What Chroma tells of documents beside their metadata, and its name in a record."""


class ChromaEngine(Engine):
    """A collection."""

    def __init__(self, collection: Any) -> None:
        self.collection, self.name = collection, collection.name
        first = collection.peek(1)["embeddings"]
        if first is None or len(first) == 0:
            raise ValueError(f"Chroma: collection {self.name!r} must have documents, which tell the width, got none.")
        self.width = len(first[0])
        self.metric = comparison(compared(collection), KINDS, "Chroma")

    def search(self, vectors: Sequence[Any], k: int, **options: Any) -> list[list[Hit]]:
        options = {"include": ["distances", "documents", "metadatas"]} | options
        queries = np.asarray(vectors, dtype=np.float32)
        answer = self.collection.query(query_embeddings=queries, n_results=k, **options)
        return [self._hits(answer, i) for i in range(len(answer["ids"]))]

    def _hits(self, answer: Any, i: int) -> list[Hit]:
        """Those of the i-th query."""
        ids = answer["ids"][i]
        columns = {word: answer[many][i] for many, word in SAID.items() if answer.get(many) is not None}
        metas = (answer.get("metadatas") or {i: [None] * len(ids)})[i]
        scores = answer["distances"][i] if answer.get("distances") is not None else [float("nan")] * len(ids)
        said = [{word: values[at] for word, values in columns.items()} for at in range(len(ids))]
        return [Hit(*hit, {**one, **(meta or {})}) for hit, one, meta in zip(zip(ids, scores), said, metas)]

    def vectors(self, ids: list[Id]) -> dict[Id, Any]:
        rows = self.collection.get(ids=[str(name) for name in ids], include=["embeddings"])
        return dict(zip(rows["ids"], rows["embeddings"]))

    def count(self) -> int:
        return self.collection.count()


def compared(collection: Any) -> str:
    """Chroma's word for how a collection compares, where it has always been and where it is since 1.0."""
    settings = getattr(collection, "configuration", None) or {}
    for graph in ("hnsw", "spann"):
        if isinstance(settings, dict) and settings.get(graph):
            return settings[graph].get("space", "l2")
    return (collection.metadata or {}).get("hnsw:space", "l2")


class Chroma(Sidecar):
    """Let a Chroma collection learn from what people found useful, without touching it.

    A collection by L2, which is Chroma's default, is taken where its documents have one length, as those of its own
    embedding function have: there L2 and the cosine give the same order. See :class:`Sidecar` for the methods.

    Parameters
    ----------
    collection : chromadb.Collection
        With documents in it.
    space : path
        Folder of what is logged and learned; made when it is not there. One process may have it open.

    Examples
    --------
    >>> docs = gm.beside.Chroma(client.get_collection("docs"), space="docs.space")  # doctest: +SKIP
    >>> answer = docs.search(embed("undo a commit"), 5, where={"language": "en"})  # doctest: +SKIP
    >>> click = docs.useful(answer.query_id, answer.ids[0])  # doctest: +SKIP
    """

    def __init__(self, collection: Any, *, space: _settings.Path) -> None:
        super().__init__(ChromaEngine(collection), space)
