"""Who may do what: every route asks for a token, roles hold, and foreign pages are turned away."""

import pytest

pytest.importorskip("fastapi")
from starlette.testclient import TestClient  # noqa: E402

from gramian.service.http import create_app  # noqa: E402
from gramian.service.http.guard import Buckets  # noqa: E402
from tests.service.conftest import D  # noqa: E402

A = "/v1/collections/a"
OPEN = {"/livez", "/readyz"}


@pytest.fixture
def closed(space):
    app = create_app(space, tokens=["admin:top-secret", "teacher:chalk", "viewer:glasses"])
    with TestClient(app, base_url="http://example.org", client=("127.0.0.1", 1)) as client:
        yield client


def bearer(secret):
    return {"Authorization": f"Bearer {secret}"}


def routes(client, headers):
    document = client.get("/openapi.json", headers=headers).json()
    for path, methods in document["paths"].items():
        for method in methods:
            yield method.upper(), path.format(c="a", n=0, id=1, seq=1)


def test_every_route_but_health_needs_a_token(closed, space):
    found = list(routes(closed, bearer("top-secret")))
    assert len(found) > 20
    for method, path in found:
        if path in OPEN:
            assert closed.request(method, path).status_code == 200
            continue
        for headers in (
            {},
            bearer("wrong"),
            bearer(""),
            {"Authorization": "Basic abc"},
            {"api-key": "wrong"},
            bearer("gm_000000000000_x"),
            {"Cookie": "gramian_session=abc.def"},
        ):
            for body in ({"json": {"token": "wrong"}}, {"json": {}}, {}):
                answer = closed.request(method, path, headers=headers, **body)
                assert answer.status_code == 401, (method, path, headers, body)
                assert answer.json()["status"] == 401
    assert space.seq == 2
    assert closed.get("/openapi.json").status_code == closed.get("/v1/unknown").status_code == 401
    assert closed.options(f"{A}/items").status_code == closed.head(f"{A}/items").status_code == 401
    assert closed.get("/livez").status_code == closed.get("/").status_code == 200


def test_a_token_works_as_bearer_and_as_key(closed):
    assert closed.get("/v1/me", headers=bearer("chalk")).json()["role"] == "teacher"
    assert closed.get("/v1/me", headers={"api-key": "glasses"}).json()["role"] == "viewer"


ALLOWED = {
    "viewer": {"GET", "/query", "/transform"},
    "teacher": {"GET", "/query", "/transform", "/feedback", "/versions"},
}


@pytest.mark.parametrize(("role", "secret"), [("viewer", "glasses"), ("teacher", "chalk")])
def test_roles_hold(closed, role, secret):
    bodies = {
        ("POST", f"{A}/query"): {"id": 1},
        ("POST", f"{A}/transform"): {"x": [[0.0] * D]},
        ("POST", f"{A}/feedback"): {"query": 1, "item": 2, "like": True},
        ("DELETE", f"{A}/feedback/3"): None,
        ("POST", f"{A}/versions"): None,
        ("POST", f"{A}/versions/0/activate"): None,
        ("POST", f"{A}/items"): {"items": [{"x": [0.0] * D}]},
        ("DELETE", f"{A}/items/1"): None,
        ("PUT", "/v1/collections/b"): {"n_features": 2},
        ("POST", "/v1/tokens"): {"role": "admin", "name": "me"},
        ("GET", "/v1/tokens"): None,
        ("DELETE", "/v1/tokens/x"): None,
    }
    teaches = [f"{A}/feedback", f"{A}/feedback/3", f"{A}/versions"]
    for (method, path), body in bodies.items():
        answer = closed.request(method, path, json=body, headers=bearer(secret))
        may = path in (f"{A}/query", f"{A}/transform") or (role == "teacher" and path in teaches)
        assert (answer.status_code == 403) is (not may), (method, path, answer.text)


def test_a_viewer_may_not_open_a_duel(closed):
    assert closed.post(f"{A}/query", json={"id": 1, "duel": True}, headers=bearer("glasses")).status_code == 403


def test_a_teacher_undoes_their_own_clicks_only(closed):
    body = {"query": 1, "item": 2, "like": True}
    tokens = [
        closed.post("/v1/tokens", json={"role": "teacher", "name": name}, headers=bearer("top-secret")).json()["token"]
        for name in ("ann", "bob")
    ]
    seq = closed.post(f"{A}/feedback", json=body, headers=bearer(tokens[0])).json()["seq"]
    assert closed.get(f"{A}/feedback", headers=bearer(tokens[0])).json()["feedback"][0]["user"] == "ann"
    assert closed.delete(f"{A}/feedback/{seq}", headers=bearer(tokens[1])).status_code == 403
    assert closed.delete(f"{A}/feedback/{seq}", headers=bearer(tokens[0])).status_code == 200


