"""Nothing acknowledged is lost and nothing half applied: killed, on a full disk, with a second process at the door."""

import contextlib
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from gramian.persist import PersistError
from gramian.service import Client, Space, store
from gramian.service.errors import Closed, StorageFull
from gramian.service.store import TABLES
from gramian.service.writer import Request
from tests.service.conftest import D, N, teach

ROOT = pathlib.Path(__file__).parents[2]
ONE = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
}


@contextlib.contextmanager
def launched():
    """A process that forks victims, so that a kill costs no new imports."""
    command = [sys.executable, "-m", "tests.service.victims"]
    env = {**os.environ, **ONE}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=env)
    try:
        yield process
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait()


@pytest.fixture
def launcher():
    with launched() as process:
        yield process


def kill_one(launcher, folder, seed, count, wait):
    """Start a victim, kill it a moment after so many promises; returns all that it was promised."""

    def tell(line):
        launcher.stdin.write(f"{line}\n")
        launcher.stdin.flush()

    tell(f"{folder} {seed}")
    said = [json.loads(launcher.stdout.readline())]
    while not any("pid" in line for line in said) or sum("did" in line for line in said) <= count:
        said.append(json.loads(launcher.stdout.readline()))
    time.sleep(wait)
    pid = next(line["pid"] for line in said if "pid" in line)
    os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        while True:  # until the process is gone
            os.kill(pid, 0)
            time.sleep(0.002)
    tell("sync")
    while "sync" not in said[-1]:
        said.append(json.loads(launcher.stdout.readline()))
    return [line for line in said if line.get("did", "open") != "open"]


def check_promises(space, promises):
    events = {event["seq"]: event for event in space.events(limit=10**9)}
    assert list(events) == list(range(1, space.seq + 1))
    view = space.collection("a")
    removed = {p["id"] for p in promises if p["did"] == "remove"}
    undone = {click["seq"]: click["undone"] for click in space.clicks("a", limit=10**9)}
    for p in promises:
        if p["did"] == "add":
            assert events[p["seq"]]["added"] == p["n"]
            for number, x in zip(p["ids"], p["x"]):
                if number not in removed and view.known(np.array([number]))[0]:
                    assert view.points([number])[0].tolist() == x
            kept = [i for i in p["ids"][1:] if i not in removed]
            assert view.known(np.array(kept)).all()
        elif p["did"] == "click":
            event = events[p["seq"]]
            assert (event["op"], event["query"], event["item"]) == ("feedback", p["query"], p["item"])
            assert p["seq"] in undone
        elif p["did"] == "undo":
            assert events[p["seq"]]["undone"] == p["of"] and undone[p["of"]]
        elif p["did"] == "remove":
            assert not view.known(np.array([p["id"]]))[0]


def check_whole(space):
    """Batches are there in full or not at all: ids end in 0, 1, 2, and only those in 0 are ever removed."""
    ids = space.collection("a").ids
    small = set(ids[ids < 10**12].tolist())
    assert all((i - i % 10) + 2 in small and (i - i % 10) + 1 in small for i in small)
    assert len(space.collection("a").vectors) >= len(ids)


def kills(launcher, folder, rounds, seed=0):
    moments, promises = random.Random(seed), []
    for number in range(rounds):
        promises += kill_one(launcher, folder, 1000 * number + seed, moments.randrange(40), moments.uniform(0, 0.02))
        start = time.monotonic()
        with Space(folder, learning=False) as space:
            assert time.monotonic() - start < 60
            check_promises(space, promises)
            check_whole(space)
    return promises


def test_killed_under_load_nothing_acknowledged_is_lost(launcher, tmp_path):
    assert len(kills(launcher, tmp_path / "s", 4)) > 10


@pytest.mark.slow
def test_killed_two_hundred_times(launcher, tmp_path):
    total = 0
    for part in range(20):
        total += len(kills(launcher, tmp_path / str(part), 10, seed=part))
    assert total > 2000


