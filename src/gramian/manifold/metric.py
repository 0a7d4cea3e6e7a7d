"""Distances in an embedding, on training points and on new ones."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

from gramian import linalg
from gramian.coordinates import KernelSpace, Plain
from gramian.features import KernelFeatures
from gramian.manifold.extension import Extension, freeze
from gramian.metrics import WORDS, Metric


@dataclass(frozen=True, eq=False)
class EmbeddingSpace(Plain):
    """z(x): the rows F (n, k) of an embedding on training points, carried to new points by an extension.

    The training set as a whole has the rows of F. Any other point that equals a training point has its row, the mean
    over its copies where there are several; all others go through the extension.
    """

    points: Any = None
    embedding: np.ndarray = None  # type: ignore[assignment]  # a field after one with a default
    extension: Extension = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if not isinstance(self.extension, Extension):
            raise TypeError(f"GraphMetric: extension must be an Extension, got {type(self.extension).__name__}.")
        freeze(self, "points", "embedding")
        if self.points.shape[0] != self.embedding.shape[0]:
            raise ValueError(
                f"GraphMetric: embedding must have one row per point ({self.points.shape[0]}), "
                f"got {self.embedding.shape[0]}."
            )

    @property
    def size(self) -> int:
        """Number of coordinates k."""
        return self.embedding.shape[1]

    def difference(self, X: Any, Y: Any) -> np.ndarray:
        """z(x) − z(y)."""
        return self.z(X) - self.z(Y)

    def back(self, Z: np.ndarray) -> None:  # type: ignore[override]
        """No point is known by its place in the embedding."""
        return

    def phi(self, X: Any) -> np.ndarray:
        """The coordinates themselves: the space of an embedding is Euclidean."""
        return self.z(X)

    def z(self, X: Any) -> np.ndarray:
        """Rows of F, or what the extension gives."""
        if _equal(X, self.points):
            return self.embedding.copy()
        place, rows = self._known
        known = np.array([place.get(key, -1) for key in row_keys(X)], dtype=np.intp)
        out = rows[known]
        new = np.flatnonzero(known < 0)
        if len(new):
            out[new] = self.extension(self.points, self.embedding, X[new])
        return out

    @cached_property
    def _known(self) -> tuple[dict[bytes, int], np.ndarray]:
        """The place of each distinct training point, and its row: the mean over its copies."""
        keys = list(row_keys(self.points))
        place = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        copies = np.array([place[key] for key in keys])
        sums = np.zeros((len(place), self.embedding.shape[1]))
        np.add.at(sums, copies, self.embedding)
        return place, sums / np.bincount(copies)[:, None]


class GraphMetric(Metric):
    """Euclidean distance in an embedding F (n, k) of training points, carried to new points by an extension.

    Parameters
    ----------
    points : array or sparse (n, d)
    embedding : array (n, k)
        F.
    extension : Extension

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> from gramian.manifold import AlongGraph, NeighborGraph
    >>> metric = gm.GraphMetric([[0.0], [1.0], [5.0]], [[0.0], [0.0], [9.0]], AlongGraph(NeighborGraph(1)))
    >>> metric.sqdist([[1.0]], [[0.9], [6.0]]).tolist()
    [[0.0, 81.0]]
    """

    coordinates: EmbeddingSpace

    def __init__(self, points: Any, embedding: Any, extension: Extension) -> None:
        space = EmbeddingSpace(np.shape(points)[1], points, embedding, extension)
        super().__init__(space, np.eye(space.size))

    @property
    def embedding(self) -> np.ndarray:
        """F (n, k), read-only."""
        return self.coordinates.embedding


WORDS[EmbeddingSpace] = GraphMetric


def kernel_map(features: KernelFeatures, W: Any) -> Metric:
    """The metric of the coordinates Wᵀz(x), W (r, k), whose ``transform`` gives just these."""
    return Metric.of(KernelSpace(features), np.asarray(W).T)


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
        return abs(sparse.csr_array(X) - sparse.csr_array(points)).nnz == 0
    return np.array_equal(X, points)
