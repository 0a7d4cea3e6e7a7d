"""Bits, norms and weights of points around a center."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _threads, linalg
from gramian._device import to_host
from gramian.search import codes
from gramian.search.columns import Tiles
from gramian.search.forms import Form
from gramian.search.items import Items

_BLOCK = 16 << 20
_NONE = np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0)
"""No sparse rows."""


@dataclass(frozen=True, eq=False)
class Asked:
    """Queries: packed bits, |q|² as the bits see it, weights W with k(x, q) = xᵀw, |q|² as it ranks, sparse parts."""

    packed: np.ndarray
    sqnorms: np.ndarray
    weights: np.ndarray
    sizes: np.ndarray
    outside: tuple[np.ndarray, ...]


@dataclass(frozen=True, eq=False)
class Encoder:
    """A form with the mean of the items: ``center`` of their dense rows, ``mean`` of their sparse ones."""

    form: Form
    center: np.ndarray
    mean: sparse.csr_array | None = None

    @classmethod
    def around(cls, form: Form, points: Any, centered: bool) -> "Encoder":
        """Encoder centered on points, or on the origin."""
        V, U = form.rows(points), form.outside(points)
        if not centered:
            return cls(form, np.zeros(V.shape[1]))
        return cls(form, to_host(V.mean(axis=0, dtype=np.float64)), None if U is None else _mean_row(U))

    @cached_property
    def _offsets(self) -> tuple[np.ndarray, float]:
        """Projections (1, n_bits) and squared norm of the mean of the items, where it has a sparse part."""
        z = self.center[None]
        P = z @ self.form.projection + self.form.project(self.mean)
        return P, float(linalg.row_inner(z, self.form.weigh(z))[0] + self._alpha * linalg.row_norms(self.mean)[0])

    @property
    def _alpha(self) -> float:
        return self.form.metric.alpha

    def _seen(self, V: np.ndarray, U: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Projections of points, |x|² as the bits see it, and |x|² as it ranks."""
        if U is None:
            # Centered in double precision: items may be far from the origin.
            C = np.subtract(V, linalg.placed(self.center, V), dtype=np.float64)
            sqnorms = np.maximum(self.form.sqnorms(C), 0)
            return C.astype(V.dtype, copy=False) @ self.form.projection.astype(V.dtype), sqnorms, sqnorms
        W = self.form.weigh(V)
        P = V @ self.form.projection + self.form.project(U)
        sizes = np.maximum(linalg.row_inner(V, W) + self._alpha * linalg.row_norms(U), 0)
        if self.mean is None:
            return P, sizes, sizes
        offsets, own = self._offsets
        products = W @ self.center + self._alpha * linalg.inner(U, self.mean)[:, 0]
        return P - offsets, np.maximum(sizes - 2 * products + own, 0), sizes

    def columns(self, X: Any, threads: int = 1) -> dict[str, Any]:
        """What an index keeps of items beside their points."""
        V, U = self.form.rows(X), self.form.outside(X)
        n, b = len(V), self.form.n_bits
        packed, sqnorms, sizes = np.empty((n, b // 8), np.uint8), np.empty(n), np.empty(n)

        def fill(block: slice) -> None:
            P, sqnorms[block], sizes[block] = self._seen(V[block], None if U is None else U[block])
            packed[block] = codes.pack(P)

        _threads.each(fill, linalg.blocks(n, 8 * (b + 3 * V.shape[1]), _BLOCK), threads)
        columns: dict[str, Any] = {"codes": Tiles.of(codes.words(packed)), "sqnorms": sqnorms}
        if V is not X:
            columns["rows"] = V
        if U is not None:
            columns["sizes"] = sizes
            if not self.form.on_points:
                columns["outside"] = U
        return columns

    def hash(self, X: Any) -> np.ndarray:
        """Packed bits of points."""
        return codes.pack(self._seen(self.form.rows(X), self.form.outside(X))[0])

    def ask(self, Q: Any, dtype: Any, unit: bool) -> Asked:
        """Queries of items of this type; with ``unit`` normalized ones."""
        V, U = self.form.rows(Q), self.form.outside(Q)
        P, sqnorms, sizes = self._seen(V.astype(dtype, copy=False), U)
        W = self.form.weigh(np.subtract(V, self.center, dtype=np.float64) if U is None else V)
        if unit:
            scale = np.divide(1.0, np.sqrt(sizes), out=np.zeros_like(sizes), where=sizes > 0)
            W, U = W * scale[:, None], None if U is None else sparse.csr_array(U * scale[:, None])
            sqnorms = sizes = np.ones(len(V))
        outside = _NONE if U is None else (U.indptr, U.indices, U.data)
        return Asked(codes.pack(P), sqnorms, W, sizes, outside)

    def kept(self, items: Items) -> tuple[Any, ...]:
        """Items as compiled loops compare them: rows, center, |x|², sparse rows."""
        rows = items["rows"] if "rows" in items.columns else items["points"]
        if "sizes" not in items.columns:
            return rows, self.center, items["sqnorms"], (*_NONE, 0.0)
        U = items["outside"] if "outside" in items.columns else items["points"]
        return rows, np.zeros(rows.shape[1]), items["sizes"], (U.indptr, U.indices, U.data, self._alpha)


def _mean_row(U: sparse.csr_array) -> sparse.csr_array:
    """Mean of sparse rows as one row, without a vector of full width."""
    used, place = np.unique(U.indices, return_inverse=True)
    values = np.bincount(place, U.data, minlength=len(used)) / U.shape[0]
    return sparse.csr_array((values, used, [0, len(used)]), shape=(1, U.shape[1]))
