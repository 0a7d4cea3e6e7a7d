"""Files of a space: arrays that are whole or absent, the lock of a folder, and names that are on the disk."""

import fcntl
import os
import secrets
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from gramian.persist import PersistError


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


def checksum(X: np.ndarray) -> int:
    """CRC-32 of the numbers of an array."""
    return zlib.crc32(np.ascontiguousarray(X).reshape(-1).view(np.uint8).data)


def narrow(X: np.ndarray) -> np.ndarray:
    """X in single precision where that loses nothing, otherwise in double."""
    X = np.asarray(X)
    if X.dtype == np.float32:
        return X
    with np.errstate(over="ignore"):
        single = X.astype(np.float32)
    return single if np.array_equal(single, X) else X.astype(np.float64, copy=False)


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
