"""Connections: so many at once, and none that keeps us waiting for a request."""

import asyncio
import resource
from contextlib import suppress
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

REQUEST_SECONDS = 10.0
"""How long the head of a request may take, from the connection or its first byte on."""
MOST, SPARE = 10_000, 256
"""Connections at most, and files that are left for all else."""


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

    def __call__(self, **given: Any) -> "Visitor":
        """The protocol of a new connection."""
        return Visitor(self, **given)

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

    def __init__(self, doors: Doors, **given: Any) -> None:
        super().__init__(**given)
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
