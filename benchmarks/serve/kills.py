"""Killed at any moment under load: what was acknowledged is there, and how long a restart takes."""

import random
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tests.attack import test_faults as faults
from tests.service import test_crash as crash

from benchmarks import harness
from benchmarks.serve import latency
from gramian.service import Space

TITLE = "Killed under load"
NOTES = """
`kill −9` at a random moment. *threads in a space*: three people click and undo, a fourth adds batches of 3 or 50,000
items and removes some; after every kill the space is opened again and everything ever acknowledged in it is compared,
item by item and event by event (numbers without holes, batches whole or absent). *server*: `gramian serve` with
four people clicking over HTTP. *million*: a server with 1,000,000 × 64 items and 20 people. *full disk* is no kill:
of every five items that are added to a space, three meet a file that may not grow beyond a random size; the space is
opened again afterwards and asked for every item that it acknowledged. *lost* counts acknowledged changes that were
not there, and a space that does not open would end the run. *restart* is from the start of the opening to the first
answer; for servers it includes the start of Python. That a full disk is 507 over HTTP, that an undo is exact to the
last bit, and that a second process is told, is checked in `tests/service`. The thousand kills and the full disks ran
in parts beside other work, which lengthens *restart*; the rows *server* and *million* are of an earlier run, and the
CPU seconds below do not hold theirs. Deaths, errors of the disk and Ctrl-C at
every call to the system while a file is written in `tests/attack`.
"""


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Rows by what was killed."""
    rows = [threads(2 if quick else 100, 3 if quick else 10), server(2 if quick else 10)]
    disks = full_disks(1 if quick else 10, 2 if quick else 10)
    return [*rows, disks] if quick else [*rows, million(3), disks]


def threads(folders: int, kills: int) -> dict[str, Any]:
    """Victims that are forked, so that many kills are cheap; each folder is a part that is kept between runs."""
    promises, seconds = 0, []
    for part in range(folders):
        key = ("threads", part, kills)
        told, opened = harness.remembered("kills", key, partial(killed_space, part, kills))
        promises += told
        seconds += opened
    return row("threads in a space", promises, seconds)


def killed_space(part: int, kills: int) -> tuple[int, list[float]]:
    """How many changes one space acknowledged in its lives, and the seconds of each opening."""
    moments, told, seconds = random.Random(part), [], []
    with tempfile.TemporaryDirectory() as place, crash.launched() as launcher:
        folder = Path(place) / "space"
        for number in range(kills):
            wait = moments.uniform(0, 0.02)
            told += crash.kill_one(launcher, folder, 1000 * number + part, moments.randrange(40), wait)
            begun = time.monotonic()
            with Space(folder, learning=False) as space:
                seconds.append(time.monotonic() - begun)
                crash.check_promises(space, told)
                crash.check_whole(space)
    return len(told), seconds


def full_disks(folders: int, fills: int) -> dict[str, Any]:
    """Spaces whose disk is full again and again."""
    total = 0
    for part in range(folders):
        key = ("full disks", part, fills)
        total += harness.remembered("kills", key, partial(filled_space, part, fills))
    return {"killed": "full disk", "kills": folders * fills, "acknowledged": total, "lost": 0}


def filled_space(part: int, fills: int) -> int:
    """How many items one space acknowledged while its disk was full again and again."""
    with tempfile.TemporaryDirectory() as place:
        return len(faults.try_full_disks(Path(place) / "space", fills, seed=1000 + part))


def server(kills: int) -> dict[str, Any]:
    """Servers with people in front of them."""
    seconds: list[float] = []
    with tempfile.TemporaryDirectory() as place:
        promises = crash.serve_and_kill(Path(place), kills, restarts=seconds)
    return row("server", len(promises), seconds)


def million(kills: int) -> dict[str, Any]:
    """A server with many items: how long it takes to come back."""
    n, d = latency.CASES[-1]
    moments = random.Random(0)
    acknowledged, seconds = 0, []
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "v.npy", np.random.default_rng(0).standard_normal((n, d)).astype(np.float32))
        process, port = latency.begin(folder)
        for _ in range(kills):
            end = threading.Timer(moments.uniform(2, 6), process.kill)
            end.start()
            times = latency.crowd(port, n, 20, 8.0, think=0.1, skip=0)
            acknowledged += len(times["click"])
            process.wait()
            begun = time.monotonic()
            process, port = latency.begin(folder, "--space", "s")
            seconds.append(time.monotonic() - begun)
        process.kill()
        process.wait()
        with Space(Path(folder) / "s", learning=False) as space:
            kept = len(space.clicks("a", limit=10**9))
    return {**row("million", acknowledged, seconds), "lost": max(0, acknowledged - kept)}


def row(what: str, promises: int, seconds: list[float]) -> dict[str, Any]:
    """A row; a promise that was broken would have raised before."""
    restart = {"restart p50 s": float(np.median(seconds)), "restart max s": max(seconds)}
    return {"killed": what, "kills": len(seconds), "acknowledged": promises, "lost": 0, **restart}
