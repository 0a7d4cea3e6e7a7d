"""Routes to watch a space: events as they come, health, and numbers for Prometheus."""

import asyncio
import bisect
import json
import resource
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from gramian.service import duels
from gramian.service.http.access import Access, Identity
from gramian.service.http.requests import USUAL, TheAccess, TheSpace, Viewer, answer, documented, problem
from gramian.service.space import Space

router = APIRouter(tags=["watching"])
PAGE = 100
"""Events that are read together."""
SILENCE = 15.0
"""Seconds after which a comment keeps the connection alive."""
EDGES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Upper ends of the classes of seconds."""


@router.get("/v1/events", responses={200: {"content": {"text/event-stream": {}}}, **USUAL})
async def events(
    space: TheSpace,
    access: TheAccess,
    who: Viewer,
    last_event_id: Annotated[str | None, Header()] = None,
    after: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
) -> Response:
    """Events as they become durable (server-sent events); those after ``Last-Event-ID`` at once, else only new ones."""
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

    def look() -> list[tuple[int, str]] | None:  # in a thread: events may hold long vectors
        if not access.stands(who):
            return None
        return [(event["seq"], json.dumps(event)) for event in space.events(last, PAGE)]

    stop = space.listen(tell)
    access.listeners.append(tell)
    try:
        yield "retry: 1000\n\n"
        while True:
            news.clear()
            page = await run_in_threadpool(look)
            if page is None:
                return
            for number, text in page:
                last = number
                yield f"id: {last}\ndata: {text}\n\n"
            if not page:
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
async def readyz(space: TheSpace) -> Response:
    """Whether the space takes changes; ``degraded`` with reasons where it does, but not all of its upkeep works."""
    if not space.alive:
        return problem(503, "Space: the thread that writes has ended; start the server again.")
    status = {"status": "degraded", "reasons": space.troubles} if space.troubles else {"status": "ok"}
    return answer({**status, "seq": space.seq})


@router.get("/metrics", responses=USUAL, response_class=PlainTextResponse)
def metrics(request: Request, space: TheSpace, who: Viewer) -> Response:
    """Numbers for Prometheus."""
    text = "\n".join(_figures(space, request.app.state.clock)) + "\n"
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


class Clock:
    """An ASGI application that times another one, by the kind of request."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self._lock = threading.Lock()
        self.counts: dict[str, list[int]] = {}
        self.seconds: dict[str, float] = {}
        self.statuses: dict[int, int] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass on, and take the time until the answer begins."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start = time.perf_counter()

        async def noted(message: Any) -> None:
            if message["type"] == "http.response.start":
                self._note(_kind(scope), time.perf_counter() - start, message["status"])
            await send(message)

        await self.app(scope, receive, noted)

    def _note(self, kind: str, seconds: float, status: int) -> None:
        with self._lock:
            counts = self.counts.setdefault(kind, [0] * (len(EDGES) + 1))
            counts[bisect.bisect_left(EDGES, seconds)] += 1
            self.seconds[kind] = self.seconds.get(kind, 0.0) + seconds
            self.statuses[status] = self.statuses.get(status, 0) + 1

    def figures(self) -> Iterator[str]:
        """Times and statuses in the text format of Prometheus."""
        yield "# TYPE gramian_request_seconds histogram"
        for kind, counts in sorted(self.counts.items()):
            total = 0
            for edge, count in zip([*map(str, EDGES), "+Inf"], counts):
                total += count
                yield f'gramian_request_seconds_bucket{{kind="{kind}",le="{edge}"}} {total}'
            yield f'gramian_request_seconds_sum{{kind="{kind}"}} {self.seconds[kind]:.6f}'
            yield f'gramian_request_seconds_count{{kind="{kind}"}} {total}'
        yield "# TYPE gramian_responses_total counter"
        yield from (f'gramian_responses_total{{status="{s}"}} {n}' for s, n in sorted(self.statuses.items()))


def _kind(scope: Any) -> str:
    """``query`` and ``feedback`` have their own times, all else is one kind."""
    last = scope["path"].rpartition("/")[2]
    return last if scope["method"] == "POST" and last in ("query", "feedback") else "other"


def _figures(space: Space, clock: Clock) -> Iterator[str]:
    """All numbers in the text format of Prometheus."""
    yield from ("# TYPE gramian_seq counter", f"gramian_seq {space.seq}")
    yield from ("# TYPE gramian_resident_bytes gauge", f"gramian_resident_bytes {_resident()}")
    yield from ("# TYPE gramian_log_bytes gauge", f"gramian_log_bytes {space.store.log_bytes}")
    yield from ("# TYPE gramian_troubles gauge", f"gramian_troubles {len(space.troubles)}")
    yield "# TYPE gramian_failures_total counter"
    yield from (f'gramian_failures_total{{task="{task}"}} {n}' for task, n in sorted(space.failures.items()))
    yield from _collections(space)
    yield from clock.figures()


def _collections(space: Space) -> Iterator[str]:
    names = ("items", "feedback_total", "feedback_undone_total", "metric_version", "duels_total", "duel_likes_total")
    values: dict[str, list[str]] = {name: [] for name in names}
    with space.store.reading() as db:
        for view in space.snapshot.collections.values():
            label = f'{{collection="{view.name}"}}'
            clicks = "SELECT count(*), count(undone) FROM feedback WHERE collection = ?"
            total, undone = db.execute(clicks, (view.number,)).fetchone()
            shown = db.execute(
                "SELECT count(*) FROM duels WHERE collection = ? AND version != against", (view.number,)
            ).fetchone()[0]
            for name, number in zip(names, (len(view.ids), total, undone, view.active, shown)):
                values[name].append(f"gramian_{name}{label} {number}")
            if view.candidate is not None:
                record = duels.record(db, view.number, view.candidate, view.active)
                for side, likes in (("candidate", record.likes), ("active", record.likes_against)):
                    text = f'gramian_duel_likes_total{{collection="{view.name}",side="{side}"}} {likes}'
                    values["duel_likes_total"].append(text)
    for name in names:
        yield f"# TYPE gramian_{name} {'counter' if name.endswith('_total') else 'gauge'}"
        yield from values[name]


def _resident() -> int:
    """Memory of this process now; where the system does not say, its peak."""
    try:
        with open("/proc/self/statm", encoding="ascii") as stream:
            return int(stream.read().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