def test_tokens_are_shown_once_kept_as_hashes_and_revoked(closed, space):
    made = closed.post("/v1/tokens", json={"role": "viewer", "name": "eve"}, headers=bearer("top-secret")).json()
    secret = made["token"]
    assert closed.get("/v1/me", headers=bearer(secret)).json() == {
        "role": "viewer",
        "name": "eve",
        "token_needed": True,
        "seq": 3,
    }
    listed = closed.get("/v1/tokens", headers=bearer("top-secret")).text
    events = str(space.events())
    with space.store.reading() as db:
        dump = "".join(str(tuple(row)) for row in db.execute("SELECT * FROM tokens"))
    for text in (listed, events, dump):
        assert secret not in text and secret[-20:] not in text
    assert closed.get("/v1/me", headers=bearer(secret[:-1])).status_code == 401
    assert closed.delete(f"/v1/tokens/{made['id']}", headers=bearer("top-secret")).status_code == 200
    assert closed.get("/v1/me", headers=bearer(secret)).status_code == 401


def test_tokens_of_a_space_are_asked_for_at_the_next_start(space):
    first = TestClient(create_app(space), base_url="http://127.0.0.1")
    secret = first.post("/v1/tokens", json={"role": "admin", "name": "me"}).json()["token"]
    assert first.get("/v1/collections").status_code == 200
    second = TestClient(create_app(space), base_url="http://127.0.0.1")
    assert second.get("/v1/collections").status_code == 401
    assert second.get("/v1/collections", headers=bearer(secret)).status_code == 200


def test_a_token_is_honored_on_an_open_server_too(http):
    secret = http.post("/v1/tokens", json={"role": "viewer", "name": "eve"}).json()["token"]
    body = {"query": 1, "item": 2, "like": True}
    assert http.post(f"{A}/feedback", json=body, headers=bearer(secret)).status_code == 403
    assert http.post(f"{A}/feedback", json=body, headers=bearer("wrong")).status_code == 401
    assert http.post(f"{A}/feedback", json=body).status_code == 202


def test_a_login_trades_the_token_for_a_cookie(closed):
    assert closed.post("/v1/login", json={"token": "wrong"}).status_code == 401
    answer = closed.post("/v1/login", json={"token": "chalk"})
    cookie = answer.headers["set-cookie"].lower()
    assert answer.json()["role"] == "teacher"
    assert "httponly" in cookie and "samesite=strict" in cookie and "chalk" not in cookie
    body = {"query": 1, "item": 2, "like": True}
    assert closed.get("/v1/me").json()["role"] == "teacher"
    assert closed.post(f"{A}/feedback", json=body, headers={"Origin": "http://example.org"}).status_code == 202
    assert closed.post(f"{A}/feedback", json=body, headers={"Origin": "http://evil.org"}).status_code == 403
    assert closed.post(f"{A}/feedback", json=body, headers={"Origin": "null"}).status_code == 403
    closed.post("/v1/logout")
    assert closed.get("/v1/me").status_code == 401


def test_a_cookie_that_was_touched_or_is_over_is_refused(closed, monkeypatch):
    closed.post("/v1/login", json={"token": "chalk"})
    value = closed.cookies["gramian_session"]
    closed.cookies.clear()
    for bad in (value[:-1], "0" + value[1:], value.upper(), ".", "x"):
        assert closed.get("/v1/me", headers={"Cookie": f"gramian_session={bad}"}).status_code == 401
    assert closed.get("/v1/me", headers={"Cookie": f"gramian_session={value}"}).status_code == 200
    import time

    later = time.time() + 13 * 3600
    monkeypatch.setattr("gramian.service.http.access.time.time", lambda: later)
    assert closed.get("/v1/me", headers={"Cookie": f"gramian_session={value}"}).status_code == 401


@pytest.mark.parametrize("headers", [{"Origin": "http://evil.org"}, {"Host": "evil.org"}, {"Origin": "null"}])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_open_server_turns_foreign_pages_away(http, space, headers, method):
    path = f"{A}/feedback"
    body = {"query": 1, "item": 2, "like": True} if method == "POST" else None
    assert http.request(method, path, json=body, headers=headers).status_code == 403
    assert space.seq == 2


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "[::1]:8000", "127.0.0.1", "LOCALHOST"])
def test_an_open_server_knows_its_own_names(http, host):
    same = {"Host": host, "Origin": f"http://{host.lower()}"}
    assert http.get("/v1/collections", headers=same).status_code == 200


