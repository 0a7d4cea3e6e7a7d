"""A long run that can be stopped: which benchmarks are done, and how long the others will take."""

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from benchmarks import harness
from benchmarks.harness import ROOT

WIDTH = 30
"""Characters of the bar."""


class Round:
    """The benchmarks of one run that have ended, kept in a file until all have.

    A benchmark counts as done as long as the library, the harness and the folder of the benchmark are what they were.
    """

    def __init__(self, package: str, quick: bool) -> None:
        name = package.rsplit(".", 1)[-1] + "-quick" * quick
        self.path = harness.PARTS / "rounds" / f"{name}.json"
        self.package = package
        self._library = library() + _digest((ROOT / "benchmarks").glob("*.py"))

    def done(self) -> set[str]:
        """Names that need not be run again."""
        kept = json.loads(self.path.read_text()) if self.path.is_file() else {}
        return {name for name, digest in kept.items() if digest == self._of(name)}

    def add(self, name: str) -> None:
        """Note that a benchmark has ended."""
        kept = {other: self._of(other) for other in self.done()} | {name: self._of(name)}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_suffix(".new")
        draft.write_text(json.dumps(kept))
        os.replace(draft, self.path)

    def end(self) -> None:
        """Forget: the next run begins anew."""
        self.path.unlink(missing_ok=True)

    def _of(self, name: str) -> str:
        path = ROOT.joinpath(*self.package.split("."), *name.split(".")).with_suffix(".py")
        beside = path.parent.glob("*.py") if "." in name else [path]
        return hashlib.sha256((self._library + _digest(beside)).encode()).hexdigest()


def library() -> str:
    """A digest of the library."""
    return _digest((ROOT / "src").rglob("*.py"))


def _digest(paths: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for path in sorted(paths):
        found.update(path.read_bytes() if path.is_file() else b"")
    return found.hexdigest()


class Bar:
    """One line: how many benchmarks have ended, and an estimate for the rest.

    Parameters
    ----------
    seconds : dict
        What each benchmark took before; None where that is not known, which counts as the mean of the others.
    jobs : int
        Processes.
    stream : file
        Where the line goes; on a terminal it is written over, elsewhere every end is a line.
    """

    def __init__(self, seconds: dict[str, float | None], jobs: int = 1, stream: TextIO | None = None) -> None:
        known = [value for value in seconds.values() if value]
        mean = sum(known) / len(known) if known else 1.0
        self.weights = {name: value or mean for name, value in seconds.items()}
        self.jobs = jobs if known else None
        self.left = dict(self.weights)
        self.stream = sys.stderr if stream is None else stream
        self.start = time.monotonic()

    def end(self, name: str) -> None:
        """One benchmark has ended."""
        self.left.pop(name, None)
        self.show()

    def remaining(self) -> float | None:
        """Seconds that the rest will take: at the pace so far, or by what was recorded when nothing has ended."""
        done = sum(self.weights.values()) - sum(self.left.values())
        if len(self.left) < len(self.weights) and done > 0:
            return (time.monotonic() - self.start) * sum(self.left.values()) / done
        return None if self.jobs is None else sum(self.left.values()) / self.jobs

    def text(self) -> str:
        """The line itself."""
        count = len(self.weights) - len(self.left)
        share = 1 - sum(self.left.values()) / max(sum(self.weights.values()), 1e-12)
        bar = "#" * round(WIDTH * share)
        seconds = self.remaining()
        rest = "" if seconds is None or not self.left else f", about {shown(seconds)} left"
        return f"[{bar:.<{WIDTH}}] {count} of {len(self.weights)} benchmarks{rest}"

    def show(self) -> None:
        """Write the line."""
        terminal = self.stream.isatty()
        ending = "" if terminal and self.left else "\n"
        self.stream.write(f"\r\x1b[K{self.text()}{ending}" if terminal else f"{self.text()}\n")
        self.stream.flush()


def shown(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 90:
        return f"{round(seconds)} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
