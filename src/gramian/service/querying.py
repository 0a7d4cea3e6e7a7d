"""Questions at the door: checked, asked, and answered in plain data; duels among them."""

import secrets
from typing import TYPE_CHECKING, Any

import numpy as np

from gramian import _checks
from gramian.service import duels, reports, teaching
from gramian.service.asking import Question
from gramian.service.errors import SpaceError
from gramian.service.snapshot import Collection

if TYPE_CHECKING:
    from gramian.service.space import Space

MOST_CLICKS = 1000
"""Likes, and dislikes, of one query."""


def query(space: "Space", name: str, version: Any, duel: bool, user: str | None, **asked: Any) -> dict[str, Any]:
    """The answer to a question about a collection, with the event that it stands for."""
    snapshot = space.snapshot
    view = snapshot.collection(name)
    question = _question(view, **asked)
    clicked = bool(question.likes or question.dislikes)
    if duel and view.candidate is not None and version == "active" and not clicked:
        return _duel(space, view, question, user)
    chosen = view.version(version)
    ids, values = space.asker.answer(view, chosen, question)
    answer = {"ids": ids.tolist(), "score" if clicked else "sqdist": values.tolist(), "meta": reports.metas(view, ids)}
    answer |= {"version": chosen.number, "seq": snapshot.seq}
    return {**answer, "team": [chosen.number] * len(ids), "duel_id": None} if duel else answer


def _duel(space: "Space", view: Collection, question: Question, user: str | None) -> dict[str, Any]:
    """An interleaved answer; the event that keeps it is durable before it is shown."""
    if question.x is None or view.candidate is None:
        raise SpaceError("Space: a duel needs x or id.")
    candidate, active = view.versions[view.candidate], view.versions[view.active]
    rankings = [space.asker.answer(view, version, question)[0].tolist() for version in (candidate, active)]
    rng = np.random.default_rng(secrets.randbits(64))
    duel = duels.interleave(candidate.number, rankings[0], active.number, rankings[1], question.k, rng)
    asked = question.own if question.own is not None else question.x.tolist()
    seq = space.submit(teaching.open_duel, view.name, duel, asked, user).result()["seq"]
    points = view.points(duel.ids)
    sqdist = active.metric.pair_sqdist(np.broadcast_to(question.x, points.shape), points) if duel.ids else np.zeros(0)
    answer = {"ids": duel.ids, "sqdist": sqdist.tolist(), "meta": reports.metas(view, duel.ids), "team": duel.teams}
    return {**answer, "duel_id": duel.id, "version": active.number, "candidate": candidate.number, "seq": seq}


def _question(
    view: Collection, x: Any, id: Any, k: Any, likes: Any, dislikes: Any, where: Any, unseen: bool
) -> Question:
    k = _checks.number(k, "Space", "k", low=1, high=reports.MOST_K, integer=True)
    if x is not None and id is not None:
        raise SpaceError("Space: a query must have x or id, got both.")
    for word, clicked in (("likes", likes), ("dislikes", dislikes)):
        if len(clicked) > MOST_CLICKS:
            raise SpaceError(f"Space: {word} must be at most {MOST_CLICKS} ids, got {len(clicked)}.")
    point = None
    if id is not None:
        point = view.points([one_id(id, "id")])[0]
    elif x is not None:
        point = one_point(x, view, "x")
    liked = tuple(one_id(i, "likes") for i in likes)
    disliked = tuple(one_id(i, "dislikes") for i in dislikes)
    return Question(point, k, id, liked, disliked, where, unseen)


def one_id(value: Any, name: str) -> int:
    """A number that can be the id of an item."""
    return _checks.number(value, "Space", name, low=-(2**63), high=2**63 - 1, integer=True)


def one_point(x: Any, view: Collection, name: str) -> np.ndarray:
    """A vector of the width of a collection, whose squares are finite."""
    point = _checks.vector(x, "Space", name, view.n_features)
    return _checks.points(point[None], "Space", name=name)[0]
