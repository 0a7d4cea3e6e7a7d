"""Bits, norms and weights of points around a center."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _threads, linalg
from gramian.search import codes
from gramian.search.columns import TILE, Tiles
from gramian.search.hash_forms import Form
from gramian.search.items import Items
from gramian.search.rounded import RoundedRows

_BLOCK = 8 << 20
"""Bytes of work of one block: larger temporaries go back to the system each time, which holds up all threads."""
_NONE = np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0)
"""No sparse rows."""
_SAMPLE = 4000
"""Items that principal axes are read from, and judged by."""
_QUANTILE = 2.33
_BLUR, _LEAST = np.sqrt(np.finfo(np.float64).eps), 1e-150
"""Rounding of a point, relative to its length and at least: norms from an expansion keep half of their digits."""
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class Asked:
    """Queries: packed bits, |q|² as the bits see it, weights W with k(x, q) = xᵀw, |q|² as it ranks, sparse parts.

    ``projections`` (m, b) are those of q / |q|, where the directions are orthonormal. ``blurs`` (m,) say how far
    from the true points those may lie that codes and norms were computed of, of a query and of items next to it: the
    same point has other last digits, and other bits where it projects to 0, beside other points and on other machines.
    """

    packed: np.ndarray
    sqnorms: np.ndarray
    weights: np.ndarray
    sizes: np.ndarray
    outside: tuple[np.ndarray, ...]
    projections: np.ndarray
    blurs: np.ndarray

    def blurred(self, q: int, bound: float) -> float:
        """(D + 2b)²: D² as points see it that lie within the blur b of query q and of an item."""
        return (np.sqrt(bound) + 2 * float(self.blurs[q])) ** 2

    def only(self, q: int) -> "Asked":
        """The projections and bits of one query."""
        return replace(self, packed=self.packed[q : q + 1], projections=self.projections[q : q + 1])


@dataclass(frozen=True, eq=False)
class Encoder:
    """A form with the mean of the items: ``center`` of their dense rows, ``mean`` of their sparse ones.

    With ``axes`` (d, p) the bits are those of z = [axesᵀ(v − μ), ρ], ρ the length of what the axes leave of v − μ:
    fewer coordinates, lengths that stay, and distances that do not grow.
    """

    form: Form
    center: np.ndarray
    mean: sparse.csr_array | None = None
    axes: np.ndarray | None = None

    @classmethod
    def around(cls, form: Form, points: Any, centered: bool) -> "Encoder":
        """Encoder centered on points, or on the origin."""
        V, U = form.rows(points), form.outside(points)
        center = _mean(V) if centered else np.zeros(V.shape[1])
        axes = principal_axes(form, V, center) if form.orthonormal else None
        return cls(form, center, None if U is None or not centered else _mean_row(U), axes)

    @property
    def dimension(self) -> int:
        """Dimension of the rotation that the bits are axes of."""
        return self.form.dimension if self.axes is None else max(self.axes.shape[1] + 1, self.form.n_bits)

    def _projected(self, C: np.ndarray, sqnorms: np.ndarray, dtype: Any) -> np.ndarray:
        """Projections of centered rows."""
        first, R = self._maps[np.dtype(dtype).name]
        Z = C.astype(dtype, copy=False) @ first
        if R is None:
            return Z
        rest = np.sqrt(np.maximum(sqnorms - linalg.row_norms(Z), 0)).astype(dtype)
        return np.column_stack([Z, rest]) @ R

    @cached_property
    def _maps(self) -> dict[str, tuple[np.ndarray, np.ndarray | None]]:
        """The directions, or the axes and the directions behind them, in single and double precision."""
        first, R = self.form.projection, None
        if self.axes is not None:
            first, R = self.axes, codes.orthonormal_directions(self.form.seed, self.axes.shape[1] + 1, self.form.n_bits)
        types = (np.float32, np.float64)
        return {np.dtype(t).name: (first.astype(t), None if R is None else R.astype(t)) for t in types}

    def _rounding(self, dtype: Any) -> float:
        """Relative rounding of a point."""
        return max(_BLUR, np.sqrt(len(self.center)) * np.finfo(dtype).eps)

    def blurs(self, sqnorms: np.ndarray, dtype: Any) -> np.ndarray:
        """How far from the true points those may lie that codes and |x − μ|² were computed of, (n,)."""
        return self._rounding(dtype) * (np.sqrt(sqnorms) + self._subtracted) + _LEAST

    @cached_property
    def _subtracted(self) -> float:
        """Length of what was subtracted from points: the digits before it are lost."""
        if self.mean is not None:
            return float(np.sqrt(max(self._offsets[1], 0.0)))
        both = np.stack([self.center, np.broadcast_to(self.form.view.offset, self.center.shape)])
        return float(np.sqrt(np.maximum(self.form.view.sqnorms(both), 0)).sum())

    @cached_property
    def _offsets(self) -> tuple[np.ndarray, float]:
        """Projections (1, n_bits) and squared norm of the mean of the items, where it has a sparse part."""
        z = self.center[None]
        P = z @ self.form.projection + self.form.project(self.mean)
        return P, float(linalg.row_inner(z, self.form.view.weigh(z))[0] + self._alpha * linalg.row_norms(self.mean)[0])

    @property
    def _alpha(self) -> float:
        return self.form.view.alpha

    def project(self, V: np.ndarray, U: Any, center: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
        """Projections of points, |x|² as the bits see it, and |x|² as it ranks; dense ones perhaps around others."""
        if U is None:
            # Centered in double precision: items may be far from the origin.
            C = np.subtract(V, self.center if center is None else center, dtype=np.float64)
            sqnorms = np.maximum(self.form.view.sqnorms(C), 0)
            return self._projected(C, sqnorms, V.dtype), sqnorms, sqnorms
        W = self.form.view.weigh(V)
        P = V @ self.form.projection + self.form.project(U)
        sizes = np.maximum(linalg.row_inner(V, W) + self._alpha * linalg.row_norms(U), 0)
        if self.mean is None:
            return P, sizes, sizes
        offsets, own = self._offsets
        products = W @ self.center + self._alpha * linalg.inner(U, self.mean)[:, 0]
        return P - offsets, np.maximum(sizes - 2 * products + own, 0), sizes

    def columns(
        self, X: Any, threads: int = 1, centers: np.ndarray | None = None, cells: np.ndarray | None = None
    ) -> dict[str, Any]:
        """What an index keeps of items beside their points; of what is left after the centers of their cells."""
        V, U = self.form.rows(X), self.form.outside(X)
        n, b = len(V), self.form.n_bits
        tiles, sqnorms, sizes = Tiles.zeros(n, -(-b // 64)), np.empty(n), np.empty(n)
        alignments = np.empty(n if self.form.orthonormal else 0, np.float32)

        def fill(block: slice) -> None:
            around = () if centers is None or cells is None else (centers[cells[block]],)
            P, sqnorms[block], sizes[block] = self.project(V[block], None if U is None else U[block], *around)
            tiles.put(block.start, codes.words(codes.pack(P)))
            if self.form.orthonormal:
                alignments[block] = np.abs(P).mean(axis=1) * np.sqrt(b * _inverse(sqnorms[block]))

        _threads.each(fill, linalg.blocks(n, 8 * (b + 3 * V.shape[1]), _BLOCK, multiple=TILE), threads)
        columns: dict[str, Any] = {"codes": tiles, "sqnorms": sqnorms}
        if self.form.orthonormal:
            columns["alignments"] = alignments
        if V is not X:
            columns["rows"] = V
        if U is not None:
            columns["sizes"] = sizes
            if U is not X:
                columns["outside"] = U
        return columns

    def hash(self, X: Any) -> np.ndarray:
        """Packed bits of points."""
        V, U = self.form.rows(X), self.form.outside(X)
        if U is None and self.axes is None:
            return codes.pack(self._projected(np.subtract(V, self.center, dtype=np.float64), _NONE[2], V.dtype))
        return codes.pack(self.project(V, U)[0])

    def ask(self, Q: Any, dtype: Any, unit: bool) -> Asked:
        """Queries of items of this type; with ``unit`` normalized ones."""
        V, U = self.form.rows(Q), self.form.outside(Q)
        P, sqnorms, sizes = self.project(V.astype(dtype, copy=False), U)
        W = self.form.view.weigh(np.subtract(V, self.center, dtype=np.float64) if U is None else V)
        none = np.zeros((len(V), 0), np.float32)
        scaled = (P * np.sqrt(_inverse(sqnorms))[:, None]).astype(np.float32) if self.form.orthonormal else none
        blurs = self.blurs(sqnorms, dtype)
        if unit:
            scale = np.sqrt(_inverse(sizes))
            W, U = W * scale[:, None], None if U is None else sparse.csr_array(U * scale[:, None])
            sqnorms = sizes = np.ones(len(V))
            blurs = np.full(len(V), self._rounding(dtype))
        outside = _NONE if U is None else (U.indptr, U.indices, U.data)
        return Asked(codes.pack(P), sqnorms, W, sizes, outside, scaled, blurs)

    def kept(self, items: Items) -> tuple[Any, ...]:
        """Items as compiled loops compare them: rows, center, |x|², sparse rows, scales of rounded rows."""
        rows: Any = items["rows"] if "rows" in items.columns else items["points"]
        scales = np.zeros((0, 2), np.float32)
        if isinstance(rows, RoundedRows):
            rows, scales = rows.raw, rows.scales
        if "sizes" not in items.columns:
            return rows, self.center, items["sqnorms"], (*_NONE, 0.0), scales
        U = items["outside"] if "outside" in items.columns else items["points"]
        return rows, np.zeros(rows.shape[1]), items["sizes"], (U.indptr, U.indices, U.data, self._alpha), scales


def principal_axes(form: Form, V: np.ndarray, center: np.ndarray) -> np.ndarray | None:
    """Axes (d, n_bits − 1) of the largest spread, if what they leave costs less than the dimensions they save.

    In units of |x||q|, a rotation of R^D with b bits errs by about √((1 − c²) / (c² D)), c² = 2b/πD, times the
    quantile of a recall of 0.99; what the axes leave takes its share of the squared norms from every distance.
    """
    E, b = form.embedding, form.n_bits
    if E is None or form.dimension <= b or len(V) < 4 * b:
        return None
    C = (V[linalg.spread(len(V), _SAMPLE)] - center) @ E
    fitted, held = C[::2], C[1::2]
    directions = linalg.leading_directions(fitted, b - 1)[0]
    left = 1 - linalg.row_norms(held @ directions).sum() / max(linalg.row_norms(held).sum(), _TINY)
    share = 2 * b / (np.pi * form.dimension)
    saved = _QUANTILE * (np.sqrt((1 - share) / (share * form.dimension)) - np.sqrt((np.pi / 2 - 1) / b))
    return E @ directions if left < saved else None


def _mean(V: Any) -> np.ndarray:
    """Mean of dense rows, in double precision."""
    from gramian._jit.rows import column_means

    if isinstance(V, np.ndarray) and V.flags.c_contiguous and V.dtype in (np.float32, np.float64):
        return column_means(np.asarray(V))
    return np.asarray(V.mean(axis=0, dtype=np.float64))


def _inverse(values: np.ndarray) -> np.ndarray:
    """1 / values, 0 for zeros."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


def _mean_row(U: sparse.csr_array) -> sparse.csr_array:
    """Mean of sparse rows as one row, without a vector of full width."""
    used, place = np.unique(U.indices, return_inverse=True)
    values = np.bincount(place, U.data, minlength=len(used)) / U.shape[0]
    return sparse.csr_array((values, used, [0, len(used)]), shape=(1, U.shape[1]))
