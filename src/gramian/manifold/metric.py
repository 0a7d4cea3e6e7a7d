"""Distances in an embedding, on training points and on new ones."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _validate, linalg
from gramian.coordinates import KernelSpace, Plain
from gramian.features import KernelFeatures
from gramian.manifold.extension import Extension, freeze
from gramian.metrics.base import WORDS, Metric


@dataclass(frozen=True, eq=False)
class GraphSpace(Plain):
    """z(x) = f(x): rows of an embedding F (n, k) on training points, carried to new ones by an extension."""

    devices = False
    points: Any = None
    embedding: Any = None
    extension: Any = None

    def __post_init__(self) -> None:
        freeze(self, "points", "embedding")

    @property
    def size(self) -> int:
        """Number of coordinates k."""
        return int(self.embedding.shape[1])

    def z(self, X: Any) -> np.ndarray:
        """f(x)."""
        F: np.ndarray = self.embedding
        return F if _equal(X, self.points) else self._rows(X)

    def _rows(self, X: Any) -> np.ndarray:
        """Rows of points that are found among the training points one by one, or carried there."""
        place, rows = self._table
        at = np.array([place.get(key, -1) for key in row_keys(X)], dtype=np.intp)  # −1: a new point
        out = rows[at]
        new = np.flatnonzero(at < 0)
        if len(new):
            out[new] = self.extension(self.points, self.embedding, X[new])
        return out

    @cached_property
    def _table(self) -> tuple[dict[bytes, int], np.ndarray]:
        """The place of each distinct training point, and its row: the mean over its copies."""
        keys = list(row_keys(self.points))
        place = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        copies = np.array([place[key] for key in keys])  # (n,)
        sums = np.zeros((len(place), self.size))  # (distinct points, k)
        np.add.at(sums, copies, self.embedding)
        return place, sums / np.bincount(copies)[:, None]

    def difference(self, X: Any, Y: Any) -> np.ndarray:
        """f(x) − f(y)."""
        V: np.ndarray = self.z(X) - self.z(Y)
        return V

    def back(self, Z: np.ndarray) -> None:  # type: ignore[override]
        """No points of a graph are known but its own."""
        return

    def phi(self, X: Any) -> np.ndarray:
        """f(x): the embedding is the space."""
        return self.z(X)


class GraphMetric(Metric):
    """Euclidean distance in an embedding F (n, k) of training points, carried to new points by an extension.

    The training set as a whole has the rows of F. Any other point that equals a training point has its row, the mean
    over its copies where there are several; all others go through the extension.

    Parameters
    ----------
    points : array or sparse (n, d)
        The training points.
    embedding : array (n, k)
        F.
    extension : Extension
        How points that were not there get coordinates.

    See Also
    --------
    gramian.TDL : Learns such an embedding.
    gramian.LaplacianEigenmaps : Without labels.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> from gramian.manifold import AlongGraph, NeighborGraph
    >>> metric = gm.GraphMetric([[0.0], [1.0], [5.0]], [[0.0], [0.0], [9.0]], AlongGraph(NeighborGraph(1)))
    >>> metric.sqdist([[1.0]], [[0.9], [6.0]]).tolist()
    [[0.0, 81.0]]
    """

    def __init__(self, points: Any, embedding: Any, extension: Extension) -> None:
        if not isinstance(extension, Extension):
            raise TypeError(f"GraphMetric: extension must be an Extension, got {type(extension).__name__}.")
        points = _validate.points(points, "GraphMetric", name="points")
        F = _validate.points(embedding, "GraphMetric", name="embedding", allow_sparse=False)
        if points.shape[0] != F.shape[0]:
            raise ValueError(
                f"GraphMetric: embedding must have one row per point ({points.shape[0]}), got {F.shape[0]}."
            )
        super().__init__(GraphSpace(points.shape[1], points, F, extension), np.eye(F.shape[1]))

    @property
    def embedding(self) -> np.ndarray:
        """F (n, k), the coordinates of the training points."""
        F: np.ndarray = self.coordinates.embedding  # type: ignore[attr-defined]  # a GraphSpace
        return F


WORDS[GraphSpace] = GraphMetric


def graph_metric(points: Any, embedding: Any, extension: Extension) -> Metric:
    """:class:`GraphMetric` of points and coordinates that were checked."""
    return Metric.of(GraphSpace(points.shape[1], points, embedding, extension), np.eye(embedding.shape[1]))


def kernel_map(features: KernelFeatures, W: Any) -> Metric:
    """The metric of the coordinates Wᵀz(x), W (r, k), whose ``transform`` gives just these."""
    return Metric.of(KernelSpace(features), W.T)


def row_keys(X: Any) -> Iterator[bytes]:
    """A short key for each row; equal rows, dense or sparse, have equal keys."""
    for rows in linalg.blocks(X.shape[0], 24 * X.shape[1]):
        block = sparse.csr_array(X[rows], dtype=np.float64, copy=True)
        block.eliminate_zeros()
        block.sort_indices()
        for start, end in zip(block.indptr[:-1], block.indptr[1:]):
            row = block.indices[start:end].astype(np.int64).tobytes() + block.data[start:end].tobytes()
            yield blake2b(row, digest_size=16).digest()


def _equal(X: Any, points: Any) -> bool:
    if X.shape != points.shape:
        return False
    if sparse.issparse(X) or sparse.issparse(points):
        return bool(abs(sparse.csr_array(X) - sparse.csr_array(points)).nnz == 0)
    return np.array_equal(X, points)
