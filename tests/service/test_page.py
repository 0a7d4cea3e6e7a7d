"""What the page asks beside the other routes: words, columns, why, the live map, encoders, demonstrations."""

import asyncio
import base64
import json
import logging
import queue
import tarfile

import numpy as np
import pytest

pytest.importorskip("fastapi")
from benchmarks.serve import glosses  # noqa: E402

from gramian.service import Space, archive, demo, encoders, sources  # noqa: E402
from gramian.service.demo import digits, emoji  # noqa: E402
from gramian.service.meta import Texts  # noqa: E402
from gramian.service.sources import Source  # noqa: E402
from tests.service.conftest import teach  # noqa: E402

A = "/v1/collections/a"


def named(tmp_path, names, **more):
    space = Space(tmp_path / "named", learning=False)
    space.create("a", 2)
    space.add("a", np.arange(2.0 * len(names)).reshape(-1, 2), meta=[{"name": n, **more} for n in names])
    return space


def test_words_find_equal_names_first_then_whole_words_then_parts(tmp_path):
    with named(tmp_path, ["heartbeat", "red heart", "heart", "cart", "heart of red gold"], note="Café\nX") as space:
        view = space.collection("a")
        names = lambda words: [json.loads(view.metas[i])["name"] for i in Texts().search(view, words, 9)[0]]  # noqa: E731
        assert names("heart") == ["heart", "red heart", "heart of red gold", "heartbeat"]
        assert names("RED  heart") == ["red heart", "heart of red gold"]
        assert len(names("café x")) == 5 and names("nothing") == []
        assert names("heart") == names("heart")[:4] and Texts().search(view, "heart", 2)[0].tolist() == [2, 1]
        assert Texts().search(view, "art", 2)[1] == 5


def test_a_word_among_the_names_of_an_item_comes_before_longer_words_and_texts(tmp_path):
    found = ["animalism", "animal fat", "animal, animate being", "beast", "cell of an animal"]
    with named(tmp_path, found, text="an animal") as space:
        view = space.collection("a")
        order = [json.loads(view.metas[i])["name"] for i in Texts().search(view, "animal", 9)[0]]
        assert order == ["animal, animate being", "animal fat", "cell of an animal", "animalism", "beast"]


def test_words_follow_new_and_removed_items(space):
    texts = Texts()
    assert texts.search(space.collection("a"), "red", 500)[1] == 60
    space.remove("a", 1)
    space.add("a", np.zeros((1, 6)), [500], meta=[{"name": "red thing"}])
    found, total = texts.search(space.collection("a"), "red", 500)
    assert total == 60 and found[0] == 500 and 1 not in found


def test_a_search_has_distances_to_its_first_item(http, space):
    found = http.get(f"{A}/search", params={"text": "green", "k": 5}).json()
    X = space.collection("a").points(found["ids"])
    np.testing.assert_allclose(found["sqdist"], ((X - X[0]) ** 2).sum(axis=1))
    assert found["total"] == 60 and found["x"] == X[0].tolist()
    empty = http.get(f"{A}/search", params={"text": "blue"}).json()
    assert empty == {"ids": [], "meta": [], "total": 0, "sqdist": [], "x": None}


def test_a_column_has_the_value_of_every_item(http, space):
    column = http.get(f"{A}/columns", params={"field": "color"}).json()
    listed = http.get(f"{A}/items", params={"fields": "id,meta", "limit": 120}).json()["items"]
    assert [column["values"][c] for c in column["codes"]] == [item["meta"]["color"] for item in listed]
    assert http.get(f"{A}/columns", params={"field": "none"}).status_code == 404
    assert set(http.get(f"{A}/about").json()["fields"]) == {"color", "number"}


