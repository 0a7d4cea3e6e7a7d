"""Lower bounds of the squared distances of all rows to a query, from one matrix product.

With P orthonormal and ρ(x) = |x − c − PPᵀ(x − c)|, the coordinates z = [Pᵀ(x − c), ρ(x)] satisfy
|z(x) − z(y)| ≤ |x − y|. Where few directions P carry nearly all of the spread, the product is that much shorter;
otherwise z = x − c.
The bound |z_q|² + |z|² − 2 z_qᵀz is computed in single precision. Its rounding error is at most
(p + 8) u (|z_q|² + |z|²), p the length of z and u the unit of rounding, so norms that are made smaller by the factor
1 − (p + 8) u keep it a lower bound.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from gramian import _threads, linalg

ITEMS, PRODUCTS = 2048, 1 << 20
"""Rows of one product, more where the products are fewer: a block that the cache holds."""
ODD = 16
"""A bit of the length of its rows: after powers of two all of a column would fight for one place in the cache."""
FEW = 16
"""Products of so few queries, no more than a quarter of the coordinates, need no linear algebra library."""
VARIANCE, SHARE = 0.95, 3
"""A projection keeps this share of the variance in at most one of so many directions."""
PROJECTED = 2000, 128
"""Least numbers of rows and of features for which a projection is tried."""
NEIGHBORS, LISTED = 100, 500
"""A projection pays for so many neighbors, or for one of so many rows: longer lists need sharper bounds."""
LARGEST = 1e15
"""Norms beyond it, in units of the spread, are not squared in single precision."""
BLOCK_BYTES = 2 << 20
"""Rows whose coordinates are computed together, in double precision."""
_TINY = 2.0**-120
"""What underflow may take from a bound."""


@dataclass(frozen=True, eq=False)
class Frame:
    """Where z is computed: the center c, the unit of length, and the directions P (d, p) or None."""

    center: np.ndarray
    unit: float
    directions: np.ndarray | None = None

    @classmethod
    def around(cls, X: np.ndarray) -> "Frame":
        """Frame that fits these rows, read from some thousands of them: the bounds hold in every frame."""
        n, d = X.shape
        sample = X[:: max(1, n // PROJECTED[0])]
        center = sample.mean(axis=0, dtype=np.float64) if n else np.zeros(d)
        sample = sample - center
        unit = 2.0 ** int(np.frexp(np.abs(sample).max(initial=0.0))[1])  # a power of two divides without rounding
        tried = n >= PROJECTED[0] and d >= PROJECTED[1]
        return cls(center, unit, _directions(sample / unit) if tried else None)

    def suits(self, k: int, n: int) -> bool:
        """Whether k of n neighbors are found with these bounds; all directions are better otherwise."""
        return self.directions is None or k <= max(NEIGHBORS, n // LISTED)

    def whole(self) -> "Frame":
        """The same frame with all directions."""
        return replace(self, directions=None)

    def lower(self, X: np.ndarray, threads: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Rows z in single precision, (n, p), and |z|² made smaller by its rounding, (n,); 0 threads are this one.

        A row too far away for single precision has z = 0 and |z|² = −∞, the lowest of all bounds.
        """
        from gramian._jit.rows import placed_rows

        p = X.shape[1] if self.directions is None else self.directions.shape[1] + 1
        rows, sqnorms = np.empty((X.shape[0], p), np.float32), np.empty(X.shape[0])

        def fill(block: slice) -> None:
            V, center, unit = np.ascontiguousarray(X[block]), self.center, self.unit
            if self.directions is not None:
                V, center, unit = self._projected(V), np.zeros(p), 1.0
            placed_rows(V, center, unit, LARGEST, rows[block], sqnorms[block])

        if 24 * X.size <= BLOCK_BYTES:
            fill(slice(None))
        else:
            _threads.each(fill, linalg.blocks(X.shape[0], 24 * X.shape[1], BLOCK_BYTES), threads)
        return rows, sqnorms * (1 - (1.01 * p + 8) * 2.0**-24)

    def _projected(self, X: np.ndarray) -> np.ndarray:
        V = (X - self.center) / self.unit
        Z = V @ self.directions  # (n, p)
        rest = np.sqrt(np.maximum(linalg.row_norms(V) - linalg.row_norms(Z), 0))  # length off the directions, (n,)
        return np.column_stack([Z, rest])


