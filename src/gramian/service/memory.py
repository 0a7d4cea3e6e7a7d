"""What an agent remembers: texts in one collection of a space, asked for, read, judged and forgotten.

A list that an agent was shown is kept, so that what it says of an item later belongs to that list. An item that it
reads counts as a weak like (a click without a judgment), ``useful`` as a like or a dislike, which takes the place of
whatever was said of that item in that list before: an agent that repeats itself counts once.
"""

import json
from typing import Any

import numpy as np

from gramian.service import changes, encoders, models
from gramian.service.changes import Click
from gramian.service.errors import SpaceError, Unknown
from gramian.service.models import TextEncoder
from gramian.service.space import Space
from gramian.service.writer import Draft

NAME = "memory"
"""The collection of an agent, unless another one is named."""
SHOWN = 280
"""Characters of a text that a list shows; all of it is there to be read."""
WORDS = "gramian.service.encoders:embedded"
"""The encoder where none is named: mean word vectors, from the files of a package that the extra ``demo`` installs."""


class Memory:
    """What an agent remembers: texts in one collection of a space, whose search gets better by what it uses.

    The methods are the tools of ``gramian mcp``. The collection is made when something is remembered first.

    Parameters
    ----------
    space : Space
    name : str
        The collection.
    encoder : TextEncoder, optional
        Makes the vectors of texts. Its name is kept in the space: another one is refused from then on.

    See Also
    --------
    gramian.service.Space : What lies under it.

    Examples
    --------
    >>> import gramian as gm, tempfile
    >>> from gramian.service.models import TextEncoder
    >>> count = lambda texts: [[text.count("tea"), text.count("rain"), 1.0] for text in texts]
    >>> with gm.service.Space(tempfile.mkdtemp(), learning=False) as space:
    ...     memory = gm.service.Memory(space, encoder=TextEncoder("counts", count, 3))
    ...     _ = memory.remember("She likes green tea.")
    ...     _ = memory.remember("It rained in March.")
    ...     shown = memory.search("which tea?", k=1)
    ...     memory.read(shown["results"][0]["id"], shown["query_id"])["text"]
    'She likes green tea.'
    """

    def __init__(self, space: Space, name: str = NAME, encoder: TextEncoder | None = None) -> None:
        self.space = space
        self.name = name
        self.encoder = encoder
        if encoder is not None and self.begun:
            space.use_encoder(name, encoder)

    @property
    def begun(self) -> bool:
        """Whether anything was ever remembered."""
        return self.name in self.space.snapshot.collections

    def search(
        self,
        text: str | None = None,
        vector: Any = None,
        id: int | None = None,
        k: int = 10,
        where: dict[str, Any] | None = None,
        *,
        keep: bool = True,
        user: str | None = None,
    ) -> dict[str, Any]:
        """What is most like a text, a vector or an item; where a candidate is on trial, its answer and the usual one.

        Distances are not told: in a list of two rankings they would say which one an item is from. Without ``keep`` the
        list is not kept, and nothing can be said of it.
        """
        asked = [word for word, value in (("text", text), ("vector", vector), ("id", id)) if value is not None]
        if len(asked) != 1:
            raise SpaceError(f"search: give one of text, vector and id, got {' and '.join(asked) or 'none'}.")
        if not self.begun:
            return {"query_id": None, "results": [], "notice": "Nothing is remembered yet."}
        point = vector if text is None else self._vector(text)
        answer = self.space.query(self.name, point, id=id, k=k, where=where, duel=keep, shown=keep, user=user)
        results = [_shown(number, meta) for number, meta in zip(answer["ids"], answer["meta"])]
        told: dict[str, Any] = {"query_id": answer.get("query_id"), "results": results}
        troubles = self.space.troubles
        return {**told, "notice": " ".join(troubles)} if troubles else told

    def read(self, id: int, query_id: str | None = None, *, user: str | None = None) -> dict[str, Any]:
        """An item with all of its text; with the list that showed it this is a use, and so a weak like."""
        meta = self.space.item(self.name, id)["meta"]
        if query_id is not None:
            self.space.transact(lambda draft: say(draft, self.name, query_id, id, None, user))
        return {"id": id, "text": meta.pop("text", ""), "meta": meta}

    def remember(
        self,
        text: str,
        meta: dict[str, Any] | None = None,
        id: int | None = None,
        vector: Any = None,
        *,
        user: str | None = None,
    ) -> dict[str, Any]:
        """Keep a text; one with a known id takes the place of that item, and a text that is there stays one item."""
        if meta and "text" in meta:
            raise SpaceError("remember: meta must not have a field 'text', which is the text itself; rename it.")
        x = np.asarray(self._vector(text) if vector is None else vector, float)
        if not self.begun:
            self._begin(x)
        if id is None and len(self.space.collection(self.name).ids):
            nearest = self.space.query(self.name, x, k=1, version="plain")
            id = next((i for i, own in zip(nearest["ids"], nearest["meta"]) if own.get("text") == text), None)
        about = [{"text": text, **(meta or {})}]
        done = self.space.add(self.name, x[None], [id], meta=about, upsert=id is not None, user=user)
        number = self.space.events(done["seq"] - 1, 1)[0]["ids"][0]
        return {"id": number, "replaced": bool(done["updated"]), "seq": done["seq"]}

    def useful(
        self, query_id: str, item_id: int, not_useful: bool = False, *, user: str | None = None
    ) -> dict[str, Any]:
        """Say that an item of a list was of use, or was not; the last word on an item of a list is what counts."""
        return self.space.transact(lambda draft: say(draft, self.name, query_id, item_id, not not_useful, user))

    def forget(self, id: int, *, user: str | None = None) -> dict[str, Any]:
        """Remove an item; nothing is learned from what was said of it."""
        return {"id": id, **self.space.remove(self.name, id, user)}

    def _vector(self, text: str) -> np.ndarray:
        if self.encoder is None:
            raise SpaceError(
                "memory: texts need an encoder; start with --encoder (a sentence-transformers name, an ONNX folder or "
                "module:function), or pip install 'gramian[demo]' for word vectors."
            )
        return self.encoder.encode([text])[0]

    def _begin(self, x: np.ndarray) -> None:
        """Make the collection of the first item, and keep the name of the encoder with it."""
        width = x.size if self.encoder is None else self.encoder.width
        if x.shape != (width,):
            raise SpaceError(f"remember: vector must have {width} numbers, as those of texts, got shape {x.shape}.")
        self.space.create(self.name, width)
        if self.encoder is not None:
            self.space.use_encoder(self.name, self.encoder)


