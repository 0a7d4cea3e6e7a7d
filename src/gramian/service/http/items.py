"""Routes of collections and their items."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Path, Query, Request
from starlette.responses import FileResponse, Response

from gramian.service import reports
from gramian.service.errors import SpaceError, Unknown
from gramian.service.http import bodies
from gramian.service.http.parts import USUAL, Admin, JsonRoute, Key, Name, TheSpace, Viewer, answer, asked, long_answer
from gramian.service.http.problems import documented

router = APIRouter(prefix="/v1/collections", route_class=JsonRoute, tags=["items"], responses=USUAL)
ItemId = Annotated[int, Path(ge=-(2**63), lt=2**63)]
PAGE = 1000


@router.get("")
def list_collections(space: TheSpace, who: Viewer) -> Response:
    """All collections."""
    snapshot = space.snapshot
    listed = [_summary(view) for view in snapshot.collections.values()]
    return answer({"collections": listed, "seq": snapshot.seq})


@router.get("/{c}")
def get_collection(space: TheSpace, who: Viewer, c: Name) -> Response:
    """One collection."""
    snapshot = space.snapshot
    return answer({**_summary(snapshot.collection(c)), "seq": snapshot.seq})


def _summary(view: Any) -> dict[str, Any]:
    numbers = {"n_features": view.n_features, "items": len(view.ids), "active": view.active}
    return {"name": view.name, **numbers, "candidate": view.candidate, "versions": len(view.versions)}


@router.put("/{c}", responses=documented(409, 507))
def put_collection(space: TheSpace, who: Admin, c: Name, body: bodies.NewCollection) -> Response:
    """Make a collection, or find it there with the same width."""
    return answer(space.create(c, body.n_features, who.name))


@router.post("/{c}/items", responses={200: {"model": bodies.Added}, **documented(409, 507)})
def add_items(space: TheSpace, who: Admin, c: Name, body: bodies.Items, key: Key = None) -> Response:
    """Add items, all or none; a known id is refused unless ``upsert``."""
    width = space.collection(c).n_features
    for item in body.items:
        if len(item.x) != width:
            raise SpaceError(f"Space: x must have {width} numbers, got {len(item.x)} in item {item.id}.")
    X = np.array([item.x for item in body.items])
    upsert = body.upsert or [item.id for item in body.items if item.upsert]
    meta = [item.meta for item in body.items]
    ids = [item.id for item in body.items]
    user = body.user or who.name
    return answer(space.add(c, X, ids, meta=meta, upsert=upsert, user=user, request=asked(who, key, body)))


@router.get("/{c}/items")
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
    most = limit if limit is not None else (len(ids) if fields == "id" else PAGE)
    chosen = ids[: most if fields == "id" else min(most, PAGE)]
    following = int(chosen[-1]) if len(chosen) < len(ids) else None
    if fields == "id":
        texts = list(map(str, chosen.tolist()))
        rows = ",".join(f'{{"id":{text}}}' for text in texts)
        end = "null" if following is None else str(following)
        return Response(f'{{"ids":[{",".join(texts)}],"items":[{rows}],"next":{end}}}', media_type="application/json")
    items: Iterator[dict[str, Any]] = (
        {"id": i, "meta": meta} for i, meta in zip(chosen.tolist(), reports.metas(view, chosen))
    )
    if "x" in fields:
        items = ({**item, "x": view.points([item["id"]])[0].tolist()} for item in items)
    return long_answer("items", items, view.n_features if "x" in fields else 10, next=following)


@router.get("/{c}/items/{id}")
def get_item(space: TheSpace, who: Viewer, c: Name, id: ItemId) -> Response:
    """An item with its vector and meta."""
    return answer(space.item(c, id))


@router.delete("/{c}/items/{id}", responses={200: {"model": bodies.Taken}, **documented(507)})
def remove_item(space: TheSpace, who: Admin, c: Name, id: ItemId) -> Response:
    """Remove an item."""
    return answer(space.remove(c, id, who.name))


@router.get("/{c}/items/{id}/image", response_class=FileResponse)
def get_image(request: Request, space: TheSpace, who: Viewer, c: Name, id: ItemId) -> Response:
    """The picture that an item names in its meta field ``image``."""
    name = reports.item(space.collection(c), id)["meta"].get("image")
    path = request.app.state.pictures.get(name) if isinstance(name, str) else None
    if path is None or not path.is_file():
        raise Unknown(f"Space: no picture of item {id} in {c!r}.")
    headers = {"Content-Security-Policy": "sandbox; default-src 'none'", "X-Content-Type-Options": "nosniff"}
    return FileResponse(path, headers={**headers, "Cache-Control": "private, max-age=3600"})
