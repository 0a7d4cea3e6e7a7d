"""A memory of an agent: what is read and judged teaches, once, and what was learned must win."""

import numpy as np
import pytest

from gramian.service import Space, memory
from gramian.service.memory import Memory
from gramian.service.models import TextEncoder

WORDS = ["tea", "rain", "red", "green", "spring", "morning"]


def encode(texts):
    """Which of the words stand in each text, and 1."""
    return [[*(float(word in text.lower()) for word in WORDS), 1.0] for text in texts]


ENCODER = TextEncoder("tests:encode", encode, len(WORDS) + 1)


@pytest.fixture
def remembered(tmp_path):
    with Space(tmp_path / "space", learning=False) as space:
        memory = Memory(space, encoder=ENCODER)
        memory.remember("Green tea in the morning.", {"kind": "taste"})
        memory.remember("Rain in spring " * 30, {"kind": "weather"})
        memory.remember("Red and green.", {"kind": "color"})
        yield memory


def live(memory):
    """Item and judgment of the clicks that count."""
    return [(click["item"], click["like"]) for click in memory.space.clicks(memory.name) if not click["undone"]]


def test_nothing_is_remembered_until_something_is(tmp_path):
    with Space(tmp_path / "space", learning=False) as space:
        empty = Memory(space, encoder=ENCODER)
        assert empty.search("tea") == {"query_id": None, "results": [], "notice": "Nothing is remembered yet."}
        assert space.seq == 0 and not empty.begun
        assert empty.remember("Tea.")["id"] == 0 and empty.begun
    with Space(tmp_path / "space", learning=False) as space:
        with pytest.raises(ValueError, match="must be 'tests:encode', by which .* were made, got 'other'"):
            Memory(space, encoder=TextEncoder("other", encode, len(WORDS) + 1))
        with pytest.raises(ValueError, match="texts need an encoder; start with --encoder"):
            Memory(space).search("tea")
        assert Memory(space).search(id=0)["results"] == []


def test_a_list_shows_the_beginning_and_no_side(remembered):
    shown = remembered.search("rain in spring", k=2)
    first = shown["results"][0]
    assert set(shown) == {"query_id", "results"} and set(first) == {"id", "text", "whole", "meta"}
    assert first["id"] == 1 and not first["whole"] and len(first["text"]) == memory.SHOWN + 1
    assert remembered.read(1)["text"] == "Rain in spring " * 30 and live(remembered) == []
    assert [row["id"] for row in remembered.search("tea", where={"kind": ["color", "taste"]})["results"]] == [0, 2]
    assert 0 not in [row["id"] for row in remembered.search(id=0)["results"]]
    assert remembered.search(vector=encode(["red"])[0], k=1)["results"][0]["id"] == 2
    for asked, got in (({}, "none"), ({"text": "tea", "id": 1}, "text and id")):
        with pytest.raises(ValueError, match=f"one of text, vector and id, got {got}"):
            remembered.search(**asked)


def test_the_same_text_is_one_item_and_an_id_is_replaced(remembered):
    again = remembered.remember("Red and green.", {"kind": "flag"})
    assert again["id"] == 2 and again["replaced"] and remembered.read(2)["meta"] == {"kind": "flag"}
    assert remembered.remember("Tea, green, in the spring.", id=0)["replaced"]
    assert remembered.read(0)["text"] == "Tea, green, in the spring."
    assert remembered.remember("New.", id=40) == {"id": 40, "replaced": False, "seq": remembered.space.seq}
    assert remembered.forget(40)["id"] == 40
    with pytest.raises(ValueError, match="no item 40"):
        remembered.forget(40)
    with pytest.raises(ValueError, match="meta must not have a field 'text'"):
        remembered.remember("Tea.", {"text": "x"})


