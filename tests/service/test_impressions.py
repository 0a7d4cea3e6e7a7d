"""Lists as they were shown, clicks without a judgment, and what places are looked at."""

import json

import numpy as np
import pytest

from gramian.service import Space, duels, events, evidence, reports
from gramian.service.changes import Click, take_click
from tests.service.conftest import teach


def test_a_list_that_is_kept_gives_places_and_no_credit(space):
    found = space.query("a", id=1, k=5, shown=True)
    assert "query_id" not in space.query("a", id=1, k=5)
    space.feedback("a", 1, found["ids"][2], None, duel_id=found["query_id"])
    (event,) = [event for event in space.events() if event["op"] == "duel"]
    assert event["ids"] == found["ids"] and set(event["team"]) == {-1}
    (click,) = space.clicks("a")
    assert click["like"] is None
    with space.store.reading() as db:
        assert reports.positions(db, [click]) == [3]
    line = reports.ubi(click, "a", 3)
    assert line["action_name"] == "click" and line["event_attributes"]["position"]["ordinal"] == 3
    space.undo("a", click["seq"])
    assert space.versions("a")["versions"][0]["duels"]["queries"] == 0


def test_a_click_is_a_weak_like(tmp_path, points):
    """As many clicks are worth less than likes, and more than nothing."""
    weights = []
    for like in (True, None):
        with Space(tmp_path / str(like), learning=False) as space:
            space.create("a", points.shape[1])
            space.add("a", points)
            for i in range(100):
                j = int(np.argsort(abs(points[:, 0] - points[i, 0]))[1])
                space.feedback("a", i, j, like)
            space.learn("a")
            with space.store.reading() as db:
                found = evidence.gather(db, space.collection("a"), space.seq)
            assert found.n == 100 and found.likes.n == pytest.approx(100 * (1 if like else evidence.WEAK))
            M = space.collection("a").version(1).metric.matrix
            weights.append(M[0, 0] / np.trace(M))
    assert 1 / 6 < weights[1] < weights[0]


def test_the_coin_tells_how_much_less_the_lower_place_is_looked_at(space):
    """People who look at each place with 0.6 of the chance of the one above: found without knowing what is good."""
    rng = np.random.default_rng(0)
    teach(space)
    space.learn("a")

    def visits(draft):
        for _ in range(3000):
            rankings = [rng.permutation(np.arange(1, 41)).tolist() for _ in range(2)]
            duel = duels.interleave(1, rankings[0], 0, rankings[1], 4, rng)
            duels.open_duel(draft, "a", duel, 1)
            for place, item in enumerate(duel.ids):
                if rng.random() < 0.6**place * (0.8 if item % 2 else 0.2):
                    take_click(draft, "a", Click(1, item, None, None, duel.id))

    space.transact(visits)
    with space.store.reading() as db:
        looks = evidence.propensities(db, space.collection("a").number, space.seq)
    assert looks[0] == 1 and looks[1] == pytest.approx(0.6, abs=0.06)
    assert looks[3] / looks[2] == pytest.approx(0.6, abs=0.12)


def test_insights_come_back(space, tmp_path, points):
    space.feedback("a", 1, 2, True, user="ann")
    space.feedback("a", [0.5] * 6, 3, False)
    space.undo("a", space.feedback("a", 1, 4, True)["seq"])
    space.feedback("a", 5, 6, None)
    lines = [json.dumps(reports.ubi(click, "a", None)) for click in space.clicks("a")]
    del_query = json.loads(lines[0])
    del del_query["event_attributes"]["query"]  # as others write it
    with Space(tmp_path / "other", learning=False) as other:
        other.create("a", 6)
        other.add("a", points, list(range(1, 121)))
        assert events.import_events(other, [json.dumps(del_query), *lines[1:]])["events"] == 3
        said = [(click["query"], click["item"], click["like"]) for click in other.clicks("a")]
        assert said == [(1, 2, True), ([0.5] * 6, 3, False), (5, 6, None)]
        seq = other.seq
        del_query["query_id"] = "abc"
        with pytest.raises(ValueError, match="line 1 cannot be replayed .*query must be an id"):
            events.import_events(other, [json.dumps(del_query)])
        assert other.seq == seq


def test_clicks_and_lists_go_over_http(http, space):
    found = http.post("/v1/collections/a/query", json={"id": 1, "k": 3, "shown": True}).json()
    body = {"query": 1, "item": found["ids"][0], "like": None, "query_id": found["query_id"]}
    assert http.post("/v1/collections/a/feedback", json=body).status_code == 202
    (line,) = http.get("/v1/collections/a/feedback?format=ubi").text.splitlines()
    assert json.loads(line)["event_attributes"]["position"]["ordinal"] == 1
    assert http.post("/v1/collections/a/feedback", json={"query": 1, "item": 2}).status_code == 422