def test_pages_of_other_sites_may_not_read_through_the_browser(http):
    assert http.get("/v1/collections", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert http.get("/v1/collections", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200


def test_other_origins_only_when_allowed(space):
    closed = TestClient(create_app(space), base_url="http://127.0.0.1")
    assert "access-control-allow-origin" not in closed.get("/v1/collections").headers
    allowed = TestClient(create_app(space, origins=["https://app.example"]), base_url="http://127.0.0.1")
    origin = {"Origin": "https://app.example"}
    answer = allowed.get("/v1/collections", headers=origin)
    assert answer.status_code == 200 and answer.headers["access-control-allow-origin"] == "https://app.example"
    asked = {**origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    assert allowed.options(f"{A}/query", headers=asked).status_code == 200
    assert allowed.get("/v1/collections", headers={"Origin": "https://other.example"}).status_code == 403


def test_too_many_requests_from_elsewhere_wait_and_this_machine_does_not(space):
    app = create_app(space, tokens=["viewer:glasses"], rate=1.0)
    app.app.buckets.clock = lambda: 0.0  # no time passes, however slow the machine is
    far = TestClient(app, base_url="http://example.org", client=("203.0.113.9", 1))
    statuses = [far.get("/v1/me", headers=bearer("glasses")).status_code for _ in range(8)]
    assert statuses == [200] * 4 + [429] * 4
    assert int(far.get("/v1/me").headers["retry-after"]) >= 1
    assert far.get("/livez").status_code == 200
    near = TestClient(app, base_url="http://example.org", client=("127.0.0.1", 1))
    assert {near.get("/v1/me", headers=bearer("glasses")).status_code for _ in range(50)} == {200}


def test_a_bucket_fills_again_as_time_passes():
    now = [0.0]
    buckets = Buckets(2.0, 3.0, clock=lambda: now[0])
    assert [buckets.wait("10.0.0.1") for _ in range(4)] == [0, 0, 0, 0.5]
    now[0] = 0.5
    assert buckets.wait("10.0.0.1") == 0 and buckets.wait("10.0.0.1") == 0.5
    assert buckets.wait("10.0.0.2") == 0


def test_buckets_forget_the_oldest(monkeypatch):
    monkeypatch.setattr(Buckets, "MOST", 10)
    buckets = Buckets(1.0, 2.0)
    assert all(buckets.wait(f"10.0.0.{i}") == 0 for i in range(50))
    assert len(buckets._levels) <= 10


def test_no_server_beyond_this_machine_without_a_token(space):
    from gramian.service.http import serve

    with pytest.raises(ValueError, match="a token is needed"):
        serve(space, host="0.0.0.0", port=0)
    with pytest.raises(ValueError, match="role"):
        serve(space, port=0, tokens=["king:crown"])


@pytest.mark.parametrize("given", ["", "viewer", "Admin", "admin:", ":x", "teacher: ", " ", "viewer:x ", "king:crown"])
def test_a_token_without_a_secret_is_none(space, given):
    with pytest.raises(ValueError, match="a token must be ROLE:SECRET"):
        create_app(space, tokens=[given])


def test_a_secret_alone_is_an_admins(space):
    client = TestClient(create_app(space, tokens=["a-long-secret"]), base_url="http://example.org")
    assert client.get("/v1/me", headers=bearer("a-long-secret")).json()["role"] == "admin"
    assert client.get("/v1/me", headers=bearer("")).status_code == 401


@pytest.mark.parametrize("path", ["/", "/livez", "/v1/me", "/v1/unknown"])
def test_no_page_may_show_an_answer_in_a_frame(closed, path):
    headers = closed.get(path).headers
    assert headers["x-frame-options"] == "DENY" and headers["content-security-policy"] == "frame-ancestors 'none'"


def test_a_token_revoked_while_it_is_checked_is_revoked(closed, space, monkeypatch):
    from gramian.service.http import access

    made = closed.post("/v1/tokens", json={"role": "viewer", "name": "eve"}, headers=bearer("top-secret")).json()
    slow, revoked = access._hash, []

    def during(secret, salt):
        if not revoked:
            revoked.append(closed.app.app.access.revoke(made["id"]))
        return slow(secret, salt)

    monkeypatch.setattr(access, "_hash", during)
    for _ in range(2):
        assert closed.get("/v1/me", headers=bearer(made["token"])).status_code == 401
    assert revoked


def test_a_session_that_was_logged_out_is_over_here_and_after_a_restart(closed, space):
    closed.post("/v1/login", json={"token": "chalk"})
    cookie = {"Cookie": f"gramian_session={closed.cookies['gramian_session']}"}
    closed.cookies.clear()
    closed.post("/v1/login", json={"token": "chalk"})
    other = {"Cookie": f"gramian_session={closed.cookies['gramian_session']}"}
    closed.cookies.clear()
    assert closed.get("/v1/me", headers=cookie).status_code == 200
    assert closed.post("/v1/logout", headers=cookie).status_code == 200
    again = TestClient(create_app(space, tokens=["teacher:chalk"]), base_url="http://example.org")
    for client in (closed, again):
        assert client.get("/v1/me", headers=cookie).status_code == 401
        assert client.get("/v1/me", headers=other).status_code == 200


def test_a_cookie_of_an_earlier_version_is_refused(closed):
    access = closed.app.app.access
    text = b'["given-0", 99999999999]'.hex()
    assert access.resume(f"{text}.{access._sign(text)}") is None


def following(app, headers):
    """Lines of an event stream, read in a thread; ends when the stream does."""
    import asyncio
    import threading

    lines, begun = [], threading.Event()

    async def follow():
        sent = asyncio.Event()

        async def receive():
            if not sent.is_set():
                sent.set()
                return {"type": "http.request", "body": b"", "more_body": False}
            return await asyncio.sleep(3600)

        async def send(message):
            lines.append(message.get("body", b"").decode())
            if "retry" in lines[-1]:
                begun.set()

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "path": "/v1/events",
            "raw_path": b"/v1/events",
            "query_string": b"",
            "headers": [(b"host", b"example.org"), *[(k.lower().encode(), v.encode()) for k, v in headers.items()]],
            "client": ("127.0.0.1", 1),
            "server": ("example.org", 80),
            "scheme": "http",
        }
        await asyncio.wait_for(app(scope, receive, send), 60)

    thread = threading.Thread(target=lambda: asyncio.run(follow()), daemon=True)
    thread.start()
    assert begun.wait(60)
    return thread, lines


def test_the_events_of_a_revoked_token_end_at_once(closed, space, points):
    made = closed.post("/v1/tokens", json={"role": "viewer", "name": "eve"}, headers=bearer("top-secret")).json()
    thread, lines = following(closed.app, bearer(made["token"]))
    space.add("a", points[:1], [900])
    assert closed.delete(f"/v1/tokens/{made['id']}", headers=bearer("top-secret")).status_code == 200
    thread.join(60)
    assert not thread.is_alive()
    space.add("a", points[:1], [901])
    assert "revoke" not in "".join(lines) and "901" not in "".join(lines)


def test_the_events_of_a_session_end_with_its_logout(closed, space):
    closed.post("/v1/login", json={"token": "chalk"})
    cookie = {"Cookie": f"gramian_session={closed.cookies['gramian_session']}"}
    thread, lines = following(closed.app, cookie)
    closed.post("/v1/logout", headers=cookie)
    thread.join(60)
    assert not thread.is_alive() and space._writer._listeners and not closed.app.app.access.listeners


def test_nobody_else_reads_the_key_of_the_cookies(space, tmp_path):
    from gramian.service import Space, archive

    def modes(folder):
        return {path.stat().st_mode & 0o777 for path in folder.glob("space.db*")}

    folder = space.store.folder
    assert modes(folder) == {0o600}
    archive.backup(folder, tmp_path / "copy.zip")
    assert (tmp_path / "copy.zip").stat().st_mode & 0o777 == 0o600
    archive.restore(tmp_path / "copy.zip", tmp_path / "restored")
    assert modes(tmp_path / "restored") == {0o600}
    space.close()
    (folder / "space.db").chmod(0o644)  # as earlier versions made it
    with Space(folder, learning=False):
        assert modes(folder) == {0o600}


@pytest.mark.parametrize("name", ["Host", "Origin"])
@pytest.mark.parametrize("value", ["[", "http://[", "http://[::1", "]", "http://[x]:1", "127.0.0.1:99999", "", "//"])
def test_an_address_that_cannot_be_read_is_refused(http, closed, name, value):
    headers = {"Host": "127.0.0.1:8000", name: value}
    assert http.get("/v1/collections", headers=headers).status_code in (200, 403)
    assert closed.get("/v1/collections", headers=headers).status_code in (401, 403)
    if name == "Origin" and value != "":
        assert http.get("/v1/collections", headers=headers).status_code == 403


def test_the_name_of_a_test_is_not_this_machine(http):
    assert http.get("/v1/collections", headers={"Host": "testclient"}).status_code == 403
