"""The vectors of a collection, and files on the disk: arrays that are whole or absent, and the lock of a folder."""

import fcntl
import os
import secrets
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from gramian.persist import PersistError


class Vectors:
    """Rows 0, 1, … of a collection, never changed once written: parts, most of them memory maps, and a growing tail.

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
        rows = np.asarray(rows, np.int64)  # (m,)
        run = self._run(rows)
        if run is not None:
            return run
        pieces = list(self._pieces())
        dtype = np.result_type(np.float32, *(piece for _, piece in pieces))
        X = np.empty((len(rows), self.n_features), dtype)
        for start, piece in pieces:
            inside = (rows >= start) & (rows < start + len(piece))
            if inside.all():
                return np.asarray(piece[rows - start], dtype)
            X[inside] = piece[rows[inside] - start]
        return X

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


def narrow(X: np.ndarray) -> np.ndarray:
    """X in single precision where that loses nothing, otherwise in double."""
    X = np.asarray(X)
    if X.dtype == np.float32:
        return X
    with np.errstate(over="ignore"):
        single = X.astype(np.float32)
    return single if np.array_equal(single, X) else X.astype(np.float64, copy=False)


def checksum(X: np.ndarray) -> int:
    """CRC-32 of the numbers of an array."""
    return zlib.crc32(np.ascontiguousarray(X).reshape(-1).view(np.uint8).data)


def write_array(folder: Path, X: np.ndarray) -> tuple[str, int]:
    """Write an array under a name of its own and wait for the disk; returns the name and the checksum of the data."""
    X = np.ascontiguousarray(X)
    name = f"{secrets.token_hex(8)}.npy"
    path = folder / name
    try:
        with open(path, "xb") as stream:
            np.lib.format.write_array(stream, X, version=(1, 0), allow_pickle=False)
            stream.flush()
            os.fsync(stream.fileno())
        sync_folder(folder)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return name, checksum(X)


def map_array(path: Path, check: int) -> np.ndarray:
    """An array of a file as a read-only memory map, its checksum compared."""
    try:
        X: Any = np.lib.format.open_memmap(path, mode="r")
    except (OSError, ValueError) as error:
        raise PersistError(f"Space: vectors {path.name!r} cannot be read ({error}); restore a backup.") from error
    if checksum(X) != check:
        raise PersistError(f"Space: vectors {path.name!r} are damaged; restore a backup.")
    return X


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the names in a folder."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it that are not there, and wait until the disk has their names."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in missing:
        sync_folder(path.parent)


def sync_tree(folder: Path) -> None:
    """Wait until the disk has all files under a folder, and their names."""
    for place, _, names in os.walk(folder, topdown=False):
        for name in names:
            with open(Path(place, name), "rb") as stream:
                os.fsync(stream.fileno())
        sync_folder(Path(place))


def private(path: Path) -> None:
    """Let nobody else read a file of the database, which is made when it is not there."""
    if not path.exists():  # one that is there is not opened: to close it again would give up locks of this process
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        sync_folder(path.parent)
    for file in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        with suppress(FileNotFoundError, PermissionError):  # another user's stays as they want it
            if file.stat().st_mode & 0o077:
                file.chmod(0o600)


class FolderLock:
    """The right to write in a folder, held by one process at a time: the folder itself, as a file can be removed."""

    def __init__(self, folder: Path) -> None:
        self.handle = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self.handle)
            raise ValueError(
                f"Space: folder {str(folder)!r} must not be open elsewhere, got a lock on it; stop the other process."
            ) from error

    def release(self) -> None:
        """Let another process have the folder; may be called twice."""
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1