def test_what_is_said_of_an_item_in_a_list_counts_once(remembered):
    query_id = remembered.search("green", k=3, user="an agent")["query_id"]
    assert remembered.read(0, query_id)["meta"] == {"kind": "taste"}
    remembered.read(0, query_id)
    assert live(remembered) == [(0, None)]
    assert remembered.useful(query_id, 0)["counted"] and not remembered.useful(query_id, 0)["counted"]
    assert live(remembered) == [(0, True)]
    remembered.read(0, query_id)
    assert remembered.useful(query_id, 0, not_useful=True)["counted"] and live(remembered) == [(0, False)]
    remembered.useful(query_id, 0)
    other = remembered.search("green", k=3)["query_id"]
    remembered.read(0, other)
    assert live(remembered) == [(0, True), (0, None)]
    with pytest.raises(ValueError, match="item must be one that duel"):
        remembered.useful(remembered.search("tea", k=1)["query_id"], 2)
    for wrong in (lambda: remembered.useful("nothing", 0), lambda: remembered.read(0, "nothing")):
        with pytest.raises(ValueError, match="no search 'nothing'"):
            wrong()
    assert len(live(remembered)) == 2


def test_vectors_alone_need_no_encoder(tmp_path):
    with Space(tmp_path / "space", learning=False) as space:
        plain = Memory(space, "notes")
        assert plain.remember("one", vector=[0, 1])["id"] == 0 and plain.remember("two", vector=[1, 0])["id"] == 1
        assert [row["id"] for row in plain.search(vector=[1, 0.1])["results"]] == [1, 0]
        with pytest.raises(ValueError, match="Space: x must be 2 numbers"):
            plain.remember("three", vector=[1, 2, 3])
        with pytest.raises(ValueError, match="texts need an encoder"):
            plain.remember("three")
        with pytest.raises(ValueError, match=r"vector must have 7 numbers, as those of texts, got shape \(2,\)"):
            Memory(space, "other", ENCODER).remember("three", vector=[1, 2])
        assert "other" not in space.snapshot.collections


def test_uses_teach_a_candidate_that_must_win_the_searches_that_follow(tmp_path):
    rng = np.random.default_rng(0)
    X = np.hstack([rng.normal(size=(60, 1)), 3 * rng.normal(size=(60, 4))])  # the first of five numbers matters
    with Space(tmp_path / "space", learning=False, learner="gmml") as space:
        agent = Memory(space, "notes")
        space.create("notes", 5)
        space.add("notes", X, meta=[{"text": f"note {i}"} for i in range(60)])

        def work(visits):
            for i in rng.integers(60, size=visits).tolist():
                shown = agent.search(id=i, k=8)
                for row in shown["results"]:
                    if abs(X[row["id"], 0] - X[i, 0]) < 0.3:
                        agent.read(row["id"], shown["query_id"])
                    else:
                        agent.useful(shown["query_id"], row["id"], not_useful=True)

        work(25)
        version = space.learn("notes")["version"]
        assert space.collection("notes").active == 0
        for _ in range(20):
            work(8)
            if space.collection("notes").candidate is None:
                break
        assert space.collection("notes").active == version
        assert {event["version"] for event in space.events(limit=10_000) if event["op"] == "verdict"} == {version}


def test_the_encoder_is_the_one_of_the_space(tmp_path, monkeypatch):
    with Space(tmp_path / "space", learning=False) as space:
        monkeypatch.setattr(memory.encoders, "words", lambda: None)
        assert memory.encoder_of(space, "memory", None) is None
        Memory(space, encoder=ENCODER).remember("Tea.")
        with pytest.raises(ValueError, match="encoded by 'tests:encode'; name it with --encoder"):
            memory.encoder_of(space, "memory", None)
        monkeypatch.setattr(memory.encoders, "words", lambda: True)
        monkeypatch.setattr(memory, "WORDS", f"{__name__}:encode")
        with pytest.raises(ValueError, match="encoded by"):
            memory.encoder_of(space, "memory", None)
        space.create("vectors", 2)
        assert memory.encoder_of(space, "vectors", None) is None
