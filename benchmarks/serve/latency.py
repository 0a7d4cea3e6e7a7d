"""How long a click and a query take over loopback, with learning on, one person and twenty."""

import contextlib
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import ROOT

TITLE = "Latency over loopback"
NOTES = """
Wall milliseconds, in the client, through a real `gramian serve` on this machine with learning in the background. A
person asks (10 results by id), waits, likes one of them, asks again with the clicks so far (the query model), and so
on; between two requests they think for half a second on average, so that twenty people send about forty requests a
second. *click* is from sending to the answer, which comes when the click is on disk. Peak memory is that of the server.
The first 20 requests of every person are not counted. The machine had other work to do at the same time, whose
load is given; times on a quiet machine are shorter.
"""
CASES = ((100_000, 128), (1_000_000, 64))
THINK = 0.5
KINDS = ("query", "query after clicks", "click")


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Rows for each size and number of people."""
    rows = []
    for n, d in CASES[:1] if quick else CASES:
        with tempfile.TemporaryDirectory() as folder:
            X = np.random.default_rng(0).standard_normal((n, d)).astype(np.float32)
            X[:, : d // 8] *= 3
            np.save(Path(folder) / "v.npy", X)
            rows += measure(folder, n, d, quick)
    return rows


def measure(folder: str, n: int, d: int, quick: bool) -> list[dict[str, Any]]:
    """One server, then one person, then twenty."""
    start = time.monotonic()
    server, port = begin(folder)
    rows = []
    try:
        loaded = time.monotonic() - start
        for people in (1, 20):
            times = crowd(port, n, people, 10.0 if quick else 60.0)
            rows += [summary(kind, n, d, people, times[kind]) for kind in KINDS]
            rows[-1]["memory MB"] = memory(server.pid)
        rows[-1]["seconds to load"] = loaded
        rows[-1]["versions learned"] = versions(port)
    finally:
        server.kill()
        server.wait()
    return rows


NEW = ("v.npy", "--name", "a", "--space", "s")
"""A space that is filled from a file."""


def begin(folder: str, *what: str) -> tuple[subprocess.Popen, int]:
    """A server with the vectors of a folder, or with what else is to be served."""
    command = [sys.executable, "-m", "gramian", "serve", *(what or NEW), "--port", "0", "--no-browser"]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    server = subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    for line in server.stdout:
        if " at http" in line:
            return server, int(line.split(";")[0].rpartition(":")[2])
    raise RuntimeError("the server did not start")


def crowd(
    port: int,
    n: int,
    people: int,
    seconds: float,
    *,
    think: float = THINK,
    skip: int = 20,
    seed: int = 0,
    duel: bool = False,
) -> dict[str, list[float]]:
    """Times of all requests of some people who act for some seconds, without the first ones of each person."""
    times: dict[str, list[float]] = {kind: [] for kind in (*KINDS, "refused")}
    end = time.monotonic() + seconds
    crowd = [Person(port, n, seed + number, think, skip, duel, times) for number in range(people)]
    threads = [threading.Thread(target=person.act, args=(end,)) for person in crowd]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


class Person:
    """Asks, likes, asks again; a new query after five clicks."""

    def __init__(self, port: int, n: int, seed: int, think: float, skip: int, duel: bool, times: Any) -> None:
        self.rng = np.random.default_rng(seed)
        self.connection = http.client.HTTPConnection("127.0.0.1", port)
        self.n = n
        self.think = think
        self.duel = duel
        self.times = times
        self.left_out = skip

    def send(self, kind: str, path: str, body: Any) -> Any:
        """One request after a pause."""
        time.sleep(self.rng.exponential(self.think))
        begun = time.perf_counter()
        headers = {"Content-Type": "application/json"}
        self.connection.request("POST", f"/v1/collections/a/{path}", json.dumps(body), headers)
        answer = self.connection.getresponse()
        content = json.loads(answer.read())
        self.left_out -= 1
        if self.left_out < 0:
            self.times[kind if answer.status < 300 else "refused"].append(time.perf_counter() - begun)
        return content

    def act(self, end: float) -> None:
        """One query after the other until the time is over, or the server is gone."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            self.visits(end)

    def visits(self, end: float) -> None:
        """One query after the other until the time is over."""
        while time.monotonic() < end:
            query = int(self.rng.integers(self.n))
            found = self.send("query", "query", {"id": query, "k": 10, "duel": self.duel})
            clicks: dict[str, list[int]] = {"likes": [], "dislikes": []}
            credit = {"duel_id": found["duel_id"]} if found.get("duel_id") else {}
            for item in found["ids"][:5]:
                like = bool(self.rng.random() < 0.6)
                clicks["likes" if like else "dislikes"].append(item)
                self.send("click", "feedback", {"query": query, "item": item, "like": like, **credit})
                self.send("query after clicks", "query", {"id": query, "k": 10, **clicks})


def summary(kind: str, n: int, d: int, people: int, times: list[float]) -> dict[str, Any]:
    """Quantiles in milliseconds."""
    ms = 1000 * np.array(times)
    p50, p99 = (float(np.quantile(ms, q)) if len(ms) else None for q in (0.5, 0.99))
    case = {"items": f"{n:,} × {d}", "people": people, "request": kind, "count": len(ms)}
    return {**case, "p50 ms": p50, "p99 ms": p99, "load of the machine": round(os.getloadavg()[0], 1)}


def memory(pid: int) -> int:
    """Resident size of a process in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) // 1024


def versions(port: int) -> int:
    """Candidates that the background has learned."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/v1/collections/a/versions")
    return len(json.loads(connection.getresponse().read())["versions"]) - 1
