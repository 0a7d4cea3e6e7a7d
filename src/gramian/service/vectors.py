"""The vectors of a collection: immutable rows in parts, most of them memory maps, with a growing tail."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from gramian.service.files import narrow


class Vectors:
    """Rows 0, 1, … of a collection, never changed once written.

    ``append`` returns a longer value that shares all rows with this one; only the writer of a space calls it, on the
    newest value, so that the spare room of the tail is used once.
    """

    def __init__(self, parts: tuple[np.ndarray, ...], n_features: int, tail: np.ndarray | None = None, n: int = 0):
        self.parts = parts
        self.n_features = n_features
        self._buffer = np.empty((0, n_features), np.float32) if tail is None else tail
        self._n_tail = n
        self.starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)

    @property
    def tail(self) -> np.ndarray:
        """Rows behind the parts."""
        return self._buffer[: self._n_tail]

    @property
    def n_settled(self) -> int:
        """Number of rows in the parts."""
        return int(self.starts[-1])

    def __len__(self) -> int:
        """Number of rows."""
        return self.n_settled + self._n_tail

    def append(self, X: np.ndarray) -> "Vectors":
        """These rows and then those of X."""
        X = narrow(X)
        n, buffer = self._n_tail + len(X), self._buffer
        dtype = X.dtype if self._n_tail == 0 else np.result_type(buffer, X)
        if n > len(buffer) or dtype != buffer.dtype:
            buffer = np.empty((max(n, 2 * self._n_tail), self.n_features), dtype)
            buffer[: self._n_tail] = self.tail
        buffer[self._n_tail : n] = X
        return Vectors(self.parts, self.n_features, buffer, n)

    def extend(self, part: np.ndarray) -> "Vectors":
        """These rows and then a part of its own; the tail must be empty."""
        assert self._n_tail == 0
        return Vectors((*self.parts, part), self.n_features)

    def settled(self, parts: tuple[np.ndarray, ...]) -> "Vectors":
        """The same rows, of which the first are now in these parts."""
        done = sum(len(part) for part in parts) - self.n_settled
        rest = self.tail[done:].copy()
        return Vectors(parts, self.n_features, rest, len(rest))

    def _pieces(self) -> Iterator[tuple[int, np.ndarray]]:
        for start, part in zip(self.starts, self.parts):
            yield int(start), part
        if self._n_tail:
            yield self.n_settled, self.tail

    def take(self, rows: Any) -> np.ndarray:
        """Chosen rows as an array (m, d), in single precision where all of them are."""
        rows = np.asarray(rows, np.int64)
        whole = self._run(rows)
        if whole is not None:
            return whole
        pieces = list(self._pieces())
        dtype = np.result_type(np.float32, *(piece for _, piece in pieces))
        out = np.empty((len(rows), self.n_features), dtype)
        for start, piece in pieces:
            here = (rows >= start) & (rows < start + len(piece))
            if here.all():
                return np.asarray(piece[rows - start], dtype)
            out[here] = piece[rows[here] - start]
        return out

    def _run(self, rows: np.ndarray) -> np.ndarray | None:
        """Consecutive rows of one piece without a copy, None when they are not."""
        if len(rows) < 2 or rows[-1] - rows[0] != len(rows) - 1 or (np.diff(rows) != 1).any():
            return None
        for start, piece in self._pieces():
            if start <= rows[0] and rows[-1] < start + len(piece):
                return piece[rows[0] - start : rows[-1] - start + 1]
        return None

    def product(self, w: np.ndarray) -> np.ndarray:
        """Inner product of every row with w (d,), or with the columns of w (d, m), in the precision of the rows."""
        pieces = [piece @ w.astype(piece.dtype) for _, piece in self._pieces()]
        if len(pieces) == 1:
            return pieces[0]
        return np.concatenate(pieces) if pieces else np.zeros((0, *w.shape[1:]))