def _directions(V: np.ndarray) -> np.ndarray | None:
    """Leading principal directions of centered rows, by one step of subspace iteration; None when many are needed."""
    most = V.shape[1] // SHARE
    directions, values = linalg.leading_directions(V, most)
    p = int(np.searchsorted(np.cumsum(values), VARIANCE * linalg.row_norms(V).sum())) + 1
    return directions[:, :p] if p <= most else None


class Lists:
    """The ``size`` rows with the lowest bounds, for each of m queries, from one block of n rows after the other."""

    def __init__(self, m: int, size: int, n: int, dtype: Any) -> None:
        from gramian._jit import selection

        self.loops, self.size, self.short = selection, size, size <= selection.SHORT
        room = size if self.short else min(2 * size, n) + selection.CHUNK
        self.bounds, self.ids = np.empty((m, room), dtype), np.zeros((m, room), np.int64)
        self.counts, self.levels = np.zeros(m, np.int64), np.empty(m, dtype)
        self.bounds.fill(np.inf)
        self.levels.fill(np.inf)

    def keep(self, products: np.ndarray, halves: np.ndarray, first: int) -> None:
        """Take in the rows from the number ``first`` on: their products (m, n) with the queries and |z|²/2."""
        self.loops.keep_lowest(products, halves, first, self.bounds, self.ids, self.counts, self.levels, self.size)

    def ascending(self) -> tuple[np.ndarray, np.ndarray]:
        """Ids and |z|²/2 − zᵀz_q, (m, size) each."""
        if self.short:
            return self.ids, self.bounds
        self.loops.cut_lists(self.bounds, self.ids, self.counts, self.size)
        bounds, ids = self.bounds[:, : self.size].copy(), self.ids[:, : self.size].copy()
        return self.loops.arranged(bounds, ids, np.argsort(bounds, axis=1))

    def sqdist(self, own: np.ndarray, unit: float) -> tuple[np.ndarray, np.ndarray]:
        """Ids and bounds of squared distances, ascending, (m, size) each; ``own`` is the part of each query."""
        ids, bounds = self.ascending()
        return ids, self.loops.squared_lists(bounds, own, unit**2)


