"""``gramian stream`` over a space: alone, killed, interrupted, and on a disk that fails."""

import contextlib
import json
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import gramian as gm
from gramian.persist import PersistError
from gramian.service.stream import Stream

RNG = np.random.default_rng(0)
POINTS = RNG.standard_normal((400, 3)).round(3)


def learn(i):
    u, v = POINTS[i % 400].tolist(), POINTS[(7 * i + 3) % 400].tolist()
    return {"op": "learn", "u": u, "v": v, "target": (i % 5) / 2, "kind": ("equal", "at_most", "at_least")[i % 3]}


def event(i):
    return {"op": "add", "id": i, "x": POINTS[i % 400].tolist()} if i % 2 else learn(i)


def ask(service, event):
    return service.answer(json.dumps(event))


def reference(n):
    """State after the first n events, by the library alone."""
    lego = gm.LEGO(eta=0.5)
    for i in range(0, n, 2):
        e = learn(i)
        lego.learn_one(e["u"], e["v"], e["target"], e["kind"])
    return lego.metric_.matrix if n else None, list(range(1, n, 2))


def check(service, n):
    matrix, ids = reference(n)
    assert service.seq == n
    assert np.array_equal(service.index.metric_.matrix, matrix)
    assert service.index.ids.tolist() == ids


def test_clicks_on_a_list_teach_as_the_library_does_and_survive_a_restart(tmp_path):
    service = Stream(tmp_path, n_bits=64)
    beside = gm.OnlineHashIndex(gm.LEGO(), n_bits=64, random_state=0)
    for i in range(1, 30):
        ask(service, {"op": "add", "id": i, "x": POINTS[i].tolist()})
        beside.add(POINTS[[i]], [i])
    for q in (31, 32, 33):
        shown = beside.query(POINTS[[q]], 6)[0][0].tolist()
        judged = {"liked": shown[3:5], "disliked": shown[:2], "shown": shown}
        assert ask(service, {"op": "feedback", "x": POINTS[q].tolist(), **judged})["ok"]
        beside.feedback(POINTS[q], **judged)
    assert np.array_equal(service.index.metric_.matrix, beside.metric_.matrix)
    for bad in ({"liked": [999]}, {"liked": ["a"]}, {"liked": 3}, {}):
        assert not ask(service, {"op": "feedback", "x": POINTS[31].tolist(), **bad})["ok"]
    service.commit()
    service.store.close()  # without a snapshot: the events are read again
    again = Stream(tmp_path, n_bits=64)
    assert np.array_equal(again.index.metric_.matrix, beside.metric_.matrix) and again.seq == 32
    again.close()


def test_answers(tmp_path):
    service = Stream(tmp_path, eta=0.5, n_bits=64)
    for i in range(20):
        assert ask(service, event(i)) == {"ok": True, "seq": i + 1}
    service.commit()
    answer = ask(service, {"op": "query", "x": POINTS[3].tolist(), "k": 2})
    metric = ask(service, {"op": "metric"})
    assert answer["seq"] == metric["seq"] == 20
    assert answer["ids"][0] == 3 and answer["sqdist"][0] == 0
    M = np.array(metric["matrix"])
    held = POINTS[1:20:2]
    D = np.einsum("ij,jk,ik->i", held - POINTS[3], M, held - POINTS[3])
    assert np.allclose(answer["sqdist"], np.sort(D)[:2])
    check(service, 20)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "not json",
        "[]",
        '"learn"',
        "{}",
        '{"op": "forget"}',
        '{"op": "learn", "u": [0, 0, 0], "v": [1, 1, 1]}',
        '{"op": "learn", "u": [0, 0, 0], "v": [1, 1, 1], "target": NaN}',
        '{"op": "learn", "u": [0, 0, 0], "v": [1, 1, 1], "target": -1}',
        '{"op": "learn", "u": [0, 0, 0], "v": [1, 1, 1], "target": 1, "kind": "near"}',
        '{"op": "learn", "u": [0, 0, 0], "v": [1, 1], "target": 1}',
        '{"op": "learn", "u": [0, 0, Infinity], "v": [1, 1, 1], "target": 1}',
        '{"op": "learn", "u": ["0", 0, 0], "v": [1, 1, 1], "target": 1}',
        '{"op": "learn", "u": [1e300, 0, 0], "v": [1, 1, 1], "target": 1}',
        '{"op": "add", "id": 1, "x": [0, 0, 0]}',
        '{"op": "add", "id": "a", "x": [0, 0, 0]}',
        '{"op": "add", "id": 1.5, "x": [0, 0, 0]}',
        '{"op": "add", "id": true, "x": [0, 0, 0]}',
        '{"op": "add", "id": 10000000000000000000000, "x": [0, 0, 0]}',
        '{"op": "add", "id": 90, "x": [[0, 0, 0]]}',
        '{"op": "add", "id": 90, "x": []}',
        '{"op": "add", "x": [0, 0, 0]}',
        '{"op": "query", "x": [0, 0, 0], "k": 0}',
        '{"op": "query", "x": [0, 0], "k": 1}',
        '{"op": "query", "k": 1}',
    ],
)
def test_a_bad_line_is_answered_and_changes_nothing(tmp_path, line):
    service = Stream(tmp_path, eta=0.5)
    for i in range(6):
        ask(service, event(i))
    answer = service.answer(line)
    assert answer["ok"] is False
    assert isinstance(answer["error"], str) and answer["error"]
    check(service, 6)
    service.commit()
    service.close()
    check(Stream(tmp_path), 6)