def test_shares_sum_to_the_distance_and_usual_ones_to_the_mean_over_random_pairs(http, space):
    sources.features.cache_clear()
    sources.describe(space.store.folder, "a", ["first"] * 2 + ["rest"] * 4)
    teach(space, 40)
    space.learn("a")
    space.activate("a", 1)
    said = http.get(f"{A}/why", params={"a": 3, "b": 8}).json()
    view = space.collection("a")
    M = view.versions[1].metric.matrix
    x, y = view.points([3, 8])
    shares = (x - y) * (M @ (x - y))
    groups = {group["name"]: group for group in said["groups"]}
    np.testing.assert_allclose(groups["first"]["share"], shares[:2].sum())
    np.testing.assert_allclose(said["sqdist"], (x - y) @ M @ (x - y))
    X = view.points(view.ids)
    V = (X[:, None] - X[None]).reshape(-1, 6)
    np.testing.assert_allclose(sum(g["usual"] for g in groups.values()), np.einsum("ij,jk,ik->i", V, M, V).mean())
    assert http.get(f"{A}/why", params={"a": 3, "b": 9999}).status_code == 404


def test_the_live_map_is_that_of_the_metric_that_would_be_learned(http, space):
    plain = http.get(f"{A}/map?version=live")
    assert plain.content == http.get(f"{A}/map?version=plain").content
    seqs = teach(space, 40)
    live = http.get(f"{A}/map?version=live")
    space.learn("a")
    np.testing.assert_array_equal(np.frombuffer(live.content, "<f4"), space.map("a", 1).ravel())
    assert live.headers["etag"] != plain.headers["etag"]
    for seq in seqs:
        space.undo("a", seq)
    assert http.get(f"{A}/map?version=live").content == plain.content


def test_digits_fill_an_empty_space_and_only_that(tmp_path, http):
    from starlette.testclient import TestClient

    from gramian.service.http import create_app

    assert http.post("/v1/demo").status_code == 409
    with Space(tmp_path / "empty", learning=False) as space:
        client = TestClient(create_app(space), base_url="http://127.0.0.1:8000")
        assert client.post("/v1/demo").json()["collection"] == "digits"
        picture = client.get("/v1/collections/digits/items/7/image")
        assert picture.status_code == 200 and picture.content.startswith(b"\x89PNG")
        assert client.get("/v1/collections/digits/about").json()["groups"][0] == "top left"
    archive.backup(tmp_path / "empty", tmp_path / "copy.zip")
    archive.restore(tmp_path / "copy.zip", tmp_path / "again")
    assert (tmp_path / "again" / "pictures" / "digit-0007.png").read_bytes() == picture.content


def test_our_png_is_read_by_others():
    image = pytest.importorskip("PIL.Image")
    import io

    pixels = np.arange(12.0).reshape(3, 4) * 20
    np.testing.assert_array_equal(np.asarray(image.open(io.BytesIO(digits.png(pixels)))), pixels)


def test_colors_are_named_as_people_name_them():
    solid = {"red": (0.9, 0.1, 0.1), "green": (0.1, 0.7, 0.2), "blue": (0.1, 0.3, 0.9), "yellow": (1, 0.85, 0.1)}
    solid |= {"white": (0.98, 0.98, 0.98), "black": (0.05, 0.05, 0.05), "brown": (0.45, 0.25, 0.1)}
    for word, color in solid.items():
        assert emoji.dominant(np.tile([*color, 1.0], (64, 64, 1))) == word
    clear = np.tile([0.9, 0.1, 0.1, 0.0], (64, 64, 1))
    clear[:20] = [0.1, 0.7, 0.2, 1.0]  # only what is opaque counts
    assert emoji.dominant(clear) == "green"


def test_histograms_are_shares_that_turn_with_the_picture(rng):
    pixels = rng.random((64, 64, 4))
    assert np.isclose((encoders.colors(pixels) ** 2).sum(), 1) and np.isclose((encoders.shapes(pixels) ** 2).sum(), 1)
    np.testing.assert_allclose(encoders.colors(pixels), encoders.colors(pixels[::-1]))
    cells = encoders.shapes(pixels).reshape(4, 4, 4)
    flipped = encoders.shapes(pixels[::-1, ::-1]).reshape(4, 4, 4)  # half a turn keeps directions
    np.testing.assert_allclose(flipped, cells[::-1, ::-1], atol=1e-12)


