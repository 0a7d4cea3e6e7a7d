"""Progress of long fits: a bar when verbose, and the user's callback."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def progress(owner: str, verbose: bool, total: int, callback: Callable | None = None) -> Iterator[Callable | None]:
    """Yield ``report(n_iter, value, residual)``, or None when nobody listens."""
    if not verbose:
        yield callback
        return
    try:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError as error:
        raise ImportError(f"{owner}: verbose=True needs rich: pip install 'gramian[cli]'.") from error

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, transient=True) as bar:
        task = bar.add_task(owner, total=total)

        def report(n_iter: int, value: float, residual: float, *rest: Any) -> None:
            bar.update(task, completed=n_iter, description=f"{owner} residual {residual:.2e}")
            if callback is not None:
                callback(n_iter, value, residual, *rest)

        yield report
