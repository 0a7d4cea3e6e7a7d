"""Who computes: the workers of a client, or dask's own scheduler in this process; and what is said when they cannot."""

import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

STEP_S, PATIENCE_S = 0.5, 10.0
"""Seconds between two looks at a cluster, and those that it may be without workers."""
SHARE = 16
"""A block, in double precision, should take at most this part of the memory of a worker."""
IN_PROCESS = ("threads", "threading", "processes", "sync", "synchronous", "single-threaded")
"""Schedulers of dask itself."""
MISSING = "gramian.dask: needs dask and distributed; pip install 'gramian[dask]'."


class ClusterError(RuntimeError):
    """The cluster could not finish: its workers are gone, or have no memory for a block."""


def require_client(client: Any) -> None:
    """Refuse what is no client of dask; None is dask's own scheduler in this process."""
    if client is None:
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError(MISSING) from error
    if not isinstance(client, Client):
        raise TypeError(f"gramian.dask: client must be a distributed.Client or None, got {type(client).__name__}.")


def computed(client: Any, lazy: Sequence[Any], verbose: Any = False) -> list[Any]:
    """Values of what dask computes lazily; an error in a sentence when the cluster cannot give them."""
    if client is None:
        return in_process(lazy, verbose)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph")  # codes and rows, in few bytes
        futures = client.compute(list(lazy))
    if verbose:
        from distributed import progress

        progress(futures, notebook=False)
    return gathered(client, futures)


def in_process(lazy: Sequence[Any], verbose: Any) -> list[Any]:
    """The same here, in threads where dask is not told otherwise; with ``verbose`` under a bar."""
    import dask
    from dask.diagnostics import ProgressBar

    wanted = dask.config.get("scheduler", None)  # a client that is open makes itself the one of all
    with ProgressBar() if verbose else nullcontext():
        return list(dask.compute(*lazy, scheduler=wanted if wanted in IN_PROCESS else "threads"))


def gathered(client: Any, futures: list[Any]) -> list[Any]:
    """Results of futures, or one clear error; never a wait for workers that do not come back."""
    from distributed import KilledWorker, TimeoutError, wait

    alone = 0.0  # seconds without a worker
    try:
        while True:
            try:
                wait(futures, timeout=STEP_S)
                return client.gather(futures)
            except TimeoutError:
                alone = 0.0 if client.nthreads() else alone + STEP_S
                if alone >= PATIENCE_S:
                    raise ClusterError(
                        f"gramian.dask: the cluster has had no worker for {PATIENCE_S:g} seconds; "
                        f"start some, and call again."
                    ) from None
    except KilledWorker as error:
        raise ClusterError(lost(error)) from error
    except MemoryError as error:
        raise ClusterError(f"gramian.dask: a worker has no memory for a task ({error}); {remedy(None)}.") from error
    except BaseException:
        client.cancel(futures)
        raise


def lost(error: Any) -> str:
    """What is said of a task that took its workers with it."""
    limit = getattr(error.last_worker, "memory_limit", None)
    return (
        f"gramian.dask: the task {error.task!r} was lost with its worker {error.allowed_failures + 1} times, most "
        f"likely for want of memory; {remedy(limit)}."
    )


def remedy(limit: int | None) -> str:
    """Which blocks to use."""
    if not limit:
        return "use smaller blocks (block_rows=…, or X.rechunk), or workers with more memory"
    most = limit // SHARE  # bytes of a block
    return (
        f"its workers have {limit / 1e9:.2g} GB, so use blocks of at most {most / 1e6:.0f} MB in double precision "
        f"({most // (8 * 64):,} rows of 64 features): block_rows=…, or X.rechunk"
    )
