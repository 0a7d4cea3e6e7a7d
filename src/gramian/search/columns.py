"""Per-item columns of an index: rows that grow and are taken by position.

A column is a value: it never changes the rows it holds. An append writes behind them, into room that no other column
has claimed, or into a new buffer. So columns may be shared by snapshots, copies and threads, and each may grow.
"""

import os
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from gramian import linalg
from gramian._arrays import foreign, namespace, to_numpy

TILE = 64
"""Codes of 64 items stand together, word by word, so that a scan reads whole vector registers."""
_claims = threading.Lock()


class Room:
    """How many rows of a shared buffer are taken; whoever stands at its end may have what is behind it."""

    def __init__(self, taken: int) -> None:
        self.taken = taken

    def claim(self, start: int, stop: int) -> bool:
        """Take the rows from ``start`` to ``stop``, if no other column has."""
        with _claims:
            free = self.taken == start
            if free:
                self.taken = stop
            return free

    def __deepcopy__(self, memo: Any) -> "Room":
        return Room(self.taken)


@dataclass(frozen=True)
class Source:
    """The file of mapped rows as it was when they were taken."""

    path: str
    before: os.stat_result

    @classmethod
    def of(cls, rows: np.ndarray) -> "Source | None":
        """The file in which rows stand; None for rows in memory, and where nothing of that name is there any more."""
        mapped = rows if isinstance(rows, np.memmap) else rows.base
        if not isinstance(mapped, np.memmap) or mapped.filename is None:
            return None
        path = os.fspath(mapped.filename)
        try:
            return cls(path, os.stat(path))
        except OSError:
            return None

    def check(self, owner: str) -> None:
        """Raise where the file was written into; a new one in its place, or none, leaves the rows as they were."""
        try:
            now = os.stat(self.path)
        except OSError:
            return
        if now.st_mtime_ns == self.before.st_mtime_ns and now.st_size == self.before.st_size:
            return
        if os.path.samestat(now, self.before):
            raise ValueError(
                f"{owner}: the file of its points must stay as it is, got another size or time of {self.path!r}; "
                "add its points to a new index."
            )


