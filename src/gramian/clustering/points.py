"""Data seen from its mean, and the three passes over it that every clustering here is made of.

Several clusterings of the same points travel stacked: ``labels`` is (n, T), ``k`` the T numbers of clusters, and
centers, sums and counts have K = k₁ + … + k_T rows, those of the first clustering first.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from gramian import linalg

ROWS = 8192
"""Rows of a pass that are worked on at once: small enough for the cache and for sums in single precision."""

SINGLE = 1 << 22
"""Entries from which on single precision is kept: where local minima are many, rounding decides which one is found."""


def precise(X: Any) -> Any:
    """X in double precision unless it is large."""
    return X if X.size >= SINGLE else X.astype(np.float64, copy=False)


def parts(k: tuple[int, ...]) -> list[slice]:
    """Rows of each clustering in a stack."""
    ends = np.cumsum(k)  # (T,)
    return [slice(end - size, end) for size, end in zip(k, ends)]


def indicator(labels: np.ndarray, k: tuple[int, ...], dtype: Any = np.float64, dense: bool = True) -> Any:
    """Stacked memberships H (n, K), one 1 per point and clustering, as an array or CSR."""
    n, T = labels.shape
    columns = labels + (np.cumsum(k) - k)
    if dense:
        H = np.zeros((n, sum(k)), dtype=dtype)
        H.ravel()[columns + sum(k) * np.arange(n)[:, None]] = 1
        return H
    return sparse.csr_array((np.ones(n * T, dtype), columns.ravel(), np.arange(0, n * T + 1, T)), shape=(n, sum(k)))


@dataclass(frozen=True)
class Points:
    """Rows z = x − shift of X, which is dense or sparse; the difference is never formed for sparse X.

    Columns in which no point has anything can be left out of X; ``columns`` then says which of ``width`` are there.
    """

    X: Any
    shift: np.ndarray
    norms: np.ndarray
    centered: bool = False
    columns: np.ndarray | None = None
    width: int | None = None

    @classmethod
    def of(cls, X: Any, center: bool = True) -> "Points":
        """Points around their mean, or as they are; a dense array is copied once when it is centered."""
        zero = np.zeros(X.shape[1])
        shift = linalg.dense(X.mean(axis=0, dtype=np.float64)).ravel() if center else zero
        if center and not sparse.issparse(X):
            X, shift = X - shift.astype(X.dtype), zero
        # ‖x − shift‖², also where the difference is not formed
        norms = linalg.row_norms(X) - 2 * linalg.dense(X @ shift.astype(X.dtype)) + shift @ shift
        return cls(X, shift, np.maximum(norms, 0), center)

    @classmethod
    def compact(cls, X: Any, center: bool = True) -> "Points":
        """:meth:`of` without the columns of a sparse X that hold nothing; one stays at least."""
        if not sparse.issparse(X):
            return cls.of(X, center)
        columns = linalg.held_columns(X)
        if len(columns) == X.shape[1]:
            return cls.of(X, center)
        return replace(cls.of(X[:, columns], center), columns=columns, width=X.shape[1])

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        """Columns of the data, with those that were left out."""
        return self.width or self.X.shape[1]

    def lifted(self, C: np.ndarray) -> np.ndarray:
        """Rows of C in all columns of the data."""
        if self.columns is None:
            return C
        out = np.zeros((len(C), self.d), dtype=C.dtype)
        out[:, self.columns] = C
        return out

    def sample(self, size: int, rng: np.random.RandomState) -> "Points":
        """At most ``size`` points drawn without replacement, around their own mean if all are."""
        if len(self) <= size:
            return self
        rows = np.sort(rng.choice(len(self), size, replace=False))
        return replace(Points.of(self.X[rows], self.centered), columns=self.columns, width=self.width)

    def take(self, rows: np.ndarray) -> "Points":
        """The points at some rows, around the same origin."""
        return replace(self, X=self.X[rows], norms=self.norms[rows], centered=False)

    def dense(self, rows: Any) -> np.ndarray:
        """Some points z as an array."""
        Z: np.ndarray = linalg.dense(self.X[rows]) - self.shift
        return Z

    def blocks(self) -> Iterator[slice]:
        """Slices that cover the points."""
        return linalg.blocks(len(self), 1, ROWS)

    def inner(self, C: np.ndarray, rows: slice = slice(None)) -> np.ndarray:
        """Inner products zᵀc with the rows of C, (rows, K)."""
        C = C.astype(self.X.dtype, copy=False)
        products: np.ndarray = linalg.dense(self.X[rows] @ C.T) - (C @ self.shift.astype(C.dtype, copy=False))
        return products

    def nearest(self, C: np.ndarray, k: tuple[int, ...]) -> np.ndarray:
        """Labels (n, T): in each clustering the center that is closest, ties to the first."""
        from gramian._jit.nearest import largest

        labels = np.empty((len(self), len(k)), dtype=np.int32)
        half = linalg.row_norms(C).astype(self.X.dtype) / 2
        for rows in self.blocks():
            products = self.inner(C, rows)
            products -= half  # the largest zᵀc − ½‖c‖² is the nearest center
            largest(products, np.cumsum(k), labels[rows])
        return labels

    def errors(self, C: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Squared distance of each point to its own center, for labels (n,) of one clustering."""
        out = np.empty(len(self))
        for rows in self.blocks():
            products = np.take_along_axis(self.inner(C, rows), labels[rows][:, None], axis=1)[:, 0]
            out[rows] = self.norms[rows] - 2 * products + linalg.row_norms(C)[labels[rows]]
        errors: np.ndarray = np.maximum(out, 0)
        return errors

    def sums(self, labels: np.ndarray, k: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Sums (K, d) of the points of each cluster, and their numbers (K,)."""
        S, dense = np.zeros((sum(k), self.X.shape[1])), not sparse.issparse(self.X)
        for rows in self.blocks():
            sums = indicator(labels[rows], k, self.X.dtype, dense).T @ self.X[rows]  # (K, d)
            S += sums if dense else sums.toarray()
        counts = np.concatenate([np.bincount(labels[:, t], minlength=size) for t, size in enumerate(k)])
        return S - counts[:, None] * self.shift, counts
