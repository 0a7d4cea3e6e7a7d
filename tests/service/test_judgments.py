"""Graded judgments teach before anybody clicks: by one rule, once, all or none, and what they taught must win."""

import re
import sqlite3
import sys
import types

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.cli import main
from gramian.service import Space, events, evidence
from gramian.service.judgments import weighed
from gramian.service.models import TextEncoder
from tests.service.conftest import D

GRADES = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30)


def gathered(space):
    """Query, item, like and weight of what a learner gets."""
    with space.store.reading() as db:
        queries, items, liked, weights = evidence.gather(db, space.collection("a"), space.seq).pairs()
    return list(zip(queries.tolist(), items.tolist(), liked.tolist(), weights.tolist()))


def test_grades_have_weights():
    assert weighed([0, 1]).tolist() == [-1, 1]
    assert weighed([-2, -1, 0, 1, 2, 3]).tolist() == pytest.approx([-1, -0.6, -0.2, 0.2, 0.6, 1])
    assert weighed([0.1, 0.5, 0.6, 0.9]).tolist() == pytest.approx([-1, 0, 0.25, 1])
    assert weighed([1, 3, 10], above=5).tolist() == [-1, -0.5, 1]
    with pytest.warns(UserWarning, match="all grades are above 0.5, so that all are likes; name another threshold"):
        assert weighed([1, 2]).tolist() == pytest.approx([1 / 3, 1])
    with pytest.raises(ValueError, match="grades"):
        weighed([0, np.nan])
    with pytest.raises(ValueError, match="above must be a number"):
        weighed([0, 1], above=np.inf)


@given(GRADES, st.floats(0.01, 100), st.floats(-10, 10))
@pytest.mark.filterwarnings("ignore:judge")
def test_weights_follow_the_scale_of_the_grades(grades, scale, shift):
    """By a second road: a rescaled judge says the same, the farthest on each side says 1, and order stays."""
    weights = weighed(grades)
    np.testing.assert_allclose(weighed(scale * np.array(grades) + shift, scale * 0.5 + shift), weights, atol=1e-3)
    order = np.argsort(grades, kind="stable")
    assert (np.diff(weights[order]) >= 0).all() and np.abs(weights).max() <= 1
    for side in (weights > 0, weights < 0):
        assert not side.any() or np.abs(weights[side]).max() == 1


def test_judgments_teach_with_their_weights_and_once(space, points):
    listed = [1, 1, 2, 2, 3], [4, 5, 6, 7, 8], [0, 3, 1, 2, 0.5]
    done = space.judge("a", *listed, judge="experts")
    assert done == {"new": 4, "replaced": 0, "known": 0, "seq": space.seq}
    rows = [(q, i, w > 0, abs(w)) for q, i, w in zip(*listed[:2], weighed(listed[2])) if w]
    wanted = [(points[q - 1].tolist(), points[i - 1].tolist(), like, weight) for q, i, like, weight in rows]
    np.testing.assert_allclose([w for *_, w in gathered(space)], [w for *_, w in wanted])
    assert [row[:3] for row in gathered(space)] == [row[:3] for row in wanted]
    assert {click["user"] for click in space.clicks("a")} == {"experts"}
    seq = space.seq
    assert space.judge("a", *listed, judge="experts") == {"new": 0, "replaced": 0, "known": 4, "seq": seq}
    assert space.judge("a", [1, 1], [4, 5], [0, 3], judge="a model")["new"] == 2
    again = space.judge("a", [1, 1, 2], [4, 5, 9], [3, 0, 1], judge="experts")
    assert {word: again[word] for word in ("new", "replaced", "known")} == {"new": 1, "replaced": 2, "known": 0}
    live = [(c["item"], c["like"]) for c in space.clicks("a") if not c["undone"] and c["user"] == "experts"]
    assert live == [(6, True), (7, True), (4, True), (5, False), (9, True)]
    back = space.judge("a", [1, 1], [4, 5], [0, 1], judge="experts")
    assert back["replaced"] == 2
    mine = next(c["seq"] for c in space.clicks("a") if c["item"] == 9)
    space.undo("a", mine)
    assert space.judge("a", [2, 1], [9, 4], [0, 1], judge="experts")["known"] == 1  # what people took back stays so
    assert (9, True) not in [(c["item"], c["like"]) for c in space.clicks("a") if not c["undone"]]


