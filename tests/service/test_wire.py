"""A real server on a real socket: who is let in at each route, and the promises of the HTTP page one by one."""

import contextlib
import http.client
import json
import queue
import sys
import threading

import numpy as np
import pytest

import gramian as gm
from gramian.service import Space
from tests.service.test_crash import start_server, stop

pytest.importorskip("typer")
pytest.importorskip("fastapi")
uvicorn = pytest.importorskip("uvicorn")
from gramian.cli import main  # noqa: E402
from gramian.service.http import serve  # noqa: E402

D = 4
A = "/v1/collections/a"
SECRETS = {"admin": "top-secret", "teacher": "chalk", "viewer": "glasses"}
OPEN = {("GET", "/livez"), ("GET", "/readyz")}
VIEWERS = {
    ("POST", f"{A}/query"),
    ("POST", f"{A}/transform"),
    ("POST", f"{A}/encode"),
    ("POST", "/v1/login"),
    ("POST", "/v1/logout"),
}
TEACHERS = {("POST", f"{A}/feedback"), ("DELETE", f"{A}/feedback/3"), ("POST", f"{A}/versions")}
BODIES = {
    ("PUT", A): {"n_features": D},
    ("POST", f"{A}/items"): {"items": [{"x": [0.0] * D}]},
    ("POST", f"{A}/query"): {"id": 1},
    ("POST", f"{A}/feedback"): {"query": 1, "item": 2, "like": True},
    ("POST", f"{A}/transform"): {"x": [[0.0] * D]},
    ("POST", f"{A}/encode"): {"text": "word"},
    ("POST", "/v1/tokens"): {"role": "viewer", "name": "eve"},
    ("POST", "/v1/login"): {"token": "chalk"},
}


class Wire:
    """One connection for each request, so that nothing is kept between them."""

    def __init__(self, address):
        self.place = address.removeprefix("http://")

    def send(self, method, path, body=None, headers=None):
        """Status, headers and content; JSON is read."""
        connection = http.client.HTTPConnection(self.place, timeout=60)
        content = json.dumps(body) if body is not None and not isinstance(body, bytes) else body
        try:
            connection.request(method, path, content, {"Content-Type": "application/json", **(headers or {})})
            answer = connection.getresponse()
            found = answer.read() if answer.headers.get_content_type() != "text/event-stream" else b""
            if "json" in answer.headers.get_content_type() and "ndjson" not in answer.headers.get_content_type():
                found = json.loads(found) if found else None
            return answer.status, answer.headers, found
        finally:
            connection.close()


def items(n=40, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, D)).round(3)


@pytest.fixture(scope="module")
def closed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("closed") / "space"
    with Space(folder, learning=False) as space:
        space.create("a", D)
        space.add("a", items(), list(range(1, 41)))
    tokens = [word for role, secret in SECRETS.items() for word in ("--token", f"{role}:{secret}")]
    server, client = start_server(folder, "--no-learning", *tokens)
    yield Wire(client.address)
    stop(server)


@contextlib.contextmanager
def serving(folder, monkeypatch):
    """The address of a server in a thread of this process, which costs no new imports."""
    servers, addresses, interval, kind = [], queue.Queue(), sys.getswitchinterval(), uvicorn.Server
    monkeypatch.setattr(uvicorn, "Server", lambda config: servers.append(kind(config)) or servers[0])
    with Space(folder, learning=False) as space:
        thread = threading.Thread(target=serve, args=(space,), kwargs={"port": 0, "ready": addresses.put})
        thread.start()
        yield addresses.get(timeout=60)
        servers[0].should_exit = True
        thread.join(60)
    sys.setswitchinterval(interval)
    assert not thread.is_alive()


@pytest.fixture
def wire(tmp_path, monkeypatch):
    with serving(tmp_path / "space", monkeypatch) as address:
        wire = Wire(address)
        assert wire.send("PUT", A, {"n_features": D})[0] == 200
        rows = [{"id": i, "x": x, "meta": {"even": i % 2 == 0}} for i, x in enumerate(items().tolist(), 1)]
        status, _, said = wire.send("POST", f"{A}/items", {"items": rows})
        assert status == 200 and said["added"] == 40 and said["seq"] == 2
        yield wire


def bearer(role):
    return {"Authorization": f"Bearer {SECRETS[role]}"}


def routes(wire):
    """Every route of the document, at things that exist."""
    status, _, document = wire.send("GET", "/openapi.json", headers=bearer("viewer"))
    assert status == 200 and document["openapi"].startswith("3.1")
    for path, methods in document["paths"].items():
        for method in methods:
            yield method.upper(), path.format(c="a", n=0, id=1, seq=3)


