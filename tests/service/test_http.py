"""The routes: what they answer, and that every error is one sentence and changes nothing."""

import json
import threading

import numpy as np
import pytest

import gramian as gm
from tests.service.conftest import D, N, teach

pytest.importorskip("fastapi")
from gramian.service.http import guard  # noqa: E402

A = "/v1/collections/a"


def test_collections_are_made_once_and_listed(http):
    assert http.put("/v1/collections/b", json={"n_features": 3}).json()["seq"] == 3
    assert http.put("/v1/collections/b", json={"n_features": 3}).json()["seq"] == 3
    assert http.put("/v1/collections/b", json={"n_features": 4}).status_code == 409
    listed = http.get("/v1/collections").json()["collections"]
    assert [(c["name"], c["n_features"], c["items"]) for c in listed] == [("a", D, N), ("b", 3, 0)]
    assert http.post("/v1/collections/b/query", json={"x": [0, 0, 0]}).json()["ids"] == []


def test_items_are_added_read_replaced_and_removed(http, points):
    body = {"items": [{"id": 500, "x": [0.5] * D, "meta": {"a": [1, {"b": None}]}}, {"x": [0] * D}]}
    assert http.post(f"{A}/items", json=body).json() == {"added": 2, "updated": 0, "seq": 3}
    assert http.get(f"{A}/items/500").json() == {"id": 500, "x": [0.5] * D, "meta": {"a": [1, {"b": None}]}}
    assert http.get(f"{A}/items/501").json()["x"] == [0.0] * D
    assert http.post(f"{A}/items", json=body).status_code == 409
    again = {"items": [{"id": 500, "x": [1] * D}], "upsert": True}
    assert http.post(f"{A}/items", json=again).json() == {"added": 1, "updated": 1, "seq": 4}
    assert http.get(f"{A}/items/500").json()["meta"] == {}
    mixed = {"items": [{"id": 500, "x": [2] * D, "upsert": True}, {"id": 501, "x": [2] * D}]}
    assert http.post(f"{A}/items", json=mixed).status_code == 409
    mixed["items"].pop()
    assert http.post(f"{A}/items", json=mixed).json() == {"added": 1, "updated": 1, "seq": 5}
    assert http.delete(f"{A}/items/500").json() == {"seq": 6}
    assert http.get(f"{A}/items/500").status_code == http.delete(f"{A}/items/500").status_code == 404
    listed = http.get(f"{A}/items?fields=id").json()
    assert listed["ids"] == [item["id"] for item in listed["items"]] == [*range(1, N + 1), 501]


def test_items_come_in_pages(http, points):
    first = http.get(f"{A}/items?limit=100&fields=id,x,meta").json()
    second = http.get(f"{A}/items?limit=100&after={first['next']}").json()
    assert [item["id"] for item in first["items"] + second["items"]] == list(range(1, N + 1))
    assert second["next"] is None and first["items"][2]["x"] == points[2].tolist()


def test_a_query_has_ids_distances_meta_version_and_seq(http, points):
    answer = http.post(f"{A}/query", json={"id": 3, "k": 4, "where": {"color": "red"}}).json()
    red = np.arange(1, N + 1)[np.arange(N) % 2 == 0]
    D2 = ((points[red - 1] - points[2]) ** 2).sum(axis=1)
    expected = [int(i) for i in red[np.argsort(D2)] if i != 3][:4]
    assert answer["ids"] == expected
    assert answer["version"] == 0 and answer["seq"] == 2
    assert [m["color"] for m in answer["meta"]] == ["red"] * 4
    ranked = http.post(f"{A}/query", json={"x": points[0].tolist(), "likes": [4], "dislikes": [9]}).json()
    assert len(ranked["score"]) == len(ranked["ids"]) == 10 and "sqdist" not in ranked
    assert len(http.post(f"{A}/query", json={"likes": [4, 5]}).json()["ids"]) == 10


