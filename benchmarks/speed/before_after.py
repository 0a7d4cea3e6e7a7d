"""Version 0.1 against the tree as it is: the same cases, in turns."""

import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path

from benchmarks import harness
from benchmarks.speed.peers import before_after as cases

TITLE = "Before and after"
NOTES = """
Version 0.1 (before coordinates came under everything) and the tree as it is, each in a process of its own, in turns:
medians of CPU seconds on one thread after one call that is not measured. *Ratio* is now over then; below 1 is faster.
Learners are those that 0.1 had, not anchored (`anchor=0`), on data at unit variance; items of an index are 20,000 × 64,
queries are 200 at a time. A new metric includes one query.

ExactIndex keeps coordinates in single precision beside its items, for which adding and a new metric pay and a query
gains. NCA on breast cancer takes 29 steps in place of 21, and ends at a loss of −566.999998 in place of −566.99995.
"""
COMMIT = "516d834"
"""The last one of version 0.1."""
ENOUGH = 5.0
"""CPU seconds after which a case is not repeated more than three times."""


def available() -> bool:
    """Whether the old version is in the history at hand."""
    found = subprocess.run(["git", "cat-file", "-e", COMMIT], cwd=harness.ROOT, capture_output=True)
    return found.returncode == 0


def old_source(folder: str) -> Path:
    """The sources of version 0.1, in a folder."""
    made = subprocess.run(["git", "archive", COMMIT, "src"], cwd=harness.ROOT, capture_output=True, check=True)
    with tarfile.open(fileobj=BytesIO(made.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return Path(folder, "src")


def worker(source: Path) -> subprocess.Popen:
    """A process that runs cases with the library in ``source``."""
    environment = os.environ | harness.ONE_THREAD | {"PYTHONPATH": str(source)}
    command = [sys.executable, cases.__file__]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(process: subprocess.Popen, case: str) -> float:
    """CPU seconds of a case in one process."""
    print(case, file=process.stdin, flush=True)
    answer = process.stdout.readline()
    if not answer:
        raise RuntimeError(f"before_after: {case!r} failed.")
    return float(answer)


def row(then: subprocess.Popen, now: subprocess.Popen, case: str, rounds: int) -> dict:
    """Medians of both versions, one round after the other; three are enough of what takes long."""
    times: list[tuple[float, float]] = []
    while len(times) < 3 or (len(times) < rounds and sum(map(sum, times)) < ENOUGH):
        times.append((ask(then, case), ask(now, case)))
    before, after = (statistics.median(column) for column in zip(*times))
    return {
        "case": case,
        "0.1": float(f"{before:.3g}"),
        "now": float(f"{after:.3g}"),
        "ratio": round(after / before, 2),
    }


def rows(chosen: Iterable[str], rounds: int) -> Iterator[dict]:
    """A row for each case."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        sources = (old_source(folder), harness.ROOT / "src")
        then, now = (stack.enter_context(worker(source)) for source in sources)
        for case in chosen:
            yield row(then, now, case, rounds)


def run(quick: bool = False) -> list[dict]:
    """All cases, or two of them."""
    return list(rows(("RCA, iris", "HashIndex query"), 3) if quick else rows(cases.CASES, 7))


if __name__ == "__main__":  # some cases, by how their names begin
    for found in rows((case for case in cases.CASES if case.startswith(tuple(sys.argv[1:]))), 7):
        print(*found.values(), sep="\t", flush=True)
