"""Routes of collections: their items, questions and clicks, and versions with what these make of the items."""

import asyncio
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Header, Query, Request
from fastapi import Path as InPath
from starlette.responses import FileResponse, Response

from gramian import persist
from gramian.service import meta, reports
from gramian.service.answers import MOST_K
from gramian.service.errors import Denied, SpaceError, Unknown
from gramian.service.http import bodies
from gramian.service.http.requests import (
    USUAL,
    Admin,
    JsonRoute,
    Key,
    Name,
    Number,
    Teacher,
    TheSpace,
    Viewer,
    answer,
    documented,
    long_answer,
    long_lines,
    sender,
)
from gramian.service.space import Space

items = APIRouter(prefix="/v1/collections", route_class=JsonRoute, tags=["items"], responses=USUAL)
teaching = APIRouter(prefix="/v1/collections/{c}", route_class=JsonRoute, tags=["teaching"], responses=USUAL)
versions = APIRouter(prefix="/v1/collections/{c}", route_class=JsonRoute, tags=["versions"], responses=USUAL)
ItemId = Annotated[int, InPath(ge=-(2**63), lt=2**63)]
MOST_ITEMS = 1000
"""Items of one page."""
CLICKS = 100
"""Clicks that are read together."""
BYTES: dict[int | str, dict[str, Any]] = {200: {"content": {"application/octet-stream": {}}}}


@items.get("")
def list_collections(space: TheSpace, who: Viewer) -> Response:
    """All collections."""
    snapshot = space.snapshot
    listed = [_summary(view) for view in snapshot.collections.values()]
    return answer({"collections": listed, "seq": snapshot.seq})


@items.get("/{c}")
def get_collection(space: TheSpace, who: Viewer, c: Name) -> Response:
    """One collection."""
    snapshot = space.snapshot
    return answer({**_summary(snapshot.collection(c)), "seq": snapshot.seq})


def _summary(view: Any) -> dict[str, Any]:
    numbers = {"n_features": view.n_features, "items": len(view.ids), "active": view.active}
    return {"name": view.name, **numbers, "candidate": view.candidate, "versions": len(view.versions)}


@items.put("/{c}", responses=documented(409, 507))
def put_collection(space: TheSpace, who: Admin, c: Name, body: bodies.NewCollection) -> Response:
    """Make a collection, or find it there with the same width."""
    return answer(space.create(c, body.n_features, who.name))


@items.post("/{c}/items", responses={200: {"model": bodies.Added}, **documented(409, 507)})
def add_items(space: TheSpace, who: Admin, c: Name, body: bodies.Items, key: Key = None) -> Response:
    """Add items, all or none; a known id is refused unless ``upsert``."""
    width = space.collection(c).n_features
    for item in body.items:
        if len(item.x) != width:
            raise SpaceError(f"Space: x must have {width} numbers, got {len(item.x)} in item {item.id}.")
    X, ids, metas = np.array([i.x for i in body.items]), [i.id for i in body.items], [i.meta for i in body.items]
    upsert = body.upsert or [item.id for item in body.items if item.upsert]
    user = body.user or who.name
    return answer(space.add(c, X, ids, meta=metas, upsert=upsert, user=user, request=sender(who, key, body)))


@items.get("/{c}/items")
def list_items(
    space: TheSpace,
    who: Viewer,
    c: Name,
    fields: Annotated[Literal["id", "id,meta", "meta", "id,x,meta"], Query()] = "id,meta",
    after: Annotated[int | None, Query(ge=-(2**63), lt=2**63)] = None,
    limit: Annotated[int | None, Query(ge=1, le=10_000_000)] = None,
) -> Response:
    """Items in the order of ascending ids; ``fields=id`` lists all ids, other fields come in pages."""
    view = space.collection(c)
    ids = view.ids if after is None else view.ids[view.ids > after]
    if fields == "id":
        return _listed_ids(ids if limit is None else ids[:limit], len(ids))
    page = ids[: min(MOST_ITEMS if limit is None else limit, MOST_ITEMS)]
    rows: Iterator[dict[str, Any]] = ({"id": i, "meta": m} for i, m in zip(page.tolist(), meta.metas(view, page)))
    if "x" in fields:
        rows = ({**row, "x": view.points([row["id"]])[0].tolist()} for row in rows)
    width = view.n_features if "x" in fields else 10
    return long_answer("items", rows, width, next=int(page[-1]) if len(page) < len(ids) else None)


