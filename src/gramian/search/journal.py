r"""An append-only log on disk: checksummed records, durable when committed, torn tails dropped on opening.

A record is one line, ``crc32 json\n``. Records count up from the number in the file's name. Whatever was committed
is there after a crash; a record that was being written may be torn, and is then cut off and reported.
"""

import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gramian.persist import PersistError


def encode(record: Any) -> bytes:
    """One line with its checksum."""
    text = json.dumps(record, separators=(",", ":"), allow_nan=False).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def decode(line: bytes) -> Any:
    """The record of a line; ValueError when the line is damaged."""
    if not line.endswith(b"\n") or line[:9] != b"%08x " % zlib.crc32(line[9:-1]):
        raise ValueError("damaged record")
    return json.loads(line[9:-1])


class Journal:
    """Records ``start``, ``start + 1``, … in one file that is only ever appended to.

    Parameters
    ----------
    path : path
        Made when it is not there.

    Attributes
    ----------
    count : int
        Records in the file.
    dropped : int
        Bytes of a torn tail that opening cut off.
    """

    def __init__(self, path: str | os.PathLike) -> None:
        self.path = Path(path)
        new = not self.path.exists()
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        self.count, good = _whole_records(self.path)
        self.dropped = self.path.stat().st_size - good
        if self.dropped:
            os.ftruncate(self._file, good)
            os.fsync(self._file)
        if new:
            sync_folder(self.path.parent)
        self._waiting: list[bytes] = []

    def append(self, record: Any) -> None:
        """Take a record; it is durable only after :meth:`commit`."""
        self._waiting.append(encode(record))

    def commit(self) -> None:
        """Write what was appended and wait until the disk has it."""
        if not self._waiting:
            return
        data = memoryview(b"".join(self._waiting))
        while data:
            data = data[os.write(self._file, data) :]
        os.fsync(self._file)
        self.count += len(self._waiting)
        self._waiting = []

    def __iter__(self) -> Iterator[Any]:
        """All committed records, in order."""
        with open(self.path, "rb") as stream:
            for line in stream:
                yield decode(line)

    def close(self) -> None:
        """Close the file; what was not committed is lost."""
        os.close(self._file)


def _whole_records(path: Path) -> tuple[int, int]:
    """Number of good records, and the bytes they take; damage that is followed by a good record raises."""
    count = good = position = 0
    damaged = None
    with open(path, "rb") as stream:
        for line in stream:
            position += len(line)
            try:
                decode(line)
            except ValueError:
                damaged = position - len(line) if damaged is None else damaged
                continue
            if damaged is not None:
                raise PersistError(
                    f"Journal: {str(path)!r} is damaged at byte {damaged}, and good records follow; "
                    "restore the file from a backup."
                )
            count, good = count + 1, position
    return count, good


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the names in a folder."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
