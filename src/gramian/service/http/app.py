"""The application: routes, what guards them, and the page when it is there; and running it."""

import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute
from starlette.staticfiles import StaticFiles

import gramian
from gramian.service import sources
from gramian.service.errors import SpaceError
from gramian.service.http import page, requests, routes, watching
from gramian.service.http.access import Access
from gramian.service.http.guard import Doors, Guard, is_loopback
from gramian.service.space import Space

STATIC = Path(__file__).parents[1] / "static"
NO_PAGE = "gramian answers at /v1 (see /openapi.json); the page is not built here.\n"
ABOUT = "Collections of vectors that answer by similarity and learn it from clicks."

GRACE = 3
"""Seconds that open connections get when the server is asked to stop."""
SWITCH = 0.0005
"""Seconds after which a thread that computes lets one that only passes a message on go first."""


def create_app(
    space: Space,
    *,
    tokens: Iterable[str] = (),
    origins: Iterable[str] = (),
    pictures: Mapping[str, Path] | None = None,
    static: Path = STATIC,
    rate: float = 50.0,
    framed: str | None = None,
    beside: Sequence[BaseRoute] = (),
    lifespan: Callable[[Any], Any] | None = None,
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
    framed : str, optional
        Whose pages may show this one in a frame, as the sources of CSP's ``frame-ancestors``; without it nobody may.
    beside, lifespan : optional
        Routes beside these behind the same guard, and the context in which they answer.
    """
    about: dict[str, Any] = {"title": "gramian", "version": gramian.__version__, "description": ABOUT}
    app = FastAPI(**about, docs_url=None, redoc_url=None, routes=list(beside), lifespan=lifespan)
    app.state.space = space
    app.state.access = Access(space, tokens)
    app.state.pictures = {**sources.stored_pictures(space.store.folder), **(pictures or {})}
    requests.install(app)
    for router in (routes.items, routes.teaching, routes.versions, page.words, page.people, watching.router):
        app.include_router(router)
    _mount_page(app, static)
    if framed is not None:
        app.add_middleware(Framed, sources=framed)
    origins = list(origins)
    guarded: Any = Guard(app, app.state.access, origins, rate, 4 * rate)
    if origins:
        exposed = ["ETag", "X-Version", "X-Count"]
        guarded = CORSMiddleware(
            guarded, origins, allow_methods=["*"], allow_headers=["*"], allow_credentials=True, expose_headers=exposed
        )
    app.state.clock = watching.Clock(guarded)
    return app.state.clock


class Framed:
    """Lets pages of some sources show the answers in a frame; what has a policy of its own keeps it."""

    def __init__(self, app: Any, sources: str) -> None:
        self.app = app
        self.policy = f"frame-ancestors {sources}"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer with the policy."""

        async def sent(message: Any) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(raw=message.setdefault("headers", [])).setdefault("Content-Security-Policy", self.policy)
            await send(message)

        await self.app(scope, receive, sent)


def _mount_page(app: FastAPI, static: Path) -> None:
    if (static / "index.html").is_file():
        app.mount("/", StaticFiles(directory=static, html=True))
        return

    @app.get("/", include_in_schema=False)
    async def no_page() -> Response:
        return PlainTextResponse(NO_PAGE)


def serve(
    space: Space,
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    tokens: Iterable[str] = (),
    origins: Iterable[str] = (),
    pictures: Mapping[str, Path] | None = None,
    rate: float = 50.0,
    ready: Callable[[str], None] | None = None,
    **more: Any,
) -> None:
    """Serve a space until the process is asked to stop; ``ready`` is told the address."""
    app = create_app(space, tokens=tokens, origins=origins, pictures=pictures, rate=rate, **more)
    if not is_loopback(host) and not _required(app):
        raise SpaceError(
            f"Space: a token is needed to serve at {host!r}, which others can reach; give --token-file FILE."
        )
    listener = bind(host, port)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _end)  # which uvicorn raises again once it has shut down
    sys.setswitchinterval(SWITCH)
    with listener:
        if ready is not None:
            ready(f"http://{host if ':' not in host else f'[{host}]'}:{listener.getsockname()[1]}")
        make_server(app).run(sockets=[listener])


def make_server(app: Any) -> uvicorn.Server:
    """What answers for an application."""
    config = uvicorn.Config(
        app,
        http=Doors(),  # type: ignore[arg-type]  # which makes protocols
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE,
    )
    return uvicorn.Server(config)


def _end(number: int, frame: Any) -> None:
    raise SystemExit(0)


def _required(app: Any) -> bool:
    while not hasattr(app, "access"):
        app = app.app
    return app.access.required


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(256)
    except OSError as error:
        listener.close()
        raise SpaceError(f"Space: cannot serve at {host}:{port} ({error.strerror}); choose another --port.") from error
    return listener