def start_server(folder, *more, **process):
    command = [sys.executable, "-m", "gramian", "serve", "--space", str(folder), "--port", "0", *more]
    env = {**os.environ, **ONE}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, **process)
    for line in server.stdout:
        if " at http" in line:
            return server, Client(line.split(" at ")[1].split(";")[0], timeout=30)
    raise AssertionError(server.stderr.read())


def stop(server, how=signal.SIGTERM):
    server.send_signal(how)
    code = server.wait(timeout=60)
    server.stdout.close()
    server.stderr.close()
    return code


def click_until_dead(client, name, promises):
    rng = np.random.default_rng(name)
    for number in range(10**6):
        query, item = rng.integers(0, N, 2).tolist()
        try:
            done = client.feedback("a", query, item, True, key=f"{name}-{number}", user=str(name))
        except (OSError, ValueError, EOFError):
            return
        promises.append({"did": "click", "query": query, "item": item, "seq": done["seq"]})


def wait_for(happened, seconds=60):
    end = time.monotonic() + seconds
    while not happened() and time.monotonic() < end:
        time.sleep(0.01)


def serve_and_kill(folder, rounds, seed=0, restarts=None):
    pytest.importorskip("typer")
    pytest.importorskip("fastapi")
    with Space(folder, learning=False) as space:
        space.create("a", D)
        space.add("a", np.random.default_rng(0).standard_normal((N, D)), list(range(N)))
    moments, promises = random.Random(seed), []
    for _ in range(rounds):
        begun = time.monotonic()
        server, client = start_server(folder)
        if restarts is not None:
            restarts.append(time.monotonic() - begun)
        threads = [threading.Thread(target=click_until_dead, args=(client, i, promises)) for i in range(4)]
        for thread in threads:
            thread.start()
        before = len(promises)
        wait_for(lambda: len(promises) > before + 10)  # noqa: B023  # a busy machine needs its time
        time.sleep(moments.uniform(0, 0.5))
        stop(server, signal.SIGKILL)
        for thread in threads:
            thread.join()
        with Space(folder, learning=False) as space:
            check_promises(space, promises)
    return promises


def test_a_killed_server_has_kept_every_click_it_answered(tmp_path):
    promises = serve_and_kill(tmp_path, 1)
    assert len({p["seq"] for p in promises}) > 10


@pytest.mark.slow
def test_a_server_killed_forty_times(tmp_path):
    serve_and_kill(tmp_path, 40, seed=1)


def test_the_second_process_is_told(tmp_path):
    pytest.importorskip("typer")
    pytest.importorskip("fastapi")
    server, client = start_server(tmp_path / "s")
    command = [sys.executable, "-m", "gramian", "serve", "--space", str(tmp_path / "s"), "--port", "0"]
    second = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **ONE})
    assert second.returncode == 2 and "must not be open elsewhere" in second.stderr and "Traceback" not in second.stderr
    assert client.create("a", 2)["seq"] == 1
    assert stop(server) == 0


def test_no_file_lets_a_second_one_in_when_it_is_removed(space):
    for path in space.store.folder.iterdir():
        if path.is_file() and not path.name.startswith("space.db"):
            path.unlink()
    with pytest.raises(ValueError, match="must not be open elsewhere"):
        Space(space.store.folder)
    folder = space.store.folder
    space.store.folder.rename(folder.with_name("moved"))  # it is still the same folder
    with pytest.raises(ValueError, match="must not be open elsewhere"):
        Space(folder.with_name("moved"))
    folder.with_name("moved").rename(folder)
    space.close()
    Space(folder, learning=False).close()


def test_an_interrupt_ends_the_server_cleanly(tmp_path):
    pytest.importorskip("typer")
    pytest.importorskip("fastapi")
    server, client = start_server(tmp_path / "s")
    client.create("a", 2)
    code = stop(server, signal.SIGINT)
    assert code in (0, 130)
    with Space(tmp_path / "s") as space:
        assert space.seq == 1


