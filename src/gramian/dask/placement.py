"""Cells as what a sharded index places: near cells on one shard, and a question asks the shards whose cells it needs.

A shard begins at the least s_c of its cells (:mod:`gramian.search.cell_candidates`), and at 0 where the query or the
center next to it is at home. It is asked where that is at most a reach times the distance of the k-th neighbor so far.
The reach is read from items that serve as queries, so that at most a share of the misses that ``recall`` allows is due
to shards that were not asked; the shards have the rest.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian import linalg
from gramian.dask.shard import OWNER
from gramian.dask.sources import as_array
from gramian.metrics import Metric
from gramian.search.cell_candidates import KS, for_list, least_reach
from gramian.search.cells import EACH, learned_centers, nearest_cells

PER_SHARD = 32
"""Cells that each shard holds, about."""
SHARE = 0.3
"""Part of the misses that is left to the choice of shards."""
ASKED = 256
"""Points that serve as queries."""
SAMPLED = EACH * PER_SHARD
"""Points that the cells of a shard are learned from."""
Answers = list[tuple[np.ndarray, np.ndarray]]
"""Ids and squared distances of each shard, (m, k) each; infinity where there is none."""


@dataclass(frozen=True, eq=False)
class Placement:
    """Centers (L, d), the shard of each cell, points that serve as queries, the reach of lists of each of ``KS``."""

    centers: np.ndarray
    homes: np.ndarray
    asked: np.ndarray
    reach: np.ndarray
    measured_on: int = 0

    @classmethod
    def learned(cls, sample: np.ndarray, n_shards: int, seed: int) -> "Placement":
        """Cells of a sample of the points, near ones on one shard, about as many points on each."""
        centers = learned_centers(sample, PER_SHARD * n_shards, seed)
        sizes = np.bincount(nearest_cells(sample, centers), minlength=len(centers)) + 1e-3
        homes = np.zeros(len(centers), np.int64)
        divide(centers, sizes, np.arange(len(centers)), homes, 0, n_shards)
        return cls(centers, homes, sample[linalg.spread(len(sample), ASKED)], np.full(len(KS), np.inf))

    def shards_of(self, X: np.ndarray) -> np.ndarray:
        """The shard of each point, (n,)."""
        return self.homes[nearest_cells(np.asarray(X), self.centers)]

    def beginnings(self, metric: Metric, Q: np.ndarray, n_shards: int) -> np.ndarray:
        """How far from each query each shard begins, (m, n_shards); infinity for one without cells."""
        own, rows = metric.sqdist(Q, self.centers), np.arange(len(Q))  # (m, L)
        near = own.argmin(axis=1)
        apart = metric.sqdist(self.centers, self.centers)[near]
        gap = own - own[rows, near][:, None]
        scores = np.where(gap > 0, np.inf, 0.0)
        np.divide(0.5 * gap, np.sqrt(apart), out=scores, where=apart > 0)
        scores[rows, near] = scores[rows, nearest_cells(Q, self.centers)] = 0.0
        starts = np.full((n_shards, len(Q)), np.inf)
        np.minimum.at(starts, self.homes, scores.T)
        return starts.T

    def measured(self, metric: Metric, everything: "Answers", recall: float, n: int) -> "Placement":
        """With the reach read from what all shards of n items answer the points that serve as queries."""
        starts = self.beginnings(metric, self.asked, len(everything))  # (m, n_shards)
        widths = [D.shape[1] for _, D in everything]
        D = np.hstack([part for _, part in everything])  # (m, j)
        ahead = np.repeat(starts, widths, axis=1)
        order = np.argsort(D, axis=1, kind="stable")[:, 1:]  # each without itself
        D, ahead = np.take_along_axis(D, order, axis=1), np.take_along_axis(ahead, order, axis=1)
        at_home = np.sort(np.where(ahead == 0, D, np.inf), axis=1)
        reach = np.full(len(KS), np.inf)
        for place, k in enumerate(KS):
            if k <= D.shape[1] and SHARE * (1 - recall) * len(D) * k >= 1:
                last = np.sqrt(at_home[:, k - 1 : k])
                ratios = np.where(ahead[:, :k] > 0, np.inf, 0.0)
                np.divide(ahead[:, :k], last, out=ratios, where=(last > 0) & (ahead[:, :k] > 0))
                reach[place] = least_reach(ratios, SHARE * (1 - recall))
        return replace(self, reach=reach, measured_on=n)

    def further(self, starts: np.ndarray, last: np.ndarray, k: int) -> np.ndarray:
        """Shards that are to be asked after those at home, (m, n_shards), with the k-th distances so far."""
        reach = for_list(self.reach, k)
        sure = np.isinf(last) | np.isinf(reach)
        limit = np.where(sure, np.inf, np.where(sure, 0.0, last) * (0.0 if np.isinf(reach) else reach))
        return (starts > 0) & (starts <= limit[:, None])


def divide(centers: np.ndarray, sizes: np.ndarray, some: np.ndarray, homes: np.ndarray, first: int, count: int) -> None:
    """Place some cells on ``count`` shards: halved across their longest direction until each shard has its own."""
    homes[some] = first
    if count < 2 or len(some) < 2:
        return
    C = centers[some] - centers[some].mean(axis=0)
    direction = np.linalg.svd(C, full_matrices=False)[2][0]
    some = some[np.argsort(C @ direction, kind="stable")]
    left = count // 2
    cut = int(np.searchsorted(np.cumsum(sizes[some]), sizes[some].sum() * left / count)) + 1
    cut = min(max(cut, 1), len(some) - 1)
    divide(centers, sizes, some[:cut], homes, first, left)
    divide(centers, sizes, some[cut:], homes, first + left, count - left)


def inner_recall(recall: float) -> float:
    """What is asked of the shards where the choice of shards may miss some."""
    return 1 - (1 - SHARE) * (1 - recall)


def parts_of(X: Any, count: int) -> tuple[list[Any], list[int]]:
    """Points as some parts that travel, and their sizes: the blocks of a dask array, or even slices of an array."""
    if isinstance(X, np.ndarray):
        if X.ndim != 2 or X.shape[1] == 0:
            raise ValueError(f"{OWNER}: X must have shape (n, d), got shape {X.shape}.")
        parts = np.array_split(X, min(count, len(X)))
        return parts, list(map(len, parts))
    array = as_array(X)
    return list(array.to_delayed().ravel()), list(array.chunks[0])


def later(function: Any, part: Any, *args: Any) -> Any:
    """A function of a part: of an array now, of a block of a dask array where and when it is asked for."""
    if not hasattr(part, "__dask_graph__"):
        return function(part, *args)
    import dask

    return dask.delayed(function)(part, *args)


def computed(values: list[Any]) -> list[Any]:
    """Values of functions of blocks."""
    if not any(hasattr(value, "__dask_graph__") for value in values):
        return values
    import dask

    return list(dask.compute(*values))


def placement_of(parts: list[Any], n_shards: int, seed: int) -> Placement | None:
    """A placement that is learned from a sample of all parts; None without points."""
    each = -(-SAMPLED * n_shards // max(len(parts), 1))
    samples = computed([later(sampled, part, each) for part in parts])
    sample = np.concatenate([np.asarray(rows, float) for rows in samples])
    return Placement.learned(sample, n_shards, seed) if len(sample) else None


def sampled(points: np.ndarray, most: int) -> np.ndarray:
    """Some rows."""
    return np.asarray(points[linalg.spread(len(points), most)])


def padded(answer: Any, who: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The answer of a shard as rows of all queries: id −1 at infinity for those that did not ask it."""
    width = 0 if answer is None else answer[0].shape[1]
    ids, D = np.full((len(who), width), -1), np.full((len(who), width), np.inf)
    if answer is not None:
        ids[who], D[who] = answer
    return ids, D
