"""Progress of long fits: a bar when verbose, or lines where none can be drawn, and the user's callback."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

from gramian.learners.task import Task
from gramian.solvers.base import Solution

SECONDS = 1.0
"""Time between two lines."""


@dataclass(frozen=True, eq=False)
class Watched:
    """A solver that shows how far it is, for a learner that is ``verbose``."""

    solver: Any
    learner: Any

    def solve(self, task: Task) -> Solution:
        """What the solver says."""
        most = self.learner.traits.exact.of(self.learner).max_iter
        with progress(type(self.learner).__name__, self.learner.verbose, most, self.learner.callback) as report:
            return self.solver.solve(replace(task, report=report))


@contextmanager
def progress(
    owner: str, verbose: bool | int, total: int | None, callback: Callable[..., Any] | None = None
) -> Iterator[Callable[..., Any] | None]:
    """Yield ``report(n_iter, value, residual)``, or None when nobody listens."""
    if not verbose:
        yield callback
        return
    shown = _bar if can_draw() else _lines
    with shown(owner, total) as show:

        def report(n_iter: int, value: float, residual: float, *rest: Any) -> None:
            show(n_iter, residual)
            if callback is not None:
                callback(n_iter, value, residual, *rest)

        yield report


def can_draw() -> bool:
    """Whether there is rich, and a terminal or a notebook for it; a bar leaves nothing in a file."""
    if find_spec("rich") is None:
        return False
    from rich import get_console

    return get_console().is_terminal or get_console().is_jupyter


@contextmanager
def _bar(owner: str, total: int | None) -> Iterator[Callable[[int, float], None]]:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, transient=True) as bar:
        task = bar.add_task(owner, total=total)
        yield lambda n_iter, residual: bar.update(
            task, completed=n_iter, description=f"{owner} residual {residual:.2e}"
        )


@contextmanager
def _lines(owner: str, total: int | None) -> Iterator[Callable[[int, float], None]]:
    """A line a second, and one at the end."""
    printed = -SECONDS
    last = ""

    def show(n_iter: int, residual: float) -> None:
        nonlocal printed, last
        most = "" if total is None else f" of at most {total}"
        last = f"{owner}: step {n_iter}{most}, residual {residual:.2e}"
        if time.monotonic() - printed >= SECONDS:
            print(last, flush=True)
            printed = time.monotonic()
            last = ""

    yield show
    if last:
        print(last, flush=True)