def _shown(number: int, meta: dict[str, Any]) -> dict[str, Any]:
    """One line of a list: the beginning of its text, and whether that is all."""
    text = str(meta.get("text", ""))
    rest = {name: value for name, value in meta.items() if name != "text"}
    whole = len(text) <= SHOWN
    return {"id": number, "text": text if whole else text[:SHOWN] + "…", "whole": whole, "meta": rest}


def say(draft: Draft, name: str, shown: str, item: int, like: bool | None, user: str | None) -> dict[str, Any]:
    """Take what is said of an item of a list: one use, or the last judgment in place of what was said before."""
    number = draft.collection(name)["number"]
    text = "SELECT e.data FROM duels d JOIN events e ON e.seq = d.seq WHERE d.id = ? AND d.collection = ?"
    row = draft.db.execute(text, (shown, number)).fetchone()
    if row is None:
        raise Unknown(f"memory: no search {shown!r:.80}; give the query_id of an answer of search.")
    query = json.loads(row["data"])["query"]
    query = query if isinstance(query, int) else np.asarray(query, float)
    text = "SELECT seq, liked FROM feedback WHERE duel = ? AND item = ? AND undone IS NULL"
    before = draft.db.execute(text, (shown, item)).fetchall()
    for past in before:
        if like is None or past["liked"] == int(like):
            return {"seq": past["seq"], "counted": False}
    done = changes.give_feedback(draft, name, Click(query, item, like, user, shown))
    for past in before:  # only now: a verdict that follows from the item does not waver in between
        changes.undo(draft, name, past["seq"], user)
    return {"seq": done["seq"], "counted": True}


def encoder_of(space: Space, name: str, wanted: str | None) -> TextEncoder | None:
    """The encoder of a name, or that of word vectors where none is named and nothing speaks against them."""
    if wanted is not None:
        return TextEncoder.load(wanted)
    with space.store.reading() as db:
        known = models.stored(db, name)
    if known is not None and known["name"] != WORDS:
        raise SpaceError(f"mcp: texts of {name!r} are encoded by {known['name']!r}; name it with --encoder.")
    if encoders.words() is None or (known is None and name in space.snapshot.collections):
        return None
    return TextEncoder.load(WORDS)
