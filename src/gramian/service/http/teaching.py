"""Routes of questions and clicks."""

import asyncio
from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from gramian.service import reports
from gramian.service.errors import Denied
from gramian.service.http import bodies
from gramian.service.http.parts import (
    USUAL,
    JsonRoute,
    Key,
    Name,
    Number,
    Teacher,
    TheSpace,
    Viewer,
    answer,
    asked,
    long_answer,
    long_lines,
)
from gramian.service.http.problems import documented
from gramian.service.space import Space

router = APIRouter(prefix="/v1/collections/{c}", route_class=JsonRoute, tags=["teaching"], responses=USUAL)
PAGE = 100
"""Clicks that are read together."""


@router.post("/query", responses={200: {"model": bodies.Answer}})
def query(space: TheSpace, who: Viewer, c: Name, body: bodies.Query) -> Response:
    """The items most like a point or an item; with clicks, ranked by a model of this query."""
    if body.duel and not who.may("teacher"):
        raise Denied("Request: a duel needs the role teacher, got viewer.")
    fields = body.model_dump(exclude={"user"})
    found = space.query(c, fields.pop("x"), **fields, user=body.user or who.name)
    return answer(found)


@router.post("/feedback", status_code=202, responses={202: {"model": bodies.Taken}, **documented(507)})
async def give_feedback(space: TheSpace, who: Teacher, c: Name, body: bodies.Feedback, key: Key = None) -> Response:
    """Say that an item is (not) like a query; answered when it is on disk."""
    user = body.user or who.name
    named: dict[str, Any] = {"user": user, "duel_id": body.duel_id, "request": asked(who, key, body)}
    future = space.feedback_later(c, body.query, body.item, body.like, **named)
    return answer(await asyncio.wrap_future(future), 202)


@router.delete("/feedback/{seq}", responses={200: {"model": bodies.Taken}, **documented(409, 507)})
def undo_feedback(space: TheSpace, who: Teacher, c: Name, seq: Number) -> Response:
    """Take a click back: what is learned afterwards is as if it had never been."""
    return answer(space.undo(c, seq, who.name, asked(who)))


@router.get("/feedback", responses={200: {"content": {"application/json": {}, "application/x-ndjson": {}}}})
def list_feedback(
    space: TheSpace,
    who: Viewer,
    c: Name,
    after: Annotated[int, Query(ge=0, lt=2**63)] = 0,
    limit: Annotated[int, Query(ge=1, le=100_000)] = 1000,
    format: Annotated[Literal["json", "jsonl", "ubi"], Query()] = "json",
) -> Response:
    """Clicks in their order; as JSON, as JSON lines, or as events of User Behavior Insights 1.3."""
    width = space.collection(c).n_features
    if format == "json":
        return long_answer("feedback", _clicks(space, c, after, limit), width)
    if format == "jsonl":
        return long_lines(_clicks(space, c, after, limit), width)
    return long_lines(_insights(space, c, after, limit), width)


def _clicks(space: Space, c: str, after: int, limit: int) -> Iterator[dict[str, Any]]:
    """Clicks, read some at a time."""
    while page := space.clicks(c, after, min(limit, PAGE)):
        yield from page
        after, limit = page[-1]["seq"], limit - len(page)
        if limit == 0:
            return


def _insights(space: Space, c: str, after: int, limit: int) -> Iterator[dict[str, Any]]:
    clicks = _clicks(space, c, after, limit)
    while page := list(islice(clicks, PAGE)):
        yield from (reports.ubi(click, c, place) for click, place in zip(page, reports.positions(space, page)))