def fill_disk(client, promises, size=20_000):
    """Add until the disk is full; returns the error."""
    rng = np.random.default_rng(0)
    for _ in range(10**4):
        ids = [10**6 + 2 * len(promises), 10**6 + 2 * len(promises) + 1]
        X = rng.standard_normal((2, D))
        try:
            meta = [{"text": "x" * size}] * 2
            promises.append({"ids": ids, "x": X.tolist(), "seq": client.add("a", X, ids, meta=meta)["seq"]})
        except ValueError as error:
            return error
    raise AssertionError("the disk took everything")


def run_full(folder, squeeze, relax):
    server, client = start_server(folder, "--no-learning")
    try:
        client.create("a", D)
        promises = []
        squeeze(server.pid)
        error = fill_disk(client, promises)
        assert error.status == 507 and "disk" in str(error)
        assert client.query("a", [0.0] * D, k=1)["seq"] == 1 + len(promises)  # it still answers
        relax(server.pid)
        before = len(promises)
        for _ in range(20):
            X = [[0.0] * D]
            done = client.add("a", X, [5 * 10**6 + len(promises)])
            promises.append({"ids": [5 * 10**6 + len(promises)], "x": X, "seq": done["seq"]})
        assert [p["seq"] for p in promises] == list(range(2, 2 + len(promises))) and before
    finally:
        stop(server, signal.SIGKILL)
    with Space(folder, learning=False) as space:
        assert space.seq == 1 + len(promises)
        for p in promises:
            assert space.collection("a").points(p["ids"]).tolist() == p["x"]


def test_a_disk_that_takes_no_more_is_507_and_goes_on_when_there_is_room(tmp_path):
    """A limit on the size of files, set and lifted from outside, lets the writes of a real server fail."""
    pytest.importorskip("typer")
    pytest.importorskip("fastapi")
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    limit = lambda size: lambda pid: resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, hard))  # noqa: E731
    run_full(tmp_path, limit(300_000), limit(hard))


def test_a_small_file_system_that_is_full_is_507_and_goes_on_when_there_is_room(tmp_path):
    pytest.importorskip("typer")
    pytest.importorskip("fastapi")
    place = tmp_path / "small"
    place.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)], capture_output=True
    )
    if not mounted or mounted.returncode:
        pytest.skip("a file system cannot be mounted here")
    ballast = place / "ballast"
    try:
        run_full(
            place / "space",
            lambda pid: ballast.write_bytes(b"\0" * 1_000_000),
            lambda pid: ballast.unlink(),
        )
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.parametrize("error", [sqlite3.OperationalError("disk I/O error"), OSError(28, "No space left on device")])
def test_a_commit_that_fails_fails_for_all_who_wait_and_for_nobody_else(space, points, error):
    commit, before = space.store.commit, space.snapshot

    def broken():
        raise error

    space.store.commit = broken
    futures = [space.feedback_later("a", 1, 2, True) for _ in range(5)] + [space.add_later("a", points[:1], [900])]
    for future in futures:
        with pytest.raises((StorageFull, sqlite3.OperationalError)):
            future.result()
    assert space.snapshot is before and space.query("a", id=1)["seq"] == 2
    space.store.commit = commit
    assert space.feedback("a", 1, 2, True)["seq"] == 3
    space.close()
    with Space(space.store.folder) as again:
        assert again.seq == 3 and 900 not in again.collection("a").ids


def test_a_snapshot_that_cannot_be_built_is_read_again_from_the_disk(space, points, monkeypatch):
    from gramian.service.snapshot import Builder

    monkeypatch.setattr(Builder, "add_items", lambda *values: 1 / 0)
    assert space.add("a", points[:1], [900])["seq"] == 3
    monkeypatch.undo()
    assert space.query("a", x=points[0], k=2)["ids"] == [1, 900]
    assert space.feedback("a", 1, 900, True)["seq"] == 4


