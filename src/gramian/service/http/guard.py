"""What stands before every request: so many connections, limits, foreign pages, and the question who asks."""

import asyncio
import ipaddress
import resource
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any
from urllib.parse import SplitResult, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import cookie_parser
from starlette.responses import Response
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from gramian.service.http.access import COOKIE, Access, Identity
from gramian.service.http.requests import LOGIN, problem

MOST_BODY = 32 << 20
BODY_SECONDS = 60.0
HEALTH = ("/livez", "/readyz", "/healthz")
REQUEST_SECONDS = 10.0
"""How long the head of a request may take, from the connection or its first byte on."""
MOST, SPARE = 10_000, 256
"""Connections at most, and files that are left for all else."""
CLOSED = ("/v1", "/mcp", "/metrics", "/openapi.json", "/docs")
"""Where a token is needed; all other paths but the health routes are static files."""


class Guard:
    """An ASGI application before another one.

    Parameters
    ----------
    app : ASGI application
    access : Access
    origins : iterable of str
        Foreign origins that may read and write.
    rate, burst : float
        Requests a second, and at once, of one address that is not this machine's.
    """

    def __init__(self, app: Any, access: Access, origins: Iterable[str] = (), rate: float = 50.0, burst: float = 200.0):
        self.app = app
        self.access = access
        self.origins = frozenset(origins)
        self.buckets = Buckets(rate, burst)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a refused request, pass on all others."""
        send = _unframed(send)
        if scope["type"] != "http" or scope["path"] in HEALTH:
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._foreign(headers, scope) or self._limited(scope, headers)
        if refusal is None and scope["path"].startswith(CLOSED):
            who = await self._identify(headers, scope)
            refusal = who if isinstance(who, Response) else None
            scope.setdefault("state", {})["who"] = who
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        await self.app(scope, LimitedBody(receive), send)

    def _foreign(self, headers: Headers, scope: Any) -> Response | None:
        """Refuse what a page of somebody else sends with this person's browser."""
        host, origin = headers.get("host", ""), headers.get("origin")
        by_browser = headers.get("sec-fetch-site") == "cross-site" and scope["path"].startswith(CLOSED)
        if not self.access.required and not is_loopback(_split(f"//{host}").hostname or ""):
            return problem(
                403, f"Request: Host must be this machine, got {host[:80]!r}; start with a token for others."
            )
        if origin in self.origins:
            return None
        if origin is not None and (_split(origin).netloc.lower() != host.lower() or not host):
            return problem(
                403, f"Request: Origin must be this server, got {origin[:80]!r}; allow it with --allow-origin."
            )
        if by_browser and origin is None:
            return problem(403, "Request: pages of other sites may not ask; open this server's own page.")
        return None

    def _limited(self, scope: Any, headers: Headers) -> Response | None:
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length) > MOST_BODY:
            return problem(413, f"Request: a body must be at most {MOST_BODY >> 20} MB, got {int(length) >> 20} MB.")
        client = (scope.get("client") or ("127.0.0.1", 0))[0]
        wait = 0.0 if is_loopback(client) else self.buckets.wait(client)
        if wait > 0:
            return problem(429, "Request: too many requests; wait a moment.", {"Retry-After": str(max(1, round(wait)))})
        return None

    async def _identify(self, headers: Headers, scope: Any) -> Identity | Response:
        """The identity of a token or cookie; without either, that of the person at an open server."""
        token = headers.get("api-key") or ""
        scheme, _, value = headers.get("authorization", "").partition(" ")
        token = value.strip() if scheme.lower() == "bearer" else token
        if token or headers.get("authorization"):
            who = await run_in_threadpool(self.access.check, token)
            return who or _unknown("the token is wrong")
        if scope["path"] == LOGIN:
            return Identity("viewer")
        cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE)
        if cookie:
            who = await run_in_threadpool(self.access.resume, cookie)
            if who or self.access.required:
                return who or _unknown("the session is over; log in again")
        return _unknown("a token is needed") if self.access.required else Identity("admin")


def _unframed(send: Any) -> Any:
    """Answers that no page may show in a frame, where clicks could be led astray."""

    async def sent(message: Any) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=message.setdefault("headers", []))
            headers.setdefault("X-Frame-Options", "DENY")
            headers.setdefault("Content-Security-Policy", "frame-ancestors 'none'")
        await send(message)

    return sent


