"""A fault at every call that a thread of a space makes, one by one: it goes on, or says what it cannot do any more."""

import contextlib
import errno
import itertools
import os
import shutil
import sqlite3
import sys
import threading
import time

import numpy as np
import pytest

from gramian import service
from gramian.service import Space, changes, learning, store, troubles, upkeep, writer

ROOT = os.path.dirname(service.__file__) + os.sep
KINDS = (
    lambda: sqlite3.OperationalError("injected"),
    lambda: MemoryError("injected"),
    lambda: np.linalg.LinAlgError("injected"),
    lambda: OSError(errno.ENOSPC, "injected"),
)
WIDTH = 3


class Fault:
    """Raises once, when a thread of a name makes its n-th call of the service, of SQLite or of the system."""

    def __init__(self, thread, at):
        self.thread, self.at, self.count = thread, at, 0

    def __call__(self, frame, event, called):
        if threading.current_thread().name != self.thread:
            sys.setprofile(None)
            return
        ours = event == "call" and frame.f_code.co_filename.startswith(ROOT) and frame.f_code.co_name != "_run"
        if ours or (event == "c_call" and outside(called)):
            self.count += 1
            if self.count == self.at:
                raise KINDS[self.at % len(KINDS)]()

    @contextlib.contextmanager
    def watching(self):
        """Meanwhile new threads are watched."""
        before = threading.getprofile()
        threading.setprofile(self)
        try:
            yield self
        finally:
            threading.setprofile(before)


def outside(called):
    """Whether a compiled function works on the disk."""
    return called.__qualname__.startswith(("Connection.", "Cursor.")) or called in (os.fsync, os.open, os.unlink)


@pytest.fixture
def quick(monkeypatch):
    """Limits that few items reach, and pauses that nobody notices."""
    for owner, name, value in (
        (troubles, "SHORTEST", 0.005),
        (troubles, "LONGEST", 0.01),
        (upkeep, "PAUSE", 0.002),
        (upkeep, "SETTLE_BYTES", 1),
        (learning, "FIRST", 6),
        (store, "CHECKPOINT_PAGES", 1),
        (changes, "LARGE_BATCH", 2000),
    ):
        monkeypatch.setattr(owner, name, value)


@pytest.fixture
def taught(tmp_path, quick, monkeypatch):
    """A closed folder with a version to learn and vectors to settle."""
    monkeypatch.setattr(upkeep, "SETTLE_BYTES", 1 << 30)
    with Space(tmp_path / "taught", learning=False) as space:
        space.create("a", WIDTH)
        space.add("a", np.random.default_rng(0).standard_normal((30, WIDTH)))
        for i in range(12):
            space.feedback("a", i, i + 1, bool(i % 2))
    monkeypatch.setattr(upkeep, "SETTLE_BYTES", 1)
    return tmp_path / "taught"


def works(space):
    """Whether all that upkeep does has been done."""
    view = space.collection("a")
    return len(view.versions) > 1 and len(view.vectors.tail) == 0 and not space.troubles


def look_after(folder, at):
    """Upkeep with a fault at a call; how many calls it made, and whether it says that it has ended."""
    with Fault("gramian-upkeep", at).watching() as fault, Space(folder) as space:
        ended, end = False, time.monotonic() + 20
        while not (works(space) or ended):
            ended = any("has ended" in reason for reason in space.troubles)
            assert time.monotonic() < end, (at, space.troubles, space.failures)
            time.sleep(0.002)
        assert space.query("a", id=1, k=3)["ids"] and space.feedback("a", 1, 2, True)["seq"]
    with Space(folder, learning=False) as again:
        assert len(again.collection("a").ids) == 30 and (ended or len(again.collection("a").versions) > 1)
    return fault.count, ended


def try_upkeep(taught, place, moments):
    ended = 0
    for at in moments:
        shutil.copytree(taught, place)
        calls, over = look_after(place, at)
        ended += over
        shutil.rmtree(place)
        if calls < at:  # it had done all before
            break
    return ended