@pytest.mark.filterwarnings("ignore:Space. the thread that writes has ended")
@pytest.mark.parametrize("size", [1, 1 << 20])
@pytest.mark.parametrize("place", ["_publish", "_transact", "_gather"])
def test_a_writer_that_dies_answers_who_waits_and_who_comes(space, points, monkeypatch, place, size):
    """As when there is no memory to publish, nor to read everything again; also with vectors in a file of their own."""
    monkeypatch.setattr("gramian.service.changes.LARGE_BATCH", size)
    begun, go = threading.Event(), threading.Event()

    def broken(*values):
        begun.set()
        go.wait(60)
        raise MemoryError("injected")

    writer = space._writer
    monkeypatch.setattr(writer, place, broken)
    futures = [space.add_later("a", points[:1], [900])]
    assert begun.wait(60) or place == "_gather"
    futures += [space.feedback_later("a", 1, 2, True) for _ in range(3)]
    go.set()
    if place == "_gather":  # the thread waits in the one that was there before
        with contextlib.suppress(Closed):
            futures.append(space.feedback_later("a", 1, 2, True))
        assert futures.pop(0).result(60)["seq"] == 3
        wait_for(lambda: not space.alive)
    for future in futures[1:]:
        with contextlib.suppress(Closed):
            future.result(60)
    if place != "_gather":
        with pytest.raises(Closed, match="MemoryError: injected"):
            futures[0].result(60)
    wait_for(lambda: not space.alive)
    with pytest.raises(Closed):
        space.feedback("a", 1, 2, True)
    space.close()
    with Space(space.store.folder, learning=False) as again:
        assert (900 in again.collection("a").ids) is (place != "_transact")
        assert len(list(again.store.vectors.iterdir())) == (place != "_transact" and size == 1)


DAMAGE = {
    "an event is missing": "DELETE FROM events WHERE seq = 3",
    "the last events are doubled": "UPDATE events SET seq = seq + 1 WHERE seq = (SELECT max(seq) FROM events)",
    "an event says something else": "UPDATE events SET data = replace(data, 'true', 'false')",
    "two events changed places": "UPDATE events SET op = (CASE seq WHEN 3 THEN 'undo' ELSE op END)",
    "a key of a request changed": "UPDATE events SET key = 'k' WHERE seq = 3",
    "a click says something else": "UPDATE feedback SET liked = 1 - liked WHERE seq = 4",
    "a click is another person's": "UPDATE feedback SET actor = 'eve' WHERE seq = 4",
    "a click is missing": "DELETE FROM feedback WHERE seq = 4",
    "an item says something else": "UPDATE items SET meta = replace(meta, 'red', 'rad')",
    "two items changed places": "UPDATE items SET row = 9 - row WHERE row < 10",
    "the next id is a small one": "UPDATE collections SET next_id = 1",
    "another version answers": "UPDATE versions SET status = 'lost'",
    "a secret changed": "UPDATE space SET value = value || '0' WHERE key = 'secret'",
    "a part is missing": "DELETE FROM parts",
    "a part is longer": "UPDATE parts SET n_rows = n_rows + 1",
}


@pytest.mark.parametrize("statement", DAMAGE.values(), ids=DAMAGE)
def test_damage_is_noticed_at_the_door(space, statement):
    teach(space, 5)
    space.learn("a")
    space.close()
    db = sqlite3.connect(space.store.path)
    db.execute(statement)
    db.commit()
    db.close()
    with pytest.raises(PersistError):
        Space(space.store.folder)