def test_of_judgments_that_contradict_the_last_counts(space):
    twice = [1, 1, 1], [4, 5, 4], [1, 0, 0]
    assert space.judge("a", *twice) == {"new": 2, "replaced": 0, "known": 1, "seq": space.seq}
    seq = space.seq
    assert space.judge("a", *twice)["known"] == 3 and space.seq == seq
    assert [(c["item"], c["like"]) for c in space.clicks("a")] == [(4, False), (5, False)]


def test_all_or_none(space, monkeypatch):
    seq = space.seq
    with pytest.raises(ValueError, match="no item 999 in 'a', and 1 others that are judged"):
        space.judge("a", [1, 1, 1000], [4, 999, 5], [1, 0, 1])
    with pytest.raises(ValueError, match="must be equally many, got 1 queries, 2 items and 2 grades"):
        space.judge("a", [1], [4, 5], [1, 0])
    with pytest.raises(ValueError, match="queries must have|queries"):
        space.judge("a", np.zeros((2, D + 1)), [4, 5], [1, 0])
    with pytest.raises(ValueError, match="no encoder for texts"):
        space.judge("a", ["x", "y"], [4, 5], [1, 0])

    def full(*values):
        raise sqlite3.OperationalError("full")

    monkeypatch.setattr(evidence, "propensities", full)  # reading is not touched by writing
    from gramian.service import changes

    take, calls = changes.take_click, []

    def fails_at_the_third(*values):
        calls.append(1)
        return take(*values) if len(calls) < 3 else full()

    monkeypatch.setattr(changes, "take_click", fails_at_the_third)
    with pytest.raises(sqlite3.OperationalError):
        space.judge("a", [1, 1, 2], [4, 5, 6], [1, 0, 1])
    monkeypatch.undo()
    assert space.seq == seq and space.clicks("a") == []
    assert space.judge("a", [1, 1, 2], [4, 5, 6], [1, 0, 1])["new"] == 3


def test_queries_are_texts_vectors_or_items(space, points):
    asked = []

    def encode(texts):
        asked.append(len(texts))
        return [[len(text)] * D for text in texts]

    space.use_encoder("a", TextEncoder("lengths", encode, D))
    space.judge("a", ["tea", "tea", "coffee"], [1, 2, 3], [1, 0, 1])
    assert asked == [2] and [row[0] for row in gathered(space)] == [[3.0] * D] * 2 + [[6.0] * D]
    assert space.judge("a", points[:2], [3, 4], [1, 0])["new"] == 2
    assert space.judge("a", points[:2].tolist(), [3, 4], [1, 0])["known"] == 2
    assert gathered(space)[3][0] == points[0].tolist()
    narrow = points[5:6].astype(np.float32)
    space.judge("a", narrow[[0, 0]], [9, 10], [1, 0])
    assert gathered(space)[5][0] == narrow[0].astype(float).tolist()
    assert space.judge("a", np.array([1, 2]), np.array([3, 4]), np.array([1, 0]))["new"] == 2


def test_judgments_survive_export_and_are_known_there_too(space, tmp_path):
    listed = [1, 2, 3], [4, 5, 6], [0.2, 0.7, 0.9]
    space.judge("a", *listed)
    with Space(tmp_path / "copy", learning=False) as copy:
        events.import_events(copy, events.export_events(space))
        assert gathered(copy) == gathered(space)
        assert copy.judge("a", *listed)["known"] == 3


def test_what_judgments_teach_is_a_candidate(space, points, tmp_path):
    rng = np.random.default_rng(0)
    Q, items = np.divmod(rng.choice(120 * 120, 300, replace=False), 120)  # no pair twice
    near = np.abs(points[Q] - points[items])[:, :2].max(axis=1) < 0.7
    some = items != Q
    space.judge("a", (Q[some] + 1).tolist(), (items[some] + 1).tolist(), near[some].astype(float))
    version = space.learn("a", "gmml")["version"]
    view = space.collection("a")
    assert (view.active, view.candidate) == (0, version)
    M = view.version(version).metric.matrix
    with Space(tmp_path / "clicked", learning=False) as clicked:
        clicked.create("a", D)
        clicked.add("a", points, list(range(1, 121)))
        for query, item, like in zip(Q[some] + 1, items[some] + 1, near[some]):
            clicked.feedback_later("a", int(query), int(item), bool(like))
        clicked.feedback("a", 1, 2, True)
        clicked.undo("a", clicked.seq)
        number = clicked.learn("a", "gmml")["version"]
        same = clicked.collection("a").version(number).metric.matrix
    np.testing.assert_array_equal(M, same)  # whole judgments are clicks
    assert np.diag(M)[:2].min() > np.diag(M)[2:].max()


