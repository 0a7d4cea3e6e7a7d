"""An index whose items are spread over the workers of a cluster."""

import copy
import json
import os
import secrets
import threading
from pathlib import Path
from typing import Any, Literal

import numpy as np

from gramian import _settings, _validate, linalg, persist
from gramian.dask import shard as shards
from gramian.dask.homes import Homes
from gramian.dask.placement import (
    SHARE,
    Answers,
    Placement,
    computed,
    inner_recall,
    later,
    padded,
    parts_of,
    placement_of,
)
from gramian.dask.shard import OWNER, Shard, Standing
from gramian.metrics import Metric
from gramian.search import HashIndex, Index
from gramian.search.cell_candidates import KS
from gramian.search.hash_index import draw_seed
from gramian.search.items import as_ids

HEADER = "sharded.json"
MOST_SHARDS = 100_000
ROUNDING = 1e-13
"""Distances nearer to each other than this share of theirs are ties."""


class ShardedIndex:
    """Items in shards, each an index of its own on a worker; the k nearest of all are the nearest of the k of each.

    Answers are merged by (distance, id), so they are those of one index of all items. A change, or a new metric, is
    prepared on all shards first and then becomes the index at once: every question carries the keys of the shards as
    they were when it was asked, so that no answer mixes two states. A shard whose worker is lost is read again from
    its file on another one; without a file the question fails with an error that names the shard. No answer is partial.

    With ``placed="cells"`` the points of a k-means cell, and near cells, are on one shard, and a query asks only the
    shards that its neighbors may be on: those where it is at home, then those that begin within a reach, which is read
    from items that serve as queries. So ``recall`` is kept on average, as with the cells of
    :class:`~gramian.HashIndex`. Cells are learned from the first points that are added, and stay; a new metric measures
    the reach anew. A radius asks all shards.

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
    placed : {"evenly", "cells"}
        Where points go: to the shard that holds the fewest, or to that of their cell; the latter for HashIndex.
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
        placed: str = "evenly",
        **settings: Any,
    ) -> None:
        if not isinstance(kind, type) or not issubclass(kind, Index):
            raise TypeError(f"{OWNER}: kind must be a class of Index, got {_validate.shown(kind)}.")
        self.metric, self.kind, self.settings, self.next_id = metric, kind, settings, 0
        self.homes, self._changing = Homes(client, folder, replicas), threading.RLock()
        _settings.require(Literal["evenly", "cells"], placed, OWNER, "placed")
        self.placed: str = placed
        self.placement: Placement | None = None
        if placed == "cells":
            if not issubclass(kind, HashIndex):
                raise ValueError(f"{OWNER}: placed must be 'evenly' unless kind is HashIndex, got {placed!r}.")
            self.settings = {**settings, "recall": inner_recall(settings.get("recall", 0.99))}
        n_shards = self.homes.workers if n_shards is None else n_shards
        count = _validate.number(n_shards, OWNER, "n_shards", low=1, high=MOST_SHARDS, integer=True)
        if "random_state" not in settings and kind is HashIndex:
            self.settings = {**self.settings, "random_state": int(np.random.default_rng().integers(2**31))}
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
        if self.placed == "cells" and isinstance(X, np.ndarray):
            X = _validate.points(X, OWNER, n_features=self.metric.n_features)
        with self._changing:
            parts, sizes = parts_of(X, len(self.standing.shards))
            edges = np.cumsum([0, *sizes])  # where blocks begin, and n
            new = new_ids(self, ids, int(edges[-1]))
            names = [new[start:stop] for start, stop in zip(edges[:-1], edges[1:])]
            placement = self.placement
            if self.placed == "cells" and placement is None and len(self) == 0:
                seed = draw_seed(self.settings.get("random_state"), OWNER)
                placement = placement_of(parts, len(self.standing.shards), seed)
            if placement is None:
                self._add_parts(parts, names)
            else:
                self._add_cells(placement, parts, names)
        return self

    def _add_cells(self, placement: Placement, parts: list[Any], ids: list[np.ndarray]) -> None:
        """Add points to the shards of their cells; the reach is read again when the index has doubled."""
        more: list[tuple[list, list]] = [([], []) for _ in self.standing.shards]
        for points, names, homes in zip(parts, ids, computed([later(placement.shards_of, part) for part in parts])):
            for number in np.unique(homes):
                rows = np.flatnonzero(homes == number)
                more[number][0].append(later(linalg.take, points, rows))
                more[number][1].append(names[rows])
        self._change(shards.added, [number for number, (points, _) in enumerate(more) if points], *zip(*more))
        self.next_id = max(self.next_id, *(int(names.max(initial=-1)) + 1 for names in ids), 0)
        self.placement = placement
        if len(self) >= 2 * placement.measured_on:
            self.placement = self._measured(placement)

    def _measured(self, placement: Placement) -> Placement:
        """The placement with the reach under the metric of the index."""
        standing, m = self.standing, len(placement.asked)
        every = np.ones((m, len(standing.shards)), bool)
        answers = self._answers(standing, placement.asked, KS[-1] + 1, None, every)
        recall = 1 - (1 - self.settings["recall"]) / (1 - SHARE)
        return placement.measured(self.metric, answers, recall, standing.n)

    def _answers(self, standing: Standing, X: np.ndarray, k: int, within: Any, who: np.ndarray) -> Answers:
        """What shards answer the queries that ask them, (m, n_shards)."""
        numbers = np.flatnonzero(who.any(axis=0)).tolist()
        tasks = [(standing.shards[number], X[who[:, number]], k, within, None) for number in numbers]
        answers = dict(zip(numbers, self.homes.all(shards.query, tasks, numbers)))
        return [padded(answers.get(number), who[:, number]) for number in range(who.shape[1])]

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
        turned._changing = threading.RLock()
        if self.placement is not None:
            turned.placement = turned._measured(self.placement)
        return turned

    def query(self, X: Any, k: int = 10, *, within: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Ids and squared distances of the k nearest items, ascending, ties by id; see :meth:`.Index.query`."""
        k = _validate.number(k, OWNER, "k", low=1, integer=True)
        standing = self.standing
        within, n = asked(self.homes, standing, within)
        X = _validate.plain(X, OWNER, "X")
        if self.placement is None or len(X) == 0:
            answers = self.homes.all(shards.query, [(shard, X, k, within, None) for shard in standing.shards])
        else:
            answers = self._in_two_rounds(self.placement, standing, X, k, within)
        ids, D = merged(*(np.hstack(parts) for parts in zip(*answers)))  # (m, at most shards × k)
        return ids[:, : min(k, n)], D[:, : min(k, n)]

    def _in_two_rounds(self, placement: Placement, standing: Standing, X: np.ndarray, k: int, within: Any) -> Answers:
        """Answers of the shards where queries are at home, then of those that begin within reach."""
        X = _validate.points(X, OWNER, n_features=self.metric.n_features)
        starts = placement.beginnings(self.metric, X, len(standing.shards))
        first = self._answers(standing, X, k, within, starts == 0)
        D = np.sort(np.hstack([part for _, part in first]), axis=1)
        last = np.sqrt(D[:, k - 1]) if D.shape[1] >= k else np.full(len(X), np.inf)
        return first + self._answers(standing, X, k, within, placement.further(starts, last, k))

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
        placement = None if self.placement is None else f"{secrets.token_hex(4)}-cells.npz"
        if self.placement is not None:
            np.savez(target / str(placement), **vars(self.placement))
        paths = [str(target.resolve() / name) for name in names]
        self.homes.all(shards.saved, list(zip(standing.shards, paths)))
        header = {
            "format": "gramian shards",
            "version": 1,
            "shards": names,
            "sizes": standing.sizes,
            "next_id": self.next_id,
            "placed": self.placed,
            "placement": placement,
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
        index.placed, index.placement = header.get("placed", "evenly"), None
        if header.get("placement") is not None:
            with np.load(source / header["placement"]) as arrays:
                stored = {name: arrays[name] for name in arrays.files}
            index.placement = Placement(**{**stored, "measured_on": int(stored["measured_on"])})
        paths = [str(source.resolve() / name) for name in header["shards"]]
        read = [Shard(number, secrets.token_hex(8), path, saved=True) for number, path in enumerate(paths)]
        index.standing = Standing(client, read, header["sizes"])
        return index

    def __repr__(self) -> str:
        return f"ShardedIndex({len(self)} items in {len(self.standing.shards)} shards, {type(self.metric).__name__})"


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
    steps = D[:, 1:] * (1 - ROUNDING) > D[:, :-1]  # where the next one is farther
    runs = np.cumsum(np.pad(steps, ((0, 0), (1, 0))), axis=1)  # number of the run of ties
    order = np.lexsort((ids, runs), axis=1)  # ties by id
    starts = np.where(np.pad(steps, ((0, 0), (1, 0)), constant_values=True), D, 0.0)  # of runs of ties
    return np.take_along_axis(ids, order, axis=1), np.maximum.accumulate(starts, axis=1)