WRONG = [
    {},
    {"Authorization": "Bearer wrong"},
    {"Authorization": "Bearer "},
    {"Authorization": "Basic dG9wLXNlY3JldA=="},
    {"Authorization": "top-secret"},
    {"api-key": "wrong"},
    {"api-key": "admin:top-secret"},
    {"Cookie": "gramian_session=00.00"},
    {"Authorization": "Bearer wrong", "api-key": "top-secret"},
]


def test_every_route_but_health_and_static_files_refuses_a_missing_or_wrong_token(closed):
    more = [("GET", path) for path in ("/openapi.json", "/metrics", "/v1", "/v1/nothing", "/docs", "/v1/events")]
    found = {*routes(closed), *more}
    assert len(found) > 30
    for method, path in sorted(found):
        for headers in WRONG:
            body = {"token": "wrong"} if path == "/v1/login" else BODIES.get((method, path))
            status, sent, said = closed.send(method, path, body, headers)
            if (method, path) in OPEN:
                assert status == 200
                continue
            assert status in (401, 403), (method, path, headers, status)
            assert sent["content-type"] == "application/problem+json" and said["detail"].endswith(".")
    assert closed.send("GET", "/")[0] == 200
    assert closed.send("GET", A, headers=bearer("viewer"))[2]["items"] == 40
    assert closed.send("GET", "/v1/me", headers=bearer("viewer"))[2]["seq"] == 2


def needed(method, path):
    """The least role of a route."""
    if (method, path) in VIEWERS or (method == "GET" and path != "/v1/tokens"):
        return "viewer"
    return "teacher" if (method, path) in TEACHERS else "admin"


@pytest.mark.parametrize("role", ["viewer", "teacher"])
def test_a_role_gets_what_is_its_own_and_no_more(closed, role):
    rank = ["viewer", "teacher", "admin"]
    for method, path in sorted(set(routes(closed)) - OPEN):
        if path == "/v1/events":
            continue
        status, _, said = closed.send(method, path, BODIES.get((method, path)), bearer(role))
        may = rank.index(role) >= rank.index(needed(method, path))
        assert (status == 403) is (not may) and status not in (401, 500), (method, path, status, said)


