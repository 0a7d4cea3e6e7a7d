"""A sidecar lets queries be turned by what people found useful, once that has won, and leaves all else as it is."""

import shutil
import threading

import numpy as np
import pytest

import gramian as gm
from gramian.beside import log
from gramian.beside.log import number
from gramian.service import learning, replay
from tests.beside.problems import InMemory, by_hand, people, twisted, until

Q, X = twisted()


@pytest.fixture
def docs(tmp_path):
    with gm.beside.Sidecar(InMemory(X), tmp_path / "space") as docs:
        yield docs


@pytest.fixture(scope="module")
def adopted(tried, tmp_path_factory):
    """A closed folder in which a map was learned and has won, and its number."""
    folder = tmp_path_factory.mktemp("adopted") / "space"
    shutil.copytree(tried, folder)
    with pytest.MonkeyPatch.context() as patch, gm.beside.Sidecar(InMemory(X), folder) as docs:
        patch.setattr(learning, "FIRST", 10**9)
        people(docs, Q, range(60, 120))
        assert docs.report()["version"] == 1
    return folder


def library(rows, k=10):
    """What QueryAdapter learns from pairs of which the document was among the first, and from what stood beside it."""
    lists = {i: by_hand(X, Q[i], k) for i in rows}
    rows = [i for i in rows if i in lists[i]]
    documents = sorted({j for i in rows for j in lists[i]})
    matches = np.array([(at, documents.index(i)) for at, i in enumerate(rows)])
    return gm.QueryAdapter(random_state=0).fit(Q[rows], X[documents], matches)


def test_without_a_candidate_the_database_is_asked_as_it_would_be(docs):
    query = Q[0].tolist()
    answer = docs.search(query, 5)
    assert docs.engine.asked == [[query]] and docs.engine.asked[0][0] is query
    assert answer.ids == by_hand(X, Q[0], 5) and sorted(answer.scores, reverse=True) == answer.scores
    assert docs._log.space.seq == 1  # the collection itself


def test_what_nobody_judges_leaves_nothing_on_the_disk_and_texts_never_do(tmp_path):
    with gm.beside.Sidecar(InMemory(X, payload="a private text"), tmp_path / "s") as docs:
        answers = [docs.search(q, 5, user="ann") for q in Q[:20]]
        assert docs._log.space.seq == 1
        docs.useful(answers[0].query_id, answers[0].ids[1])
    stored = b"".join(file.read_bytes() for file in (tmp_path / "s").rglob("*") if file.is_file())
    assert b"private" not in stored and b"ann" in stored


def test_it_learns_what_the_library_learns_from_the_same_clicks(docs):
    liked = people(docs, Q, range(60))
    assert liked == docs.report()["clicks"]
    done = docs.learn()
    assert done["events"] == liked and docs.report()["on_trial"]["version"] == done["version"]
    metric = docs._log.view.version(done["version"]).metric
    np.testing.assert_allclose(metric.transform(Q), library(range(60)).transform_queries(Q), atol=1e-5)


def test_what_wins_in_front_of_people_is_used_and_finds_more(adopted):
    with gm.beside.Sidecar(InMemory(X), adopted) as docs:
        answer = docs.search(Q[0], 5)
        (asked,) = docs.engine.asked[-1]
        turned = docs.map.transform(Q[:1])[0] * np.linalg.norm(Q[0])
        np.testing.assert_allclose(asked, turned, rtol=1e-4, atol=1e-5)
        assert answer.ids == by_hand(X, turned, 5)
        ranks = [by_hand(X, q, 5) for q in docs.map.transform(Q)]
    assert sum(i in row for i, row in enumerate(ranks)) > 20 + sum(i in by_hand(X, q, 5) for i, q in enumerate(Q))
    rows = replay.verdicts(replay.logged(adopted))
    assert [row["computed"] for row in rows] == ["adopted"] and all(row["same"] for row in rows)


def test_on_trial_both_queries_go_in_one_request_and_their_answers_in_one_list(on_trial):
    docs = on_trial
    answer = docs.search(Q[70], 6)
    plain, turned = docs.engine.asked[-1]
    assert plain is not turned and np.array_equal(plain, Q[70])
    lists = [by_hand(X, q, 6) for q in (plain, turned)]
    assert len(answer.ids) == 6 == len(set(answer.ids)) and set(answer.ids) <= set(lists[0]) | set(lists[1])
    scores = docs.engine.scores([plain, turned])
    expected = [scores[0 if i in lists[0] else 1][i] for i in answer.ids]
    np.testing.assert_allclose(answer.scores, expected)


def test_undo_takes_back_a_judgment_and_what_was_adopted(adopted, tmp_path):
    shutil.copytree(adopted, tmp_path / "s")
    with gm.beside.Sidecar(InMemory(X), tmp_path / "s") as docs:
        clicks = docs.report()["clicks"]
        answer = docs.search(Q[3], 5)
        docs.undo(docs.useful(answer.query_id, answer.ids[0]))
        assert docs.report()["clicks"] == clicks
        assert docs.undo() == 0 and docs.search(Q[3], 5).ids == by_hand(X, Q[3], 5)
        with pytest.raises(ValueError, match="nothing to undo"):
            docs.undo()
    with gm.beside.Sidecar(InMemory(X), tmp_path / "s") as docs:
        assert docs.report()["version"] == 0


