"""The streaming service, alone and killed."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import gramian as gm
from gramian.persist import PersistError
from gramian.search.stream import StreamService

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


def test_answers(tmp_path):
    service = StreamService(tmp_path, eta=0.5, n_bits=64)
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
    service = StreamService(tmp_path, eta=0.5)
    for i in range(6):
        ask(service, event(i))
    answer = service.answer(line)
    assert answer["ok"] is False
    assert isinstance(answer["error"], str) and answer["error"]
    check(service, 6)
    service.commit()
    service.close()
    check(StreamService(tmp_path), 6)


def test_bad_lines_on_an_empty_state(tmp_path):
    service = StreamService(tmp_path, eta=0.5)
    for line in ('{"op": "metric"}', '{"op": "query", "x": [0], "k": 1}', '{"op": "add", "id": 0, "x": []}'):
        assert service.answer(line)["ok"] is False
    for i in range(4):
        ask(service, event(i))
    check(service, 4)


def test_errors_speak_of_what_the_user_knows(tmp_path):
    service = StreamService(tmp_path, eta=0.5)
    line = '{"op": "add", "id": 1, "x": [0, 0, 0]}'
    assert service.answer(line)["ok"]
    assert service.answer(line)["error"].startswith("OnlineHashIndex: ids must be new, got 1")
    assert service.answer("hello")["error"].startswith("event must be one line of JSON, got ")


def test_restart_goes_on(tmp_path):
    done = 0
    for upto in (1, 5, 12, 12, 30):
        service = StreamService(tmp_path, eta=0.5, n_bits=64, snapshot_every=7)
        if done:
            check(service, done)
        for i in range(done, upto):
            assert ask(service, event(i))["seq"] == i + 1
            service.commit()
        done = upto
        service.close()
    check(StreamService(tmp_path), 30)
    assert len(list(tmp_path.glob("snapshot-*"))) == 2


def test_uncommitted_events_are_gone_and_committed_ones_are_not(tmp_path):
    service = StreamService(tmp_path, eta=0.5)
    for i in range(10):
        ask(service, event(i))
    service.commit()
    ask(service, event(10))
    os.close(service._lock)
    check(StreamService(tmp_path), 10)


def test_a_torn_record_is_dropped_and_reported(tmp_path):
    service = StreamService(tmp_path, eta=0.5)
    for i in range(10):
        ask(service, event(i))
    service.commit()
    os.close(service._lock)
    log = next(tmp_path.glob("events-*.log"))
    log.write_bytes(log.read_bytes()[:-9])
    again = StreamService(tmp_path)
    assert again.dropped > 0
    check(again, 9)


def test_a_damaged_snapshot_falls_back_to_the_one_before(tmp_path):
    service = StreamService(tmp_path, eta=0.5, snapshot_every=5)
    for i in range(17):
        ask(service, event(i))
        service.commit()
    os.close(service._lock)
    newest = sorted(tmp_path.glob("snapshot-*"))[-1]
    newest.write_bytes(newest.read_bytes()[:100])
    check(StreamService(tmp_path), 17)


def test_missing_events_are_an_error(tmp_path):
    service = StreamService(tmp_path, eta=0.5, snapshot_every=5)
    for i in range(17):
        ask(service, event(i))
        service.commit()
    os.close(service._lock)
    for path in [*tmp_path.glob("snapshot-*"), *sorted(tmp_path.glob("events-*.log"))[:-1]]:
        path.unlink()
    with pytest.raises(PersistError, match="missing"):
        StreamService(tmp_path)


def test_one_service_at_a_time_and_its_own_settings(tmp_path):
    service = StreamService(tmp_path, eta=0.5)
    with pytest.raises(ValueError, match="lock"):
        StreamService(tmp_path)
    service.close()
    with pytest.raises(ValueError, match="eta must be 0.5"):
        StreamService(tmp_path, eta=0.7)
    for bad in ({"eta": -1.0}, {"n_bits": 7}):
        with pytest.raises(ValueError):
            StreamService(tmp_path / str(bad), **bad)
        assert not (tmp_path / str(bad) / "settings.json").exists()


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
        service = StreamService(tmp_path)
        assert service.seq >= answers[-1]["seq"]
        check(service, service.seq)
        done = service.seq
        os.close(service._lock)
        service._journal.close()


def test_the_command_serves_standard_input(tmp_path):
    pytest.importorskip("typer")
    events = [*(event(i) for i in range(8)), {"op": "query", "x": [0, 0, 0], "k": 3}, {"op": "metric"}, {"op": "no"}]
    process = start(tmp_path)
    out, err = process.communicate("\n".join(map(json.dumps, events)).encode())
    answers = [json.loads(line) for line in out.splitlines()]
    assert process.returncode == 0, err
    assert [answer.get("seq") for answer in answers] == [1, 2, 3, 4, 5, 6, 7, 8, 8, 8, None]
    check(StreamService(tmp_path), 8)


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