def test_a_picture_is_encoded_where_its_item_is(tmp_path):
    pillow = pytest.importorskip("PIL.Image")
    from starlette.testclient import TestClient

    from gramian.service.http import create_app

    contents = []
    for i, color in enumerate(("red", "green", "blue")):
        path = tmp_path / f"{i}.png"
        pillow.new("RGBA", (40, 30), color).save(path)
        contents.append(path.read_bytes())
    X, encoder = emoji._features([encoders.read_picture(c) + 0 * i for i, c in enumerate(contents)], ["one two"] * 3)
    with Space(tmp_path / "s", learning=False) as space:
        space.create("e", X.shape[1])
        space.add("e", X, [0, 1, 2])
        sources.describe(space.store.folder, "e", ["x"] * X.shape[1], encoder)
        client = TestClient(create_app(space), base_url="http://127.0.0.1:8000")
        sent = {"image": base64.b64encode(contents[1]).decode()}
        x = client.post("/v1/collections/e/encode", json=sent).json()["x"]
        np.testing.assert_allclose(x[:64], X[1, :64], atol=1e-6)
        assert client.post("/v1/collections/e/encode", json={"image": "bm90IGEgcGljdHVyZQ=="}).status_code == 422
        assert client.post("/v1/collections/e/encode", json={"image": "%"}).status_code == 422
        assert client.post("/v1/collections/e/encode", json={}).status_code == 422


def test_synsets_are_read_from_their_lines(tmp_path):
    line = '00001740 03 n 02 entity 0 living_thing(a) 1 001 ~ 00001930 n 0000 | what is; "an example"  \n'
    content = tmp_path / "data.noun"
    content.write_text("  1 license text\n" + line)
    with tarfile.open(tmp_path / "WNdb.tar.gz", "w:gz") as packed:
        packed.add(content, "dict/data.noun")
    with tarfile.open(tmp_path / "WNdb.tar.gz") as packed:
        (entry,) = glosses.synsets(glosses.text_of(packed, "dict/data.noun"))
    assert entry == {"name": "entity, living thing", "kind": "noun.Tops", "text": "what is"}


def test_where_a_source_cannot_be_had_there_are_digits_and_a_sentence(tmp_path, monkeypatch, capsys):
    pytest.importorskip("typer")
    from gramian.cli import main

    monkeypatch.setenv("GRAMIAN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(emoji, "fetch", _no_source)
    pytest.importorskip("PIL")
    assert main(["demo-data", "emoji", "--space", str(tmp_path / "s")]) == 0
    said = capsys.readouterr()
    assert "No emoji: nothing here. In their place: 1,797 handwritten digits" in said.out
    with Space(tmp_path / "s", learning=False) as space:
        assert list(space.snapshot.collections) == ["digits"]


def _no_source(package, wanted):
    raise demo.Unavailable("nothing here.")


def test_a_demonstration_is_made_once(tmp_path, monkeypatch):
    calls = []

    def make(step):
        calls.append(1)
        X = encoders.scaled(np.eye(3))[0]
        return Source(X, [{"name": "n"}] * 3, ["a"] * 3, origin="made.", notice="notice")

    monkeypatch.setitem(demo.KINDS, "emoji", make)
    with Space(tmp_path / "s", learning=False) as space:
        assert demo.fill(space, "emoji") == "made." and "already" in demo.fill(space, "emoji")
    assert calls == [1] and (tmp_path / "s" / "NOTICE-emoji.txt").read_text() == "notice"


def test_pages_that_are_open_when_a_server_stops_are_no_error():
    pytest.importorskip("typer")
    from gramian.cli.serving import _left_open

    def said(message, error=None):
        found = (type(error), error, None) if error else None
        return _left_open(logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, message, (), found))

    assert not said("Cancel 1 running task(s), timeout graceful shutdown exceeded")
    assert not said("Exception in ASGI application", asyncio.CancelledError())
    assert said("Exception in ASGI application", ValueError("no")) and said("something else")


def test_a_browser_is_opened_where_there_is_one_to_open(monkeypatch):
    pytest.importorskip("typer")
    from gramian.cli import serving

    opened = queue.Queue()
    monkeypatch.setattr(serving.webbrowser, "open", opened.put)
    monkeypatch.setattr(serving.sys, "platform", "linux")
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    serving._show("http://nowhere")
    monkeypatch.setenv("BROWSER", "anything")
    serving._show("http://here")
    assert opened.get(timeout=60) == "http://here" and opened.empty()
