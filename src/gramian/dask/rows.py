"""Points in blocks, with as much of the manners of an array as learners ask for.

A learner's own ``_learn`` works on them: sums over all rows become passes over the blocks, differences and maps are
remembered until then, and only what is :func:`gramian.linalg.gathered` comes into memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from gramian import linalg
from gramian.dask import views
from gramian.dask.blocks import Blocks
from gramian.dask.views import View, packed

HELD_BYTES = 128 << 20
"""Rows, in double precision, that the client may hold between two passes."""


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
        return replace(self, rows=self.numbers[key], minus=minus)

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
            return self.gathered() @ other.of.gathered().T
        return replace(self, view=self.view.mapped(np.asarray(other)))

    @property
    def T(self) -> "Transposed":
        """The transpose, for products."""
        return Transposed(self)

    def tasks(self) -> Iterator[tuple[Any, Any, Any]]:
        """For each block that holds some of the rows: where they stand here, the part, and which of its rows."""
        edges = self.blocks.edges
        if self.rows is None:
            for start, stop, part in zip(edges[:-1], edges[1:], self.blocks.parts):
                if start < stop:
                    yield slice(start, stop), part, None
            return
        order = None if (np.diff(self.rows) >= 0).all() else np.argsort(self.rows, kind="stable")
        numbers = self.rows if order is None else self.rows[order]
        for block, span in self.blocks.cut(numbers):
            size = int(edges[block + 1] - edges[block])
            yield (
                span if order is None else order[span],
                self.blocks.parts[block],
                packed(numbers[span] - edges[block], size),
            )

    def sending(self, wanted: list[np.ndarray]) -> list[tuple]:
        """Tasks in which each block takes out the rows, ascending, that several receivers want."""
        tasks = []
        wanted = wanted if self.rows is None else [self.rows[names] for names in wanted]
        if self.rows is not None and not all((np.diff(names) > 0).all() for names in wanted):
            raise ValueError("dask.fit: rows in blocks must ascend here; sort them first.")
        ends = [np.searchsorted(names, self.blocks.edges) for names in wanted]
        for block, part in enumerate(self.blocks.parts):
            low = self.blocks.edges[block]
            chosen = [names[at[block] : at[block + 1]] - low for names, at in zip(wanted, ends)]
            if any(len(rows) for rows in chosen):
                tasks.append((part, [rows.astype(np.int32) for rows in chosen]))
        return tasks

    def total(self, function: Any, *args: Any, merge: Any = None, each: Any = None) -> Any:
        """A reduction over the blocks; ``each`` (m, …) is cut along the rows and given to the function."""
        tasks = [
            (part, chosen, self.view, *(() if each is None else (each[places],)), *args)
            for places, part, chosen in self.tasks()
        ]
        return self.engine.total(function, tasks, **({} if merge is None else {"merge": merge}))

    def laid(self, function: Any, *args: Any) -> np.ndarray:
        """One result for each row, in order."""
        tasks = list(self.tasks())
        found = self.engine.each(function, [(part, chosen, self.view, *args) for _, part, chosen in tasks])
        out = np.empty((len(self), *found[0].shape[1:]), dtype=found[0].dtype)
        for (places, _, _), result in zip(tasks, found):
            out[places] = result
        return out

    def gathered(self) -> np.ndarray:
        """The rows in memory."""
        if len(self) == 0:
            return np.zeros(self.shape)
        if self.minus is None:
            return self.laid(views.rows_of)
        names, place = np.unique(np.concatenate([self.numbers, self.minus]), return_inverse=True)
        ends = self.some(names)
        m = len(self)
        V = ends[place[:m]] - ends[place[m:]]
        return V if self.view.b is None else V + self.view.b

    def few(self, names: np.ndarray) -> bool:
        """Whether so many rows of the blocks may be held in memory."""
        return 8 * self.view.width * len(names) <= HELD_BYTES

    def some(self, names: np.ndarray) -> np.ndarray:
        """Rows of the blocks, ascending, under the view without its shift; few of them are held for the next pass."""
        view = replace(self.view, b=None)
        if not self.few(names):
            return replace(self, rows=names, minus=None, view=view).gathered()
        known = self.blocks.held.get("names")
        if known is None or not np.array_equal(known, names):
            stored = replace(self, rows=names, minus=None).laid(views.stored_of)
            self.blocks.held.update(names=names, rows=stored)
        return view.of(self.blocks.held["rows"])

    def sum(self, axis: int = 0) -> np.ndarray:
        """Sum of the rows."""
        return self.total(views.sums_of)

    def mean(self, axis: int = 0, dtype: Any = None) -> np.ndarray:
        """Mean of the rows."""
        return self.sum() / len(self)

    def std(self, axis: int = 0) -> np.ndarray:
        """Standard deviation of each column."""
        return np.sqrt(np.diag(linalg.moments(self, np.zeros(len(self), np.int8))[2]) / len(self))

    def __rmatmul__(self, S: Any) -> np.ndarray:
        """S V for weights S (k, m), dense or sparse."""
        if self.minus is not None:
            return S @ self.gathered()
        out = np.zeros((S.shape[0], self.view.size))
        tasks, targets = [], []
        S = sparse.csc_array(S) if sparse.issparse(S) else np.asarray(S)
        used = np.flatnonzero(np.diff(S.indptr)) if sparse.issparse(S) else np.arange(S.shape[1])
        some = self if len(used) == len(self) else self[used]
        if some is not self and self.few(used) and (np.diff(some.numbers) > 0).all():
            V = self.some(some.numbers)
            return S[:, used] @ (V if self.view.b is None else V + self.view.b)
        for places, part, chosen in some.tasks():
            weights = S[:, used[places]]  # of the rows of this block
            rows: Any = slice(None)
            if sparse.issparse(weights):
                weights = weights.tocsr()
                rows = np.flatnonzero(np.diff(weights.indptr))
                weights = weights[rows]
            targets.append(rows)
            tasks.append((part, chosen, self.view, weights))
        for rows, result in zip(targets, self.engine.each(views.product_of, tasks)):
            out[rows] += result
        return out

    def gram(self, other: "Rows | None" = None) -> np.ndarray:
        """Σ v wᵀ over the rows."""
        if self.minus is not None:
            from gramian.dask.pairs import pair_gram

            return pair_gram(self)
        return self.total(views.gram_of, None if other is None or other is self else other.view)


@dataclass(frozen=True, eq=False)
class Transposed:
    """Vᵀ, for products only."""

    of: Rows
    __array_ufunc__ = None

    def __matmul__(self, other: Any) -> np.ndarray:
        """Vᵀ W, of the same rows, or of an array."""
        if isinstance(other, Rows):
            return self.of.gram(other)
        return (np.asarray(other).T @ self.of).T


@linalg.dense.register
def _(X: Rows) -> Rows:
    return X


@linalg.gathered.register
def _(X: Rows) -> np.ndarray:
    return X.gathered()


@linalg.difference.register
def _(X: Rows, Y: Rows) -> Rows:
    return X - Y


@linalg.row_norms.register
def _(X: Rows) -> np.ndarray:
    if X.minus is not None:
        from gramian.dask.pairs import pair_values

        return pair_values(X, linalg.row_norms)
    return X.laid(views.norms_of)


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
    return X.total(views.moments_of, merge=views.merged_moments, each=groups.astype(kind))[1:]


@linalg.covariance.register
def _(X: Rows) -> np.ndarray:
    return linalg.moments(X, np.zeros(len(X), np.int8))[2] / max(len(X) - 1, 1)
