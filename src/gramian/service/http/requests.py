"""What all routes share: the space of a request, the rights of who asks, JSON off the loop, errors as one sentence."""

import hashlib
import http
import json
from collections.abc import Callable, Coroutine, Iterable, Iterator
from itertools import islice
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, Path, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic_core import from_json
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from gramian.service import writer
from gramian.service.errors import Denied, SpaceError
from gramian.service.http.access import Access, Identity
from gramian.service.space import Space

MEDIA = "application/problem+json"
LOGIN = "/v1/login"
"""Where a token is traded for a cookie: who sends none is told so, as on every other route."""
LARGE = 1 << 16
"""Bytes of JSON from which on it is parsed in a thread."""
NUMBERS = 5000
"""Numbers that are written in one go: nobody else computes meanwhile."""
UNSAID = (b"", b"application/x-www-form-urlencoded")
"""Content types of those who say none, such as ``curl -d``: what they send is read as JSON."""


def problem(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """An answer that says what is wrong (RFC 9457)."""
    title = http.HTTPStatus(status).phrase
    body = {"type": "about:blank", "title": title, "status": status, "detail": " ".join(detail.split())}
    return Response(json.dumps(body), status, headers, MEDIA)


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Statuses of a route for the OpenAPI document."""
    words = {name: {"type": "string"} for name in ("type", "title", "detail")}
    schema = {
        "type": "object",
        "required": ["status", "title", "detail"],
        "properties": {**words, "status": {"type": "integer"}},
    }
    return {
        status: {"description": http.HTTPStatus(status).phrase, "content": {MEDIA: {"schema": schema}}}
        for status in statuses
    }


def install(app: FastAPI) -> None:
    """Let every error of an application be answered in this form."""

    @app.exception_handler(SpaceError)
    async def refused(request: Request, error: SpaceError) -> Response:
        return problem(error.status, str(error), {"Retry-After": "5"} if error.status in (503, 507) else None)

    @app.exception_handler(ValueError)
    async def unusable(request: Request, error: ValueError) -> Response:
        return problem(422, str(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        if request.url.path == LOGIN and request.app.state.access.required:
            return problem(401, "Request: a token is needed.", {"WWW-Authenticate": "Bearer"})
        return problem(422, sentence(error.errors()[0]))

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> Response:
        phrase = http.HTTPStatus(error.status_code).phrase
        detail = f"Request: {request.method} {request.url.path} gives {phrase}."
        headers = dict(error.headers) if error.headers else None
        return problem(error.status_code, error.detail if error.detail != phrase else detail, headers)

    @app.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> Response:
        return problem(500, f"Space: unexpected {type(error).__name__}; the log of the server has more.")


def sentence(error: dict[str, Any]) -> str:
    """One error of a validation in words."""
    if error["type"] == "json_invalid":
        return f"Request: the body is not JSON ({error['ctx']['error']})."
    place = ".".join(str(word) for word in error["loc"] if word != "body") or "body"
    if error["type"] in ("missing", "extra_forbidden"):
        words = {"missing": "is needed", "extra_forbidden": "is not a known field"}
        return f"Request: {place} {words[error['type']]}."
    message = error["msg"][:1].lower() + error["msg"][1:]
    got = json.dumps(error.get("input"), default=lambda value: type(value).__name__)
    return f"Request: {place}: {message}, got {got[:60]}."


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
            headers = request.scope["headers"]
            kind = next((value for name, value in headers if name == b"content-type"), b"")
            if kind.partition(b";")[0].strip().lower() in UNSAID:
                rest = [header for header in headers if header[0] != b"content-type"]
                request.scope["headers"] = [*rest, (b"content-type", b"application/json")]
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


USUAL = documented(401, 403, 404, 413, 422, 429)
TheSpace = Annotated[Space, Depends(_space)]
TheAccess = Annotated[Access, Depends(_access)]
Viewer = Annotated[Identity, Depends(_needs("viewer"))]
Teacher = Annotated[Identity, Depends(_needs("teacher"))]
Admin = Annotated[Identity, Depends(_needs("admin"))]
Name = Annotated[str, Path(alias="c", min_length=1, max_length=64)]
Number = Annotated[int, Path(ge=0, lt=2**63)]
Key = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=255)]


def sender(who: Identity, key: str | None = None, body: BaseModel | None = None) -> writer.Request:
    """Who asks, and the fingerprint of what they ask when they gave a key for it."""
    if key is None or body is None:
        return writer.Request(who.name, who.may("admin"))
    text = json.dumps([type(body).__name__, body.model_dump()], sort_keys=True)
    return writer.Request(who.name, who.may("admin"), key, hashlib.sha256(text.encode()).digest())


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