class Dense:
    """Rows of an array, with spare room at the end."""

    def __init__(self, data: np.ndarray, n: int | None = None, room: Room | None = None) -> None:
        self.data = data
        self.n = len(data) if n is None else n
        self.room = Room(self.n) if room is None else room
        self.source = Source.of(data) if isinstance(data, np.ndarray) else None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "source": None}  # a pickle holds the rows themselves

    @property
    def rows(self) -> np.ndarray:
        """The rows, without the spare room."""
        return self.data[: self.n]

    def append(self, rows: np.ndarray) -> "Dense":
        """Column with more rows."""
        n, dtype = self.n + len(rows), np.result_type(self.data, rows)
        data, room = self.data, self.room
        if n > len(data) or dtype != data.dtype or not room.claim(self.n, n):
            data = np.empty((max(n, 3 * self.n // 2), *data.shape[1:]), dtype)
            data[: self.n] = self.rows
            room = Room(n)
        data[self.n : n] = rows
        return Dense(data, n, room)

    def take(self, index: np.ndarray) -> "Dense":
        """Column of the chosen rows, in the order given."""
        return Dense(self.rows[index])

    def part(self, start: int, stop: int) -> "Dense":
        """A view of some rows."""
        return Dense(self.rows[start:stop])

    def state(self) -> Any:
        """What to store."""
        return self.rows


class Ragged:
    """Rows of a sparse matrix, or of any list of objects."""

    def __init__(self, data: Any) -> None:
        self.rows = data
        self.n = linalg.count(data)

    def append(self, rows: Any) -> "Ragged":
        """Column with more rows."""
        if self.n == 0:
            return Ragged(rows)
        return Ragged(sparse.vstack([self.rows, rows], format="csr") if sparse.issparse(rows) else [*self.rows, *rows])

    def take(self, index: np.ndarray) -> "Ragged":
        """Column of the chosen rows, in the order given."""
        return Ragged(linalg.take(self.rows, index))

    def part(self, start: int, stop: int) -> "Ragged":
        """Some of the rows."""
        return Ragged(self.rows[start:stop])

    def state(self) -> Any:
        """What to store."""
        return self.rows


class Placed(Ragged):
    """Rows of an array on a device."""

    def append(self, rows: Any) -> "Placed":
        """Column with more rows."""
        return Placed(namespace(rows).concat([self.rows, rows]))

    def take(self, index: np.ndarray) -> "Placed":
        """Column of the chosen rows, in the order given."""
        return Placed(linalg.take(self.rows, index))

    def state(self) -> Any:
        """What to store, on the host."""
        return to_numpy(self.rows)


class Tiles:
    """Packed hash codes (n, n_words) kept as tiles (n_tiles, n_words, 64) of uint64."""

    def __init__(self, data: np.ndarray, n: int, room: Room | None = None) -> None:
        self.data = data
        self.n = n
        self.room = Room(n) if room is None else room

    @classmethod
    def of(cls, rows: np.ndarray) -> "Tiles":
        """Column of codes given as rows (n, n_words) of uint64."""
        return cls.zeros(*rows.shape).put(0, rows)

    @classmethod
    def zeros(cls, n: int, n_words: int) -> "Tiles":
        """Column of n codes, all zero yet."""
        return cls(np.zeros((-(-n // TILE), n_words, TILE), np.uint64), n)

    def put(self, start: int, rows: np.ndarray) -> "Tiles":
        """Write codes at a position, the first of a tile, of a column that nobody else has yet."""
        n, n_words = rows.shape
        full, tiles = n // TILE, self.data[start // TILE : -(-(start + n) // TILE)]
        tiles[:full] = rows[: full * TILE].reshape(full, TILE, n_words).transpose(0, 2, 1)
        tiles[full:, :, : n - full * TILE] = rows[full * TILE :].T
        return self

    @property
    def tiles(self) -> np.ndarray:
        """Tiles in use; slots behind the last item hold anything."""
        return self.data[: -(-self.n // TILE)]

    @property
    def rows(self) -> np.ndarray:
        """Codes as rows (n, n_words)."""
        n_words = self.data.shape[1]
        return np.ascontiguousarray(self.tiles.transpose(0, 2, 1)).reshape(-1, n_words)[: self.n]

    def append(self, new: "Tiles") -> "Tiles":
        """Column with more codes."""
        n = self.n + new.n
        full, tail, needed = self.n // TILE, self.n % TILE, -(-n // TILE)
        data, room = self.data, self.room
        if needed > len(data) or not data.flags.writeable or not room.claim(self.n, n):
            data = np.zeros((max(needed, 3 * len(self.tiles) // 2), *data.shape[1:]), np.uint64)
            data[: len(self.tiles)] = self.tiles
            room = Room(n)
        padded = np.zeros((tail + new.n, data.shape[1]), np.uint64)
        padded[tail:] = new.rows
        block = Tiles.of(padded).tiles
        # Items before the tail stay as they are: other columns hold them too.
        data[full, :, tail:] = block[0, :, tail:]
        data[full + 1 : needed] = block[1:]
        return Tiles(data, n, room)

    def take(self, index: np.ndarray) -> "Tiles":
        """Column of the chosen codes, in the order given."""
        return Tiles.of(self.rows[index])

    def part(self, start: int, stop: int) -> "Tiles":
        """A view of some codes, from the start of a tile on."""
        return Tiles(self.tiles[start // TILE : -(-stop // TILE)], stop - start)

    def state(self) -> Any:
        """What to store."""
        return {"tiles": np.ascontiguousarray(self.tiles), "n": self.n}


class ArrangedRows:
    """Rows of a mapped file in another order, without moving them; each reading makes a copy of what is asked for."""

    ndim = 2

    def __init__(self, data: np.ndarray, places: np.ndarray) -> None:
        self.data = data
        self.places = places

    @property
    def dtype(self) -> np.dtype:
        """Type of the numbers."""
        return self.data.dtype

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of features."""
        return len(self.places), self.data.shape[1]

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, rows: Any) -> np.ndarray:
        return np.asarray(self.data[self.places[rows]])

    def mean(self, axis: int, dtype: Any) -> np.ndarray:
        """Mean of the rows; their order is that of the file."""
        total = np.zeros(self.shape[1], dtype)
        for block in linalg.blocks(len(self), 8 * self.shape[1]):
            total += self.data[np.sort(self.places[block])].sum(axis=0, dtype=dtype)
        return total / max(len(self), 1)


class Arranged:
    """Column of rows of a mapped file; what is added to it is in memory, and so is all of it then."""

    def __init__(self, rows: ArrangedRows) -> None:
        self.rows = rows
        self.n = len(rows)

    @staticmethod
    def rows_of(rows: Any, order: np.ndarray) -> ArrangedRows:
        """Mapped rows in another order."""
        if isinstance(rows, ArrangedRows):
            return ArrangedRows(rows.data, rows.places[order])
        return ArrangedRows(rows, order)

    def append(self, rows: np.ndarray) -> "Dense":
        """Column with more rows."""
        return Dense(self.rows[:]).append(rows)

    def take(self, index: np.ndarray) -> "Arranged":
        """Column of the chosen rows, in the order given."""
        return Arranged(self.rows_of(self.rows, index))

    def state(self) -> np.ndarray:
        """What to store: the rows in their order."""
        return self.rows[:]


def column(rows: Any) -> Any:
    """Column that starts with these rows, or with what a file holds of one."""
    from gramian.search.orders import SortedOrders
    from gramian.search.rounded import Rounded, RoundedRows

    if isinstance(rows, Tiles | SortedOrders):
        return rows
    if isinstance(rows, ArrangedRows):
        return Arranged(rows)
    if isinstance(rows, RoundedRows):
        return Rounded.of(rows)
    if isinstance(rows, dict) and "rounded" in rows:
        return Rounded.from_state(rows)
    if isinstance(rows, dict):
        tiles, n = rows["tiles"], rows["n"]
        if tiles.dtype != np.uint64 or tiles.ndim != 3 or tiles.shape[2] != TILE or len(tiles) != -(-n // TILE):
            raise ValueError("its codes do not fit together")
        return Tiles(tiles, n)
    if foreign(rows):
        return Placed(rows)
    return Dense(rows) if isinstance(rows, np.ndarray) else Ragged(rows)