@pytest.mark.filterwarnings("ignore:Space. .*")
def test_upkeep_goes_on_after_a_fault_at_some_calls(taught, tmp_path):
    assert try_upkeep(taught, tmp_path / "copy", (1, 3, 8, 21, 55, 144)) == 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Space. .*")
def test_upkeep_goes_on_after_a_fault_at_every_call(taught, tmp_path):
    assert try_upkeep(taught, tmp_path / "copy", itertools.count(1)) == 0


def change(space, promised):
    """A few changes; what was acknowledged is noted, what was refused is not."""
    rng = np.random.default_rng(0)
    for number in range(4):
        ids = [10 * number + i for i in range(3 if number % 2 else 90)]
        works = (
            lambda: space.add("a", rng.standard_normal((len(ids), WIDTH)), ids, upsert=True),  # noqa: B023
            lambda: space.feedback("a", 0, ids[1], True),  # noqa: B023
            lambda: space.feedback("a", ids[2], 1, False),  # noqa: B023
            lambda: space.undo("a", promised[-1]),
            lambda: space.remove("a", ids[-1]),  # noqa: B023
            lambda: space.learn("a"),
        )
        for work in works:
            with contextlib.suppress(Exception):
                promised.append(work()["seq"])


def twice(space, work):
    """Try again what a fault has refused; a writer that has ended refuses all."""
    try:
        return work()
    except Exception:
        return work() if space.alive else {"seq": 0}


def write(folder, at):
    """Changes with a fault at a call of the thread that writes; how many calls it made."""
    promised = []
    with Fault("gramian-writer", at).watching() as fault, Space(folder, learning=False) as space:
        twice(space, lambda: space.create("a", WIDTH))
        if space.alive:
            change(space, promised)
        if space.alive:
            promised.append(twice(space, lambda: space.add("a", np.zeros((1, WIDTH))))["seq"])
        alive = space.alive
        if alive:
            assert [event["seq"] for event in space.events(limit=10**6)] == list(range(1, space.seq + 1))
            seen = space.collection("a").ids.tolist()
    with Space(folder, learning=False) as again:
        assert again.seq >= max(promised, default=0)
        if alive:
            assert again.collection("a").ids.tolist() == seen
    return fault.count


@pytest.mark.filterwarnings("ignore:Space. .*")
def test_the_writer_answers_after_a_fault_at_some_calls(quick, tmp_path):
    for at in (1, 5, 14, 42, 120, 333):
        write(tmp_path / str(at), at)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Space. .*")
def test_the_writer_answers_after_a_fault_at_every_call(quick, tmp_path):
    for at in itertools.count(1):
        calls = write(tmp_path / "space", at)
        shutil.rmtree(tmp_path / "space")
        if calls < at:
            break


class Connection:
    """That of a draft, of which one statement fails the first time, or every time."""

    def __init__(self, db, fails, times):
        self.db, self.fails, self.times = db, fails, times

    def execute(self, statement, *values):
        if statement == self.fails and self.times:
            self.times -= 1
            raise MemoryError("injected")
        return self.db.execute(statement, *values)

    def __getattr__(self, name):
        return getattr(self.db, name)


@pytest.mark.parametrize(("fails", "times"), [("RELEASE change", 1), ("RELEASE change", 2), ("SAVEPOINT change", 1)])
def test_what_was_refused_in_its_last_moment_is_not_there(quick, tmp_path, monkeypatch, fails, times):
    """It was told to have failed, its file was removed, and its rows were kept: the space did not open again."""
    made, X = writer.Draft.__init__, np.ones((90, WIDTH))
    with Space(tmp_path, learning=False) as space:
        space.create("a", WIDTH)

        def broken(draft, store):
            made(draft, store)
            draft.db = Connection(draft.db, fails, times)

        monkeypatch.setattr(writer.Draft, "__init__", broken)
        with pytest.raises(MemoryError):
            space.add("a", X)
        monkeypatch.undo()
        assert len(space.collection("a").ids) == 0 and space.seq == 1
        assert space.add("a", X[:2])["seq"] == 2
    with Space(tmp_path, learning=False) as again:
        assert len(again.collection("a").ids) == 2 and len(again.events()) == 2
