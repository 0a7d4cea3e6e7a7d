"""What requests hold."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Id = Annotated[int, Field(ge=-(2**63), lt=2**63)]
User = Annotated[str | None, Field(max_length=200)]
Vector = Annotated[list[float], Field(min_length=1, max_length=4096)]
VersionName = Literal["active", "plain"] | Annotated[int, Field(ge=0, lt=2**31)]


def version_of(text: str) -> str | int:
    """A version that is named in an address."""
    return int(text) if text.isdigit() else text


class Body(BaseModel):
    """Fields are taken as they are, without conversion; unknown ones are refused."""

    model_config = ConfigDict(strict=True, extra="forbid")


class NewCollection(Body):
    """How wide the vectors of a collection are."""

    n_features: Annotated[int, Field(ge=1, le=4096)]


class Item(Body):
    """A vector with an id (the next free one when absent) and whatever belongs to it."""

    id: Id | None = None
    x: Vector
    meta: dict[str, Any] | None = None
    upsert: bool = False


class Items(Body):
    """Items to add; with ``upsert`` known ones are replaced."""

    items: Annotated[list[Item], Field(min_length=1, max_length=100_000)]
    upsert: bool = False
    user: User = None


class Query(Body):
    """A point, a text or an item, and how many of the most similar items are wanted."""

    x: Vector | None = None
    text: Annotated[str | None, Field(min_length=1, max_length=10_000)] = None
    id: Id | None = None
    k: Annotated[int, Field(ge=1, le=1000)] = 10
    likes: Annotated[list[Id], Field(max_length=1000)] = []
    dislikes: Annotated[list[Id], Field(max_length=1000)] = []
    version: VersionName = "active"
    where: dict[str, Any] | None = None
    duel: bool = False
    unseen: bool = False
    shown: bool = False
    user: User = None


class Feedback(Body):
    """An item is (not) like a query, or (null) was only clicked on."""

    query: Id | Vector
    item: Id
    like: bool | None
    user: User = None
    duel_id: Annotated[str | None, Field(max_length=64)] = None
    query_id: Annotated[str | None, Field(max_length=64)] = None


class NewVersion(Body):
    """Which learner makes the candidate, and what it is called."""

    learner: Annotated[str | None, Field(max_length=64)] = None
    name: Annotated[str | None, Field(min_length=1, max_length=200)] = None
    user: User = None


class Points(Body):
    """Points to map."""

    x: Annotated[list[Vector], Field(min_length=1, max_length=100_000)]
    version: VersionName = "active"


class Brought(Body):
    """A text, or a picture as base64, that is no item."""

    text: Annotated[str | None, Field(min_length=1, max_length=10_000)] = None
    image: Annotated[str | None, Field(min_length=1, max_length=20_000_000)] = None


class NewToken(Body):
    """Who gets a token, and what it allows."""

    role: Literal["viewer", "teacher", "admin"]
    name: Annotated[str, Field(min_length=1, max_length=200)]


class Login(Body):
    """A token, traded for a cookie."""

    token: Annotated[str, Field(min_length=1, max_length=1000)]


class Added(BaseModel):
    """What was written."""

    added: int
    updated: int
    seq: int


class Taken(BaseModel):
    """The number of the event."""

    seq: int


class Answer(BaseModel):
    """Items in their order, with squared distances, or scores when there were clicks."""

    ids: list[int]
    sqdist: list[float] | None = None
    score: list[float] | None = None
    meta: list[dict[str, Any]]
    team: list[int] | None = None
    duel_id: str | None = None
    query_id: str | None = None
    candidate: int | None = None
    version: int
    seq: int