BAD = [
    ("POST", "/query", {"id": 1, "k": 0}),
    ("POST", "/query", {"id": 1, "k": 1001}),
    ("POST", "/query", {"id": 1, "k": 10**30}),
    ("POST", "/query", {"id": 1, "k": "3"}),
    ("POST", "/query", {"id": 1, "k": True}),
    ("POST", "/query", {"id": 999}),
    ("POST", "/query", {"id": 10**25}),
    ("POST", "/query", {"id": 1, "x": [0.0] * D}),
    ("POST", "/query", {"x": [0.0] * (D + 1)}),
    ("POST", "/query", {"x": ["0"] * D}),
    ("POST", "/query", {"x": [None] * D}),
    ("POST", "/query", {"x": [1e200] * D}),
    ("POST", "/query", {"x": []}),
    ("POST", "/query", {}),
    ("POST", "/query", []),
    ("POST", "/query", None),
    ("POST", "/query", {"id": 1, "likes": [999]}),
    ("POST", "/query", {"id": 1, "likes": [1] * 1001}),
    ("POST", "/query", {"id": 1, "version": 7}),
    ("POST", "/query", {"id": 1, "version": "newest"}),
    ("POST", "/query", {"id": 1, "where": [1]}),
    ("POST", "/query", {"id": 1, "wear": {}}),
    ("POST", "/feedback", {"query": 1, "item": 2}),
    ("POST", "/feedback", {"query": 1, "item": 2, "like": 1}),
    ("POST", "/feedback", {"query": 1, "item": 999, "like": True}),
    ("POST", "/feedback", {"query": 999, "item": 2, "like": True}),
    ("POST", "/feedback", {"query": [0.0], "item": 2, "like": True}),
    ("POST", "/feedback", {"query": "1", "item": 2, "like": True}),
    ("POST", "/feedback", {"query": 1, "item": 2, "like": True, "duel_id": "x"}),
    ("POST", "/feedback", {"query": 1, "item": 2, "like": True, "user": "x" * 300}),
    ("DELETE", "/feedback/1", None),
    ("DELETE", "/feedback/99", None),
    ("DELETE", "/feedback/x", None),
    ("DELETE", "/feedback/99999999999999999999999", None),
    ("POST", "/items", {"items": []}),
    ("POST", "/items", {"items": [{"id": 1, "x": [0.0] * D}]}),
    ("POST", "/items", {"items": [{"id": 700, "x": [0.0] * D}, {"id": 700, "x": [0.0] * D}]}),
    ("POST", "/items", {"items": [{"id": 700, "x": [0.0] * D}, {"id": 701, "x": [0.0]}]}),
    ("POST", "/items", {"items": [{"id": 700, "x": [0.0] * D, "meta": {"a": "x" * 70_000}}]}),
    ("POST", "/items", {"items": [{"id": 2**63, "x": [0.0] * D}]}),
    ("POST", "/versions", None),
    ("POST", "/versions", {"learner": "magic"}),
    ("POST", "/versions/3/activate", None),
    ("GET", "/versions/3", None),
    ("GET", "/versions/0/diff?to=9", None),
    ("GET", "/versions/0/diff", None),
    ("GET", "/versions/0/export?format=exe", None),
    ("GET", "/feedback?limit=0", None),
    ("GET", "/feedback?format=xml", None),
    ("GET", "/map?version=../x", None),
    ("GET", "/items/..%2f..%2fspace.db", None),
    ("POST", "/transform", {"x": [[0.0] * (D + 1)]}),
    ("POST", "/transform", {"x": [[0.0] * D, [0.0]]}),
    ("PUT", "", {"n_features": -1}),
    ("PUT", "", {"n_features": 10**9}),
]


@pytest.mark.parametrize(("method", "path", "body"), BAD, ids=[f"{m}{p}-{i}" for i, (m, p, _) in enumerate(BAD)])
def test_bad_requests_are_one_sentence_and_change_nothing(http, space, method, path, body):
    before = space.snapshot
    answer = http.request(method, A + path, json=body)
    assert 400 <= answer.status_code < 500
    assert answer.headers["content-type"] == "application/problem+json"
    said = answer.json()
    assert said["status"] == answer.status_code and said["title"] and said["type"] == "about:blank"
    assert said["detail"].endswith(".") and "\n" not in said["detail"] and len(said["detail"]) < 300
    assert space.snapshot is before and len(space.events()) == 2


STRANGE = ['{"x": [NaN, 0, 0, 0, 0, 0]}', '{"x": [1e999, 0, 0, 0, 0, 0]}', "{", "\xff", "[" * 5000]


@pytest.mark.parametrize("text", STRANGE, ids=range(len(STRANGE)))
def test_what_is_no_json_or_not_finite_is_refused(http, text):
    answer = http.post(f"{A}/query", content=text.encode("latin-1"), headers={"content-type": "application/json"})
    assert answer.status_code == 422 and answer.headers["content-type"] == "application/problem+json"


