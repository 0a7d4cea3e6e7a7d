"""No failure of ours is one of a search; errors of the database are raised as they are."""

import contextlib
import errno
import os
import shutil
import sqlite3
import threading

import numpy as np
import pytest

import gramian as gm
from gramian.beside import log, sidecar, turning
from gramian.service import duels, learning, snapshot, troubles
from gramian.service import store as stores
from tests.beside.problems import InMemory, by_hand, people, twisted, until

Q, X = twisted()
pytestmark = pytest.mark.filterwarnings("ignore:gramian.beside", "ignore:Space")


@pytest.fixture
def docs(tmp_path):
    with gm.beside.Sidecar(InMemory(X), tmp_path / "space") as docs:
        yield docs


def plain(docs, q, k=5):
    """Search, which must give the plain answer."""
    answer = docs.search(q, k)
    assert answer.ids == by_hand(X, q[: X.shape[1]], k)
    return answer


def test_a_database_that_is_away_is_their_error_as_it_is(on_trial):
    on_trial.engine.away = True
    for _ in range(3):
        with pytest.raises(ConnectionError, match="^the database is away$"):
            on_trial.search(Q[0])
    assert on_trial.failures == {} and on_trial.troubles == []
    on_trial.engine.away = False
    assert len(on_trial.search(Q[0]).ids) == 10


def test_a_database_that_is_away_while_judgments_come_is_asked_again(docs):
    answer = docs.search(Q[0], 5)
    docs.engine.away = True
    assert docs.useful(answer.query_id, answer.ids[0]) is not None
    until(lambda: any("reading documents" in reason for reason in docs.troubles))
    docs.engine.away = False
    until(lambda: docs.troubles == [] and len(docs._log.view.ids) == 6)  # a query and five documents


def test_a_database_that_takes_the_plain_query_alone_gives_the_plain_answer(on_trial, monkeypatch):
    monkeypatch.setattr(troubles, "SHORTEST", 1e6)
    on_trial.engine.turned_away = True
    first = plain(on_trial, Q[0])
    assert any("turned queries" in reason for reason in on_trial.troubles) and first.query_id is not None
    before = len(on_trial.engine.asked)
    plain(on_trial, Q[1])
    assert len(on_trial.engine.asked) == before + 1  # it rests
    on_trial.engine.turned_away = False
    on_trial._asking._now.clear()  # its rest is over
    on_trial.search(Q[2])
    assert len(on_trial.engine.asked[-1]) == 2 and on_trial.troubles == []


def test_a_slow_database_holds_up_nobody_but_its_own_searches(docs):
    answer = docs.search(Q[0], 5)
    docs.engine.quick.clear()  # documents, which the background reads, do not come
    docs.useful(answer.query_id, answer.ids[0])
    for q in Q[:20]:
        answer = plain(docs, q)
        docs.useful(answer.query_id, answer.ids[0])
    assert docs.report()["clicks"] == 21 and not docs.engine.quick.is_set()
    docs.engine.quick.set()
    until(lambda: len(docs._log.view.ids) > 25)


@pytest.mark.parametrize("query", [np.ones(12, np.float32), np.full(8, np.nan), np.zeros(8), ["words"] * 8])
def test_a_query_that_is_none_of_ours_is_the_business_of_the_database(on_trial, query):
    """As after the collection got vectors of another width."""
    on_trial.engine.search = lambda vectors, k: [[gm.beside.Hit(str(v is query), 1.0, {})] for v in vectors]
    assert on_trial.search(query).ids == ["True"] and on_trial.search(query).query_id is None
    assert any("planning" in reason for reason in on_trial.troubles) and on_trial.failures["planning"] == 2
    assert on_trial.search(Q[0]).query_id is not None and on_trial.troubles == []


def test_another_width_at_the_start_is_told_and_searches_are_plain(tmp_path):
    gm.beside.Sidecar(InMemory(X), tmp_path).close()
    wider = np.hstack([X, X])
    with gm.beside.Sidecar(InMemory(wider), tmp_path) as docs:
        answer = docs.search(wider[3], 5)
        assert answer.ids == by_hand(wider, wider[3], 5) and answer.query_id is None
        assert any("has 8 features, got 16" in reason for reason in docs.troubles)
        assert docs.useful(None, 3) is None and docs.failures["judgments"] == 1
        with pytest.raises(RuntimeError, match="the space is not open: .*has 8 features"):
            docs.learn()


def test_items_that_are_gone_are_left_out(docs):
    docs.engine.gone = set(range(0, 120, 2))
    people(docs, Q, range(60))
    done = docs.learn()
    assert 0 < done["events"] < docs.report()["clicks"] and docs.troubles == []


def test_an_id_that_is_none_holds_up_no_other(docs):
    docs.useful(Q[0], "nonsense")
    until(lambda: docs.troubles != [])
    docs.useful(Q[1], 1)
    until(lambda: docs.troubles == [] and len(docs._log.view.ids) == 3)


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "no space left"), sqlite3.OperationalError("disk I/O error")])
def test_a_full_disk_costs_judgments_and_no_search(on_trial, monkeypatch, error):
    clicks = on_trial.report()["clicks"]

    def full(store):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(stores.Store, "commit", full)
        for q in Q[:5]:
            answer = on_trial.search(q, 5)
            assert on_trial.useful(answer.query_id, answer.ids[0]) is None
        assert any("judgments" in reason for reason in on_trial.troubles) and on_trial.failures["judgments"] == 5
    assert on_trial.useful(answer.query_id, answer.ids[0]) is not None
    assert on_trial.report()["clicks"] == clicks + 1 and on_trial.troubles == []


