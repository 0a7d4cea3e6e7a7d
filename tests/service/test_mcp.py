"""The protocol, spoken by the client of its own package: over pipes to a process, and over HTTP."""

import os
import sys
import threading
from pathlib import Path

import httpx
import pytest

import gramian
from gramian.cli import main
from gramian.service import Space
from gramian.service.memory import Memory
from gramian.service.models import TextEncoder

pytest.importorskip("mcp_types", reason="needs mcp of version 2")
import anyio  # noqa: E402
import mcp  # noqa: E402

ENCODER = """
WORDS = ["tea", "rain", "red", "green"]
def encode(texts):
    print("a line that is no message of the protocol")
    return [[*(text.lower().count(word) for word in WORDS), 1.0] for text in texts]
"""
TOOLS = ["search", "read", "remember", "useful", "forget"]


async def converse(client):
    """What an agent does; returns the query that it asked."""
    assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS

    async def call(name, refused=None, **arguments):
        answer = await client.call_tool(name, arguments)
        assert answer.is_error == (refused is not None), answer.content[0].text
        if refused is not None:
            assert refused in answer.content[0].text and "\n" not in answer.content[0].text
        return answer.structured_content

    assert (await call("search", text="tea"))["results"] == []
    kept = await call("remember", text="Green tea in the morning.", meta={"kind": "taste"})
    await call("remember", text="Rain, all day.", meta={"kind": "weather"})
    shown = await call("search", text="tea", k=2)
    assert [row["text"] for row in shown["results"]] == ["Green tea in the morning.", "Rain, all day."]
    query_id, (first, second) = shown["query_id"], [row["id"] for row in shown["results"]]
    assert first == kept["id"] and (await call("read", id=first, query_id=query_id))["meta"] == {"kind": "taste"}
    assert (await call("useful", query_id=query_id, item_id=second, not_useful=True))["counted"]
    await call("forget", id=second)
    await call("forget", "Space: no item 1 in 'memory'.", id=second)
    await call("search", "one of text, vector and id, got none")
    await call("search", "k: 0 is less than the minimum", text="tea", k=0)
    await call("search", "'words' was unexpected", words="tea")
    await call("remember", "'text' is a required property")
    await call("useful", "no search 'none'", query_id="none", item_id=0)
    await call("think", "no tool 'think'")
    return query_id


def taught(folder, query_id):
    """Compare what a space holds with what was said."""
    with Space(folder, learning=False) as space:
        clicks = [(click["item"], click["like"], click["duel_id"]) for click in space.clicks("memory")]
        assert clicks == [(0, None, query_id), (1, False, query_id)]
        assert space.collection("memory").ids.tolist() == [0]


@pytest.mark.parametrize("mode", ["auto", pytest.param("legacy", marks=pytest.mark.slow)])
def test_over_pipes(tmp_path, mode):
    (tmp_path / "my_words.py").write_text(ENCODER)
    places = [str(Path(gramian.__file__).parents[1]), str(tmp_path)]
    command = ["-m", "gramian", "mcp", "--space", str(tmp_path / "space"), "--encoder", "my_words:encode"]
    program = mcp.StdioServerParameters(
        command=sys.executable, args=command, env={"PYTHONPATH": os.pathsep.join(places), "OMP_NUM_THREADS": "1"}
    )

    async def run():
        with open(tmp_path / "log.txt", "w") as log:
            async with mcp.Client(mcp.stdio_client(program, log), mode=mode) as client:
                return await converse(client)

    query_id = anyio.run(run)
    taught(tmp_path / "space", query_id)
    assert "memory: 0 items, texts by my_words:encode" in (tmp_path / "log.txt").read_text()


@pytest.fixture
def served(tmp_path):
    """A memory at an address, with a token for each role."""
    pytest.importorskip("fastapi")
    from gramian.service.http import app
    from gramian.service.mcp import endpoint

    names: dict = {}
    exec(ENCODER, names)
    with Space(tmp_path / "space", learning=False) as space:
        memory = Memory(space, encoder=TextEncoder("my_words:encode", names["encode"], 5))
        tokens = ["admin:let-me-in", "viewer:let-me-look"]
        listener = app.bind("127.0.0.1", 0)
        server = app.make_server(app.create_app(space, tokens=tokens, **endpoint(memory)))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join(30)
        listener.close()
        assert not thread.is_alive()


def connected(address, token, work):
    """Let a client of an address do something."""
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    async def run():
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            create_mcp_http_client(headers=headers) as web,
            mcp.Client(streamable_http_client(f"{address}/mcp", http_client=web)) as client,
        ):
            return await work(client)

    return anyio.run(run)


