"""Strangers with half requests do not keep others out."""

import asyncio
import contextlib
import resource

import pytest

pytest.importorskip("fastapi")
import uvicorn  # noqa: E402
from uvicorn.server import ServerState  # noqa: E402

from gramian.service.http import create_app, guard  # noqa: E402
from gramian.service.http.guard import Doors  # noqa: E402

ASKED = b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
HALF = [b"", b"G", b"GET / HTTP/1.1\r\nHost: 127", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "]


class Server:
    """A server on a free port in this loop, and the doors before it."""

    def __init__(self, space, most=100):
        self.doors = Doors(most)
        self.config = uvicorn.Config(create_app(space), http=self.doors, ws="none", log_level="critical")

    async def __aenter__(self):
        self.config.load()
        made = lambda: self.doors(config=self.config, server_state=ServerState(), app_state={})  # noqa: E731
        self.server = await asyncio.get_running_loop().create_server(made, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *error):
        self.server.close()
        for visitor in list(self.doors.open):
            visitor.leave()
        await asyncio.sleep(0)

    async def connect(self, sent=b""):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(sent)
        return reader, writer

    async def ask(self, sent=ASKED):
        reader, writer = await self.connect(sent)
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
        writer.close()
        return int(head.split()[1])


async def over(reader, seconds=60):
    """What comes until the server hangs up."""
    with contextlib.suppress(ConnectionError):
        return await asyncio.wait_for(reader.read(), seconds)
    return b""


@pytest.mark.parametrize("half", HALF)
def test_half_a_head_is_not_waited_for(space, monkeypatch, half):
    monkeypatch.setattr(guard, "REQUEST_SECONDS", 0.2)

    async def run():
        async with Server(space) as server:
            visitors = [await server.connect(half) for _ in range(20)]
            assert await server.ask() == 200
            assert {await over(reader) for reader, _ in visitors} == {b""}
            assert not server.doors.open and not server.doors.idle

    asyncio.run(run())


def test_a_head_byte_by_byte_has_the_same_time(space, monkeypatch):
    monkeypatch.setattr(guard, "REQUEST_SECONDS", 0.3)

    async def run():
        async with Server(space) as server:
            reader, writer = await server.connect()
            for _ in range(1000):
                if reader.at_eof():
                    break
                with contextlib.suppress(ConnectionError):
                    writer.write(b"G")
                await asyncio.sleep(0.02)
            assert reader.at_eof() or not await over(reader)

    asyncio.run(run())


def test_the_second_request_of_a_connection_has_a_deadline_too(space, monkeypatch):
    monkeypatch.setattr(guard, "REQUEST_SECONDS", 0.3)

    async def run():
        async with Server(space) as server:
            reader, writer = await server.connect(ASKED)
            assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
            writer.write(b"GET / HT")
            assert b"HTTP" not in await over(reader)

    asyncio.run(run())


def test_half_a_body_is_not_waited_for(space, monkeypatch):
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.2)
    monkeypatch.setattr(guard, "REQUEST_SECONDS", 0.2)
    head = b"POST /v1/collections/%s/query HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 50\r\n\r\n{"

    async def run():
        async with Server(space) as server:
            reader, _ = await server.connect(head % b"a")
            assert b" 408 " in await over(reader)
            reader, writer = await server.connect(head.replace(b"127.0.0.1", b"evil.org") % b"a")
            assert b" 403 " in await reader.readuntil(b"\r\n\r\n")
            writer.write(b" ")  # of a body that nobody reads
            await over(reader)
            assert not server.doors.open

    asyncio.run(run())


def test_who_asks_gets_the_place_of_who_does_not(space):
    async def run():
        async with Server(space, most=10) as server:
            idle = [await server.connect() for _ in range(30)]
            for _ in range(5):
                assert await server.ask() == 200
            assert len(server.doors.open) <= 10
            assert await over(idle[0][0]) == b"" and not idle[-1][0].at_eof()

    asyncio.run(run())


def test_who_is_served_keeps_the_place(space):
    """Event streams on all places: a newcomer is turned away."""

    async def run():
        async with Server(space, most=3) as server:
            asked = b"GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
            streams = [await server.connect(asked) for _ in range(3)]
            for reader, _ in streams:
                assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
            reader, _ = await server.connect(ASKED)
            assert await over(reader) == b""
            assert not any(reader.at_eof() for reader, _ in streams) and len(server.doors.open) == 3

    asyncio.run(run())


def test_connections_leave_some_files():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = guard.places()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert 0 < most <= guard.MOST and most < soft and soft >= before[0] and hard == before[1]
