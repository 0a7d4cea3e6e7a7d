"""The application: routes, what guards them, and the page when it is there."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import PlainTextResponse, Response
from starlette.staticfiles import StaticFiles

import gramian
from gramian.service import about
from gramian.service.http import items, page, people, problems, teaching, versions, watching
from gramian.service.http.access import Access
from gramian.service.http.figures import Clock
from gramian.service.http.guard import Guard
from gramian.service.preview import Preview
from gramian.service.space import Space
from gramian.service.texts import Texts

STATIC = Path(__file__).parents[1] / "static"
NO_PAGE = "gramian answers at /v1 (see /openapi.json); the page is not built here.\n"
ABOUT = "Collections of vectors that answer by similarity and learn it from clicks."


def create_app(
    space: Space,
    *,
    tokens: Iterable[str] = (),
    origins: Iterable[str] = (),
    pictures: Mapping[str, Path] | None = None,
    static: Path = STATIC,
    rate: float = 50.0,
) -> Any:
    """An ASGI application for a space.

    Parameters
    ----------
    space : Space
    tokens : iterable of "ROLE:SECRET"
        Tokens beside those that the space keeps. Without any token at all, only this machine may ask.
    origins : iterable of str
        Origins of other pages that may use the API.
    pictures : dict of name → path
        Pictures that items name in their meta field ``image``, beside those in the folder of the space; no other
        file is ever opened for a request.
    static : path
        Folder of the page; without it ``/`` has one sentence.
    rate : float
        Requests a second of one address that is not this machine's.
    """
    app = FastAPI(title="gramian", version=gramian.__version__, description=ABOUT, docs_url=None, redoc_url=None)
    app.state.space = space
    app.state.access = Access(space, tokens)
    app.state.pictures = {**about.pictures(space.store.folder), **(pictures or {})}
    app.state.preview = Preview(space)
    app.state.texts = Texts()
    problems.install(app)
    for part in (items, teaching, versions, page, people, watching):
        app.include_router(part.router)
    app.include_router(page.anywhere)
    _mount_page(app, static)
    origins = list(origins)
    guarded: Any = Guard(app, app.state.access, origins, rate, 4 * rate)
    if origins:
        exposed = ["ETag", "X-Version", "X-Count"]
        guarded = CORSMiddleware(
            guarded, origins, allow_methods=["*"], allow_headers=["*"], allow_credentials=True, expose_headers=exposed
        )
    app.state.clock = Clock(guarded)
    return app.state.clock


def _mount_page(app: FastAPI, static: Path) -> None:
    if (static / "index.html").is_file():
        app.mount("/", StaticFiles(directory=static, html=True))
        return

    @app.get("/", include_in_schema=False)
    async def no_page() -> Response:
        return PlainTextResponse(NO_PAGE)
