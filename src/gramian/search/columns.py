"""Per-item columns of an index: rows that grow, are taken by position, and are shared between indexes.

A column never changes the rows it already holds; an append writes behind them, or into a new buffer. So two
indexes may hold the same column, and each may go on growing.
"""

from typing import Any

import numpy as np
from scipy import sparse

TILE = 64
"""Codes of 64 items stand together, word by word, so that a scan reads whole vector registers."""


class Dense:
    """Rows of an array, with spare room at the end that doubles when it is used up."""

    def __init__(self, data: np.ndarray, n: int | None = None) -> None:
        self.data = data
        self.n = len(data) if n is None else n

    @property
    def rows(self) -> np.ndarray:
        """The rows, without the spare room."""
        return self.data[: self.n]

    def append(self, rows: np.ndarray) -> "Dense":
        """Column with more rows; the spare room passes on to it."""
        n, dtype = self.n + len(rows), np.result_type(self.data, rows)
        data = self.data
        if n > len(data) or dtype != data.dtype:
            data = np.empty((n if self.n == 0 else max(n, 3 * self.n // 2), *data.shape[1:]), dtype)
            data[: self.n] = self.rows
        data[self.n : n] = rows
        return type(self)(data, n)

    def take(self, index: np.ndarray) -> "Dense":
        """Column of the chosen rows, in the order given."""
        return type(self)(self.rows[index])

    def share(self) -> "Dense":
        """The same rows without the spare room: the next append copies."""
        return type(self)(self.rows)

    def state(self) -> Any:
        """What to store."""
        return np.ascontiguousarray(self.rows)


class Ragged:
    """Rows of a sparse matrix, or of any list of objects."""

    def __init__(self, data: Any) -> None:
        self.rows = data
        self.n = data.shape[0] if hasattr(data, "shape") else len(data)

    def append(self, rows: Any) -> "Ragged":
        """Column with more rows."""
        if self.n == 0:
            return Ragged(rows)
        stacked = sparse.vstack([self.rows, rows], format="csr") if sparse.issparse(rows) else [*self.rows, *rows]
        return Ragged(stacked)

    def take(self, index: np.ndarray) -> "Ragged":
        """Column of the chosen rows, in the order given."""
        return Ragged(self.rows[index] if sparse.issparse(self.rows) else [self.rows[i] for i in index])

    def share(self) -> "Ragged":
        """The same rows."""
        return self

    def state(self) -> Any:
        """What to store."""
        return self.rows


class Tiles:
    """Packed hash codes (n, n_words) kept as tiles (n_tiles, n_words, 64) of uint64."""

    def __init__(self, data: np.ndarray, n: int) -> None:
        self.data = data
        self.n = n

    @classmethod
    def empty(cls, n_words: int) -> "Tiles":
        """No codes yet."""
        return cls(np.zeros((0, n_words, TILE), np.uint64), 0)

    @property
    def tiles(self) -> np.ndarray:
        """Tiles in use; slots behind the last item hold anything."""
        return self.data[: -(-self.n // TILE)]

    @property
    def rows(self) -> np.ndarray:
        """Codes as rows (n, n_words)."""
        words = self.data.shape[1]
        return self.tiles.transpose(0, 2, 1).reshape(-1, words)[: self.n]

    def append(self, rows: "np.ndarray | Tiles") -> "Tiles":
        """Column with more codes, given as rows (m, n_words) of uint64 or as tiles."""
        rows = rows.rows if isinstance(rows, Tiles) else rows
        n, full = self.n + len(rows), self.n // TILE
        needed, data = -(-n // TILE), self.data
        if needed > len(data) or not data.flags.writeable:
            size = needed if self.n == 0 else max(needed, 3 * len(self.tiles) // 2)
            data = np.zeros((size, *data.shape[1:]), np.uint64)
            data[: len(self.tiles)] = self.tiles
        tail = self.n - full * TILE
        block = np.zeros(((needed - full) * TILE, data.shape[1]), np.uint64)
        block[tail : tail + len(rows)] = rows
        new = block.reshape(-1, TILE, data.shape[1]).transpose(0, 2, 1)
        if tail:
            data[full, :, tail:] = new[0, :, tail:]
            data[full + 1 : needed] = new[1:]
        else:
            data[full:needed] = new
        return Tiles(data, n)

    def take(self, index: np.ndarray) -> "Tiles":
        """Column of the chosen codes, in the order given."""
        return Tiles.empty(self.data.shape[1]).append(self.rows[index])

    def share(self) -> "Tiles":
        """The same codes; the last, partly filled tile is copied so that no append is seen from here."""
        tiles = self.tiles
        return Tiles(tiles.copy() if self.n % TILE else tiles, self.n)

    def state(self) -> Any:
        """What to store."""
        return {"tiles": np.ascontiguousarray(self.tiles), "n": self.n}


def column(rows: Any) -> Any:
    """Column that starts with these rows."""
    if isinstance(rows, Tiles):
        return rows
    if isinstance(rows, dict):
        return Tiles(rows["tiles"], rows["n"])
    return Dense(rows) if isinstance(rows, np.ndarray) else Ragged(rows)