def test_a_folder_that_another_holds_is_taken_over_when_it_is_free(tmp_path):
    first = gm.beside.Sidecar(InMemory(X), tmp_path)
    with gm.beside.Sidecar(InMemory(X), tmp_path) as second:
        assert plain(second, Q[0]).query_id is None
        assert any("must not be open elsewhere" in reason for reason in second.troubles)
        first.close()
        until(lambda: second.troubles == [])
        answer = plain(second, Q[0])
        assert second.useful(answer.query_id, answer.ids[0]) is not None
    assert plain(first, Q[0]).query_id is None  # closed, and answering


@pytest.mark.parametrize("place", ["space.db", "metrics"])
def test_a_damaged_folder_is_told_and_left_as_it_is(on_trial, tmp_path, place):
    on_trial.close()
    tmp_path /= "trial"
    path = tmp_path / place if place == "space.db" else next((tmp_path / place).iterdir())
    path.write_bytes(b"nothing of ours" * 100)
    snapshot._read_metric.cache_clear()  # as in another process
    with gm.beside.Sidecar(InMemory(X), tmp_path) as docs:
        for q in Q[:5]:
            plain(docs, q)
        assert docs.troubles and docs.failures
    assert path.read_bytes() == b"nothing of ours" * 100


def test_a_learner_that_raises_is_told_and_tried_again(docs, monkeypatch):
    def broken(evidence):
        raise np.linalg.LinAlgError("no convergence")

    monkeypatch.setattr(learning, "FIRST", 20)
    monkeypatch.setitem(learning.LEARNERS, turning.LEARNER, broken)
    people(docs, Q, range(60))
    until(lambda: any("learning of 'docs' failed (LinAlgError" in reason for reason in docs.troubles))
    plain(docs, Q[0])
    monkeypatch.setitem(learning.LEARNERS, turning.LEARNER, turning.queries)
    until(lambda: docs.troubles == [] and len(docs._log.view.versions) == 2)


def test_a_writer_that_ended_is_begun_anew(docs):
    docs._log.space._writer.close()
    assert plain(docs, Q[0]).query_id is None
    docs._attendant.wake()
    until(lambda: docs._log is not None and docs._log.alive)
    answer = plain(docs, Q[0])
    assert docs.useful(answer.query_id, answer.ids[0]) is not None


def test_a_process_that_was_forked_off_answers_and_writes_nothing(docs):
    seq, (reading, writing) = docs._log.space.seq, os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = docs.search(Q[0], 5)
            docs.useful(answer.query_id, answer.ids[0])
            right = answer.ids == by_hand(X, Q[0], 5) and answer.query_id is None and "forked" in docs.troubles[0]
            docs.close()
            os.write(writing, b"right" if right else b"wrong")
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    assert os.read(reading, 1000) == b"right" and docs._log.space.seq == seq
    answer = docs.search(Q[0], 5)
    assert docs.useful(answer.query_id, answer.ids[0]) is not None


OURS = [
    (log.Log, "view"),
    (log.Log, "alive"),
    (log.Log, "judge"),
    (log.Log, "stored"),
    (log.Log, "collect"),
    (log.Recent, "add"),
    (log.Shown, "as_duel"),
    (turning.Turn, "__call__"),
    (duels, "interleave"),
    (sidecar, "checked_query"),
    (sidecar, "names"),
    (learning, "learn"),
]
ERRORS = [MemoryError, KeyError, sqlite3.OperationalError, OSError, ValueError, np.linalg.LinAlgError]


def test_the_outage_test(on_trial, monkeypatch):
    """Every function of ours that a search may meet fails at random, in four threads: no search does."""
    failing = threading.Event()
    coin = np.random.default_rng(0)

    def may_fail(function):
        def faulty(*args, **kwargs):
            if failing.is_set() and coin.random() < 0.3:
                raise ERRORS[int(coin.integers(len(ERRORS)))]("injected")
            return function(*args, **kwargs)

        return faulty

    for owner, name in OURS:
        made = vars(owner)[name]
        wrapped = property(may_fail(made.fget)) if isinstance(made, property) else may_fail(made)
        monkeypatch.setattr(owner, name, wrapped)
    failing.set()
    errors, answers = [], []

    def work(rows):
        for i in rows:
            try:
                answer = on_trial.search(Q[i], 5)
            except BaseException as error:
                errors.append(error)
                continue
            answers.append(answer)
            with contextlib.suppress(Exception):  # a judgment may say that it was not taken
                on_trial.useful(answer.query_id, answer.ids[0])

    threads = [threading.Thread(target=work, args=[range(start, 120, 4)]) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    failing.clear()
    assert errors == [] and len(answers) == 120
    assert all(len(answer.ids) == 5 == len(set(answer.ids)) for answer in answers)
    assert sum(on_trial.failures.values()) > 20
    assert on_trial.search(Q[0], 5).query_id is not None


def test_a_copy_of_the_folder_is_a_backup_once_it_is_closed(docs, tmp_path):
    people(docs, Q, range(10))
    docs.close()
    shutil.copytree(tmp_path / "space", tmp_path / "copy")
    with gm.beside.Sidecar(InMemory(X), tmp_path / "copy") as other:
        assert other.report()["clicks"] > 0 and other.troubles == []
