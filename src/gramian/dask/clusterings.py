"""Decorrelated k-means over blocks: labels on the client, sums and nearest centers where the points are."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian import linalg
from gramian._settings import check
from gramian.clustering import DecorrelatedKMeans
from gramian.clustering.base import sizes
from gramian.clustering.points import Points
from gramian.dask import passes
from gramian.dask.rows import Rows
from gramian.dask.views import View


@dataclass(frozen=True)
class BlockedPoints(Points):
    """The three passes of clusterings over points in blocks, which are centered already."""

    @classmethod
    def around(cls, X: Rows, center: bool) -> "BlockedPoints":
        """Points around their mean, or as they are."""
        X = X - X.mean(axis=0) if center else X
        return cls(X, np.zeros(X.shape[1]), linalg.row_norms(X), center)

    def sample(self, size: int, rng: np.random.RandomState) -> Points:
        """At most ``size`` points, in memory."""
        rows = np.arange(len(self)) if len(self) <= size else np.sort(rng.choice(len(self), size, replace=False))
        return Points.of(linalg.gathered(self.X[rows]), self.centered and len(self) > size)

    def take(self, rows: np.ndarray) -> "BlockedPoints":
        """The points at some rows, around the same origin."""
        return BlockedPoints(self.X[rows], self.shift, self.norms[rows])

    def dense(self, rows: Any) -> np.ndarray:
        """Some points as an array."""
        return linalg.gathered(self.X[rows])

    def inner(self, C: np.ndarray, rows: Any = slice(None)) -> np.ndarray:
        """Inner products with the rows of C."""
        return linalg.gathered(self.X[rows] @ C.T)

    def nearest(self, C: np.ndarray, k: tuple[int, ...]) -> np.ndarray:
        """Labels (n, T): in each clustering the center that is closest."""
        return passes.laid(self.X, nearest_of, C, k).astype(np.int32)

    def errors(self, C: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Squared distance of each point to its own center."""
        return np.maximum(self.norms - 2 * linalg.row_inner(self._own(C, labels), np.ones((len(self), 1))), 0)

    def _own(self, C: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """zᵀc − |c|²/2 for the own center c of each point, (n, 1)."""
        near = linalg.gathered(self.X @ C.T - linalg.row_norms(C) / 2)
        return near[np.arange(len(near)), labels, None]

    def sums(self, labels: np.ndarray, k: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Sums (K, d) of the points of each cluster, and their numbers (K,)."""
        kind = np.min_scalar_type(max(k))
        S = passes.total(self.X, sums_of, k, each=labels.astype(kind))
        return S, np.concatenate([np.bincount(labels[:, t], minlength=size) for t, size in enumerate(k)])


def nearest_of(part: Any, chosen: Any, view: View, C: np.ndarray, k: tuple[int, ...]) -> np.ndarray:
    """Labels of the rows of a block."""
    return Points.of(view.of(part, chosen), center=False).nearest(C, k)


def sums_of(part: Any, chosen: Any, view: View, labels: np.ndarray, k: tuple[int, ...]) -> np.ndarray:
    """Sums of the rows of a block, by cluster."""
    return Points.of(view.of(part, chosen), center=False).sums(labels.astype(np.int32), k)[0]


class BlockedKMeans(DecorrelatedKMeans):
    """Decorrelated k-means of points in blocks."""

    def fit_blocks(self, X: Rows) -> None:
        """Find the clusterings."""
        check(self)
        k = sizes(self.n_clusters, "DecorrelatedKMeans")
        center = self._centers()
        self.mean_ = X.mean(axis=0) if center else np.zeros(X.shape[1])
        self._fit_points(BlockedPoints.around(X, center), k)