def test_bad_lines_on_an_empty_state(tmp_path):
    service = Stream(tmp_path, eta=0.5)
    for line in ('{"op": "metric"}', '{"op": "query", "x": [0], "k": 1}', '{"op": "add", "id": 0, "x": []}'):
        assert service.answer(line)["ok"] is False
    for i in range(4):
        ask(service, event(i))
    check(service, 4)


def test_errors_speak_of_what_the_user_knows(tmp_path):
    service = Stream(tmp_path, eta=0.5)
    line = '{"op": "add", "id": 1, "x": [0, 0, 0]}'
    assert service.answer(line)["ok"]
    assert service.answer(line)["error"].startswith("OnlineHashIndex: ids must be new, got 1")
    assert service.answer("hello")["error"].startswith("event must be one line of JSON, got ")


def drop(service):
    """Let go of the folder as a killed process does: nothing more is written."""
    service.store.close()


def test_restart_goes_on(tmp_path):
    done = 0
    for upto in (1, 5, 12, 12, 30):
        service = Stream(tmp_path, eta=0.5, n_bits=64, snapshot_every=7)
        if done:
            check(service, done)
        for i in range(done, upto):
            assert ask(service, event(i))["seq"] == i + 1
            service.commit()
        done = upto
        service.close()
    check(Stream(tmp_path), 30)
    assert len(list(tmp_path.glob("stream-*.gram"))) == 2


def test_uncommitted_events_are_gone_and_committed_ones_are_not(tmp_path):
    service = Stream(tmp_path, eta=0.5)
    for i in range(10):
        ask(service, event(i))
    service.commit()
    ask(service, event(10))
    service.close()
    check(Stream(tmp_path), 10)


def test_a_damaged_snapshot_falls_back_to_the_one_before(tmp_path):
    service = Stream(tmp_path, eta=0.5, snapshot_every=5)
    for i in range(17):
        ask(service, event(i))
        service.commit()
    drop(service)
    (tmp_path / "stream-xyz.gram").write_bytes(b"a stray file")
    newest = sorted(tmp_path.glob("stream-0*"))[-1]
    newest.write_bytes(newest.read_bytes()[:100])
    check(Stream(tmp_path), 17)


@pytest.mark.parametrize(
    "statement", ["DELETE FROM events WHERE seq = 4", "UPDATE events SET data = '{}' WHERE seq = 4"]
)
def test_missing_and_damaged_events_are_an_error(tmp_path, statement):
    service = Stream(tmp_path, eta=0.5)
    for i in range(9):
        ask(service, event(i))
    service.commit()
    drop(service)
    with contextlib.closing(sqlite3.connect(tmp_path / "space.db")) as db:
        db.execute(statement)
        db.commit()
    with pytest.raises(PersistError, match="event 4 is"):
        Stream(tmp_path)


