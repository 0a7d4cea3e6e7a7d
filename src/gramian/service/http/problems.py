"""Whatever goes wrong as one sentence: problem details of RFC 9457."""

import http
import json
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from gramian.service.errors import SpaceError

MEDIA = "application/problem+json"
LOGIN = "/v1/login"
"""Where a token is traded for a cookie: who sends none is told so, as on every other route."""


def problem(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """An answer that says what is wrong."""
    title = http.HTTPStatus(status).phrase
    body = {"type": "about:blank", "title": title, "status": status, "detail": " ".join(detail.split())}
    return Response(json.dumps(body), status, headers, MEDIA)


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
        detail = f"Request: {request.method} {request.url.path} gives {http.HTTPStatus(error.status_code).phrase}."
        said = error.detail if error.detail != http.HTTPStatus(error.status_code).phrase else detail
        return problem(error.status_code, said, dict(error.headers) if error.headers else None)

    @app.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> Response:
        return problem(500, f"Space: unexpected {type(error).__name__}; the log of the server has more.")


def sentence(error: dict[str, Any]) -> str:
    """One error of a validation in words."""
    if error["type"] == "json_invalid":
        return f"Request: the body is not JSON ({error['ctx']['error']})."
    place = ".".join(str(part) for part in error["loc"] if part != "body") or "body"
    if error["type"] in ("missing", "extra_forbidden"):
        words = {"missing": "is needed", "extra_forbidden": "is not a known field"}
        return f"Request: {place} {words[error['type']]}."
    message = error["msg"][:1].lower() + error["msg"][1:]
    got = json.dumps(error.get("input"), default=lambda value: type(value).__name__)
    return f"Request: {place}: {message}, got {got[:60]}."


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Statuses of a route for the OpenAPI document."""
    schema = {
        "type": "object",
        "required": ["status", "title", "detail"],
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
        },
    }
    return {
        status: {"description": http.HTTPStatus(status).phrase, "content": {MEDIA: {"schema": schema}}}
        for status in statuses
    }
