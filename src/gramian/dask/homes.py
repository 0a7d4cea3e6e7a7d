"""Where the shards of a sharded index live: workers of a client, or this process, and the folder of their files."""

import secrets
from pathlib import Path
from typing import Any

from gramian import _settings, _validate
from gramian.dask.cluster import gathered, require_client
from gramian.dask.shard import OWNER, Shard


class Homes:
    """Workers of a client, or this process, and the folder that keeps the files of the shards.

    Parameters
    ----------
    client : distributed.Client or None
    folder : path or None
    replicas : int
        Workers that answer for each shard in turn.
    """

    def __init__(self, client: Any, folder: Any, replicas: int) -> None:
        _settings.require(_settings.Path | None, folder, OWNER, "folder")
        require_client(client)
        self.client, self.folder = client, None if folder is None else Path(folder)
        self.replicas = _validate.number(replicas, OWNER, "replicas", low=1, integer=True)
        if self.replicas > 1 and folder is None:
            raise ValueError(
                f"{OWNER}: replicas read the shards from files, got replicas={replicas} and no folder; give it."
            )
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
        self.turn = 0

    @property
    def workers(self) -> int:
        """Number of workers."""
        return 1 if self.client is None else max(len(self.client.nthreads()), 1)

    def fresh(self, number: int, **options: Any) -> Shard:
        """A new name for a shard."""
        key = secrets.token_hex(8)
        path = None if self.folder is None else str(self.folder.resolve() / f"shard-{number}-{key}.gram")
        return Shard(number, key, **{"path": path, **options})

    def of(self, count: int) -> list[str]:
        """The worker of each shard: the same one as long as all live."""
        alive = sorted(self.client.nthreads()) or [""]
        self.turn += 1
        turn = self.turn % self.replicas  # questions go around
        return [alive[(number + turn) % len(alive)] for number in range(count)]

    def all(self, function: Any, tasks: list[tuple], numbers: Any = None) -> list[Any]:
        """Results of one task for each shard, or one error that names the shard."""
        if self.client is None:
            return [function(*task) for task in tasks]
        numbers = range(len(tasks)) if numbers is None else numbers
        homes = self.of(max(numbers, default=-1) + 1)
        futures = [submitted(self.client, function, task, homes[number]) for number, task in zip(numbers, tasks)]
        try:
            return gathered(self.client, futures)
        except (RuntimeError, OSError) as error:
            for number, future in zip(numbers, futures):
                if future.status == "error" and "shard" not in str(error):
                    raise type(error)(f"{OWNER}: shard {number} did not answer: {error}") from error
            raise


def submitted(client: Any, function: Any, task: tuple, home: str) -> Any:
    """The future of a task, at a worker as long as it lives."""
    where = {"workers": [home], "allow_other_workers": True} if home else {}
    if any(hasattr(item, "__dask_graph__") for argument in task if isinstance(argument, list) for item in argument):
        import dask

        return client.compute(dask.delayed(function, pure=False)(*task), **where)
    return client.submit(function, *task, pure=False, **where)
