"""The thread beside the requests: whatever fails in it is told, counted and tried again, and stops nothing else."""

import time

import numpy as np
import pytest

from gramian.service import Space, answers, learning, troubles, upkeep
from gramian.service.store import Store
from gramian.service.troubles import Troubles
from tests.service.conftest import D, N, teach

PLACES = [
    ("checkpoint", Store, "checkpoint"),
    ("settling", upkeep, "settle"),
    ("settling", upkeep, "parts_between"),
    ("settling", upkeep, "write_array"),
    ("settling", upkeep, "map_array"),
    ("settling", upkeep, "replace_parts"),
    ("warming", answers.Asker, "warm"),
    ("warming", answers.Cloud, "of"),
    ("learning", learning.Teacher, "due"),
    ("learning", learning.Teacher, "learn"),
    ("learning", learning, "gather"),
    ("learning", learning, "learn"),
    ("learning", learning, "ranks_alike"),
    ("learning", learning, "save_metric"),
    ("learning", learning.persist, "save"),
    ("learning", learning.changes, "add_version"),
]
"""Calls of one pass of the thread and what they belong to; each of them may raise."""
KINDS = ["sqlite3.OperationalError", "MemoryError", "numpy.linalg.LinAlgError"]


def until(happened, seconds=20.0):
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def error(name):
    module, _, kind = name.rpartition(".")
    return getattr(__import__(module or "builtins", fromlist=["x"]), kind)("injected")


def works(space):
    """Whether all that upkeep does has been done."""
    view = space.collection("a")
    return len(view.versions) > 1 and len(view.vectors.tail) == 0 and not space.troubles


@pytest.fixture
def taught(tmp_path, points, monkeypatch):
    """A closed folder with enough clicks for a version, and vectors to settle; upkeep is quick to try again."""
    monkeypatch.setattr(troubles, "SHORTEST", 0.01)
    monkeypatch.setattr(troubles, "LONGEST", 0.02)
    monkeypatch.setattr(upkeep, "PAUSE", 0.01)
    with Space(tmp_path / "s", learning=False) as space:
        space.create("a", D)
        space.add("a", points, list(range(1, N + 1)))
        teach(space, 60)
    monkeypatch.setattr(upkeep, "SETTLE_BYTES", 1)
    return tmp_path / "s"


@pytest.mark.filterwarnings("ignore:Space. .* failed")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("task", "owner", "name"), PLACES, ids=[f"{task}-{name}" for task, _, name in PLACES])
def test_a_fault_at_any_call_is_told_and_ends_nothing(taught, monkeypatch, task, owner, name, kind):
    def broken(*values, **named):
        raise error(kind)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, broken)
        with Space(taught) as space:
            until(lambda: space.failures.get(task, 0) >= 2)
            assert "injected" in space.troubles[0] and kind.rpartition(".")[2] in space.troubles[0]
            if task != "settling":
                until(lambda: len(space.collection("a").vectors.tail) == 0)
            if task != "learning":
                until(lambda: len(space.collection("a").versions) > 1)
            assert space.query("a", id=1, k=3)["ids"] and space.feedback("a", 1, 2, True)["seq"]
            patch.undo()
            until(lambda: works(space))  # without another event
    there = [len(list((taught / folder).iterdir())) for folder in ("vectors", "metrics")]
    with Space(taught, learning=False) as space:
        view = space.collection("a")
        assert "sqlite3" in kind or there == [len(view.vectors.parts), len(view.versions) - 1]


@pytest.mark.filterwarnings("ignore:Space. .* failed")
def test_health_and_numbers_tell_of_it(taught, monkeypatch):
    pytest.importorskip("fastapi")
    from starlette.testclient import TestClient

    from gramian.service.http import create_app

    monkeypatch.setattr(upkeep, "settle", lambda *values: 1 / 0)
    with Space(taught, learning=False) as space:
        client = TestClient(create_app(space), base_url="http://127.0.0.1")
        until(lambda: space.troubles)
        ready = client.get("/readyz")
        assert ready.status_code == 200 and ready.json()["status"] == "degraded"
        assert ready.json()["reasons"] == ["settling of 'a' failed (ZeroDivisionError: division by zero)"]
        text = client.get("/metrics").text
        assert 'gramian_failures_total{task="settling"}' in text and "gramian_troubles 1" in text
        monkeypatch.undo()
        until(lambda: client.get("/readyz").json()["status"] == "ok")
        assert "gramian_troubles 0" in client.get("/metrics").text


def test_a_thread_that_ended_is_told(space):
    space._upkeep._stop.set()
    space._upkeep._news.set()
    space._upkeep._thread.join()
    assert space.troubles == ["the thread that looks after the space has ended"]
    space.close()
    assert space.troubles == []


def test_the_log_is_copied_back_though_nobody_looks_after_it(tmp_path, monkeypatch):
    monkeypatch.setattr(Store, "checkpoint", lambda store: None)
    monkeypatch.setattr("gramian.service.store.MOST_LOG_PAGES", 50)
    with Space(tmp_path, learning=False) as space:
        space.create("a", 64)
        for start in range(0, 4000, 200):
            space.add("a", np.zeros((200, 64)), list(range(start, start + 200)))
        assert space.store.log_bytes < 1 << 20 < space.store.path.stat().st_size


def test_pauses_grow_and_end_with_success(monkeypatch):
    now, fails = [0.0], [True]
    monkeypatch.setattr(troubles.time, "monotonic", lambda: now[0])
    tasks, tried = Troubles(), []

    def work():
        tried.append(now[0])
        if fails[0]:
            raise OSError("full")

    with pytest.warns(UserWarning, match="^Space: settling of 'a' failed .OSError: full.; it is tried again.$") as told:
        for second in range(1000):
            now[0] = float(second)
            tasks.attempt("settling", "a", work)
    assert len(told) == 1
    assert tried == [0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 811] and tasks.counts == {"settling": 11}
    assert tasks.pause == 811 + troubles.LONGEST - 999
    fails[0], now[0] = False, 2000.0
    tasks.attempt("settling", "a", work)
    assert tasks.reasons == [] and tasks.pause is None and tasks.counts == {"settling": 11}


def test_clicks_during_a_rest_are_learned_after_it(taught, monkeypatch):
    """Without another event."""
    with Space(taught) as space:
        until(lambda: len(space.collection("a").versions) == 2)
        space.teacher.rested = time.monotonic() + 1.0
        teach(space, 150, seed=3)
        until(lambda: len(space.collection("a").versions) == 3)
