"""What a task does with the rows of a block: read, choose, map, and reduce to something small.

Everything here runs where the block is, and travels there by name.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian import _checks, linalg
from gramian.dask.blocks import OWNER, read

PIECE_BYTES = 1 << 20
"""What a sum looks at together, in double precision."""


@dataclass(frozen=True, eq=False)
class View:
    """An affine map of rows, v = xA + b, of rows of length one where ``unit`` is set; None is the identity."""

    width: int
    A: np.ndarray | None = None
    b: np.ndarray | None = None
    unit: bool = False

    @property
    def size(self) -> int:
        """Number of columns of what is seen."""
        return self.width if self.A is None else self.A.shape[1]

    def mapped(self, A: np.ndarray) -> "View":
        """This map and then v ↦ vA."""
        return replace(self, A=A if self.A is None else self.A @ A, b=None if self.b is None else self.b @ A)

    def shifted(self, b: Any) -> "View":
        """This map and then v ↦ v + b."""
        b = np.broadcast_to(np.asarray(b, dtype=float), (self.size,))
        return replace(self, b=b if self.b is None else self.b + b)

    def of(self, part: Any, chosen: Any = None) -> np.ndarray:
        """The rows of a part as they are seen, in double precision."""
        X = read(part)
        X = self.checked(X if chosen is None else X[offsets(chosen)])
        return self._seen(X.astype(np.float64, copy=False))

    def between(self, P: np.ndarray, Q: np.ndarray) -> np.ndarray:
        """Differences of stored rows P and Q as they are seen."""
        alone = View(self.width, unit=self.unit)
        V = alone.of(P) - alone.of(Q)
        V = V if self.A is None else V @ self.A
        return V if self.b is None else V + self.b

    def pieces(self, part: Any, chosen: Any = None) -> Iterator[tuple[slice, np.ndarray]]:
        """The same a few rows at a time, in memory that the next ones overwrite: sums need no more.

        Workers of Dask give memory back as soon as it is free, and to take it anew costs as much as the sums.
        """
        X = read(part)
        rows = None if chosen is None else offsets(chosen)
        pieces = list(cut(X.shape[0] if rows is None else len(rows), self.width))
        held = np.empty((max((piece.stop - piece.start for piece in pieces), default=0), self.width))
        for piece in pieces:
            V = held[: piece.stop - piece.start]
            V[...] = self.checked(X[piece] if rows is None else X[rows[piece]])
            yield piece, self._seen(V)

    def checked(self, X: Any) -> np.ndarray:
        """Stored rows at the door."""
        return _checks.points(np.asarray(X), OWNER, n_features=self.width, allow_sparse=False, min_points=0)

    def _seen(self, X: np.ndarray) -> np.ndarray:
        X = linalg.unit_rows(X) if self.unit else X
        X = X if self.A is None else X @ self.A
        return X if self.b is None else X + self.b


def cut(n: int, width: int) -> Iterator[slice]:
    """Slices of n rows, a few at a time."""
    step = max(1, PIECE_BYTES // (8 * max(width, 1)))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def packed(rows: np.ndarray, size: int) -> Any:
    """Ascending rows of a block of some size, in few bytes: None for all, bits for many, numbers for few."""
    if len(rows) == size and (np.diff(rows) == 1).all():
        return None
    if 32 * len(rows) > size and (np.diff(rows) > 0).all():
        mask = np.zeros(size, bool)
        mask[rows] = True
        return np.packbits(mask), size
    return rows.astype(np.int32)


def offsets(chosen: Any) -> np.ndarray:
    """Rows that were :func:`packed`."""
    if isinstance(chosen, tuple):
        return np.flatnonzero(np.unpackbits(chosen[0], count=chosen[1]))
    return chosen


def rows_of(part: Any, chosen: Any, view: View) -> np.ndarray:
    """The rows themselves."""
    return view.of(part, chosen)


def stored_of(part: Any, chosen: Any, view: View) -> np.ndarray:
    """The rows as they are stored."""
    X = read(part)
    return view.checked(X if chosen is None else X[offsets(chosen)])


def sums_of(part: Any, chosen: Any, view: View) -> np.ndarray:
    """Σ v."""
    return sum((V.sum(axis=0) for _, V in view.pieces(part, chosen)), start=np.zeros(view.size))


def norms_of(part: Any, chosen: Any, view: View) -> np.ndarray:
    """|v|² of each row."""
    return np.concatenate([linalg.row_norms(V) for _, V in view.pieces(part, chosen)])


def gram_of(part: Any, chosen: Any, view: View, other: View | None = None) -> np.ndarray:
    """Σ v wᵀ, with w the rows under another view, or v again."""
    total = np.zeros((view.size, view.size if other is None else other.size))
    if other is None:
        for _, V in view.pieces(part, chosen):
            total += V.T @ V
        return total
    for (_, V), (_, W) in zip(view.pieces(part, chosen), other.pieces(part, chosen)):
        total += V.T @ W
    return total


def product_of(part: Any, chosen: Any, view: View, S: Any) -> np.ndarray:
    """S V for weights S (k, rows) of the chosen rows."""
    return S @ view.of(part, chosen)


def pieces_of(part: Any, chosen: list[np.ndarray]) -> list[np.ndarray]:
    """Rows for several receivers, as they are stored."""
    X = read(part)
    return [np.asarray(X[rows]) for rows in chosen]


def summed(results: list[tuple]) -> tuple:
    """Sums of tuples, place by place."""
    return tuple(sum(parts[1:], start=parts[0]) for parts in zip(*results))


def moments_of(part: Any, chosen: Any, view: View, groups: np.ndarray) -> tuple[np.ndarray, ...]:
    """Names, sizes and means of the groups in a block, and the scatter around them."""
    found: list[tuple[np.ndarray, ...]] = []
    room = None
    for rows, V in view.pieces(part, chosen):
        names, own = linalg.renamed(groups[rows])
        room = np.empty_like(V) if room is None else room
        found.append((names.astype(np.int64), *linalg.moments(V, own, room)))
    return merged_moments(found)


def merged_moments(results: list[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
    """Moments of the union: S = ΣS_i + Σ n_a n_b / (n_a + n_b) δδᵀ for each group that two parts share (Chan 1979).

    The scatter is around the means of the union, and no digit is lost to their size.
    """
    first, *rest = results
    for other in rest:
        first = _two_moments(first, other)
    return first


def _two_moments(a: tuple[np.ndarray, ...], b: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    names = np.union1d(a[0], b[0])
    sizes = np.zeros((2, len(names)))
    means = np.zeros((2, len(names), a[2].shape[1]))
    for side, (own, size, mean, _) in enumerate((a, b)):
        at = np.searchsorted(names, own)
        sizes[side, at] = size
        means[side, at] = mean
    both = sizes.sum(axis=0)
    shift = means[1] - means[0]
    apart = np.where(sizes.min(axis=0) > 0, sizes[0] * sizes[1] / both, 0.0)
    mean = np.where(sizes[0][:, None] > 0, means[0] + shift * (sizes[1] / both)[:, None], means[1])
    return names, both, mean, a[3] + b[3] + (shift * apart[:, None]).T @ shift
