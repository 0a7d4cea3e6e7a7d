"""An index whose items are spread over the workers of a cluster."""

import copy
import json
import os
import secrets
import threading
from pathlib import Path
from typing import Any

import numpy as np

from gramian import _settings, _validate, persist
from gramian.dask import shard as shards
from gramian.dask.cluster import gathered, require_client
from gramian.dask.shard import OWNER, Shard, Standing
from gramian.dask.sources import as_array
from gramian.metrics import Metric
from gramian.search import HashIndex, Index
from gramian.search.items import as_ids

HEADER = "sharded.json"
MOST_SHARDS = 100_000
ROUNDING = 1e-13
"""Distances nearer to each other than this share of theirs are ties."""


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


class ShardedIndex:
    """Items in shards, each an index of its own on a worker; the k nearest of all are the nearest of the k of each.

    Answers are merged by (distance, id), so they are those of one index of all items. A change, or a new metric, is
    prepared on all shards first and then becomes the index at once: every question carries the keys of the shards as
    they were when it was asked, so that no answer mixes two states. A shard whose worker is lost is read again from
    its file on another one; without a file the question fails with an error that names the shard. No answer is partial.

    Parameters
    ----------
    client : distributed.Client or None
        None: all shards in this process.
    metric : Metric
    kind : class of Index
        What each shard is.
    n_shards : int, optional
        One for each worker when None.
    folder : path, optional
        Where shards are kept, on a disk that all workers see; every change writes the shards that it changed.
    replicas : int
        Workers that answer for each shard in turn; more than one needs a folder.
    settings
        Further arguments of ``kind``: ``n_bits``, ``random_state``, …

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> from gramian.dask import ShardedIndex
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> index = ShardedIndex(None, gm.Mahalanobis.euclidean(3), gm.ExactIndex, n_shards=4).add(X)
    >>> ids, sqdist = index.query(X[:2], k=1)
    >>> ids.ravel().tolist(), len(index)
    ([0, 1], 100)
    """

    def __init__(
        self,
        client: Any,
        metric: Metric,
        kind: Any = HashIndex,
        n_shards: int | None = None,
        folder: str | os.PathLike | None = None,
        *,
        replicas: int = 1,
        **settings: Any,
    ) -> None:
        if not isinstance(kind, type) or not issubclass(kind, Index):
            raise TypeError(f"{OWNER}: kind must be a class of Index, got {_validate.shown(kind)}.")
        self.metric, self.kind, self.settings, self.next_id = metric, kind, settings, 0
        self.homes, self._changing = Homes(client, folder, replicas), threading.RLock()
        n_shards = self.homes.workers if n_shards is None else n_shards
        count = _validate.number(n_shards, OWNER, "n_shards", low=1, high=MOST_SHARDS, integer=True)
        if "random_state" not in settings and kind is HashIndex:
            self.settings = {**settings, "random_state": int(np.random.default_rng().integers(2**31))}
        new = [self.homes.fresh(number) for number in range(count)]
        tasks = [(None, shard, shards.begin, kind, metric, self.settings) for shard in new]
        self.standing = Standing(client, new, self.homes.all(shards.prepare, tasks))

    def __copy__(self) -> "ShardedIndex":
        """An index of the same items: neither sees later changes of the other."""
        twin = object.__new__(type(self))
        twin.__dict__.update(vars(self))
        twin._changing = threading.RLock()
        return twin

    def __len__(self) -> int:
        """Number of items."""
        return self.standing.n

    @property
    def ids(self) -> np.ndarray:
        """Ids of the items, ascending."""
        return np.sort(np.concatenate(ids_by_shard(self.homes, self.standing)))

    def add(self, X: Any, ids: Any = None) -> "ShardedIndex":
        """Add points, an array or whatever :func:`.fit` takes; blocks go to the shards that hold the fewest items."""
        if isinstance(X, list) and not all(isinstance(item, str | os.PathLike | np.ndarray) for item in X):
            X = _validate.array(X, OWNER, "X")
        if isinstance(X, np.ndarray) and len(X) == 0:
            return self
        with self._changing:
            parts, sizes = parts_of(X, len(self.standing.shards))
            edges = np.cumsum([0, *sizes])  # where blocks begin, and n
            new = new_ids(self, ids, int(edges[-1]))
            self._add_parts(parts, [new[start:stop] for start, stop in zip(edges[:-1], edges[1:])])
        return self

    def _add_parts(self, parts: list[Any], ids: list[np.ndarray]) -> None:
        """Add parts, each to the shard that holds the fewest items by then; workers read them themselves."""
        more: list[tuple[list, list]] = [([], []) for _ in self.standing.shards]
        sizes = np.array(self.standing.sizes)
        for points, names in zip(parts, ids):
            number = int(sizes.argmin())  # the emptiest shard
            more[number][0].append(points)
            more[number][1].append(names)
            sizes[number] += len(names)
        self._change(shards.added, [number for number, (points, _) in enumerate(more) if points], *zip(*more))
        self.next_id = max(self.next_id, *(int(names.max(initial=-1)) + 1 for names in ids), 0)

    def remove(self, ids: Any) -> "ShardedIndex":
        """Remove items by id; unknown or repeated ids raise and nothing changes."""
        ids = as_ids(ids, OWNER)
        with self._changing:
            items = ids_by_shard(self.homes, self.standing)
            if len(np.unique(ids)) < len(ids) or not np.isin(ids, np.concatenate(items)).all():
                raise ValueError(f"{OWNER}: ids must be distinct and in the index, got some that are not.")
            touched = [number for number, inside in enumerate(items) if np.isin(ids, inside).any()]
            self._change(shards.removed, touched, [ids] * len(items))
        return self

    def _change(self, change: Any, numbers: list[int], *args: Any) -> None:
        """Prepare a change of some shards, and flip when all of them are ready."""
        new = [self.homes.fresh(number) for number in numbers]
        tasks = [
            (self.standing.shards[number], fresh, change, *(argument[number] for argument in args))
            for number, fresh in zip(numbers, new)
        ]
        sizes = self.homes.all(shards.prepare, tasks, numbers)
        self.standing = self.standing.changed(self.homes.client, dict(zip(numbers, zip(new, sizes))))

    def with_metric(self, metric: Metric) -> "ShardedIndex":
        """Index of the same items under another metric; this one stays as it is and goes on answering meanwhile."""
        homes, standing = Homes(self.homes.client, self.homes.folder, self.homes.replicas), self.standing
        new = [homes.fresh(old.number, path=old.path, metric=metric, saved=old.saved) for old in standing.shards]
        tasks = [(old, fresh, shards.turned, metric) for old, fresh in zip(standing.shards, new)]
        sizes = self.homes.all(shards.prepare, tasks)
        turned = copy.copy(self)
        turned.metric, turned.homes, turned.standing = metric, homes, Standing(homes.client, new, sizes)
        return turned

    def query(self, X: Any, k: int = 10, *, within: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Ids and squared distances of the k nearest items, ascending, ties by id; see :meth:`.Index.query`."""
        k = _validate.number(k, OWNER, "k", low=1, integer=True)
        standing = self.standing
        within, n = asked(self.homes, standing, within)
        X = _validate.plain(X, OWNER, "X")
        answers = self.homes.all(shards.query, [(shard, X, k, within, None) for shard in standing.shards])
        ids, D = merged(*(np.hstack(parts) for parts in zip(*answers)))  # (m, at most shards × k)
        return ids[:, : min(k, n)], D[:, : min(k, n)]

    def query_radius(self, X: Any, r: float, *, within: Any = None) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Ids and squared distances of all items at a distance of at most r, not squared."""
        standing = self.standing
        within, _ = asked(self.homes, standing, within)
        r = _validate.number(r, OWNER, "r", low=0)
        X = _validate.plain(X, OWNER, "X")
        answers = self.homes.all(shards.query, [(shard, X, 1, within, r) for shard in standing.shards])
        ids, sqdist = [], []
        for row in range(len(X)):
            names, D = (np.concatenate([np.asarray(answer[side][row]) for answer in answers]) for side in (0, 1))
            names, D = merged(names[None].astype(np.int64), D[None])
            ids.append(names[0])
            sqdist.append(D[0])
        return ids, sqdist

    def save(self, folder: str | os.PathLike) -> None:
        """Write all shards to a folder, from which :meth:`open` reads them on any number of workers."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        standing = self.standing
        names = [f"{secrets.token_hex(4)}-{shard.number}.gram" for shard in standing.shards]
        paths = [str(target.resolve() / name) for name in names]
        self.homes.all(shards.saved, list(zip(standing.shards, paths)))
        header = {
            "format": "gramian shards",
            "version": 1,
            "shards": names,
            "sizes": standing.sizes,
            "next_id": self.next_id,
        }
        with persist.replacing(target / HEADER, OWNER) as temporary:
            temporary.write_text(json.dumps(header))

    @classmethod
    def open(cls, client: Any, folder: str | os.PathLike, *, replicas: int = 1) -> "ShardedIndex":
        """The index that :meth:`save` wrote; its shards are read where they are first asked for."""
        _settings.require(_settings.Path, folder, OWNER, "folder")
        source = Path(folder)
        if not (source / HEADER).is_file():
            raise FileNotFoundError(f"{OWNER}: no shards at {str(source)!r}; save an index there first.")
        header = json.loads((source / HEADER).read_text())
        shard = persist.load(source / header["shards"][0], mmap=True)
        index = object.__new__(cls)
        index.metric, index.kind, index.next_id = shard.metric, type(shard), header["next_id"]
        index.settings = shard._settings() if hasattr(shard, "_settings") else {}
        index.homes, index._changing = Homes(client, folder, replicas), threading.RLock()
        paths = [str(source.resolve() / name) for name in header["shards"]]
        read = [Shard(number, secrets.token_hex(8), path, saved=True) for number, path in enumerate(paths)]
        index.standing = Standing(client, read, header["sizes"])
        return index

    def __repr__(self) -> str:
        return f"ShardedIndex({len(self)} items in {len(self.standing.shards)} shards, {type(self.metric).__name__})"


def parts_of(X: Any, count: int) -> tuple[list[Any], list[int]]:
    """Points as some parts that travel, and their sizes: the blocks of a dask array, or even slices of an array."""
    if isinstance(X, np.ndarray):
        if X.ndim != 2 or X.shape[1] == 0:
            raise ValueError(f"{OWNER}: X must have shape (n, d), got shape {X.shape}.")
        parts = np.array_split(X, min(count, len(X)))
        return parts, list(map(len, parts))
    array = as_array(X)
    return list(array.to_delayed().ravel()), list(array.chunks[0])


def ids_by_shard(homes: Homes, standing: Standing) -> list[np.ndarray]:
    """Ids of the items of each shard."""
    return homes.all(shards.ids_of, [(shard,) for shard in standing.shards])


def new_ids(index: ShardedIndex, ids: Any, m: int) -> np.ndarray:
    """Ids of m new items: those that are given, which must be new, or the next numbers."""
    if ids is None:
        return np.arange(index.next_id, index.next_id + m, dtype=np.int64)
    ids = as_ids(ids, OWNER)
    if len(ids) != m or len(np.unique(ids)) != m:
        raise ValueError(f"{OWNER}: ids must be {m} distinct numbers, one for each point, got {len(ids)}.")
    if ids.min(initial=index.next_id) < index.next_id and np.isin(ids, index.ids).any():
        raise ValueError(f"{OWNER}: ids must be new, got some that the index already holds.")
    return ids


def asked(homes: Homes, standing: Standing, within: Any) -> tuple[np.ndarray | None, int]:
    """Ids to look among, and how many there are."""
    if standing.n == 0:
        raise ValueError(f"{OWNER}: the index is empty; add points before a query.")
    if within is None:
        return None, standing.n
    ids = _validate.plain(within, OWNER, "within")
    items = np.sort(np.concatenate(ids_by_shard(homes, standing)))
    if ids.dtype == bool:
        if ids.shape != items.shape:
            raise ValueError(f"{OWNER}: within must be ids or a mask of shape {items.shape}, got shape {ids.shape}.")
        ids = items[ids]
    ids = np.unique(as_ids(ids, OWNER, "within"))
    if not np.isin(ids, items).all():
        raise ValueError(f"{OWNER}: within must be in the index, got some that are not.")
    return ids, len(ids)


def merged(ids: np.ndarray, D: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows by (distance, id); distances that differ by rounding alone, from shard to shard, are the same."""
    if ids.shape[1] == 0:
        return ids, D
    order = np.lexsort((ids, D), axis=1)  # (m, k)
    ids, D = np.take_along_axis(ids, order, axis=1), np.take_along_axis(D, order, axis=1)
    steps = np.diff(D, axis=1) > ROUNDING * D[:, 1:]  # where the next one is farther
    runs = np.cumsum(np.pad(steps, ((0, 0), (1, 0))), axis=1)  # number of the run of ties
    order = np.lexsort((ids, runs), axis=1)  # ties by id
    starts = np.where(np.pad(steps, ((0, 0), (1, 0)), constant_values=True), D, 0.0)  # of runs of ties
    return np.take_along_axis(ids, order, axis=1), np.maximum.accumulate(starts, axis=1)
