"""What the page says at a glance, beside slower ways to the same."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

from gramian.service import Space, outline

RNG = np.random.default_rng(5)
N = 90
COLORS = ["red", "green", "blue"]


@pytest.fixture(scope="module")
def space(tmp_path_factory):
    color, shape = RNG.integers(0, 3, N), RNG.integers(0, 4, N)
    X = np.hstack([2.0 * np.eye(3)[color], np.eye(4)[shape]]) + 0.2 * RNG.standard_normal((N, 7))
    rows = [{"name": f"thing {i}", "shape": int(s), "color": COLORS[c]} for i, (c, s) in enumerate(zip(color, shape))]
    with Space(tmp_path_factory.mktemp("outline") / "space", learning=False) as opened:
        opened.create("a", 7)
        opened.add("a", X, list(range(N)), meta=[{**row, "own": i} for i, row in enumerate(rows)])
        yield opened


def test_fields_that_sort_the_items_come_in_the_order_of_what_they_explain(space):
    view = space.collection("a")
    told = outline.start(view)
    assert [kind["field"] for kind in told["kinds"]] == ["color", "shape"]
    assert told["kinds"][0]["values"] == sorted(COLORS) and set(told["fields"]) == {"name", "shape", "color", "own"}
    X, rows = view.points(view.ids), [space.item("a", i)["meta"] for i in range(N)]
    for field in ("color", "shape"):
        codes, values = outline.kinds(rows, field)
        H = np.eye(len(values))[codes]
        r2 = r2_score(X, LinearRegression(fit_intercept=False).fit(H, X).predict(H), multioutput="variance_weighted")
        adjusted = 1 - (1 - r2) * (N - 1) / (N - len(values))
        np.testing.assert_allclose(outline.explained(X, codes), adjusted)


def test_a_first_look_has_all_kinds_and_three_to_begin_with(space):
    told = outline.start(space.collection("a"))
    assert {meta["color"] for meta in told["listed"]["meta"][:3]} == set(COLORS)
    assert len(told["listed"]["ids"]) == outline.LISTED == len(set(told["listed"]["ids"]))
    assert {meta["color"] for meta in told["examples"]["meta"]} == set(COLORS)


def test_the_nearest_liked_items_and_what_is_shared(space):
    view = space.collection("a")
    metric = view.versions[0].metric
    told = outline.likeness(view, metric, (3, 8), [20, 40, 60, 8])
    X = view.points(view.ids)
    liked = sorted([3, 20, 40, 60], key=lambda i: ((X[i] - X[8]) ** 2).sum())
    assert [row["id"] for row in told["nearest"]] == liked[:3]
    for row in told["nearest"]:
        D = ((X - X[row["id"]]) ** 2).sum(axis=1)
        assert row["closer"] == pytest.approx(np.mean(D[8] < D))
    metas = [space.item("a", i)["meta"] for i in range(N)]
    for row in told["shared"]:
        assert metas[3][row["field"]] == metas[8][row["field"]] == row["value"]
        assert row["share"] == pytest.approx(np.mean([meta[row["field"]] == row["value"] for meta in metas]))


def test_clicks_are_counted_before_and_since_a_version_is_in_use(tmp_path):
    with Space(tmp_path / "space", learning=False) as opened:
        opened.create("a", 2)
        opened.add("a", RNG.standard_normal((20, 2)))
        seqs = [opened.feedback("a", query=0, item=i, like=i % 3 == 0)["seq"] for i in range(1, 8)]
        opened.learn("a")
        opened.activate("a", 1)
        opened.undo("a", seqs[0])
        opened.feedback("a", query=0, item=9, like=True)
        with opened.store.reading() as db:
            told = outline.since(db, opened.collection("a"))
    assert told["before"] == {"likes": 2, "judged": 6} and told["after"] == {"likes": 1, "judged": 1}
    assert told["version"] == 1


def test_an_empty_collection_has_nothing_to_begin_with(tmp_path):
    with Space(tmp_path / "space", learning=False) as opened:
        opened.create("a", 2)
        told = outline.start(opened.collection("a"))
    assert told["fields"] == told["kinds"] == told["listed"]["ids"] == told["examples"]["ids"] == []