def seen(folder):
    """All that a space answers, or None where it does not open."""
    try:
        with Space(folder, learning=False) as space:
            view = space.collection("a")
            items = [space.item("a", int(i)) for i in view.ids]
            answers = [space.query("a", id=int(i), k=3, version=v) for i in view.ids[:3] for v in view.versions]
            clicks = space.clicks("a", limit=10**6)
            with space.store.reading() as db:
                hidden = [[tuple(row)[:-1] for row in db.execute(f"SELECT * FROM {table}")] for table in TABLES]
            return items, answers, clicks, space.events(limit=10**6), space.versions("a"), hidden
    except PersistError:
        return None


def flip(folder, flips, seed=0):
    """Flip single bits of the database where it is not empty, one at a time; returns how many were noticed."""
    expected, noticed = seen(folder), 0
    path, rng = folder / "space.db", random.Random(seed)
    whole = path.read_bytes()
    used = [place for place, byte in enumerate(whole) if byte]
    for _ in range(flips):
        data, at = bytearray(whole), 8 * rng.choice(used) + rng.randrange(8)
        data[at // 8] ^= 1 << at % 8
        path.write_bytes(data)
        now = seen(folder)
        assert now in (None, expected), f"bit {at} of {path}, seed {seed}"
        noticed += now is None
    path.write_bytes(whole)
    return noticed


def worn(space):
    """A space with something in every table."""
    seqs = teach(space, 30)
    space.undo("a", seqs[3])
    space.learn("a")
    shown = space.query("a", id=2, k=4, duel=True)
    request = Request("ann", key="k", digest=b"d")
    space.feedback("a", 2, shown["ids"][0], True, duel_id=shown["duel_id"], request=request)
    space.remove("a", 7)
    space.close()
    return space.store.folder


def test_a_flipped_bit_of_the_database_is_noticed_wherever_it_counts(space):
    assert flip(worn(space), 40) > 20


@pytest.mark.slow
def test_two_thousand_flipped_bits(space):
    assert flip(worn(space), 2000, seed=1) > 1000


def as_format_1(folder, *statements):
    """Take from a space what format 2 has beyond format 1."""
    with contextlib.closing(sqlite3.connect(folder / "space.db")) as db:
        db.create_function("crc", -1, store.row_sum)
        for table in TABLES:
            db.execute(f"ALTER TABLE {table} DROP COLUMN row_sum")
        db.execute("ALTER TABLE events ADD COLUMN sum INTEGER")
        db.execute("UPDATE events SET sum = crc(seq, time, op, collection, user, data)")
        db.execute("UPDATE space SET value = '1' WHERE key = 'format'")
        for statement in statements:
            db.execute(statement)
        db.commit()


def test_a_space_of_format_1_gets_its_checksums(space):
    folder = worn(space)
    expected = seen(folder)[:-1]
    as_format_1(folder)
    assert seen(folder)[:-1] == expected and flip(folder, 20) > 5
    with Space(folder, learning=False) as again:
        again.feedback("a", 1, 2, True)
    as_format_1(folder, "UPDATE events SET data = replace(data, 'true', 'false')")
    with pytest.raises(PersistError, match="event .* is damaged"):
        Space(folder)


def test_flipped_bits_of_vectors_are_noticed(space, points):
    from gramian.service.upkeep import settle

    settle(space._writer, space.collection("a"))
    space.close()
    (file,) = space.store.vectors.iterdir()
    data = bytearray(file.read_bytes())
    data[-5] ^= 4
    file.write_bytes(data)
    with pytest.raises(PersistError, match="damaged"):
        Space(space.store.folder)
    file.unlink()
    with pytest.raises(PersistError, match="missing"):
        Space(space.store.folder)


def test_what_is_no_database_is_refused_in_one_sentence(tmp_path):
    (tmp_path / "space.db").write_bytes(b"not a database at all, but long enough to be looked at" * 100)
    with pytest.raises(PersistError, match="restore a backup"):
        Space(tmp_path)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "events-000000000000.log").write_bytes(b"")
    with pytest.raises(PersistError, match=r"gramian 0\.1"):
        Space(tmp_path / "old")