def _unknown(why: str) -> Response:
    return problem(401, f"Request: {why}.", {"WWW-Authenticate": "Bearer"})


def _split(address: str) -> SplitResult:
    """The parts of an address; one that cannot be read has none."""
    try:
        parts = urlsplit(address)
        parts.hostname  # noqa: B018  # which is read only now
    except ValueError:
        return SplitResult("", "", "", "", "")
    return parts


def is_loopback(host: str) -> bool:
    """Whether a name or address is this machine's own."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class LimitedBody:
    """The body of one request, with an end to its length and to our patience."""

    def __init__(self, receive: Any) -> None:
        self._receive = receive
        self._length = 0
        self._complete = False
        self._end = time.monotonic() + BODY_SECONDS

    async def __call__(self) -> Any:
        """The next part of the body."""
        if self._complete:
            return await self._receive()
        try:
            message = await asyncio.wait_for(self._receive(), max(0.0, self._end - time.monotonic()))
        except TimeoutError as error:
            late = f"Request: the body must arrive within {BODY_SECONDS:.0f} s."
            raise HTTPException(408, late, {"Connection": "close"}) from error
        self._length += len(message.get("body", b""))
        self._complete = not message.get("more_body", False)
        if self._length > MOST_BODY:
            long = f"Request: a body must be at most {MOST_BODY >> 20} MB."
            raise HTTPException(413, long, {"Connection": "close"})
        return message


class Buckets:
    """Token buckets by address; the oldest are forgotten."""

    MOST = 10_000

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate = rate
        self.burst = burst
        self.clock = clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, address: str) -> float:
        """Seconds until the next request may come; 0 lets this one pass."""
        now = self.clock()
        level, last = self._levels.pop(address, (self.burst, now))
        level = min(self.burst, level + (now - last) * self.rate)
        passed = level >= 1
        self._levels[address] = (level - 1 if passed else level, now)
        if len(self._levels) > self.MOST:
            self._levels.popitem(last=False)
        return 0.0 if passed else (1 - level) / self.rate


class Doors:
    """Makes the protocols of a server's connections, and knows which of them ask nothing.

    When all places are taken, a newcomer gets that of the connection which has asked nothing for the longest time.

    Parameters
    ----------
    most : int, optional
        Connections at once; as many as the system lets this process have files, less some, when None.
    """

    def __init__(self, most: int | None = None) -> None:
        self.most = places() if most is None else most
        self.open: set[Visitor] = set()
        self.idle: dict[Visitor, None] = {}

    def __call__(self, **values: Any) -> "Visitor":
        """The protocol of a new connection."""
        return Visitor(self, **values)

    def enter(self, visitor: "Visitor") -> None:
        """Find a place for a connection, or turn it away."""
        if len(self.open) >= self.most:
            (next(iter(self.idle)) if self.idle else visitor).leave()
        self.open.add(visitor)
        self.idle[visitor] = None

    def left(self, visitor: "Visitor") -> None:
        """A connection is over."""
        self.open.discard(visitor)
        self.idle.pop(visitor, None)


class Visitor(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """A connection that must make a request within some time."""

    def __init__(self, doors: Doors, **values: Any) -> None:
        super().__init__(**values)
        self.doors = doors
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self.doors.enter(self)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the place free."""
        self._ready()
        self.doors.left(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Stop waiting when the head of a request is there; begin when only a part of it is."""
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._wait()
        else:
            self._ready()
            self.doors.idle.pop(self, None)

    def on_response_complete(self) -> None:
        """Between two requests a connection asks nothing."""
        super().on_response_complete()
        if self in self.doors.open and self.cycle.response_complete:
            self.doors.idle[self] = None

    def leave(self) -> None:
        """End the connection at once."""
        self._ready()
        self.doors.left(self)
        self.transport.abort()

    def _wait(self) -> None:
        if self._timer is None and not self.transport.is_closing():
            self._timer = self.loop.call_later(REQUEST_SECONDS, self.leave)

    def _ready(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def places() -> int:
    """Connections that leave this process some files, of which it may have as many as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST + SPARE if hard == resource.RLIM_INFINITY else min(MOST + SPARE, hard)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(MOST, soft - SPARE if soft > 2 * SPARE else soft // 2)
