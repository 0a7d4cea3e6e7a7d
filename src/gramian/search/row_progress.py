"""Progress of long work on rows, a query or an export: a bar when verbose, and the caller's callback."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def progress(
    owner: str, total: int | None, verbose: bool, callback: Callable[[int, int | None], Any] | None
) -> Iterator[Callable[[int], None]]:
    """Yield ``report(count)``, which adds to a bar and tells the callback how many rows are done."""
    done = 0

    def report(count: int) -> None:
        nonlocal done
        done += count
        if bar is not None:
            bar.update(task, completed=done)
        if callback is not None:
            callback(done, total)

    if not verbose:
        bar = task = None
        yield report
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError as error:
        raise ImportError(f"{owner}: verbose=True needs rich: pip install 'gramian[cli]'.") from error
    parts = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*parts, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(owner, total=total)
        yield report
