"""Running the application."""

import ipaddress
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import uvicorn

from gramian.service.errors import SpaceError
from gramian.service.http.app import create_app
from gramian.service.http.doors import Doors
from gramian.service.space import Space

GRACE = 3
"""Seconds that open connections get when the server is asked to stop."""
SWITCH = 0.0005
"""Seconds after which a thread that computes lets one that only passes a message on go first."""


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
) -> None:
    """Serve a space until the process is asked to stop; ``ready`` is told the address."""
    app = create_app(space, tokens=tokens, origins=origins, pictures=pictures, rate=rate)
    if not is_loopback(host) and not _required(app):
        raise SpaceError(
            f"Space: a token is needed to serve at {host!r}, which others can reach; give --token-file FILE."
        )
    listener = _bind(host, port)
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
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _end)  # which uvicorn raises again once it has shut down
    sys.setswitchinterval(SWITCH)
    with listener:
        if ready is not None:
            ready(f"http://{host if ':' not in host else f'[{host}]'}:{listener.getsockname()[1]}")
        uvicorn.Server(config).run(sockets=[listener])


def _end(number: int, frame: Any) -> None:
    raise SystemExit(0)


def _required(app: Any) -> bool:
    while not hasattr(app, "access"):
        app = app.app
    return app.access.required


def _bind(host: str, port: int) -> socket.socket:
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


def is_loopback(host: str) -> bool:
    """Whether an address is only reached from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