def _listed_ids(ids: np.ndarray, total: int) -> Response:
    """Ids alone, in the fastest way."""
    texts = list(map(str, ids.tolist()))
    rows = ",".join(f'{{"id":{text}}}' for text in texts)
    end = texts[-1] if len(ids) < total else "null"
    return Response(f'{{"ids":[{",".join(texts)}],"items":[{rows}],"next":{end}}}', media_type="application/json")


@items.get("/{c}/items/{id}")
def get_item(space: TheSpace, who: Viewer, c: Name, id: ItemId) -> Response:
    """An item with its vector and meta."""
    return answer(space.item(c, id))


@items.delete("/{c}/items/{id}", responses={200: {"model": bodies.Taken}, **documented(507)})
def remove_item(space: TheSpace, who: Admin, c: Name, id: ItemId) -> Response:
    """Remove an item."""
    return answer(space.remove(c, id, who.name))


@items.get("/{c}/items/{id}/image", response_class=FileResponse)
def get_image(request: Request, space: TheSpace, who: Viewer, c: Name, id: ItemId) -> Response:
    """The picture that an item names in its meta field ``image``."""
    name = meta.metas(space.collection(c), [id])[0].get("image")
    path = request.app.state.pictures.get(name) if isinstance(name, str) else None
    if path is None or not path.is_file():
        raise Unknown(f"Space: no picture of item {id} in {c!r}.")
    headers = {"Content-Security-Policy": "sandbox; default-src 'none'", "X-Content-Type-Options": "nosniff"}
    return FileResponse(path, headers={**headers, "Cache-Control": "private, max-age=3600"})


@teaching.post("/query", responses={200: {"model": bodies.Answer}})
def query(space: TheSpace, who: Viewer, c: Name, body: bodies.Query) -> Response:
    """The items most like a point or an item; with clicks, ranked by a model of this query."""
    if (body.duel or body.shown) and not who.may("teacher"):
        raise Denied("Request: a duel, and a list that is kept as shown, need the role teacher, got viewer.")
    fields = body.model_dump(exclude={"user"})
    return answer(space.query(c, fields.pop("x"), **fields, user=body.user or who.name))


@teaching.post("/feedback", status_code=202, responses={202: {"model": bodies.Taken}, **documented(507)})
async def give_feedback(space: TheSpace, who: Teacher, c: Name, body: bodies.Feedback, key: Key = None) -> Response:
    """Say that an item is (not) like a query; answered when it is on disk."""
    duel = body.duel_id or body.query_id
    named: dict[str, Any] = {"user": body.user or who.name, "duel_id": duel, "request": sender(who, key, body)}
    future = space.feedback_later(c, body.query, body.item, body.like, **named)
    return answer(await asyncio.wrap_future(future), 202)


@teaching.delete("/feedback/{seq}", responses={200: {"model": bodies.Taken}, **documented(409, 507)})
def undo_feedback(space: TheSpace, who: Teacher, c: Name, seq: Number) -> Response:
    """Take a click back: what is learned afterwards is as if it had never been."""
    return answer(space.undo(c, seq, who.name, sender(who)))


@teaching.get("/feedback", responses={200: {"content": {"application/json": {}, "application/x-ndjson": {}}}})
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
    """Clicks, read page by page."""
    while page := space.clicks(c, after, min(limit, CLICKS)):
        yield from page
        after, limit = page[-1]["seq"], limit - len(page)
        if limit == 0:
            return


