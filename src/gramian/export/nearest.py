"""Exact neighbors of a few queries among points that pass by in blocks: what every engine is compared with."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gramian import linalg
from gramian.neighbors import smallest

RECALL = 0.995
"""What a graph must find of its own exact neighbors on the queries that settle its beam."""


@dataclass
class Nearest:
    """The k nearest of each query Q (m, r) among all points given to :meth:`add`, ties by id."""

    Q: np.ndarray
    k: int
    ids: np.ndarray = field(init=False)
    sqdist: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.ids = np.zeros((len(self.Q), 0), dtype=np.int64)
        self.sqdist = np.zeros((len(self.Q), 0))

    def add(self, ids: np.ndarray, Z: Any) -> None:
        """See a block of points."""
        near, sqdist = smallest(linalg.sqdist(self.Q, np.asarray(Z, np.float64)), min(self.k, len(Z)))
        seen = np.concatenate([self.ids, ids[near]], axis=1)
        sizes = np.concatenate([self.sqdist, sqdist], axis=1)
        order = np.lexsort((seen, sizes), axis=1)[:, : self.k]
        self.ids = np.take_along_axis(seen, order, axis=1)
        self.sqdist = np.take_along_axis(sizes, order, axis=1)


def between(points: Any, count: int = 100) -> np.ndarray:
    """Queries near points and equal to none: 0.9 x_i + 0.1 x_j for rows i and j spread over the points."""
    rows = linalg.spread(len(points), count)
    others = (rows + max(1, len(points) // 3)) % len(points)
    return 0.9 * points[rows] + 0.1 * points[others]


def recall(found: np.ndarray, true: np.ndarray) -> float:
    """Share of the true neighbors that were found."""
    return float(np.mean([np.isin(t, f).mean() for f, t in zip(found, true)]))


def settle(search: Callable[[int], np.ndarray], true: np.ndarray, most: int = 8192) -> int:
    """The smallest beam 64, 128, … with which ``search(beam)`` finds the true neighbors."""
    beam = 64
    while beam < most and recall(search(beam), true) < RECALL:
        beam *= 2
    return beam