@pytest.fixture
def documents(tmp_path, monkeypatch):
    """A space of four documents with names and an encoder in a module."""
    module = types.ModuleType("judged_words")
    module.encode = lambda texts: [[float(word in text) for word in ("tea", "rain", "red")] for text in texts]
    monkeypatch.setitem(sys.modules, "judged_words", module)
    texts = ["red tea", "rain", "tea and rain", "red"]
    with Space(tmp_path / "docs", learning=False) as space:
        space.create("docs", 3)
        space.add("docs", module.encode(texts), meta=[{"docid": f"D-{i}"} for i in range(4)])
    return tmp_path


def imported(folder, text, *arguments, name="file.txt"):
    (folder / name).write_text(text)
    code = main(["import-judgments", str(folder / "docs"), str(folder / name), *arguments])
    with Space(folder / "docs", learning=False) as space:
        return code, [(c["query"], c["item"], c["like"]) for c in space.clicks("docs")]


QRELS = "q1 0 D-0 2\nq1 0 D-1 0\nq2 0 D-2 1\nq2 0 D-9 1\n"
BEIR = "query-id\tcorpus-id\tscore\n" + QRELS.replace(" 0 ", "\t").replace(" ", "\t")
TEA, RAIN = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("judged", "name", "queries"),
    [
        (QRELS, "qrels.txt", ("topics.tsv", "q1\ttea\nq2\train\n")),
        (QRELS, "qrels.txt", ("queries.jsonl", '{"_id": "q1", "text": "tea"}\n{"_id": "q2", "text": "rain"}\n')),
        (BEIR, "test.tsv", ("q.csv", "id,text\nq1,tea\nq2,rain\n")),
        ('query,item,grade\ntea,D-0,2\n"tea",D-1,0\nrain,D-2,1\nrain,D-9,1\n', "llm.csv", None),
    ],
)  # fmt: skip
def test_files_of_judgments(documents, capsys, judged, name, queries):
    more = ["--key", "docid", "--encoder", "judged_words:encode"]
    if queries is not None:
        (documents / queries[0]).write_text(queries[1])
        more += ["--queries", str(documents / queries[0])]
    code, clicks = imported(documents, judged, *more, name=name)
    assert code == 0 and clicks == [(TEA, 0, True), (TEA, 1, False), (RAIN, 2, True)]
    assert "2 likes, 1 dislikes of 2 queries: 3 new, 0 replaced, 0 known before; 1 of items" in capsys.readouterr().out
    assert imported(documents, judged, *more, name=name)[1] == clicks
    assert "0 new, 0 replaced, 3 known before" in capsys.readouterr().out


def test_queries_of_a_file_are_rows_or_items(documents):
    np.save(documents / "q.npy", np.array([TEA, RAIN]))
    more = ["--queries", str(documents / "q.npy"), "--above", "3"]
    assert imported(documents, "0 0 0 5\n1 0 3 1\n", *more)[1] == [(TEA, 0, True), (RAIN, 3, False)]
    assert imported(documents, "query,item,grade\n1,2,1\n9,2,1\n", name="f.csv")[1][2:] == [(1, 2, True)]
    assert imported(documents, "D-3 0 D-2 0\nD-1 0 D-0 1\n", "--key", "docid")[1][3:] == [(3, 2, False), (1, 0, True)]


@pytest.mark.parametrize(
    ("judged", "more", "sentence"),
    [
        ("q1 0 D-0\n", [], "line 1 must be 'qid 0 docid grade'"),
        ("query,item,grade\na,1,x\n", [], "line 2 must be .* got .'a', '1', 'x'."),
        ("", [], "holds no judgments"),
        ("1 0 D-0 1\n", [], "'D-0' is no id of an item; name the field of meta .* --key"),
        ("1 0 77 1\n", [], "none of the 1 judged items is in 'docs'"),
        ("1 0 2 1\n", ["--queries", "{}/q.tsv"], "query '1' is not in the file of --queries"),
        ("1 0 2 1\n", ["--queries", "{}/none.tsv"], "no such file"),
        ("1 0 2 1\n", ["--name", "other"], "no collection 'other'"),
    ],
)
def test_what_cannot_be_read_is_one_sentence_and_changes_nothing(documents, capsys, judged, more, sentence):
    (documents / "q.tsv").write_text("q1\ttea\n")
    code, clicks = imported(documents, judged, *(word.format(documents) for word in more))
    error = " ".join(capsys.readouterr().err.split())
    assert code == 2 and clicks == [] and re.search(sentence, error), error