def test_answers_after_a_restart_are_those_without_one(tmp_path):
    """Codes move with lessons and never with queries, also where queries go through the hash."""
    points = np.random.default_rng(1).standard_normal((3000, 8))
    service = Stream(tmp_path, eta=0.3, n_bits=64, snapshot_every=1500)
    for i, x in enumerate(points.tolist()):
        ask(service, {"op": "add", "id": i, "x": x})
        if i % 10 == 0:
            u, v = points[i].tolist(), points[(7 * i) % 3000].tolist()
            ask(service, {"op": "learn", "u": u, "v": v, "target": 0.5})
        if i % 50 == 0:
            service.commit()
            ask(service, {"op": "query", "x": x, "k": 5})
    service.commit()
    queries = [{"op": "query", "x": x, "k": 10} for x in (points[:100] + 0.1).tolist()]
    before = [ask(service, query) for query in queries]
    drop(service)
    again = Stream(tmp_path)
    assert [ask(again, query) for query in queries] == before


class Fault:
    """Let the n-th commit of a store fail, as a full disk or a broken one does."""

    def __init__(self, store, error, times=1):
        self.store, self.error, self.times = store, error, times
        self.commit = store.commit
        store.commit = self

    def __call__(self):
        self.times -= 1
        if self.times >= 0:
            raise self.error
        self.commit()


@pytest.mark.parametrize("error", [sqlite3.OperationalError("disk I/O error"), OSError(5, "I/O error")])
def test_a_commit_that_failed_has_not_happened_and_may_be_tried_again(tmp_path, error):
    service = Stream(tmp_path, eta=0.5)
    for i in range(6):
        ask(service, event(i))
    service.commit()
    Fault(service.store, error)
    for i in range(6, 9):
        ask(service, event(i))
    with pytest.raises((ValueError, sqlite3.OperationalError)):
        service.commit()
    check(service, 6)
    service.commit()
    check(service, 6)
    for i in range(6, 12):
        assert ask(service, event(i))["seq"] == i + 1
    service.commit()
    drop(service)
    check(Stream(tmp_path), 12)


def test_closing_after_a_failure_writes_nothing(tmp_path):
    service = Stream(tmp_path, eta=0.5)
    for i in range(5):
        ask(service, event(i))
    service.commit()
    ask(service, event(5))
    Fault(service.store, KeyboardInterrupt(), times=9)
    with pytest.raises(KeyboardInterrupt):
        service.commit()
    service.close()
    check(Stream(tmp_path), 5)


