"""Who works on the blocks: this process, one block after the other, or the workers of a Dask cluster.

Both know three words. ``each`` calls a function on every task, ``total`` merges what comes out, and ``exchange`` lets
tasks send pieces to others. A task is a tuple of arguments, and anything in it that dask can compute, such
as a block of a dask array, arrives computed. Nothing stays on a worker between two calls: what is lost with one is
computed again.
"""

import uuid
import warnings
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from typing import Any

BRANCHES = 8
"""Results that are merged at once."""
STEP_S, PATIENCE_S = 0.5, 10.0
"""Seconds between two looks at a cluster, and those that it may be without workers."""
SHARE = 16
"""A block, in double precision, should take at most this part of the memory of a worker."""

Merge = Callable[[list[Any]], Any]


class ClusterError(RuntimeError):
    """The cluster could not finish: its workers are gone, or have no memory for a block."""


def added(results: list[Any]) -> Any:
    """The sum of arrays."""
    return sum(results[1:], start=results[0])


def engine(client: Any, verbose: bool = False) -> Any:
    """The engine of a dask client; this process when None."""
    if client is None:
        return Here(verbose)
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError("gramian.dask: needs dask and distributed; pip install 'gramian[dask]'.") from error
    if not isinstance(client, Client):
        raise TypeError(f"gramian.dask: client must be a distributed.Client or None, got {type(client).__name__}.")
    return Cluster(client, verbose)


class Here:
    """One task after the other in this process."""

    workers = 1

    def __init__(self, verbose: bool = False) -> None:
        self.verbose = verbose

    def each(self, function: Callable, tasks: Iterable[tuple]) -> list[Any]:
        """``function(*task)`` of every task, in order."""
        return list(self._results(function, tasks))

    def total(self, function: Callable, tasks: Iterable[tuple], merge: Merge = added) -> Any:
        """All results merged, a few of them in memory at a time."""
        held: list[Any] = []
        for result in self._results(function, tasks):
            held.append(result)
            if len(held) == BRANCHES:
                held = [merge(held)]
        return merge(held)

    def exchange(self, send: Callable, tasks: Any, receive: Callable, args: list[tuple], merge: Any = None) -> Any:
        """``send(*task)`` gives a list, one piece for each receiver, and ``receive(pieces, *args)`` takes its own.

        What was received is merged, or kept as by :meth:`kept`.
        """
        sent = self.each(send, tasks)
        received = [receive([pieces[i] for pieces in sent], *own) for i, own in enumerate(args)]
        return received if merge is None else merge(received)

    def kept(self, function: Callable, tasks: Iterable[tuple]) -> list[Any]:
        """Results that later tasks take as arguments."""
        return self.each(function, tasks)

    def _results(self, function: Callable, tasks: Iterable[tuple]) -> Iterable[Any]:
        tasks = list(tasks)
        with _bar(len(tasks), self.verbose) as step:
            for task in tasks:
                yield function(*(_computed(argument) for argument in task))
                step()


def _computed(argument: Any) -> Any:
    """A block of a dask array as an array; anything else as it is."""
    return argument.compute(scheduler="synchronous") if hasattr(argument, "__dask_graph__") else argument


@contextmanager
def _bar(total: int, verbose: bool) -> Any:
    """A bar over the blocks of one pass."""
    from gramian.learners.progress import progress

    done = 0
    with progress("blocks", verbose, total) as report:

        def step() -> None:
            nonlocal done
            done += 1
            if report is not None:
                report(done, 0.0, total - done)

        yield step


class Awaited:
    """Stands, in a call, for what dask computes."""


class Call:
    """A function and its arguments, but for those that dask computes: it would look into all of the others, slowly."""

    def __init__(self, function: Callable, args: list[Any]) -> None:
        self.function, self.args = function, args

    @classmethod
    def of(cls, function: Callable, task: tuple) -> tuple["Call", list[Any]]:
        """A call, and what it waits for; of lists only those are opened that hold such."""
        awaited: list[Any] = []

        def held(argument: Any) -> Any:
            if hasattr(argument, "__dask_graph__"):
                awaited.append(argument)
                return Awaited
            if isinstance(argument, list) and any(hasattr(item, "__dask_graph__") for item in argument):
                return [held(item) for item in argument]
            return argument

        return cls(function, [held(argument) for argument in task]), awaited