def _insights(space: Space, c: str, after: int, limit: int) -> Iterator[dict[str, Any]]:
    clicks = _clicks(space, c, after, limit)
    while page := list(islice(clicks, CLICKS)):
        with space.store.reading() as db:
            places = reports.positions(db, page)
        yield from (reports.ubi(click, c, place) for click, place in zip(page, places))


@versions.get("/versions")
def list_versions(space: TheSpace, who: Viewer, c: Name) -> Response:
    """All versions with their records in duels; version 0 is the plain features."""
    return answer(space.versions(c))


@versions.post("/versions", responses=documented(409, 507))
def learn_version(space: TheSpace, who: Teacher, c: Name, body: bodies.NewVersion | None = None) -> Response:
    """Learn a candidate from all live clicks, now; the same clicks give the same metric."""
    wanted = body or bodies.NewVersion()
    return answer(space.learn(c, wanted.learner, label=wanted.name, user=wanted.user or who.name))


@versions.get("/versions/{n}")
def get_version(space: TheSpace, who: Viewer, c: Name, n: Number) -> Response:
    """One version."""
    space.collection(c).version(n)
    return answer(next(v for v in space.versions(c)["versions"] if v["version"] == n))


@versions.post("/versions/{n}/activate", responses=documented(507))
def activate_version(space: TheSpace, who: Admin, c: Name, n: Number) -> Response:
    """Let a version answer from here on."""
    return answer(space.activate(c, n, who.name))


@versions.get("/versions/{n}/diff")
def diff_versions(
    space: TheSpace,
    who: Viewer,
    c: Name,
    n: Number,
    to: Annotated[int, Query(ge=0, lt=2**63)],
    k: Annotated[int, Query(ge=1, le=MOST_K)] = 10,
) -> Response:
    """Which neighbors changed most between two versions."""
    return answer(space.diff(c, n, to, k))


@versions.get("/versions/{n}/export", responses=BYTES, response_class=Response)
def export_version(
    space: TheSpace, who: Viewer, c: Name, n: Number, format: Annotated[Literal["gram"], Query()] = "gram"
) -> Response:
    """The metric of a version as a file that ``gramian.load`` reads."""
    version = space.collection(c).version(n)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "metric.gram"
        persist.save(version.metric, path, about={"name": version.name, "clicks": version.events})
        content = path.read_bytes()
    headers = {"Content-Disposition": f'attachment; filename="version-{n}.gram"'}
    return Response(content, headers=headers, media_type="application/octet-stream")


@versions.post("/transform")
def transform(space: TheSpace, who: Viewer, c: Name, body: bodies.Points) -> Response:
    """Coordinates in which the plain Euclidean distance is that of a version."""
    width = space.collection(c).n_features
    if {len(x) for x in body.x} != {width}:
        raise SpaceError(f"Space: x must hold points of {width} numbers.")
    Z = space.transform(c, np.array(body.x), body.version)  # (m, r)
    return long_answer("z", (z.tolist() for z in Z), Z.shape[1])


@versions.get("/map", responses={**BYTES, 304: {"description": "Not Modified"}}, response_class=Response)
def get_map(
    space: TheSpace,
    who: Viewer,
    c: Name,
    version: Annotated[str, Query(pattern="^(active|plain|live|[0-9]{1,9})$")] = "active",
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """All items in the plane: pairs of float32 (little-endian), in the order of ascending ids.

    The version ``live`` is what would be learned from the clicks so far.
    """
    view = space.collection(c)
    if version == "live":
        seq, metric = space.preview(c)
        number = f"live-{seq}"
    else:
        answering = view.version(bodies.version_of(version))
        number, metric = str(answering.number), answering.metric
    tag = f'"{view.number}-{number}-{view.revision}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache", "X-Version": number, "X-Count": str(len(view.ids))}
    if if_none_match is not None and tag in [text.strip().removeprefix("W/") for text in if_none_match.split(",")]:
        return Response(status_code=304, headers=headers)
    content = reports.plane(view, metric).astype("<f4").tobytes()
    return Response(content, headers=headers, media_type="application/octet-stream")
