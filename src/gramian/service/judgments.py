"""Judgments that come before any click: of test collections (qrels), of cross-encoders and language models, of experts.

A grade becomes a like or a dislike with a weight by one rule: an item is liked where its grade is above a threshold and
disliked where it is below, and what the judgment counts is the distance from the threshold, divided by the largest one
on that side. A grade at the threshold says nothing. With the threshold ½ the grades 0 and 1 are a whole dislike and a
whole like, 0 to 3 are −1, 0.2, 0.6 and 1, and a probability of 0.9 counts four times as much as one of 0.6.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian import _validate
from gramian.service import changes
from gramian.service.answers import one_id
from gramian.service.arguments import is_id
from gramian.service.changes import Click
from gramian.service.errors import SpaceError, Unknown
from gramian.service.snapshot import Collection
from gramian.service.writer import Draft, Request

ABOVE = 0.5
"""Grades above it are likes."""


@dataclass(frozen=True, eq=False)
class Judgment:
    """That a judge finds an item (not) to be what a query asks for; ``asked`` is the query as it was given."""

    asked: str | int | bytes
    query: int | np.ndarray
    item: int
    weight: float

    def key(self, judge: str) -> str:
        """How the keys begin of all that a judge says of this query and item."""
        kind, value = type(self.asked).__name__, self.asked
        content = value if isinstance(value, bytes) else str(value).encode()
        told = json.dumps([judge, kind, self.item]).encode() + content
        return f"judged {hashlib.sha256(told).hexdigest()[:32]}"


def weighed(grades: Any, above: float = ABOVE) -> np.ndarray:
    """What each grade counts, in [−1, 1]: likes are above 0.

    Examples
    --------
    >>> from gramian.service.judgments import weighed
    >>> weighed([0, 1, 2, 3]).tolist()
    [-1.0, 0.2, 0.6, 1.0]
    """
    values = _validate.vector(grades, "judge", "grades")
    if not math.isfinite(above):
        raise SpaceError(f"judge: above must be a number, got {above!r}.")
    weights = values - above
    for side in (weights > 0, weights < 0):
        weights[side] /= np.abs(weights[side]).max(initial=0.0) or 1.0
    if len(weights) and (weights > 0).all() | (weights < 0).all():
        what, other = ("above", "likes") if weights[0] > 0 else ("below", "dislikes")
        _validate.warn(f"judge: all grades are {what} {above:g}, so that all are {other}; name another threshold.")
    return weights


def stated(
    view: Collection,
    queries: Sequence[Any],
    items: Sequence[Any],
    grades: Any,
    above: float,
    encode: Callable[[list[str]], Any],
) -> list[Judgment]:
    """The judgments that say something; queries are texts, ids of items or vectors (n, d)."""
    weights = weighed(grades, above)
    if not hasattr(queries, "__len__"):
        raise SpaceError(f"judge: queries must be texts, ids or an array (n, d), got {_validate.shown(queries)}.")
    if not len(queries) == len(items) == len(weights):
        counts = f"{len(queries)} queries, {len(items)} items and {len(weights)} grades"
        raise SpaceError(f"judge: queries, items and grades must be equally many, got {counts}.")
    asked: list[Any] = list(queries)
    points: list[Any]
    if asked and all(isinstance(query, str) for query in asked):
        texts = list(dict.fromkeys(asked))
        vectors = dict(zip(texts, np.asarray(encode(texts), float)))
        points = [vectors[query] for query in asked]
    elif all(is_id(query) for query in asked):
        points = asked = [int(query) for query in asked]
    else:
        X = _validate.points(queries, "judge", n_features=view.n_features, name="queries", allow_sparse=False)
        X = X.astype(np.float64)
        points, asked = list(X), [(point + 0.0).tobytes() for point in X]  # −0 is 0
    rows = zip(asked, points, [one_id(item, "items") for item in items], weights.tolist())
    return [Judgment(*row) for row in rows if row[3] != 0]


def take(draft: Draft, name: str, listed: Sequence[Judgment], judge: str) -> dict[str, Any]:
    """Write judgments, all or none; one that is there is left alone, another grade takes the place of the old.

    Of several on one query and item the last counts.
    """
    numbers = {judgment.item for judgment in listed} | {j.query for j in listed if isinstance(j.query, int)}
    gone = numbers - set(changes.stored_ids(draft.db, draft.collection(name)["number"], sorted(numbers)))
    if gone:
        raise Unknown(f"judge: no item {min(gone)} in {name!r}, and {len(gone) - 1} others that are judged.")
    last = {judgment.key(judge): judgment for judgment in listed}
    done = Counter(_take_one(draft, name, key, judgment, judge) for key, judgment in last.items())
    done["known"] += len(listed) - len(last)
    return {**{word: done[word] for word in ("new", "replaced", "known")}, "seq": draft.seq}


def _take_one(draft: Draft, name: str, key: str, judgment: Judgment, judge: str) -> str:
    """Write one judgment, and say what became of it."""
    like, weight = judgment.weight > 0, abs(judgment.weight)
    text = "SELECT seq, data FROM events WHERE collection = ? AND key >= ? AND key < ? ORDER BY seq"
    before = draft.db.execute(text, (name, f"{key} ", f"{key} ~")).fetchall()
    if before:
        last, text = json.loads(before[-1]["data"]), "SELECT undone FROM feedback WHERE seq = ?"
        undone = draft.db.execute(text, (before[-1]["seq"],)).fetchone()["undone"]
        if undone is not None or (last["like"], last["weight"]) == (like, weight):
            return "known"  # what a person took back stays so
        changes.undo(draft, name, before[-1]["seq"], judge)
    click = Click(judgment.query, judgment.item, like, judge, weight=weight)
    changes.take_click(draft, name, click, Request(key=f"{key} {len(before):06d}"))
    return "replaced" if before else "new"
