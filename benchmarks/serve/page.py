"""The page in a real browser: how soon it opens, answers, ranks anew, and how smoothly a large map moves."""

import os
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from tests.page import chromium
from tests.page.conftest import Server

from benchmarks.harness import ROOT
from benchmarks.serve import browsing, glosses
from gramian.service import Space, demo, sources

TITLE = "The page in a browser"
NOTES = """
Wall times in chromium on this machine, without a graphics card: software draws. *command to browser* is from starting
`gramian serve` on a space that is there until it calls a browser, *command to results* until the first results are
on the page, starting the browser's tab included. *search* is from the key Enter to the moment the new results are
painted, *ranked anew* from the mouse click on + or − to the new order painted; both include the way through the
server. *other browser* is from the click of one person to the sentence about it on the page of another. *load* is
from the address to results and map on the page, *frames* are those drawn in a second while the points move after a
click. The first search, ranking and tab of each row are not counted: a person meets them warm, as the server asks
itself once at its start. *load of the machine* is its mean number of busy processes at the end of the row: it had
other work to do at the same time, over which server and browser had priority.
"""
SEARCHES = 25
STARTS = 5
POINTS, WIDTH = 100_000, 64


def available() -> bool:
    """Whether there is a browser."""
    return chromium.missing() is None


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Rows for emoji, glosses and points at random."""
    if chromium.missing():
        raise FileNotFoundError(f"page: {chromium.missing()}")
    with tempfile.TemporaryDirectory() as folder, chromium.launched() as browser:
        place = Path(folder)
        rows = emoji(browser, place / "emoji", quick)
        rows += many(browser, points(place / "points"), f"points, {POINTS:,} × {WIDTH}", quick)
        if not quick:
            rows += many(browser, made(place / "glosses", "glosses"), "glosses, 117,659 × 64", quick)
    return rows


def emoji(browser: Any, folder: Path, quick: bool) -> list[dict[str, Any]]:
    """The first minute with emoji."""
    name = "emoji, 1,911 × 192"
    called, seen = starts(browser, made(folder, "emoji"), 2 if quick else STARTS)
    rows = [
        row(name, "command to browser", called, "s", 5),
        row(name, "command to results", seen, "s"),
    ]
    server = Server(folder)
    try:
        page = browsing.opened(browser, server.address)
        searches, rankings = browsing.visits(page, sample(1911, 5 if quick else SEARCHES))
        rows.append(row(name, "search", searches, "ms", 100))
        rows.append(row(name, "ranked anew", rankings, "ms", 150))
        other = browsing.opened(browser, server.address)
        rows.append(row(name, "other browser", browsing.echoes(page, other, 3 if quick else 10), "ms", 1000))
    finally:
        server.stop()
    return rows


def many(browser: Any, folder: Path, name: str, quick: bool) -> list[dict[str, Any]]:
    """A hundred thousand items: load, search, rank, and a map that moves."""
    server = Server(folder)
    try:
        loads = [browsing.load(browser, server.address) for _ in range(2 if quick else STARTS)]
        page = browsing.opened(browser, server.address)
        searches, rankings = browsing.visits(page, sample(100_000, 3 if quick else 10))
        frames = browsing.frames(page, 2 if quick else 5)
    finally:
        server.stop()
    return [
        row(name, "load", loads[1:], "s", 3),
        row(name, "search", searches, "ms", 100),
        row(name, "ranked anew", rankings, "ms", 150),
        row(name, "frames", frames, "1/s", 20),
    ]


def row(items: str, what: str, values: list[float], unit: str, demanded: float | None = None) -> dict[str, Any]:
    """Median and worst of some times; of frames the fewest are the worst."""
    worst = min(values) if unit == "1/s" else max(values)
    facts = {"items": items, "what": what, "count": len(values), "median": round(float(np.median(values)), 2)}
    sign = "above" if unit == "1/s" else "under"
    limits = {"worst": round(worst, 2), "unit": unit, "wanted": f"{sign} {demanded}" if demanded else ""}
    return {**facts, **limits, "load of the machine": round(os.getloadavg()[0], 1)}


def sample(n: int, count: int) -> list[int]:
    """Ids of some items."""
    return np.random.default_rng(0).choice(n, count, replace=False).tolist()


def made(folder: Path, kind: str) -> Path:
    """A space with a demonstration."""
    with Space(folder, learning=False) as space:
        demo.fill(space, kind) if kind in demo.KINDS else sources.fill(space, kind, glosses.make(lambda done, of: None))
    return folder


def points(folder: Path) -> Path:
    """A space with points of twelve kinds."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 12, POINTS)
    X = (rng.standard_normal((12, WIDTH))[kind] + 0.7 * rng.standard_normal((POINTS, WIDTH))).astype(np.float32)
    meta = [{"name": f"point {i}", "kind": int(k)} for i, k in enumerate(kind)]
    with Space(folder, learning=False) as space:
        space.create("many", WIDTH)
        space.add("many", X, list(range(POINTS)), meta=meta)
    return folder


def starts(browser: Any, folder: Path, count: int) -> tuple[list[float], list[float]]:
    """Seconds from the command to the call of a browser, and to the first results on the page."""
    called, seen = [], []
    stamp = folder.parent / "stamp"
    script = folder.parent / "browser"
    script.write_text(f'#!/bin/sh\necho "$(date +%s.%N) $1" > {stamp}.new && mv {stamp}.new {stamp}\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    command = [sys.executable, "-m", "gramian", "serve", "--space", str(folder), "--port", "0"]
    for _ in range(count):
        stamp.unlink(missing_ok=True)
        environment = {**os.environ, "BROWSER": str(script), "PYTHONPATH": str(ROOT / "src")}
        begun = time.time()
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        try:
            while not stamp.is_file():
                time.sleep(0.01)
            moment, address = stamp.read_text().split()
            page = browsing.opened(browser, address)
            seen.append(time.time() - begun)
            called.append(float(moment) - begun)
            page.context.close()
        finally:
            process.terminate()
            process.wait()
    return called, seen
