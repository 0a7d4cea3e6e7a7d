"""Ten minutes of load over loopback: does memory grow, does anything fail."""

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.serve import latency

TITLE = "Ten minutes of load"
NOTES = """
One server with learning on, 20 people without pause to think beyond a twentieth of a second, on loopback; a row for
each tenth of the time. *memory* is the resident size of the server at the end of the row. Learning goes on all the
while: *versions* counts the candidates, each of which duels with what is in use. *refused* counts answers that were no
success.
"""
SIZE = (20_000, 64)
PEOPLE, MINUTES, PARTS = 20, 10.0, 10
THINK = 0.05


def run(quick: bool = False) -> list[dict[str, Any]]:
    """A row for each part of the time."""
    n, d = SIZE
    minutes = 0.5 if quick else MINUTES
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "v.npy", np.random.default_rng(0).standard_normal((n, d)).astype(np.float32))
        server, port = latency.begin(folder)
        try:
            rows = [first(server.pid)]
            for part in range(PARTS):
                rows.append(one_part(server.pid, port, n, 60 * minutes / PARTS, part))
            return rows
        finally:
            server.kill()
            server.wait()


def first(pid: int) -> dict[str, Any]:
    """Before anyone came."""
    return {"minute": 0.0, "requests": 0, "refused": 0, "memory MB": latency.memory(pid)}


def one_part(pid: int, port: int, n: int, seconds: float, part: int) -> dict[str, Any]:
    """What people saw in one part of the time."""
    begun = time.monotonic()
    times = latency.crowd(port, n, PEOPLE, seconds, think=THINK, skip=0, seed=PEOPLE * part, duel=True)
    ms = 1000 * np.concatenate([np.array(times[kind]) for kind in latency.KINDS])
    row = {"minute": round((part + 1) * seconds / 60, 2), "requests": len(ms), "refused": len(times["refused"])}
    row |= {"memory MB": latency.memory(pid), "requests/s": len(ms) / (time.monotonic() - begun)}
    row |= {f"p{q} ms": float(np.quantile(ms, q / 100)) for q in (50, 99)}
    return row | {"versions": latency.versions(port)}