def called(call: Call, *values: Any) -> Any:
    """The result of a call, with the values that it waited for."""
    left = iter(values)

    def given(argument: Any) -> Any:
        if argument is Awaited:
            return next(left)
        if isinstance(argument, list) and any(item is Awaited for item in argument):
            return [given(item) for item in argument]
        return argument

    return call.function(*[given(argument) for argument in call.args])


class Cluster:
    """Tasks of a dask cluster, merged in a tree."""

    def __init__(self, client: Any, verbose: bool = False) -> None:
        self.client, self.verbose = client, verbose

    @property
    def workers(self) -> int:
        """Number of workers."""
        return max(len(self.client.nthreads()), 1)

    def _lazy(self, function: Callable, tasks: Iterable[tuple]) -> list[Any]:
        from dask import delayed

        lazy = delayed(called, pure=False, traverse=False)
        calls = [Call.of(function, task) for task in tasks]
        name = function.__name__
        return [lazy(call, *awaited, dask_key_name=f"{name}-{uuid.uuid4().hex}") for call, awaited in calls]

    def each(self, function: Callable, tasks: Iterable[tuple]) -> list[Any]:
        """``function(*task)`` of every task, in order."""
        return self._result(self._lazy(function, tasks))

    def total(self, function: Callable, tasks: Iterable[tuple], merge: Merge = added) -> Any:
        """All results merged, where they are, in a tree."""
        return self._result([self._tree(self._lazy(function, tasks), merge)])[0]

    def exchange(self, send: Callable, tasks: Any, receive: Callable, args: list[tuple], merge: Any = None) -> Any:
        """As that of :class:`Here`; pieces go from worker to worker."""
        import dask

        sent = self._lazy(send, tasks)
        received = self._lazy(receive, [([pieces[i] for pieces in sent], *own) for i, own in enumerate(args)])
        if merge is None:
            return list(dask.persist(*received, scheduler=self.client))
        return self._result([self._tree(received, merge)])[0]

    def kept(self, function: Callable, tasks: Iterable[tuple]) -> list[Any]:
        """Results that later tasks take as arguments; they stay on the workers, and lost ones are computed again."""
        import dask

        return list(dask.persist(*self._lazy(function, tasks), scheduler=self.client))

    def _tree(self, leaves: list[Any], merge: Merge) -> Any:
        while True:
            groups = [leaves[i : i + BRANCHES] for i in range(0, len(leaves), BRANCHES)]
            leaves = self._lazy(merge, [(group,) for group in groups])
            if len(leaves) == 1:
                return leaves[0]

    def _result(self, lazy: list[Any]) -> list[Any]:
        """Values of delayed ones; an error in a sentence when the cluster cannot give them."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")  # codes and rows, in few bytes
            futures = self.client.compute(lazy)
        if self.verbose:
            from distributed import progress

            progress(futures, notebook=False)
        return gathered(self.client, futures)


def gathered(client: Any, futures: list[Any]) -> list[Any]:
    """Results of futures, or one clear error; never a wait for workers that do not come back."""
    from distributed import KilledWorker, TimeoutError, wait

    alone = 0.0
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
        raise ClusterError(_lost(error)) from error
    except MemoryError as error:
        raise ClusterError(f"gramian.dask: a worker has no memory for a task ({error}); {_remedy(None)}.") from error
    except BaseException:
        client.cancel(futures)
        raise


def _lost(error: Any) -> str:
    limit = getattr(error.last_worker, "memory_limit", None)
    return (
        f"gramian.dask: the task {error.task!r} was lost with its worker {error.allowed_failures + 1} times, most "
        f"likely for want of memory; {_remedy(limit)}."
    )


def _remedy(limit: int | None) -> str:
    """Which blocks to use."""
    if not limit:
        return "use smaller blocks (block_rows=…, or X.rechunk), or workers with more memory"
    most = limit // SHARE
    return (
        f"its workers have {limit / 1e9:.2g} GB, so use blocks of at most {most / 1e6:.0f} MB in double precision "
        f"({most // (8 * 64):,} rows of 64 features): block_rows=…, or X.rechunk"
    )
