"""Routes that the page needs beside those of collections: words, columns of meta, why, encoders, and who asks."""

import base64
import binascii
import json
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Path, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from gramian.service import demo, encoders, meta, outline, reports, sources
from gramian.service.errors import Conflict, SpaceError, Unknown
from gramian.service.http import bodies
from gramian.service.http.access import COOKIE, SESSION_SECONDS
from gramian.service.http.requests import (
    USUAL,
    Admin,
    JsonRoute,
    Name,
    TheAccess,
    TheSpace,
    Viewer,
    answer,
    documented,
    long_answer,
    problem,
)

words = APIRouter(prefix="/v1/collections/{c}", route_class=JsonRoute, tags=["page"], responses=USUAL)
people = APIRouter(prefix="/v1", route_class=JsonRoute, tags=["people"], responses=USUAL)
MOST_VALUES = 1000
Id = Annotated[int, Query(ge=-(2**63), lt=2**63)]
Listed = Annotated[str, Query(pattern=r"^-?[0-9]{1,18}(,-?[0-9]{1,18}){0,299}$")]
Version = Annotated[str, Query(pattern="^(active|plain|[0-9]{1,9})$")]


@words.get("/about")
def get_about(space: TheSpace, who: Viewer, c: Name) -> Response:
    """Fields of meta, groups of features, what can be encoded, and where somebody who is new may begin."""
    groups = list(dict.fromkeys(sources.features(space.store.folder, c)))
    about = {"groups": groups, "encodes": space.encodes(c), "searches": sources.examples(space.store.folder, c)}
    return answer({**outline.start(space.collection(c)), **about})


@words.get("/metas")
def get_metas(space: TheSpace, who: Viewer, c: Name, ids: Listed) -> Response:
    """Meta of some items, of those that are there."""
    view = space.collection(c)
    wanted = np.array([int(text) for text in ids.split(",")], np.int64)
    there = wanted[view.known(wanted)].tolist()
    return answer({"ids": there, "meta": meta.metas(view, there)})


@words.get("/since")
def get_since(space: TheSpace, who: Viewer, c: Name) -> Response:
    """How many judged results were liked since the version in use came into use, and before."""
    view = space.collection(c)
    with space.store.reading() as db:
        return answer(outline.since(db, view))


@words.get("/search")
def search_words(
    space: TheSpace,
    who: Viewer,
    c: Name,
    text: Annotated[str, Query(min_length=1, max_length=1000)],
    k: Annotated[int, Query(ge=1, le=1000)] = 24,
    version: Version = "active",
) -> Response:
    """Items whose names and meta hold all words, with squared distances to the best one, and its vector."""
    view = space.collection(c)
    answering = view.version(bodies.version_of(version))
    ids, total = space.asker.texts.search(view, text, k)
    x = view.points(ids[:1])[0] if len(ids) else np.zeros(view.n_features)
    listed = reports.listed(view, answering.metric, x, ids.tolist())
    return answer({**listed, "total": total, "x": x.tolist() if len(ids) else None})


@words.get("/columns")
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


@words.get("/why")
def why(
    space: TheSpace, who: Viewer, c: Name, a: Id, b: Id, version: Version = "active", likes: Listed | None = None
) -> Response:
    """What each group of features adds to the squared distance of two items, and what it adds on average.

    Beside it, for features without names most of all: which kinds both are of, and the nearest of the liked items.
    """
    view = space.collection(c)
    answering = view.version(bodies.version_of(version))
    names = sources.features(space.store.folder, c)
    liked = np.array([int(text) for text in likes.split(",")] if likes else [], np.int64)
    told = {**reports.why(view, answering.metric, (a, b), names), "named": bool(names)}
    told |= outline.likeness(view, answering.metric, (a, b), liked[view.known(liked)].tolist())
    return answer({**told, "version": answering.number})


@words.post("/encode")
def encode(space: TheSpace, who: Viewer, c: Name, body: bodies.Brought) -> Response:
    """The vector of a text or of a picture (base64), where the collection has an encoder."""
    if (body.text is None) == (body.image is None):
        raise SpaceError("Space: give a text or an image to encode.")
    space.collection(c)
    if body.text is not None:
        return answer({"x": space.encode(c, body.text).tolist()})
    arrays = sources.encoder(space.store.folder, c)
    if arrays is None or "image" not in encoders.kinds(arrays):
        raise Unknown(f"Space: {c!r} has no encoder for images; give a vector.")
    try:
        content = base64.b64decode(body.image or "", validate=True)
    except binascii.Error as error:
        raise SpaceError("Space: image must be base64.") from error
    return answer({"x": encoders.image(arrays, content).tolist()})


@people.post("/demo", responses=documented(409, 507), tags=["page"])
def fill_with_digits(request: Request, space: TheSpace, who: Admin) -> Response:
    """Put scikit-learn's digits into a space without collections, so that there is something to touch."""
    if space.snapshot.collections:
        raise Conflict("Space: the demonstration goes into an empty space only; this one has collections.")
    origin = demo.fill(space, "digits")
    request.app.state.pictures.update(sources.stored_pictures(space.store.folder))
    return answer({"collection": "digits", "said": origin, "seq": space.seq})


@people.post("/tokens", responses=documented(507))
def create_token(access: TheAccess, who: Admin, body: bodies.NewToken) -> Response:
    """Make a token; its secret is in this answer and nowhere else."""
    return answer(access.create(body.role, body.name), headers={"Cache-Control": "no-store"})


@people.get("/tokens")
def list_tokens(access: TheAccess, who: Admin) -> Response:
    """Tokens without their secrets."""
    return answer({"tokens": access.tokens()})


@people.delete("/tokens/{id}", responses=documented(507))
def revoke_token(access: TheAccess, who: Admin, id: Annotated[str, Path(max_length=64)]) -> Response:
    """Take a token back."""
    return answer(access.revoke(id))


@people.post("/login")
async def login(request: Request, access: TheAccess, body: bodies.Login) -> Response:
    """Trade a token for a cookie that scripts cannot read."""
    who = await run_in_threadpool(access.check, body.token)
    if who is None:
        return problem(401, "Request: the token is wrong.", {"WWW-Authenticate": "Bearer"})
    response = answer({"role": who.role, "name": who.name})
    secure = request.url.scheme == "https"
    response.set_cookie(COOKIE, access.session(who), SESSION_SECONDS, httponly=True, samesite="strict", secure=secure)
    return response


@people.post("/logout", responses=documented(507))
def logout(request: Request, access: TheAccess, who: Viewer) -> Response:
    """End the session of the cookie, and forget it."""
    access.log_out(request.cookies.get(COOKIE, ""))
    response = answer({})
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


@people.get("/me")
def me(access: TheAccess, space: TheSpace, who: Viewer) -> Response:
    """Who asks, and whether a token is needed here."""
    return answer({"role": who.role, "name": who.name, "token_needed": access.required, "seq": space.seq})
