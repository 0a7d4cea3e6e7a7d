"""What a fit asks of points in blocks: some rows in memory, and moments of groups of rows, one pass for each."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from gramian import _memory, _validate, linalg
from gramian.constraints import Chunklets
from gramian.dask.cluster import computed
from gramian.dask.sources import OWNER
from gramian.learners.task import Sums

BRANCHES = 8
"""Results that are merged at once."""
PIECE_BYTES, PIECE_ROWS = 16 << 20, 4
"""Rows of a block, in double precision, that a sum looks at together, and how many there are for a column at least."""

Moments = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Names (g,), sizes (g,) and means (g, d) of groups, and the scatter (d, d) around the means."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """A dask array of points (n, d), and who computes; every method reads each block that it needs once."""

    X: Any
    client: Any = None
    verbose: Any = False

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    def rows(self, rows: np.ndarray | None, owner: str, remedy: str) -> np.ndarray:
        """Some rows in memory, each of them once; all when None."""
        count = self.n if rows is None else len(rows)
        each = self.d * (self.X.dtype.itemsize + 8)  # as they are stored, and in double precision
        most = int(_memory.available() // each) if each * count >= _memory.MUCH else count
        what = f"{count:,} rows of {self.d:,} features, which are needed in memory,"
        _memory.require(each * count, owner, what, f"{most:,} rows would fit, so {remedy}")
        if rows is None:
            return np.asarray(computed(self.client, [self.X], self.verbose)[0])
        order = np.argsort(rows)  # ascending rows, so that each block is read once
        ascending = np.asarray(computed(self.client, [self.X[rows[order]]], self.verbose)[0])
        return ascending if np.array_equal(rows[order], rows) else ascending[np.argsort(order)]

    def sums(self, groups: Chunklets | None, counted: np.ndarray) -> Sums:
        """Moments of groups of rows, and the covariance of the rows that are counted (n,), in one pass."""
        if groups is not None and groups.weight is None and np.array_equal(groups.ids >= 0, counted):
            moments = self.moments([groups])
            moments.append(united(moments[0]))
        else:
            whole = Chunklets(np.where(counted, 0, -1))
            moments = self.moments([whole] if groups is None else [groups, whole])
        *each, (_, sizes, _, scatter) = moments
        n = int(sizes.sum())  # rows that count
        return Sums(n, scatter / max(n - 1, 1), *(each[0][1:] if each else (None,) * 3))

    def moments(self, groupings: list[Chunklets]) -> list[Moments]:
        """Moments of the groups of each grouping: one pass, merged in a tree (Chan, Golub and LeVeque 1979)."""
        import dask

        lazy, merging = dask.delayed(moments_of, pure=False), dask.delayed(merged, pure=False)
        edges = np.cumsum([0, *self.X.chunks[0]])  # where blocks begin, and n
        parts = [
            lazy(block, [slice_of(grouping, slice(start, stop)) for grouping in groupings])
            for block, start, stop in zip(self.X.to_delayed().ravel(), edges[:-1], edges[1:])
        ]
        while len(parts) > 1:
            parts = [merging(parts[i : i + BRANCHES]) for i in range(0, len(parts), BRANCHES)]
        return computed(self.client, parts, self.verbose)[0]


def slice_of(grouping: Chunklets, rows: slice) -> tuple[np.ndarray, np.ndarray | None]:
    """Ids, in few bytes, and weights of some rows."""
    ids = grouping.ids[rows]
    kind = np.promote_types(np.int8, np.min_scalar_type(int(ids.max(initial=0))))
    return ids.astype(kind), None if grouping.weight is None else grouping.weight[rows]


def moments_of(block: Any, groupings: list[tuple[Any, ...]]) -> list[Moments]:
    """Moments of the rows of a block, some of them at a time."""
    pieces = [
        [piece_moments(V, ids[rows], None if weight is None else weight[rows]) for ids, weight in groupings]
        for rows, V in pieces_of(block)
    ]
    return merged(pieces)


def pieces_of(block: Any) -> Iterator[tuple[slice, np.ndarray]]:
    """Rows of a block in double precision, checked, some of them at a time."""
    block = np.asarray(block)
    if len(block) == 0:
        yield slice(0, 0), block.astype(np.float64)
    d = block.shape[1]
    for rows in linalg.blocks(len(block), 8 * d, max(PIECE_BYTES, PIECE_ROWS * 8 * d * d)):
        X = _validate.points(block[rows], OWNER, allow_sparse=False, min_points=0)
        yield rows, X.astype(np.float64, copy=False)


def piece_moments(X: np.ndarray, ids: np.ndarray, weight: np.ndarray | None) -> Moments:
    """Moments of the groups of some rows."""
    names = linalg.renamed(ids[ids >= 0])[0].astype(np.int64)
    if len(names) == 0:
        d = X.shape[1]
        return names, np.zeros(0), np.zeros((0, d)), np.zeros((d, d))
    return names, *Chunklets(ids, weight=weight).moments(X)


def merged(results: list[list[Moments]]) -> list[Moments]:
    """Moments of the union of several parts, for each grouping."""
    return reduce(lambda left, right: [added(a, b) for a, b in zip(left, right)], results)


def added(a: Moments, b: Moments) -> Moments:
    """S = S_a + S_b + Σ n_a n_b / (n_a + n_b) δδᵀ over the groups that two parts share.

    The scatter is around the means of the union, so that points far from the origin keep their digits.
    """
    names = np.union1d(a[0], b[0])
    sizes = np.zeros((2, len(names)))  # (2, g)
    means = np.zeros((2, len(names), a[2].shape[1]))  # (2, g, d)
    for side, (groups, size, mean, _) in enumerate((a, b)):
        place = np.searchsorted(names, groups)
        sizes[side, place], means[side, place] = size, mean
    total = sizes.sum(axis=0)  # (g,)
    shift = means[1] - means[0]  # (g, d)
    weight = np.where(sizes.min(axis=0) > 0, sizes[0] * sizes[1] / total, 0.0)  # n_a n_b / (n_a + n_b)
    mean = np.where(sizes[0][:, None] > 0, means[0] + shift * (sizes[1] / total)[:, None], means[1])  # (g, d)
    return names, total, mean, a[3] + b[3] + (shift * weight[:, None]).T @ shift


def united(moments: Moments) -> Moments:
    """The moments of all groups as one."""
    _, sizes, means, scatter = moments
    n = sizes.sum()
    mean = sizes @ means / n  # (d,)
    apart = means - mean  # (g, d)
    S = scatter + (apart * sizes[:, None]).T @ apart  # within the groups and between them
    return np.zeros(1, np.int64), np.array([n]), mean[None], S
