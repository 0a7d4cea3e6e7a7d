"""What all routes share: the space of a request, the rights of who asks, and JSON that is read off the loop."""

import hashlib
import json
from collections.abc import Callable, Coroutine, Iterable, Iterator
from itertools import islice
from typing import Annotated, Any

from fastapi import Depends, Header, Path, Request
from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic_core import from_json
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from gramian.service.changes import Request as Asked
from gramian.service.errors import Denied
from gramian.service.http.access import Access, Identity
from gramian.service.http.problems import documented
from gramian.service.space import Space

LARGE = 1 << 16
"""Bytes of JSON from which on it is parsed in a thread."""
NUMBERS = 5000
"""Numbers that are written in one go: nobody else computes meanwhile."""
USUAL = documented(401, 403, 404, 413, 422, 429)


class JsonRequest(Request):
    """A request whose JSON is parsed strictly (no NaN), and beside the loop when it is long."""

    async def json(self) -> Any:
        """The body."""
        if not hasattr(self, "_json"):
            body = await self.body()
            parse = lambda: from_json(body, allow_inf_nan=False)  # noqa: E731
            try:
                self._json = await run_in_threadpool(parse) if len(body) > LARGE else parse()
            except ValueError as error:
                raise json.JSONDecodeError(str(error), "", 0) from error
        return self._json


class JsonRoute(APIRoute):
    """A route whose requests are :class:`JsonRequest`."""

    def get_route_handler(self) -> Callable[[Request], Any]:
        """The handler, with the other kind of request."""
        handle = super().get_route_handler()

        async def handler(request: Request) -> Response:
            return await handle(JsonRequest(request.scope, request.receive))

        return handler


# These are asynchronous although nothing in them waits: others would each be sent to a thread and back.


async def _space(request: Request) -> Space:
    return request.app.state.space


async def _access(request: Request) -> Access:
    return request.app.state.access


def _needs(role: str) -> Callable[[Request], Coroutine[Any, Any, Identity]]:
    async def check(request: Request) -> Identity:
        who: Identity = request.state.who
        if not who.may(role):
            raise Denied(f"Request: this needs the role {role}, got {who.role}.")
        return who

    return check


TheSpace = Annotated[Space, Depends(_space)]
TheAccess = Annotated[Access, Depends(_access)]
Viewer = Annotated[Identity, Depends(_needs("viewer"))]
Teacher = Annotated[Identity, Depends(_needs("teacher"))]
Admin = Annotated[Identity, Depends(_needs("admin"))]
Name = Annotated[str, Path(alias="c", min_length=1, max_length=64)]
Number = Annotated[int, Path(ge=0, lt=2**63)]
Key = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=255)]


def asked(who: Identity, key: str | None = None, body: BaseModel | None = None) -> Asked:
    """Who asks, and the fingerprint of what they ask when they gave a key for it."""
    if key is None or body is None:
        return Asked(who.name, who.may("admin"))
    text = json.dumps([type(body).__name__, body.model_dump()], sort_keys=True)
    return Asked(who.name, who.may("admin"), key, hashlib.sha256(text.encode()).digest())


def answer(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """JSON without a second validation."""
    return Response(json.dumps(content, allow_nan=False), status, headers, "application/json")


def long_answer(name: str, rows: Iterable[Any], width: int, **rest: Any) -> Response:
    """JSON with a list that may be long, of rows with so many numbers; others are served while it is written."""

    def text() -> Iterator[str]:
        mark = f"{{{json.dumps(name)}: ["
        for page in _pages(rows, width):
            yield mark + json.dumps(page, allow_nan=False)[1:-1]
            mark = ", "
        begun = "" if mark == ", " else mark
        yield begun + "]" + json.dumps(rest, allow_nan=False).replace("{", ", " if rest else "", 1)

    return StreamingResponse(text(), media_type="application/json")  # which asks for each piece in a thread


def long_lines(rows: Iterable[Any], width: int) -> Response:
    """The same as JSON lines."""
    lines = ("".join(json.dumps(row) + "\n" for row in page) for page in _pages(rows, width))
    return StreamingResponse(lines, media_type="application/x-ndjson")


def _pages(rows: Iterable[Any], width: int) -> Iterator[list[Any]]:
    rest = iter(rows)
    while page := list(islice(rest, max(1, NUMBERS // max(width, 1)))):
        yield page
