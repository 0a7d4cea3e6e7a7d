"""Routes that the page needs beside the others: search by words, columns of meta, why, and encoders."""

import base64
import binascii
import json
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from gramian.service import about, demo, encoders, reports
from gramian.service.errors import Conflict, SpaceError, Unknown
from gramian.service.http import bodies
from gramian.service.http.parts import USUAL, Admin, JsonRoute, Name, TheSpace, Viewer, answer, long_answer
from gramian.service.http.problems import documented

router = APIRouter(prefix="/v1/collections/{c}", route_class=JsonRoute, tags=["page"], responses=USUAL)
anywhere = APIRouter(prefix="/v1", route_class=JsonRoute, tags=["page"], responses=USUAL)
SAMPLE = 500
"""Items whose meta is read to find the names of fields."""
MOST_VALUES = 1000
Id = Annotated[int, Query(ge=-(2**63), lt=2**63)]
Version = Annotated[str, Query(pattern="^(active|plain|[0-9]{1,9})$")]


@router.get("/about")
def get_about(space: TheSpace, who: Viewer, c: Name) -> Response:
    """Fields of meta, groups of features, and what kinds of things can be encoded."""
    view = space.collection(c)
    fields: dict[str, None] = {}
    for row in view.rows[:: max(1, len(view.rows) // SAMPLE)].tolist():
        fields.update(dict.fromkeys(json.loads(view.metas[row] or "{}")))
    groups = list(dict.fromkeys(about.features(space.store.folder, c)))
    kinds = encoders.kinds(about.encoder(space.store.folder, c))
    return answer({"fields": list(fields), "groups": groups, "encodes": kinds})


@router.get("/search")
def search_words(
    request: Request,
    space: TheSpace,
    who: Viewer,
    c: Name,
    text: Annotated[str, Query(min_length=1, max_length=1000)],
    k: Annotated[int, Query(ge=1, le=1000)] = 24,
    version: Version = "active",
) -> Response:
    """Items whose names and meta hold all words, with squared distances to the first, and its vector."""
    view = space.collection(c)
    ids, total = request.app.state.texts.search(view, text, k)
    found: dict[str, Any] = {"ids": ids.tolist(), "meta": reports.metas(view, ids), "total": total}
    if len(ids) == 0:
        return answer({**found, "sqdist": [], "x": None})
    X = view.points(ids)
    metric = view.version(int(version) if version.isdigit() else version).metric
    sqdist = metric.pair_sqdist(np.broadcast_to(X[0], X.shape), X)
    return answer({**found, "sqdist": sqdist.tolist(), "x": X[0].tolist()})


@router.get("/columns")
def get_column(
    space: TheSpace, who: Viewer, c: Name, field: Annotated[str, Query(min_length=1, max_length=200)]
) -> Response:
    """One field of meta of all items, in the order of ascending ids: values, and for each item which one (−1: none)."""
    view = space.collection(c)
    codes, values = space.asker.fields.column(view, field)
    if not values:
        raise Unknown(f"Space: no item of {c!r} has the meta field {field!r:.80}.")
    used = codes[view.rows]
    listed = [json.loads(text) for text in values]
    if len(listed) > MOST_VALUES and not all(isinstance(value, int | float) for value in listed):
        most = np.argsort(-np.bincount(used[used >= 0], minlength=len(listed)), kind="stable")[:MOST_VALUES]
        rank = np.full(len(listed) + 1, -1)
        rank[most] = np.arange(len(most))
        used, listed = rank[used], [listed[i] for i in most]
    return long_answer("codes", used.tolist(), 1, values=listed)


@router.get("/why")
def why(space: TheSpace, who: Viewer, c: Name, a: Id, b: Id, version: Version = "active") -> Response:
    """What each group of features adds to the squared distance of two items, and what it adds on average."""
    view = space.collection(c)
    chosen = view.version(int(version) if version.isdigit() else version)
    return answer({**about.why(space.store.folder, view, chosen.metric, (a, b)), "version": chosen.number})


@router.post("/encode")
def encode(space: TheSpace, who: Viewer, c: Name, body: bodies.Brought) -> Response:
    """The vector of a text or of a picture (base64), where the collection has an encoder."""
    if (body.text is None) == (body.image is None):
        raise SpaceError("Space: give a text or an image to encode.")
    space.collection(c)
    arrays = about.encoder(space.store.folder, c)
    kind = "text" if body.text is not None else "image"
    if arrays is None or kind not in encoders.kinds(arrays):
        raise Unknown(f"Space: {c!r} has no encoder for {kind}s; give a vector.")
    if body.text is not None:
        return answer({"x": encoders.text(arrays, body.text).tolist()})
    try:
        content = base64.b64decode(body.image or "", validate=True)
    except binascii.Error as error:
        raise SpaceError("Space: image must be base64.") from error
    return answer({"x": encoders.image(arrays, content).tolist()})


@anywhere.post("/demo", responses=documented(409, 507))
def fill_with_digits(request: Request, space: TheSpace, who: Admin) -> Response:
    """Put scikit-learn's digits into a space without collections, so that there is something to touch."""
    if space.snapshot.collections:
        raise Conflict("Space: the demonstration goes into an empty space only; this one has collections.")
    said = demo.fill(space, "digits")
    request.app.state.pictures.update(about.pictures(space.store.folder))
    return answer({"collection": "digits", "said": said, "seq": space.seq})
