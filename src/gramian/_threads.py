"""Work on several threads: how many, and none of them against the threads of the linear algebra library."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any

from gramian import _validate


def count(n_jobs: int | None, owner: str) -> int:
    """Number of threads: −1 is all cores that this process may use, −2 all but one, None one.

    Inside of ``joblib.parallel_config(n_jobs=…)`` None is the number given there, as in scikit-learn.
    """
    if n_jobs is None:
        from joblib.parallel import get_active_backend

        n_jobs = get_active_backend()[1] or 1
    n_jobs = _validate.number(n_jobs, owner, "n_jobs", integer=True)
    if n_jobs == 0:
        raise ValueError(f"{owner}: n_jobs must be None, −1 or a number of threads, got 0.")
    if n_jobs > 0:
        return n_jobs
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores + 1 + n_jobs)


def each(function: Callable[[Any], Any], pieces: Iterable[Any], threads: int) -> list[Any]:
    """Values of a function on the pieces, in their order; every thread has one thread of linear algebra.

    With 0 threads the caller works, and linear algebra as it likes: what is small does not pay for a limit.
    """
    if threads == 0:
        return [function(piece) for piece in pieces]
    pieces = list(pieces)
    with one_blas_thread():
        if threads == 1 or len(pieces) < 2:
            return [function(piece) for piece in pieces]
        with ThreadPoolExecutor(min(threads, len(pieces))) as pool:
            return list(pool.map(function, pieces))


@cache
def _libraries() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


class _Limit:
    """The limit is the process's, so the first caller sets it and the last one takes it back."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.before: Any = None


_limit = _Limit()


def beside(threads: int) -> Any:
    """A block whose linear algebra takes one thread where work on several threads follows.

    A library's own threads go on spinning for a while after a product, on the cores that the others need.
    """
    return one_blas_thread() if threads > 1 else nullcontext()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Matrix products take one thread inside of this block, in all threads of the process."""
    with _limit.lock:
        _limit.users += 1
        if _limit.users == 1:
            _limit.before = _libraries().limit(limits=1)
    try:
        yield
    finally:
        with _limit.lock:
            _limit.users -= 1
            if _limit.users == 0:
                _limit.before.restore_original_limits()