def test_unknown_routes_and_collections_are_problems_too(http):
    unknown = "/v1/collections/zzz/query"
    for method, path in (("GET", "/v1/nothing"), ("POST", unknown), ("PATCH", A), ("GET", "/nothing")):
        answer = http.request(method, path, json={"id": 1} if method == "POST" else None)
        assert answer.status_code in (404, 405) and answer.json()["status"] == answer.status_code


def test_a_body_of_more_than_32_mb_is_refused_declared_or_not(http, monkeypatch):
    monkeypatch.setattr(guard, "MOST_BODY", 1000)
    big = {"x": [0.5] * 1000}
    assert http.post(f"{A}/query", json=big).status_code == 413
    chunks = (b" " * 300 for _ in range(10))
    answer = http.post(f"{A}/query", content=chunks, headers={"content-type": "application/json"})
    assert answer.status_code == 413 and answer.json()["status"] == 413


def test_feedback_is_accepted_listed_and_undone(http):
    body = {"query": 1, "item": 2, "like": True, "user": "ann"}
    answer = http.post(f"{A}/feedback", json=body)
    assert (answer.status_code, answer.json()) == (202, {"seq": 3})
    vector = [0.25] * D
    assert http.post(f"{A}/feedback", json={"query": vector, "item": 4, "like": False}).json() == {"seq": 4}
    listed = http.get(f"{A}/feedback").json()["feedback"]
    keys = ("seq", "query", "item", "like", "user", "undone")
    assert [[click[key] for key in keys] for click in listed] == [
        [3, 1, 2, True, "ann", False],
        [4, vector, 4, False, None, False],
    ]
    assert http.delete(f"{A}/feedback/3").json() == {"seq": 5, "undone": 3}
    assert http.delete(f"{A}/feedback/3").status_code == 409
    assert http.get(f"{A}/feedback?after=3&limit=1").json()["feedback"][0]["seq"] == 4
    assert http.get(f"{A}/feedback").json()["feedback"][0]["undone"] is True


def test_feedback_as_lines_and_as_user_behavior_insights(http, space):
    teach(space, 3, user="ann")
    lines = http.get(f"{A}/feedback?format=jsonl").text.splitlines()
    assert [json.loads(line)["seq"] for line in lines] == [3, 4, 5]
    for line in http.get(f"{A}/feedback?format=ubi").text.splitlines():
        event = json.loads(line)
        assert event["action_name"] in ("like", "dislike") and event["client_id"] == "ann"
        assert event["timestamp"].endswith("Z") and event["query_id"].startswith("item-")
        assert isinstance(event["event_attributes"]["position"]["ordinal"], int)
        assert event["event_attributes"]["object"]["object_id"].isdigit()


def test_a_key_makes_a_request_happen_once(http, space):
    body = {"query": 1, "item": 2, "like": True}
    first = http.post(f"{A}/feedback", json=body, headers={"Idempotency-Key": "k"})
    again = http.post(f"{A}/feedback", json=dict(reversed(body.items())), headers={"Idempotency-Key": "k"})
    other = http.post(f"{A}/feedback", json={**body, "like": False}, headers={"Idempotency-Key": "k"})
    assert first.json() == again.json() == {"seq": 3} and again.status_code == 202
    assert other.status_code == 422 and "Idempotency-Key" in other.json()["detail"]
    assert http.post(f"{A}/feedback", json=body, headers={"Idempotency-Key": "l"}).json() == {"seq": 4}
    items = {"items": [{"x": [0.0] * D}]}
    added = [http.post(f"{A}/items", json=items, headers={"Idempotency-Key": "i"}).json() for _ in range(2)]
    assert added[0] == added[1] and len(space.collection("a").ids) == N + 1


