"""One part of a sharded index, as its worker sees it: a value that is held by a key, and read again from its file.

A change never touches what is held: it is prepared under a new key, and becomes the index when the client says so.
"""

import copy
import os
import threading
import weakref
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian import persist

OWNER = "ShardedIndex"

_HELD: dict[str, Any] = {}
"""What this process holds, by key."""
_LOCK = threading.RLock()
_USERS: Counter = Counter()
"""Indexes of this process that stand on a key, or on a file."""


class ShardLostError(RuntimeError):
    """A shard that no worker holds and no file keeps."""


@dataclass(frozen=True, eq=False)
class Shard:
    """Where a shard is to be found: its key, the file it can be read from, and the metric if the file has another one.

    A ``saved`` file is the user's, and never removed.
    """

    number: int
    key: str
    path: str | None = None
    metric: Any = None
    saved: bool = False

    def index(self) -> Any:
        """The index of the shard, read again where this process does not hold it."""
        with _LOCK:
            if self.key not in _HELD:
                _HELD[self.key] = self._read()
            return _HELD[self.key]

    def _read(self) -> Any:
        if self.path is None:
            raise ShardLostError(
                f"{OWNER}: shard {self.number} was lost with its worker, and has no file to be read again from; "
                f"give folder, and add its points again."
            )
        try:
            index = persist.load(self.path, mmap=True)
        except (OSError, persist.PersistError) as error:
            raise ShardLostError(f"{OWNER}: shard {self.number} could not be read again: {error}") from error
        return index if self.metric is None else index.with_metric(self.metric)


def prepare(old: Shard | None, new: Shard, change: Any, *args: Any) -> int:
    """Hold, and keep in its file, what a change makes of a shard; the old one stays. Returns its number of items."""
    index = change(None if old is None else copy.copy(old.index()), *args)
    if new.path is not None and new.metric is None:
        persist.save(index, new.path)
    with _LOCK:
        _HELD[new.key] = index
    return len(index)


def begin(index: None, kind: Any, metric: Any, settings: dict[str, Any]) -> Any:
    """An empty index."""
    return kind(metric, **settings)


def added(index: Any, parts: list[Any], ids: list[np.ndarray]) -> Any:
    """The index and the points of some parts, which dask has computed but in this process."""
    if any(hasattr(block, "__dask_graph__") for block in parts):
        import dask

        parts = list(dask.compute(*parts))
    return index.add(np.concatenate(parts), np.concatenate(ids))


def removed(index: Any, ids: np.ndarray) -> Any:
    """The index without those of the ids that it holds."""
    return index.remove(ids[np.isin(ids, index.ids)])


def turned(index: Any, metric: Any) -> Any:
    """The same items under another metric."""
    return index.with_metric(metric)


def query(shard: Shard, Q: Any, k: int, within: np.ndarray | None, radius: float | None) -> tuple[Any, Any]:
    """Neighbors among the items of a shard."""
    index = shard.index()
    within = None if within is None else within[np.isin(within, index.ids)]  # those of this shard
    if len(index) == 0 or (within is not None and len(within) == 0):
        empty = np.zeros((len(Q), 0))
        return empty.astype(np.int64), empty
    if radius is not None:
        return index.query_radius(Q, radius, within=within)
    return index.query(Q, k, within=within)


def ids_of(shard: Shard) -> np.ndarray:
    """Ids of the items."""
    return shard.index().ids


def saved(shard: Shard, path: str) -> int:
    """Write a shard to a file."""
    index = shard.index()
    persist.save(index, path)
    return len(index)


def drop(keys: list[str]) -> None:
    """Let go of what nobody asks for any more."""
    with _LOCK:
        for key in keys:
            _HELD.pop(key, None)


class Standing:
    """The shards that an index stands on, and their sizes: kept where they are until nobody holds this value any more.

    A question takes it once and holds it until it is answered, so that a change meanwhile takes nothing away.
    """

    def __init__(self, client: Any, shards: list[Shard], sizes: list[int]) -> None:
        self.shards, self.sizes = shards, sizes
        with _LOCK:
            for shard in shards:
                _USERS.update([shard.key] if shard.path is None else [shard.key, shard.path])
        done = weakref.finalize(self, _let_go, client, shards)
        done.atexit = False  # files outlive the process

    @property
    def n(self) -> int:
        """Number of items."""
        return int(sum(self.sizes))

    def changed(self, client: Any, new: dict[int, tuple[Shard, int]]) -> "Standing":
        """With some other shards, and their sizes, by number."""
        pairs = [new.get(number, old) for number, old in enumerate(zip(self.shards, self.sizes))]
        return Standing(client, [shard for shard, _ in pairs], [size for _, size in pairs])


def _let_go(client: Any, held: list[Shard]) -> None:
    """Drop what no index stands on any more: values on the workers, and files that nobody saved."""
    with _LOCK:
        for shard in held:
            _USERS.subtract([shard.key] if shard.path is None else [shard.key, shard.path])
        keys = [shard.key for shard in held if _USERS[shard.key] <= 0]
        paths = [shard.path for shard in held if shard.path is not None and not shard.saved and _USERS[shard.path] <= 0]
        for name in (*keys, *paths):
            del _USERS[name]
    for path in set(paths):
        if os.path.exists(path):
            os.unlink(path)
    if client is None:
        drop(keys)
    elif keys and client.status == "running":
        # By its loop, since what is collected may be collected in any thread, even that of the loop.
        client.loop.add_callback(client._run, drop, keys, on_error="ignore")
