"""A sidecar of a Qdrant collection."""

from collections.abc import Sequence
from inspect import iscoroutinefunction
from typing import Any

from gramian import _settings
from gramian.beside.engine import Engine, Hit, Id, comparison
from gramian.beside.sidecar import Sidecar

KINDS = {"cosine": "cosine", "dot": "dot", "euclid": "l2"}
REQUEST = {"query_filter": "filter", "search_params": "params"}
"""Options of ``query_points`` under their names in a request of several queries."""


class QdrantEngine(Engine):
    """A collection, or one of its named vectors."""

    def __init__(self, client: Any, collection: str, using: str | None) -> None:
        if iscoroutinefunction(getattr(client, "get_collection", None)):
            raise TypeError("Qdrant: client must be a QdrantClient, got an asynchronous one; call search in a thread.")
        self.client, self.name = client, collection
        vectors = client.get_collection(collection).config.params.vectors
        named = {"": vectors} if hasattr(vectors, "size") else dict(vectors or {})
        if using is None and len(named) == 1:
            using = next(iter(named))
        if using not in named:
            names = ", ".join(map(repr, named)) or "none"
            raise ValueError(f"Qdrant: using must name one of the vectors of {collection!r} ({names}), got {using!r}.")
        self.using, self.width = using, int(named[using].size)
        if getattr(named[using], "multivector_config", None):
            raise ValueError(f"Qdrant: {collection!r} must have one vector for a document, got a matrix of several.")
        self.metric = comparison(named[using].distance.value, KINDS, "Qdrant")

    def search(self, vectors: Sequence[Any], k: int, **options: Any) -> list[list[Hit]]:
        from qdrant_client import models

        options = {"with_payload": True} | {REQUEST.get(word, word): value for word, value in options.items()}
        timeout = {"timeout": options.pop("timeout")} if "timeout" in options else {}
        options |= {"limit": k, "using": self.using or None}
        asked = [models.QueryRequest(query=numbers(vector), **options) for vector in vectors]
        answers = self.client.query_batch_points(self.name, requests=asked, **timeout)
        return [[Hit(p.id, p.score, p.payload or {}) for p in answer.points] for answer in answers]

    def vectors(self, ids: list[Id]) -> dict[Id, Any]:
        named = [self.using] if self.using else True
        points = self.client.retrieve(self.name, ids=ids, with_payload=False, with_vectors=named)
        return {p.id: p.vector[self.using] if isinstance(p.vector, dict) else p.vector for p in points if p.vector}

    def count(self) -> int:
        return self.client.count(self.name).count


def numbers(vector: Any) -> list[float]:
    """A vector as Qdrant takes it."""
    return vector.tolist() if hasattr(vector, "tolist") else list(vector)


class Qdrant(Sidecar):
    """Let a Qdrant collection learn from what people found useful, without touching it.

    The collection, its index and its documents stay as they are; queries are turned, once that has won in front of
    people. See :class:`Sidecar` for the methods, and for how failures are kept away from searches.

    Parameters
    ----------
    client : qdrant_client.QdrantClient
        A client of a server, or of a local folder.
    collection : str
        Its name.
    space : path
        Folder of what is logged and learned; made when it is not there. One process may have it open.
    using : str, optional
        The named vector; the only one when not given.

    Examples
    --------
    >>> import gramian as gm, numpy as np, tempfile
    >>> from qdrant_client import QdrantClient, models
    >>> client, rng = QdrantClient(":memory:"), np.random.default_rng(0)
    >>> cosine = models.VectorParams(size=8, distance=models.Distance.COSINE)
    >>> done = client.create_collection("docs", vectors_config=cosine)
    >>> client.upload_collection("docs", rng.normal(size=(100, 8)), ids=range(100))
    >>> docs = gm.beside.Qdrant(client, "docs", space=tempfile.mkdtemp())
    >>> answer = docs.search(rng.normal(size=8), 5)
    >>> click = docs.useful(answer.query_id, answer.ids[0])
    >>> docs.report()["clicks"]
    1
    >>> docs.close()
    """

    def __init__(self, client: Any, collection: str, *, space: _settings.Path, using: str | None = None) -> None:
        super().__init__(QdrantEngine(client, collection, using), space)