@dataclass(frozen=True, eq=False)
class Scan(ABC):
    """Rows and half of their norms |z|²/2. Subclasses give ``lift(Q)`` and ``products(Z, items)``."""

    rows: Any
    halves: np.ndarray
    unit = 1.0

    @abstractmethod
    def lift(self, Q: Any) -> tuple[Any, np.ndarray]:
        """Queries as z, and the part of the bounds that is theirs, (n,)."""

    @abstractmethod
    def products(self, Z: Any, items: slice, room: np.ndarray) -> np.ndarray:
        """Inner products of queries with some of the rows, written to ``room``."""

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.halves)

    def spare(self, k: int) -> int:
        """Rows beyond k that a list of candidates should hold."""
        return max(6, k // 8)

    @property
    def step(self) -> int:
        """Rows of one product."""
        return ITEMS

    def only(self, mask: np.ndarray) -> Self:
        """The same scan in which the other rows are infinitely far away."""
        return replace(self, halves=np.where(mask, self.halves, self.halves.dtype.type(np.inf)))

    def shortlist(self, lifted: tuple[Any, np.ndarray], m: int) -> tuple[np.ndarray, np.ndarray]:
        """Ids and bounds of the m rows with the lowest bounds, ascending, (n, m) each."""
        Z, sizes = lifted
        lists = Lists(len(sizes), m, self.n, self.halves.dtype)
        step = min(max(self.step, PRODUCTS // max(len(sizes), 1)) | ODD, max(self.n, 1))
        room = np.empty((len(sizes), step), self.halves.dtype)
        for start in range(0, self.n, step):
            items = slice(start, min(start + step, self.n))
            lists.keep(self.products(Z, items, room[:, : items.stop - start]), self.halves[items], start)
        return lists.sqdist(sizes, self.unit)

    def everything(self, m: int) -> tuple[np.ndarray, np.ndarray]:
        """All rows for each of m queries, with bounds that rule out only those that are infinitely far away.

        These come last: bounds ascend.
        """
        far = self.halves == np.inf  # (n,)
        order = np.argsort(far, kind="stable")
        return np.tile(order, (m, 1)), np.tile(np.where(far[order], np.inf, -np.inf), (m, 1))

    def within(self, lifted: tuple[Any, np.ndarray], limit: float) -> np.ndarray:
        """Rows whose bound for one query is at most the limit."""
        Z, sizes = lifted
        room = np.empty((1, self.n), self.halves.dtype)
        bounds = (self.halves - self.products(Z, slice(0, self.n), room)[0]).astype(np.float64)
        return np.flatnonzero((bounds < np.inf) & ((sizes + 2 * bounds) * self.unit**2 <= limit))


@dataclass(frozen=True, eq=False)
class DenseScan(Scan):
    """Single-precision rows z of a frame."""

    frame: Frame

    @classmethod
    def of(cls, X: np.ndarray, frame: Frame | None = None, threads: int = 0) -> "DenseScan":
        """Scan of the rows of X."""
        frame = Frame.around(X) if frame is None else frame
        rows, sqnorms = frame.lower(X, threads)
        return cls(rows, (sqnorms / 2).astype(np.float32), frame)

    @property
    def unit(self) -> float:  # type: ignore[override]
        """Unit of length."""
        return self.frame.unit

    def spare(self, k: int) -> int:
        """A projection needs a longer list."""
        return super().spare(k) if self.frame.directions is None else max(NEIGHBORS, k)

    def lift(self, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Queries as z."""
        Z, sqnorms = self.frame.lower(Q)
        return Z, sqnorms - _TINY * Z.shape[1]

    def products(self, Z: np.ndarray, items: slice, room: np.ndarray) -> np.ndarray:
        """One matrix product; a loop that reads the rows once, for few queries."""
        from gramian._jit.nearest import few_products

        if len(Z) > FEW or 4 * len(Z) > Z.shape[1]:
            return np.matmul(Z, self.rows[items].T, out=room)
        few_products(self.rows[items], Z, room)
        return room


@dataclass(frozen=True, eq=False)
class MixedScan(Scan):
    """Inner products zᵀw + α φᵀφ_q in double precision, of dense rows z and sparse or dense rows φ.

    ``lifting`` maps queries to (w, φ_q, |q|²), with the norm in the same inner product.
    """

    phi: Any
    alpha: float
    lifting: Callable[[Any], tuple[np.ndarray, Any, np.ndarray]]

    @classmethod
    def of(cls, Z: np.ndarray, phi: Any, sqnorms: np.ndarray, alpha: float, lifting: Any) -> "MixedScan":
        """Scan of rows (z, φ) with their norms."""
        by_column = sparse.csr_array(phi.T) if sparse.issparse(phi) else phi
        return cls(Z, sqnorms * (1 - _rounding(Z, phi)) / 2, by_column, alpha, lifting)

    @property
    def step(self) -> int:
        """All rows at once."""
        return max(self.n, 1)

    def lift(self, Q: Any) -> tuple[tuple[np.ndarray, Any], np.ndarray]:
        """Queries as (w, αφ)."""
        W, phi, sqnorms = self.lifting(Q)
        return (W, self.alpha * phi), sqnorms * (1 - _rounding(W, phi))

    def products(self, Z: tuple[np.ndarray, Any], items: slice, room: np.ndarray) -> np.ndarray:
        """Products of all rows: of z by a matrix product, of sparse φ by the postings of each feature of a query."""
        from gramian._jit.nearest import add_postings

        W, phi = Z
        np.matmul(W, self.rows.T, out=room)
        if sparse.issparse(phi):
            values = self.phi
            add_postings(phi.indptr, phi.indices, phi.data, values.indptr, values.indices, values.data, room)
        else:
            room += phi @ self.phi.T
        return room


def sparse_scan(X: sparse.csr_array) -> MixedScan:
    """Scan of sparse rows under the Euclidean distance."""

    def lifting(Q: sparse.csr_array) -> tuple[np.ndarray, Any, np.ndarray]:
        Q = sparse.csr_array(Q.astype(np.float64))
        return np.zeros((Q.shape[0], 0)), Q, linalg.row_norms(Q)

    _, X, sqnorms = lifting(X)
    return MixedScan.of(np.zeros((X.shape[0], 0)), X, sqnorms, 1.0, lifting)


def _rounding(Z: np.ndarray, phi: Any) -> float:
    """Relative rounding error of a bound from so many products, in double precision."""
    p = Z.shape[1] + (np.diff(phi.indptr).max(initial=0) if sparse.issparse(phi) else phi.shape[1])
    return (1.01 * p + 8) * 2.0**-53
