"""Routes to watch a space: events as they come, health, and numbers for Prometheus."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from gramian.service.http.access import Access, Identity
from gramian.service.http.figures import figures
from gramian.service.http.parts import USUAL, TheAccess, TheSpace, Viewer, answer
from gramian.service.http.problems import documented, problem
from gramian.service.space import Space

router = APIRouter(tags=["watching"])
PAGE = 500
SILENCE = 15.0
"""Seconds after which a comment keeps the connection alive."""


@router.get("/v1/events", responses={200: {"content": {"text/event-stream": {}}}, **USUAL})
async def events(
    request: Request,
    space: TheSpace,
    access: TheAccess,
    who: Viewer,
    last_event_id: Annotated[str | None, Header()] = None,
    after: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
) -> Response:
    """Events as they become durable (server-sent events); those after ``Last-Event-ID`` first, else only new ones."""
    start = space.seq if after is None else after
    if last_event_id is not None and last_event_id.strip().isdigit():
        start = min(int(last_event_id), 2**62)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_follow(space, access, who, start), headers=headers, media_type="text/event-stream")


async def _follow(space: Space, access: Access, who: Identity, last: int) -> AsyncIterator[str]:
    """Events after one, for as long as the token and the session of who asked are good."""
    loop, news = asyncio.get_running_loop(), asyncio.Event()

    def tell(seq: int = 0) -> None:
        loop.call_soon_threadsafe(news.set)

    def look() -> list[dict[str, Any]] | None:
        return space.events(last, PAGE) if access.stands(who) else None

    stop = space.listen(tell)
    access.listeners.append(tell)
    try:
        yield "retry: 1000\n\n"
        while True:
            news.clear()
            found = await run_in_threadpool(look)
            if found is None:
                return
            for event in found:
                last = event["seq"]
                yield f"id: {last}\ndata: {json.dumps(event)}\n\n"
            if not found:
                try:
                    await asyncio.wait_for(news.wait(), SILENCE)
                except TimeoutError:
                    yield ": still here\n\n"
    finally:
        stop()
        access.listeners.remove(tell)


@router.get("/livez")
async def livez() -> Response:
    """Whether the process answers."""
    return answer({"status": "ok"})


@router.get("/readyz", responses=documented(503))
async def readyz(request: Request, space: TheSpace) -> Response:
    """Whether the space takes changes; ``degraded`` with reasons where it does, but not all of its upkeep works."""
    if not space.alive:
        return problem(503, "Space: the thread that writes has ended; start the server again.")
    status = {"status": "degraded", "reasons": space.troubles} if space.troubles else {"status": "ok"}
    return answer({**status, "seq": space.seq})


@router.get("/metrics", responses=USUAL, response_class=PlainTextResponse)
def metrics(request: Request, space: TheSpace, who: Viewer) -> Response:
    """Numbers for Prometheus."""
    text = figures(space, request.app.state.clock)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")
