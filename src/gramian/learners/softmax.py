"""Stochastic neighbors: p_ij ∝ exp(−‖z_i − z_j‖²) over j ≠ i, in blocks of rows, on any array namespace.

Both losses made of them have a gradient of the one form 2 L Σ_ij W_ij (x_i − x_j)(x_i − x_j)ᵀ.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from gramian import linalg
from gramian._arrays import namespace, to_numpy

BLOCK_BYTES, LEAST_ROWS = 1 << 19, 128
"""Size of a block of probabilities, which should stay in the processor's cache, and rows for a good product."""


def neighborhoods(Z: Any, anchors: slice | None = None) -> Iterator[tuple[slice, Any, Any]]:
    """Blocks ``(rows, E, top)`` of the points of ``anchors``: E_ij = exp(−‖z_i − z_j‖² − top_i), E_ii = 0.

    top_i is the largest exponent of its row, so that nothing overflows and each row keeps a neighbor.
    """
    xp = namespace(Z)
    n = Z.shape[0]
    Z = Z - xp.mean(Z, axis=0)
    norms = xp.sum(Z * Z, axis=1, keepdims=True)  # (n, 1)
    ones = xp.ones_like(norms)
    # One matrix product gives −‖z_i − z_j‖² with nothing left to add.
    left = xp.concat([2 * Z, -norms, -ones], axis=1)
    right = xp.concat([Z, ones, norms], axis=1).T
    bytes_per_row = xp.finfo(Z.dtype).bits // 8 * n
    block = max(BLOCK_BYTES, LEAST_ROWS * bytes_per_row)
    anchors = slice(0, n) if anchors is None else anchors
    for piece in linalg.blocks(anchors.stop - anchors.start, bytes_per_row, block, of=Z):
        rows = slice(anchors.start + piece.start, anchors.start + piece.stop)
        E = left[rows, :] @ right  # −d², (rows, n)
        xp.reshape(E, (-1,))[rows.start :: n + 1] = -xp.inf  # no point is its own neighbor
        top = xp.max(E, axis=1, keepdims=True)
        E -= top
        yield rows, _exp(E), top


def _exp(E: Any) -> Any:
    """exp(E), in its own memory where that is ours to write to."""
    return np.exp(E, out=E) if isinstance(E, np.ndarray) else namespace(E).exp(E)


def with_ones(T: Any) -> Any:
    """T with a column of ones."""
    xp = namespace(T)
    return xp.concat([T, xp.ones_like(T[:, :1])], axis=1)


class Classes:
    """Points in the order of their classes, those of ``anchors`` first: every class is at most two slices."""

    def __init__(self, codes: Any, anchors: slice | None = None):
        codes = np.asarray(to_numpy(codes))
        inside = np.zeros(len(codes), dtype=bool)
        inside[anchors or slice(None)] = True
        self.order = np.lexsort((codes, ~inside))  # (n,)
        self.in_order = bool((np.diff(self.order) > 0).all())
        self.n_anchors = int(inside.sum())
        ahead, behind = codes[self.order[: self.n_anchors]], codes[self.order[self.n_anchors :]]
        self._slices = [(place_of(ahead, c, 0), place_of(behind, c, self.n_anchors)) for c in np.unique(codes)]

    def sorted(self, X: Any) -> Any:
        """Rows of X in this order."""
        if self.in_order:
            return X
        xp = namespace(X)
        return xp.take(X, xp.asarray(self.order, device=X.device), axis=0)

    def of(self, rows: slice) -> Iterator[tuple[slice, slice]]:
        """For a block of anchors: rows of one class within the block, and a slice of the points of that class."""
        for anchors_of_class, rest_of_class in self._slices:
            a, b = max(anchors_of_class.start, rows.start), min(anchors_of_class.stop, rows.stop)
            for columns in (anchors_of_class, rest_of_class):
                if a < b and columns.start < columns.stop:
                    yield slice(a - rows.start, b - rows.start), columns


def place_of(ascending: np.ndarray, value: int, offset: int) -> slice:
    """Where a value stands in a sorted array that starts at ``offset``."""
    return slice(*(offset + int(np.searchsorted(ascending, value, side=side)) for side in ("left", "right")))


class Cross:
    """Accumulates G = Σ_ij W_ij (z_i − z_j)(x_i − x_j)ᵀ, (r, d), over blocks of W, for Z = XLᵀ.

    With V the narrower of X and Z, a block of W enters through its products with V and with ones, on the right
    (:meth:`sums`, :meth:`add_rows`) and on the left (:meth:`add_columns`).
    """

    def __init__(self, L: Any, X: Any):
        xp = namespace(X)
        self.L, self.X, self.Z = L, X, X @ L.T
        self.wide = X.shape[1] > 2 * L.shape[0]
        ones = xp.ones((X.shape[0], 1), dtype=X.dtype, device=X.device)
        self.V = xp.concat([self.Z if self.wide else X, ones], axis=1)
        self.degree = xp.zeros_like(ones)  # Σ_j W_ij + W_ji, (n, 1)
        self.sum = xp.zeros_like(self.Z if self.wide else X[:1, :].T @ X[:1, :])

    def sums(self, W: Any, columns: slice = slice(None)) -> Any:
        """Σ_j W_ij v_j and, in the last column, Σ_j W_ij, over the given points j."""
        return W @ self.V[columns, :]

    def add_rows(self, rows: slice, sums: Any) -> None:
        """Take in the sums of a block of rows of W."""
        self.degree[rows, :] += sums[:, -1:]
        self.sum[rows if self.wide else slice(None), :] += (
            sums[:, :-1] if self.wide else self.X[rows, :].T @ sums[:, :-1]
        )

    def add_columns(self, rows: slice, weights: Any, E: Any, columns: slice = slice(None)) -> None:
        """Take in the column sums of W = diag(weights) E."""
        if self.wide:
            sums = E.T @ (weights * self.V[rows, :])
            self.sum[columns, :] += sums[:, :-1]
            self.degree[columns, :] += sums[:, -1:]
        else:
            self.degree[columns, :] += E.T @ weights

    def total(self) -> Any:
        """The sum G."""
        pull = (self.Z * self.degree).T @ self.X  # Zᵀ diag(degree) X, less ZᵀWX and its mirror
        return pull - (self.sum.T @ self.X if self.wide else self.L @ (self.sum + self.sum.T))
