"""Points in blocks, with as much of the manners of an array as learners ask for.

A learner's own ``_learn`` works on them: sums over all rows become :mod:`.passes` over the blocks, differences and maps
are remembered until then, and only what is :func:`gramian.linalg.gathered` comes into memory.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian import linalg
from gramian.dask import passes, views
from gramian.dask.blocks import Blocks
from gramian.dask.views import View


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of blocks under a view, or differences of rows: v_t = view(x_{rows_t}) − view(x_{minus_t}).

    Parameters
    ----------
    blocks : Blocks
    engine : Here or Cluster
    view : View
    rows : int array (m,), optional
        All rows when None.
    minus : int array (m,), optional
        Rows to take away.
    """

    blocks: Blocks
    engine: Any
    view: View
    rows: np.ndarray | None = None
    minus: np.ndarray | None = None

    ndim = 2
    dtype = np.dtype(np.float64)
    __array_ufunc__ = None

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        """An array that holds this object: sparse matrices then leave products to it."""
        box = np.empty((), dtype=object)
        box[()] = self
        return box

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of columns as they are seen."""
        return len(self), self.view.size

    def __len__(self) -> int:
        return self.blocks.n if self.rows is None else len(self.rows)

    @property
    def numbers(self) -> np.ndarray:
        """Row numbers in the blocks."""
        return np.arange(self.blocks.n) if self.rows is None else self.rows

    def __getitem__(self, key: Any) -> "Rows":
        if isinstance(key, tuple):
            rows, columns = key
            return replace(self[rows], view=self.view.mapped(np.eye(self.view.size)[:, columns]))
        if isinstance(key, slice) and key == slice(None):
            return self
        minus = None if self.minus is None else self.minus[key]
        return replace(self, rows=numbered(self, key), minus=minus)

    def __sub__(self, other: Any) -> "Rows":
        if not isinstance(other, Rows):
            return replace(self, view=self.view.shifted(-np.asarray(other)))
        if self.minus is not None or other.minus is not None or other.blocks is not self.blocks:
            raise TypeError("dask.fit: differences of differences are not known for points in blocks.")
        return replace(self, rows=self.numbers, minus=other.numbers, view=replace(self.view, b=None))

    def __add__(self, other: Any) -> "Rows":
        return replace(self, view=self.view.shifted(other))

    def __mul__(self, other: Any) -> "Rows":
        weights = np.broadcast_to(np.asarray(other, dtype=float), (self.view.size,))
        return replace(self, view=self.view.mapped(np.diag(weights)))

    def __truediv__(self, other: Any) -> "Rows":
        return self * (1 / np.asarray(other))

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Transposed):
            return passes.gathered(self) @ passes.gathered(other.of).T
        return replace(self, view=self.view.mapped(np.asarray(other)))

    @property
    def T(self) -> "Transposed":
        """The transpose, for products."""
        return Transposed(self)

    def sum(self, axis: int = 0) -> np.ndarray:
        """Sum of the rows."""
        return passes.total(self, views.sums_of)

    def mean(self, axis: int = 0, dtype: Any = None) -> np.ndarray:
        """Mean of the rows."""
        return self.sum() / len(self)

    def std(self, axis: int = 0) -> np.ndarray:
        """Standard deviation of each column."""
        return np.sqrt(np.diag(linalg.moments(self, np.zeros(len(self), np.int8))[2]) / len(self))

    def __rmatmul__(self, S: Any) -> np.ndarray:
        """S V for weights S (k, m), dense or sparse."""
        return passes.weighted(S, self) if self.minus is None else S @ passes.gathered(self)


def numbered(X: Rows, key: Any) -> np.ndarray:
    """Row numbers of some of the rows; where all are there, those that are asked for, without a list of all."""
    plain = isinstance(key, np.ndarray) and key.dtype.kind in "iu" and key.min(initial=0) >= 0
    return key if plain and X.rows is None and key.max(initial=-1) < len(X) else X.numbers[key]


@dataclass(frozen=True, eq=False)
class Transposed:
    """Vᵀ, for products only."""

    of: Rows
    __array_ufunc__ = None

    def __matmul__(self, other: Any) -> np.ndarray:
        """Vᵀ W, of the same rows, or of an array."""
        if isinstance(other, Rows):
            return passes.gram(self.of, other)
        return (np.asarray(other).T @ self.of).T


@linalg.dense.register
def _(X: Rows) -> Rows:
    return X


@linalg.gathered.register
def _(X: Rows) -> np.ndarray:
    return passes.gathered(X)


@linalg.difference.register
def _(X: Rows, Y: Rows) -> Rows:
    return X - Y


@linalg.row_norms.register
def _(X: Rows) -> np.ndarray:
    if X.minus is not None:
        from gramian.dask.pairs import pair_values

        return pair_values(X, linalg.row_norms)
    return passes.laid(X, views.norms_of)


@linalg.row_extents.register
def _(X: Rows) -> np.ndarray:
    from gramian.dask.pairs import pair_values

    return pair_values(X, linalg.row_extents)


@linalg.unit_rows.register
def _(X: Rows) -> Rows:
    if X.view.A is not None or X.view.b is not None:
        raise TypeError("dask.fit: rows in blocks are divided by their length before they are mapped, not after.")
    return replace(X, view=replace(X.view, unit=True))


@linalg.moments.register
def _(X: Rows, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    kind = np.min_scalar_type(int(groups.max(initial=0)))
    return passes.total(X, views.moments_of, merge=views.merged_moments, each=groups.astype(kind))[1:]


@linalg.covariance.register
def _(X: Rows) -> np.ndarray:
    return linalg.moments(X, np.zeros(len(X), np.int8))[2] / max(len(X) - 1, 1)