def test_over_http(served, tmp_path):
    query_id = connected(served, "let-me-in", converse)

    async def look(client):
        shown = await client.call_tool("search", {"text": "tea"})
        refused = [
            await client.call_tool(name, arguments)
            for name, arguments in (
                ("remember", {"text": "x"}),
                ("useful", {"query_id": query_id, "item_id": 0}),
                ("read", {"id": 0, "query_id": query_id}),
                ("forget", {"id": 0}),
            )
        ]
        return shown.structured_content, [answer.content[0].text for answer in refused]

    shown, refused = connected(served, "let-me-look", look)
    assert shown["query_id"] is None and [row["id"] for row in shown["results"]] == [0]
    roles = [sentence.split("needs the role ")[1].split(",")[0] for sentence in refused]
    assert roles == ["admin", "teacher", "teacher", "admin"]
    ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    kinds = {"Accept": "application/json, text/event-stream"}
    with httpx.Client(base_url=served, headers=kinds) as anyone:
        assert anyone.post("/mcp", json=ask).status_code == 401
        assert anyone.post("/mcp", json=ask, headers={"Authorization": "Bearer wrong"}).status_code == 401
        known = {"Authorization": "Bearer let-me-in"}
        assert anyone.post("/mcp", json=ask, headers={**known, "Origin": "http://elsewhere.example"}).status_code == 403
        assert anyone.post("/mcp", json=ask, headers=known).status_code == 200
        found = anyone.get("/v1/collections/memory", headers=known).json()
        assert found["items"] == 1  # the API and the page are there too


def test_only_this_machine_may_ask_without_a_token(tmp_path, points):
    pytest.importorskip("fastapi")
    from starlette.testclient import TestClient

    from gramian.service.http import create_app
    from gramian.service.mcp import endpoint

    with Space(tmp_path / "space", learning=False) as space:
        app = create_app(space, **endpoint(Memory(space)))
        ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        headers = {"Accept": "application/json, text/event-stream"}
        with TestClient(app, base_url="http://127.0.0.1:8000", client=("127.0.0.1", 1)) as client:
            assert client.post("/mcp", json=ask, headers=headers).status_code == 200
            rebound = client.post("/mcp", json=ask, headers={**headers, "Host": "elsewhere.example"})
            assert rebound.status_code == 403 and "Host must be this machine" in rebound.text


def test_a_fault_of_ours_is_a_sentence_and_a_traceback(tmp_path, monkeypatch, caplog):
    from gramian.service import mcp as protocol

    def broken(*values, **named):
        raise RuntimeError("inside")

    with Space(tmp_path / "space", learning=False) as space:
        memory = Memory(space)
        monkeypatch.setattr(Memory, "search", broken)
        told, refused = protocol.answered(memory, "search", {"text": "tea"}, None, None)
    assert refused and told == "mcp: unexpected RuntimeError in search; the log of the server has more."
    assert "inside" in caplog.text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--token", "admin:secret"], "tokens are for --http"),
        (["--encoder", "nowhere:encode"], "names no function"),
        (["--http", "--host", "0.0.0.0"], "a token is needed to serve at '0.0.0.0'"),
    ],
)
def test_the_command_says_why_it_does_not_start(tmp_path, capsys, monkeypatch, arguments, sentence):
    monkeypatch.delenv("GRAMIAN_TOKEN", raising=False)
    assert main(["mcp", "--space", str(tmp_path / "space"), *arguments]) == 2
    assert sentence in capsys.readouterr().err


def test_the_command_serves_the_protocol_beside_the_page(tmp_path, capsys, monkeypatch):
    pytest.importorskip("fastapi")
    from gramian.service import http

    served = []

    def serve(space, host, port, *, ready, beside, lifespan, tokens, rate):
        ready("http://somewhere")
        served.append((host, port, tokens, [route.path for route in beside]))

    monkeypatch.delenv("GRAMIAN_TOKEN", raising=False)
    monkeypatch.setattr(http, "serve", serve)
    arguments = ["--http", "--port", "0", "--token", "teacher:let-me-in", "--no-learning"]
    assert main(["mcp", "--space", str(tmp_path / "space"), *arguments]) == 0
    assert served == [("127.0.0.1", 0, ["teacher:let-me-in"], ["/mcp"])]
    assert "answers at http://somewhere/mcp, the page is http://somewhere" in capsys.readouterr().err


def test_the_command_names_its_extra(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    assert main(["mcp", "--space", str(tmp_path / "space")]) == 1
    assert "pip install 'gramian[mcp]'" in capsys.readouterr().err and not (tmp_path / "space").exists()
