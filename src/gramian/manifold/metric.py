"""Distances in an embedding, on training points and on new ones."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

from gramian import linalg
from gramian.features import KernelFeatures
from gramian.manifold.extension import Extension, freeze
from gramian.metrics import KernelMetric, Metric


@dataclass(frozen=True, eq=False)
class GraphMetric(Metric):
    """Euclidean distance in an embedding F (n, k) of training points, carried to new points by an extension.

    The training set as a whole has the rows of F. Any other point that equals a training point has its row, the mean
    over its copies where there are several; all others go through the extension.

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

    points: Any
    embedding: np.ndarray
    extension: Extension

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
    def n_features(self) -> int:
        """Number of input features."""
        return self.points.shape[1]

    @property
    def matrix(self) -> np.ndarray:
        """The identity on the embedding's coordinates, (k, k)."""
        return np.eye(self.embedding.shape[1])

    def _embed(self, X: Any) -> np.ndarray:
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


def kernel_map(features: KernelFeatures, W: Any) -> KernelMetric:
    """The metric of the coordinates Wᵀz(x), W (r, k), whose ``transform`` gives just these.

    A core WWᵀ on z would be the same distance, with a root of its own choice as coordinates.
    """
    mapped = copy.copy(features)
    mapped.map_ = W.T @ features.map_
    mapped.mean_ = features.mean_ @ W
    return KernelMetric(mapped, np.eye(W.shape[1]))


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