def test_many_requests_with_one_key_at_once_are_one_click(http, space):
    body = {"query": 1, "item": 2, "like": True}
    seen = []

    def send():
        seen.append(http.post(f"{A}/feedback", json=body, headers={"Idempotency-Key": "same"}).json()["seq"])

    threads = [threading.Thread(target=send) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [3] * 12 and space.seq == 3


def test_versions_are_learned_listed_compared_activated_and_exported(http, space, tmp_path, points):
    teach(space)
    made = http.post(f"{A}/versions").json()
    assert made["version"] == 1 and made["events"] == 60 and made["status"] == "candidate"
    listed = http.get(f"{A}/versions").json()
    assert listed["active"] == 0 and [v["version"] for v in listed["versions"]] == [0, 1]
    assert listed["versions"][1]["duels"]["queries"] == 0 and listed["versions"][1]["name"]
    assert http.get(f"{A}/versions/1").json() == listed["versions"][1]
    assert http.get(f"{A}/versions/0/diff?to=1&k=3").json()["items"]
    exported = http.get(f"{A}/versions/1/export?format=gram").content
    (tmp_path / "m.gram").write_bytes(exported)
    metric = gm.load(tmp_path / "m.gram")
    again = http.post(f"{A}/versions", json={"name": "again"}).json()
    (tmp_path / "n.gram").write_bytes(http.get(f"{A}/versions/{again['version']}/export").content)
    assert np.array_equal(gm.load(tmp_path / "n.gram").components, metric.components)
    assert http.post(f"{A}/versions/1/activate").json()["active"] == 1
    z = http.post(f"{A}/transform", json={"x": points[:4].tolist()}).json()["z"]
    assert np.allclose(z, metric.transform(points[:4]))
    answer = http.post(f"{A}/query", json={"id": 5, "k": 3}).json()
    assert answer["version"] == 1
    distances = [((np.array(z[0]) - np.array(z[1])) ** 2).sum(), metric.sqdist(points[:1], points[1:2])[0, 0]]
    assert np.isclose(*distances)


def test_a_duel_over_http(http, space):
    alone = http.post(f"{A}/query", json={"id": 1, "k": 3, "duel": True}).json()
    assert alone["duel_id"] is None and alone["team"] == [0, 0, 0]
    teach(space)
    http.post(f"{A}/versions")
    found = http.post(f"{A}/query", json={"id": 1, "k": 12, "duel": True}).json()
    assert len(found["team"]) == 12 and {0, 1} <= set(found["team"]) <= {-1, 0, 1} and found["seq"] == space.seq
    place = found["team"].index(1)
    body = {"query": 1, "item": found["ids"][place], "like": True, "duel_id": found["duel_id"]}
    assert http.post(f"{A}/feedback", json=body).status_code == 202
    record = http.get(f"{A}/versions").json()["versions"][1]["duels"]
    assert record["likes"] + record["likes_against"] == 1
    (line,) = [x for x in http.get(f"{A}/feedback?format=ubi").text.splitlines() if found["duel_id"] in x]
    assert json.loads(line)["event_attributes"]["position"]["ordinal"] == place + 1


def test_the_map_has_pairs_in_the_order_of_ids_and_a_tag_by_version(http, space):
    answer = http.get(f"{A}/map")
    pairs = np.frombuffer(answer.content, "<f4").reshape(-1, 2)
    assert np.array_equal(pairs, space.map("a")) and len(pairs) == N
    tag = answer.headers["etag"]
    assert http.get(f"{A}/map", headers={"If-None-Match": tag}).status_code == 304
    teach(space)
    assert http.get(f"{A}/map", headers={"If-None-Match": tag}).status_code == 304
    http.post(f"{A}/versions")
    http.post(f"{A}/versions/1/activate")
    changed = http.get(f"{A}/map", headers={"If-None-Match": tag})
    assert changed.status_code == 200 and changed.headers["etag"] != tag
    assert http.get(f"{A}/map?version=plain").headers["etag"] == tag


def test_health_numbers_and_the_document_are_there(http, space):
    teach(space, 2)
    http.post(f"{A}/query", json={"id": 1})
    assert http.get("/livez").status_code == http.get("/readyz").status_code == 200
    text = http.get("/metrics").text
    assert 'gramian_feedback_total{collection="a"} 2' in text
    assert 'gramian_request_seconds_count{kind="query"} 1' in text
    document = http.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert f"{A}/query".replace("/a/", "/{c}/") in document["paths"]
    assert "http" not in json.dumps(document["paths"])


def test_without_a_built_page_there_is_one_sentence(space, tmp_path):
    from starlette.testclient import TestClient

    from gramian.service.http import create_app

    with TestClient(create_app(space, static=tmp_path), base_url="http://127.0.0.1:8000") as client:
        assert "the page is not built" in client.get("/").text
        assert client.get("/v1/collections").status_code == 200


def test_a_built_page_is_served(space, tmp_path):
    from starlette.testclient import TestClient

    from gramian.service.http import create_app

    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "index.html").write_text("<h1>hello</h1>")
    (tmp_path / "secret.txt").write_text("secret")
    app = create_app(space, tokens=["admin:a-secret"], static=tmp_path / "static")
    client = TestClient(app, base_url="http://127.0.0.1:8000")
    assert "hello" in client.get("/").text
    for path in ("/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "//etc/passwd"):
        assert client.get(path).status_code == 404
    assert client.get("/v1/collections").status_code == 401


def test_pictures_are_those_of_the_folder_and_no_others(space, tmp_path):
    from starlette.testclient import TestClient

    from gramian.service.http import create_app

    (tmp_path / "one.png").write_bytes(b"picture")
    space.add("a", [[0.0] * D] * 2, [900, 901], meta=[{"image": "one.png"}, {"image": "../space/space.db"}])
    client = TestClient(create_app(space, pictures={"one.png": tmp_path / "one.png"}), base_url="http://localhost")
    assert client.get(f"{A}/items/900/image").content == b"picture"
    assert client.get(f"{A}/items/901/image").status_code == client.get(f"{A}/items/1/image").status_code == 404


def test_events_are_pushed_in_order_and_resumed(served, space):
    new = served.events()
    got, stop = [], threading.Event()

    def follow():
        for event in new:
            got.append(event)
            if len(got) == 20:
                stop.set()
                return

    follower = threading.Thread(target=follow, daemon=True)
    follower.start()
    import time

    for _ in range(100):
        if space._writer._listeners[1:]:
            break
        time.sleep(0.05)
    first = space.seq + 1
    teach(space, 20)
    assert stop.wait(20)
    assert [event["seq"] for event in got] == list(range(first, first + 20))
    resumed = served.events(after=1)
    assert [next(resumed)["seq"] for _ in range(5)] == [2, 3, 4, 5, 6]
    resumed.close()


def test_the_client_has_the_words_of_a_space(served, points):
    assert [c["name"] for c in served.collections()] == ["a"]
    served.create("b", 2)
    served.add("b", [[0, 0], [1, 0], [0, 2]], [7, 8, 9], meta=[{"n": 1}, {}, {}])
    assert served.query("b", id=7, k=2)["ids"] == [8, 9]
    assert served.query("b", [0.9, 0.0], k=1)["ids"] == [8]
    seq = served.feedback("b", 7, 9, True, key="once")["seq"]
    assert served.feedback("b", 7, 9, True, key="once")["seq"] == seq
    served.feedback("b", 7, 8, False)
    assert served.learn("b")["version"] == 1
    served.activate("b", 1)
    assert served.versions("b")["active"] == 1
    assert len(served.transform("b", [[1, 2]])[0]) == 2
    served.undo("b", seq)
    served.remove("b", 8)
    assert served.item("b", 7)["meta"] == {"n": 1}
    with pytest.raises(ValueError, match="no item 8") as refused:
        served.item("b", 8)
    assert refused.value.status == 404


def test_long_answers_are_written_in_pieces_beside_the_loop(http, space, monkeypatch):
    """While JSON is made no other thread computes, so that one long list would hold up everybody."""
    import asyncio

    from gramian.service.http import requests

    monkeypatch.setattr(requests, "NUMBERS", 60)
    seqs = teach(space, 230)
    space.feedback("a", [0.5] * D, 3, True)
    sizes, dumps = [], json.dumps

    def measured(content, **named):
        text = dumps(content, **named)
        sizes.append((len(text), asyncio._get_running_loop() is not None))
        return text

    monkeypatch.setattr(requests.json, "dumps", measured)
    full = http.get(f"{A}/feedback", params={"limit": 100_000}).json()["feedback"]
    assert [click["seq"] for click in full] == [*seqs, seqs[-1] + 1] and full == space.clicks("a", limit=1000)
    assert http.get(f"{A}/feedback", params={"limit": 150, "after": seqs[9]}).json()["feedback"] == full[10:160]
    for form in ("jsonl", "ubi"):
        lines = http.get(f"{A}/feedback", params={"format": form, "limit": 205}).text.splitlines()
        assert len(lines) == 205 and (form == "ubi" or list(map(json.loads, lines)) == full[:205])
    listed = http.get(f"{A}/items", params={"fields": "id,x,meta"}).json()
    assert listed == {"items": [space.item("a", i) | {} for i in range(1, N + 1)], "next": None}
    assert http.get(f"{A}/items", params={"after": N}).json() == {"items": [], "next": None}
    X = space.collection("a").points(range(1, N + 1)).tolist()
    assert http.post(f"{A}/transform", json={"x": X}).json()["z"] == X
    assert len(http.get(f"{A}/columns", params={"field": "number"}).json()["codes"]) == N
    assert not any(beside for size, beside in sizes if size > 200)
    assert max(size for size, _ in sizes) < 4000 < sum(size for size, _ in sizes)


def test_a_feedback_list_of_no_collection_is_unknown(http):
    assert http.get("/v1/collections/no/feedback").status_code == 404