def test_an_interruption_between_applying_and_counting_is_not_snapshot(tmp_path, monkeypatch):
    service = Stream(tmp_path, eta=0.5)
    for i in range(4):
        ask(service, event(i))
    service.commit()
    apply = Stream._apply

    def interrupted(self, event):
        apply(self, event)
        raise KeyboardInterrupt

    monkeypatch.setattr(Stream, "_apply", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ask(service, event(4))
    service.close()
    monkeypatch.undo()
    check(Stream(tmp_path), 4)


def test_a_refused_opening_lets_go_of_the_folder(tmp_path):
    Stream(tmp_path, eta=0.5).close()
    with pytest.raises(ValueError, match="eta must be 0.5"):
        Stream(tmp_path, eta=0.7)
    Stream(tmp_path).close()


def test_a_vector_too_wide_to_learn_is_refused_in_one_sentence(tmp_path):
    service = Stream(tmp_path, eta=0.5)
    answer = ask(service, {"op": "add", "id": 1, "x": [0.0] * 40_000})
    assert answer == {"ok": False, "error": "x must have at most 4096 numbers, got 40000; reduce them first."}
    assert ask(service, event(0))["ok"]


def test_one_service_at_a_time_and_its_own_settings(tmp_path):
    service = Stream(tmp_path, eta=0.5)
    with pytest.raises(ValueError, match="lock"):
        Stream(tmp_path)
    service.close()
    with pytest.raises(ValueError, match="eta must be 0.5"):
        Stream(tmp_path, eta=0.7)
    for bad in ({"eta": -1.0}, {"n_bits": 7}):
        with pytest.raises(ValueError):
            Stream(tmp_path / str(bad), **bad)
        assert not (tmp_path / str(bad)).exists()


def start(folder):
    command = [sys.executable, "-m", "gramian", "stream", "--state", str(folder), "--eta", "0.5", "--bits", "64"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def feed(pipe, lines):
    with contextlib.suppress(BrokenPipeError):
        pipe.write(lines)
        pipe.close()


def test_killed_at_random_moments_nothing_acknowledged_is_lost(tmp_path):
    """Feed events, kill -9 while they run, restart, compare with the library; a few rounds."""
    pytest.importorskip("typer")
    moments, done = random.Random(3), 0
    for _ in range(3):
        process = start(tmp_path)
        lines = b"".join(json.dumps(event(i)).encode() + b"\n" for i in range(done, done + 3000))
        writer = threading.Thread(target=feed, args=(process.stdin, lines))
        writer.start()
        first = process.stdout.readline()
        time.sleep(moments.uniform(0, 0.05))
        process.send_signal(signal.SIGKILL)
        answers = [json.loads(line) for line in (first + process.stdout.read()).splitlines() if line.endswith(b"}")]
        process.wait()
        writer.join()
        assert answers and all(answer["ok"] for answer in answers)
        assert answers[0]["seq"] == done + 1
        service = Stream(tmp_path)
        assert service.seq >= answers[-1]["seq"]
        check(service, service.seq)
        done = service.seq
        drop(service)


def test_the_command_serves_standard_input(tmp_path):
    pytest.importorskip("typer")
    events = [*(event(i) for i in range(8)), {"op": "query", "x": [0, 0, 0], "k": 3}, {"op": "metric"}, {"op": "no"}]
    process = start(tmp_path)
    out, err = process.communicate("\n".join(map(json.dumps, events)).encode())
    answers = [json.loads(line) for line in out.splitlines()]
    assert process.returncode == 0, err
    assert [answer.get("seq") for answer in answers] == [1, 2, 3, 4, 5, 6, 7, 8, 8, 8, None]
    check(Stream(tmp_path), 8)


@pytest.mark.parametrize("pause", [0.0005, 0.002, 0.005])
def test_two_interrupts_in_a_row_leave_a_folder_that_opens(tmp_path, pause):
    pytest.importorskip("typer")
    process = start(tmp_path)
    answered = []

    def read():
        answered.extend(iter(process.stdout.readline, b""))

    reader = threading.Thread(target=read)
    reader.start()
    with contextlib.suppress(BrokenPipeError):
        for i in range(1000):
            process.stdin.write(json.dumps(event(i)).encode() + b"\n")
            process.stdin.flush()
            while not answered and process.poll() is None:
                time.sleep(0.01)
            if i == 40:
                process.send_signal(signal.SIGINT)
                time.sleep(pause)
                process.send_signal(signal.SIGINT)
        process.stdin.close()
    reader.join()
    process.wait()
    last = max([json.loads(line)["seq"] for line in answered if line.endswith(b"}\n")], default=0)
    service = Stream(tmp_path)
    assert service.seq >= last
    check(service, service.seq)


def test_a_stream_is_a_collection_of_a_space(tmp_path):
    stream = Stream(tmp_path, eta=0.5)
    for i in range(20):
        ask(stream, event(i))
    stream.commit()
    stream.close()
    with gm.service.Space(tmp_path) as space:
        assert space.seq == 20
        found = space.query("stream", x=POINTS[3], k=1)
        assert found["ids"] == [3] and found["sqdist"] == [0.0]


def test_report(tmp_path, capsys):
    pytest.importorskip("typer")
    pytest.importorskip("matplotlib")
    from gramian.cli import main

    path = tmp_path / "events.jsonl"
    queries = [{"op": "query", "x": POINTS[i].tolist(), "k": 3} for i in range(30)]
    path.write_text("\n".join(map(json.dumps, [*(event(i) for i in range(100)), *queries, {"op": "no"}])))
    assert main(["stream", "--state", str(tmp_path / "s"), "--report", str(path)]) == 0
    out = capsys.readouterr().out
    assert "131 events" in out and "recall 1.000" in out and "1 bad lines" in out
    assert (tmp_path / "s" / "report.png").stat().st_size > 5000