def test_only_this_machine_is_served_without_a_token(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(uvicorn.Server, "run", lambda *given, **more: pytest.fail("it is served"))
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        assert main(["serve", "--space", str(tmp_path / "s"), "--port", "0", "--host", host]) == 2
        complaint = capsys.readouterr().err
        assert "a token is needed" in complaint and "Traceback" not in complaint


def test_a_web_page_cannot_click_for_the_person_at_this_machine(wire):
    click = {"query": 1, "item": 2, "like": True}
    foreign = ({"Origin": "https://evil.example"}, {"Host": "evil.example"}, {"Origin": "null"})
    for headers in foreign:
        assert wire.send("POST", f"{A}/feedback", click, headers)[0] == 403
        assert wire.send("GET", "/v1/collections", headers=headers)[0] == 403
    assert "access-control-allow-origin" not in wire.send("GET", "/v1/collections")[1]
    same = {"Origin": f"http://{wire.place}"}
    assert wire.send("POST", f"{A}/feedback", click, same)[:1] == (202,)


def test_tokens_cookies_and_origins_over_the_wire(closed):
    status, sent, made = closed.send("POST", "/v1/tokens", {"role": "teacher", "name": "ann"}, bearer("admin"))
    assert status == 200 and sent["cache-control"] == "no-store"
    secret = made["secret"]
    listed = closed.send("GET", "/v1/tokens", headers=bearer("admin"))[2]["tokens"]
    assert [t["name"] for t in listed] == ["ann"] and secret not in json.dumps(listed)
    status, sent, said = closed.send("POST", "/v1/login", {"token": secret})
    cookie = sent["set-cookie"]
    assert status == 200 and said["role"] == "teacher"
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and secret not in cookie
    held = {"Cookie": cookie.split(";")[0]}
    click = {"query": 1, "item": 2, "like": True}
    for origin, expected in ((f"http://{closed.place}", 202), ("http://evil.example", 403), ("null", 403)):
        assert closed.send("POST", f"{A}/feedback", click, {**held, "Origin": origin})[0] == expected
    assert closed.send("DELETE", f"/v1/tokens/{made['id']}", headers=bearer("admin"))[0] == 200
    assert closed.send("GET", "/v1/me", headers=held)[0] == 401
    assert closed.send("GET", "/v1/me", headers={"api-key": secret})[0] == 401


def test_items_over_the_wire(wire):
    send = wire.send
    known = {"items": [{"id": 1, "x": [9.0] * D}]}
    assert send("POST", f"{A}/items", known)[0] == 409
    assert send("GET", f"{A}/items/1")[2]["x"] == items()[0].tolist()
    assert send("POST", f"{A}/items", {**known, "upsert": True})[2]["seq"] == 3
    assert send("GET", f"{A}/items/1")[2] == {"id": 1, "x": [9.0] * D, "meta": {}}
    assert send("DELETE", f"{A}/items/1")[2]["seq"] == 4
    assert send("GET", f"{A}/items/1")[0] == send("DELETE", f"{A}/items/1")[0] == 404
    assert [item["id"] for item in send("GET", f"{A}/items?fields=id")[2]["items"]] == list(range(2, 41))
    assert send("PUT", A, {"n_features": D})[0] == 200 and send("PUT", A, {"n_features": 5})[0] == 409
    (listed,) = send("GET", "/v1/collections")[2]["collections"]
    assert listed["name"] == "a" and listed["n_features"] == D and listed["items"] == 39


def test_queries_over_the_wire(wire):
    X = items()
    order = np.argsort(((X - X[4]) ** 2).sum(axis=1), kind="stable") + 1
    status, _, said = wire.send("POST", f"{A}/query", {"id": 5, "k": 7})
    assert status == 200 and said["ids"] == [i for i in order.tolist() if i != 5][:7]
    assert said["version"] == 0 and said["seq"] == 2 and len(said["meta"]) == len(said["sqdist"]) == 7
    assert wire.send("POST", f"{A}/query", {"x": X[4].tolist(), "k": 1})[2] == {
        "ids": [5],
        "sqdist": [0.0],
        "meta": [{"even": False}],
        "version": 0,
        "seq": 2,
    }
    even = wire.send("POST", f"{A}/query", {"id": 5, "k": 1000, "where": {"even": True}, "version": "plain"})[2]
    assert even["ids"] == [i for i in order.tolist() if i % 2 == 0]
    ranked = wire.send("POST", f"{A}/query", {"id": 5, "likes": [7], "dislikes": [8], "version": 0})[2]
    assert len(ranked["score"]) == 10 and "sqdist" not in ranked and 5 not in ranked["ids"]
    assert ranked["score"] == sorted(ranked["score"], reverse=True)
    for body in ({"id": 99}, {"id": 5, "k": 1001}, {"x": [1.0]}, {"id": 5, "version": 3}, {"id": 5, "likes": [99]}):
        status, sent, said = wire.send("POST", f"{A}/query", body)
        assert status in (404, 422) and sent["content-type"] == "application/problem+json" and said["status"] == status
    for text in (b'{"x": [NaN, 0, 0, 0]}', b'{"x": [Infinity, 0, 0, 0]}', b'{"x": [1e999, 0, 0, 0]}', b"{"):
        assert wire.send("POST", f"{A}/query", text)[0] == 422
    long = b'{"id": 5, "user": "' + b"x" * (32 << 20) + b'"}'
    assert wire.send("POST", f"{A}/query", long)[0] == 413
    assert {wire.send("GET", "/v1/me")[0] for _ in range(300)} == {200}


def test_clicks_over_the_wire(wire):
    click = {"query": 1, "item": 2, "like": True, "user": "ann"}
    key = {"Idempotency-Key": "one"}
    assert wire.send("POST", f"{A}/feedback", click, key)[::2] == (202, {"seq": 3})
    assert wire.send("POST", f"{A}/feedback", click, key)[::2] == (202, {"seq": 3})
    assert wire.send("POST", f"{A}/feedback", {**click, "like": False}, key)[0] == 422
    vector = items()[3].tolist()
    assert wire.send("POST", f"{A}/feedback", {"query": vector, "item": 9, "like": False})[2] == {"seq": 4}
    assert wire.send("DELETE", f"{A}/feedback/3")[2]["seq"] == 5
    listed = wire.send("GET", f"{A}/feedback?after=0&limit=10")[2]["feedback"]
    names = ("seq", "query", "item", "like", "user", "undone")
    assert [[row[name] for name in names] for row in listed] == [
        [3, 1, 2, True, "ann", True],
        [4, vector, 9, False, None, False],
    ]
    assert [row["seq"] for row in wire.send("GET", f"{A}/feedback?after=3&limit=1")[2]["feedback"]] == [4]
    for form in ("jsonl", "ubi"):
        lines = wire.send("GET", f"{A}/feedback?format={form}")[2].decode().splitlines()
        assert len(lines) == 2 and all(json.loads(line) for line in lines)


def test_versions_over_the_wire(wire, tmp_path):
    send, X = wire.send, items()
    assert send("POST", f"{A}/versions")[0] == 409  # nothing to learn from
    for i in range(2, 32):
        near = bool(abs(X[0, 0] - X[i - 1, 0]) < 0.8)
        send("POST", f"{A}/feedback", {"query": 1, "item": i, "like": near})
    made = send("POST", f"{A}/versions")[2]
    listed = send("GET", f"{A}/versions")[2]
    assert listed["active"] == 0 and [v["version"] for v in listed["versions"]] == [0, 1] == [0, made["version"]]
    assert listed["versions"][1]["events"] == 30 and {"name", "duels"} <= set(listed["versions"][1])
    duel = send("POST", f"{A}/query", {"id": 3, "k": 16, "duel": True})[2]
    assert {0, 1} <= set(duel["team"]) <= {-1, 0, 1} and len(duel["team"]) == len(duel["ids"]) == 16
    for i in duel["ids"]:
        click = {"query": 3, "item": i, "like": True, "duel_id": duel["duel_id"]}
        assert send("POST", f"{A}/feedback", click)[0] == 202
    record = send("GET", f"{A}/versions")[2]["versions"][1]["duels"]
    assert record["likes"] == duel["team"].count(1) and record["likes_against"] == duel["team"].count(0)
    plain = send("POST", f"{A}/query", {"id": 3, "k": 6, "version": "plain"})[2]["ids"]
    assert send("POST", f"{A}/query", {"id": 3, "k": 6})[2]["ids"] == plain
    assert send("GET", f"{A}/versions/0/diff?to=1&k=5")[2]["items"][0]["kept"] < 5
    tag = send("GET", f"{A}/map")[1]["etag"]
    assert send("POST", f"{A}/versions/1/activate")[2]["active"] == 1
    status, sent, content = send("GET", f"{A}/map", headers={"If-None-Match": tag})
    assert status == 200 and sent["etag"] != tag and np.frombuffer(content, "<f4").reshape(-1, 2).shape == (40, 2)
    assert send("GET", f"{A}/map", headers={"If-None-Match": sent["etag"]})[0] == 304
    (tmp_path / "m.gram").write_bytes(send("GET", f"{A}/versions/1/export?format=gram")[2])
    metric = gm.load(tmp_path / "m.gram")
    assert np.allclose(send("POST", f"{A}/transform", {"x": X.tolist()})[2]["z"], metric.transform(X))
    answer = send("POST", f"{A}/query", {"id": 3, "k": 6})[2]
    D2 = metric.sqdist(X[2:3], X)[0]
    assert answer["version"] == 1 and answer["ids"] == [i for i in (np.argsort(D2) + 1).tolist() if i != 3][:6]
    assert np.allclose(answer["sqdist"], np.sort(D2)[1:7])


def follow(wire, count, headers, found, started=None):
    """Read so many events."""
    connection = http.client.HTTPConnection(wire.place, timeout=60)
    connection.request("GET", "/v1/events", headers=headers)
    answer = connection.getresponse()
    assert answer.headers.get_content_type() == "text/event-stream"
    number = None
    while len(found) < count:
        line = answer.readline().decode().rstrip("\n")
        if line.startswith("retry") and started is not None:
            started.set()
        number = int(line[4:]) if line.startswith("id: ") else number
        if line.startswith("data: "):
            found.append((number, json.loads(line[6:])))
    connection.close()


def test_every_event_is_pushed_with_its_number_and_resumed(wire):
    new, started = [], threading.Event()
    watcher = threading.Thread(target=follow, args=(wire, 3, {}, new, started))
    watcher.start()
    assert started.wait(30)
    seqs = [wire.send("POST", f"{A}/feedback", {"query": 1, "item": i, "like": True})[2]["seq"] for i in (2, 3)]
    seqs.append(wire.send("DELETE", f"{A}/feedback/{seqs[0]}")[2]["seq"])
    watcher.join(30)
    assert [number for number, _ in new] == [event["seq"] for _, event in new] == seqs == [3, 4, 5]
    resumed = []
    follow(wire, 4, {"Last-Event-ID": "1"}, resumed)
    assert [number for number, _ in resumed] == [2, 3, 4, 5]


def test_health_and_numbers_over_the_wire(wire):
    assert wire.send("GET", "/livez")[0] == wire.send("GET", "/readyz")[0] == 200
    status, sent, text = wire.send("GET", "/metrics")
    assert status == 200 and sent.get_content_type() == "text/plain" and b"# TYPE gramian_seq counter" in text