def test_export_gives_the_map_in_use(adopted, tmp_path):
    with gm.beside.Sidecar(InMemory(X), adopted) as docs:
        numbers = docs.export()
        A, u = np.array(numbers["inner"]), Q[:7] / np.linalg.norm(Q[:7], axis=1, keepdims=True)
        turned = u @ A.T + np.array(numbers["offset"])
        turned /= np.linalg.norm(turned, axis=1, keepdims=True)
        np.testing.assert_allclose(turned, docs.map.transform(Q[:7]), atol=1e-6)
        assert gm.export.check(docs.map, "json", docs.export("json", tmp_path / "map.json"), None).same
        with pytest.raises(ValueError, match="target must be one of .*json.*, got 'faiss'"):
            docs.export("faiss")


def test_a_restart_goes_on_and_knows_lists_that_were_judged(tmp_path):
    with gm.beside.Sidecar(InMemory(X), tmp_path) as docs:
        judged, other = docs.search(Q[0], 5), docs.search(Q[1], 5)
        docs.useful(judged.query_id, judged.ids[0])
    with gm.beside.Sidecar(InMemory(X), tmp_path) as docs:
        assert docs.not_useful(judged.query_id, judged.ids[1]) is not None
        with pytest.raises(ValueError, match="query_id must be one of the last searches"):
            docs.useful(other.query_id, other.ids[0])
        with pytest.raises(ValueError, match="item_id must be one that the search gave, got 999"):
            docs.useful(judged.query_id, 999)
        assert docs.report()["clicks"] == 2 and docs.failures == {}


def test_judgments_from_elsewhere_come_with_the_vector_of_the_query(docs):
    for _ in range(2):  # the same pair is one list
        assert docs.useful(Q[5], 5) is not None
    docs.clicked(Q[6].tolist(), 6)
    docs.not_useful(Q[5], 5)
    until(lambda: len(docs._log.view.ids) == 4)
    clicks = docs._log.space.clicks("docs")
    assert [click["like"] for click in clicks] == [True, True, None, False]
    assert np.array_equal(docs._log.view.points([number(5)])[0], X[5])
    with pytest.raises(ValueError, match="must be 8 finite numbers, not all zero, got 3 numbers"):
        docs.useful([1.0, 2.0, 3.0], 5)


def test_few_clicks_and_changed_minds_leave_queries_as_they_are(docs):
    for i in range(8):
        docs.useful(Q[i], i)
        docs.not_useful(Q[i], i)
    docs.learn()
    U = Q / np.linalg.norm(Q, axis=1, keepdims=True)
    np.testing.assert_allclose(docs._log.view.version(1).metric.transform(Q), U, atol=1e-6)
    for i in range(8, 30):
        docs.useful(Q[i], i)
        docs.not_useful(Q[i], i)
    assert docs.learn()["version"] == 2


def test_the_background_learns_by_itself(docs, monkeypatch):
    monkeypatch.setattr(learning, "FIRST", 20)
    people(docs, Q, range(60))
    until(lambda: len(docs._log.view.versions) > 1)
    assert docs.troubles == []


def test_many_threads_search_and_judge(docs):
    clicks, errors = [], []

    def work(rows):
        try:
            for i in rows:
                answer = docs.search(Q[i], 5)
                clicks.append(docs.useful(answer.query_id, answer.ids[0]))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=[range(start, 120, 8)]) for start in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and len(set(clicks)) == 120 == docs.report()["clicks"] and docs.report()["searches"] == 120


def test_only_the_last_searches_are_remembered(docs, monkeypatch):
    monkeypatch.setattr(log, "REMEMBERED", 5)
    answers = [docs.search(q, 3) for q in Q[:9]]
    assert len(docs._recent._shown) == 5
    with pytest.raises(ValueError, match="query_id must be one of the last"):
        docs.useful(answers[0].query_id, answers[0].ids[0])
    assert docs.useful(answers[-1].query_id, answers[-1].ids[0])


@pytest.mark.filterwarnings("ignore:gramian.beside")
def test_euclidean_distances_are_taken_where_documents_have_one_length(tmp_path):
    U = 3 * X / np.linalg.norm(X, axis=1, keepdims=True)
    with gm.beside.Sidecar(InMemory(U, "l2"), tmp_path / "one") as docs:
        people(docs, Q, range(60))
        version = docs.learn()["version"]
        turn = docs._turn(docs._log.view, version)
        assert [np.argmax(docs.engine.scores([turn(q)])) for q in Q] == [by_hand(X, turn(q), 1)[0] for q in Q]
        docs.engine.X = X  # changed under us
        for i in range(60, 120):
            docs.useful(Q[i], i)
        until(lambda: any("different lengths" in reason for reason in docs.troubles))
    with pytest.raises(ValueError, match="compares by the Euclidean distance documents of different lengths"):
        gm.beside.Sidecar(InMemory(X, "l2"), tmp_path / "other")
    with pytest.raises(ValueError, match="metric must be one of cosine, dot, l2, got 'manhattan'"):
        gm.beside.Sidecar(InMemory(X, "manhattan"), tmp_path / "other")


@pytest.mark.parametrize("id", [7, -1, 2**64 - 1, "7", "b9f1c3d8-8f3e-4f0c-9f5f-2f7f1c3d8b9f", "Ω\n"])
def test_numbers_of_documents_follow_from_their_ids(id):
    import hashlib

    digest = hashlib.blake2b(str(id).encode(), digest_size=8).digest()
    assert number(id) == int.from_bytes(digest, "big", signed=True) and -(2**63) <= number(id) < 2**63
