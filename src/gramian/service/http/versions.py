"""Routes of versions, and of what they make of the items."""

import tempfile
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Header, Query, Request
from starlette.responses import Response

from gramian import persist
from gramian.service import maps
from gramian.service.errors import SpaceError
from gramian.service.http import bodies
from gramian.service.http.parts import (
    USUAL,
    Admin,
    JsonRoute,
    Name,
    Number,
    Teacher,
    TheSpace,
    Viewer,
    answer,
    long_answer,
)
from gramian.service.http.problems import documented
from gramian.service.reports import MOST_K

router = APIRouter(prefix="/v1/collections/{c}", route_class=JsonRoute, tags=["versions"], responses=USUAL)


@router.get("/versions")
def list_versions(space: TheSpace, who: Viewer, c: Name) -> Response:
    """All versions with their records in duels; version 0 is the plain features."""
    return answer(space.versions(c))


@router.post("/versions", responses=documented(409, 507))
def learn_version(space: TheSpace, who: Teacher, c: Name, body: bodies.NewVersion | None = None) -> Response:
    """Learn a candidate from all live clicks, now; the same clicks give the same metric."""
    wanted = body or bodies.NewVersion()
    return answer(space.learn(c, wanted.learner, label=wanted.name, user=wanted.user or who.name))


@router.get("/versions/{n}")
def get_version(space: TheSpace, who: Viewer, c: Name, n: Number) -> Response:
    """One version."""
    space.collection(c).version(n)
    return answer(next(v for v in space.versions(c)["versions"] if v["version"] == n))


@router.post("/versions/{n}/activate", responses=documented(507))
def activate_version(space: TheSpace, who: Admin, c: Name, n: Number) -> Response:
    """Let a version answer from here on."""
    return answer(space.activate(c, n, who.name))


@router.get("/versions/{n}/diff")
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


BYTES: dict[int | str, dict[str, Any]] = {200: {"content": {"application/octet-stream": {}}}}


@router.get("/versions/{n}/export", responses=BYTES, response_class=Response)
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


@router.post("/transform")
def transform(space: TheSpace, who: Viewer, c: Name, body: bodies.Points) -> Response:
    """Coordinates in which the plain Euclidean distance is that of a version."""
    width = space.collection(c).n_features
    if {len(x) for x in body.x} != {width}:
        raise SpaceError(f"Space: x must hold points of {width} numbers.")
    Z = space.transform(c, np.array(body.x), body.version)
    return long_answer("z", (z.tolist() for z in Z), Z.shape[1])


@router.get("/map", responses={**BYTES, 304: {"description": "Not Modified"}}, response_class=Response)
def get_map(
    space: TheSpace,
    who: Viewer,
    c: Name,
    version: Annotated[str, Query(pattern="^(active|plain|live|[0-9]{1,9})$")] = "active",
    if_none_match: Annotated[str | None, Header()] = None,
    request: Request = None,  # type: ignore[assignment]
) -> Response:
    """All items in the plane: pairs of float32 (little-endian), in the order of ascending ids.

    The version ``live`` is what would be learned from the clicks so far.
    """
    view = space.collection(c)
    if version == "live":
        seq, metric = request.app.state.preview.metric(c)
        number = f"live-{seq}"
    else:
        chosen = view.version(int(version) if version.isdigit() else version)
        number, metric = str(chosen.number), chosen.metric
    tag = f'"{view.number}-{number}-{view.revision}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache", "X-Version": number, "X-Count": str(len(view.ids))}
    if if_none_match is not None and tag in [part.strip().removeprefix("W/") for part in if_none_match.split(",")]:
        return Response(status_code=304, headers=headers)
    content = maps.plane_under(view, metric).astype("<f4").tobytes()
    return Response(content, headers=headers, media_type="application/octet-stream")
