"""What a database must give to a sidecar: hits of vectors, vectors of ids, and how the two are compared."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

Id = int | str
METRICS = ("cosine", "dot", "l2")
"""Comparisons under which documents stay while queries are turned; ``l2`` where all documents have one length."""


class Hit(NamedTuple):
    """A document that was found: its id, the score or distance of the database, and what else it said of it."""

    id: Any
    score: float
    record: dict[str, Any]


class Engine(ABC):
    """A collection of a database, seen as a sidecar needs it. All methods may be called from any thread.

    Attributes
    ----------
    name : str
        Of the collection.
    width : int
        Of its vectors.
    metric : {"cosine", "dot", "l2"}
        How it compares them.
    """

    name: str
    width: int
    metric: str

    @abstractmethod
    def search(self, vectors: Sequence[Any], k: int, **options: Any) -> list[list[Hit]]:
        """The best k documents of each vector, in one request where the database can do that."""

    @abstractmethod
    def vectors(self, ids: list[Id]) -> dict[Id, Any]:
        """The vectors of documents, without those that are gone."""

    @abstractmethod
    def count(self) -> int:
        """Number of documents."""


def package(name: str, owner: str, extra: str) -> Any:
    """A package of an extra, or one sentence that names it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"{owner} needs {name.split('.')[0]}: pip install 'gramian[{extra}]'.") from error


def comparison(word: Any, kinds: dict[str, str], owner: str) -> str:
    """Our word for how a database compares, or one sentence that says why its queries cannot be turned."""
    if str(word).lower() not in kinds:
        raise ValueError(
            f"{owner}: the collection must compare by {', '.join(dict.fromkeys(kinds))}, got {word}, where no turned "
            "query does what turned documents would."
        )
    return kinds[str(word).lower()]
