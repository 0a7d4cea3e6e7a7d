"""The folder of a space: an SQLite log of numbered events, with the state that follows from it in the same file."""

import os
import queue
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gramian.persist import PersistError
from gramian.service.errors import StorageFull
from gramian.service.files import FolderLock, make_folder, private
from gramian.service.opening import connect, prepare, verify, writer

CHECKPOINT_PAGES = 1000
"""Pages of the write-ahead log from which on the background copies them to the main file."""


class Store:
    """One folder, opened for writing by one process.

    ``writing()`` is a transaction on the only connection that writes; ``reading()`` lends a connection that sees
    what is committed. The connection that writes must be used by one thread at a time.

    Parameters
    ----------
    folder : path
        Made when it is not there.
    """

    def __init__(self, folder: str | os.PathLike) -> None:
        self.folder = Path(folder)
        for part in (self.folder, self.vectors, self.metrics):
            make_folder(part)
        self._lock = FolderLock(self.folder)
        self._readers: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue()
        try:
            private(self.path)
            self.db = connect(self.path)
            prepare(self)
            verify(self)
        except BaseException as error:
            self.close()
            if isinstance(error, sqlite3.Error | UnicodeDecodeError):
                raise PersistError(f"Space: {str(self.path)!r} cannot be read ({error}); restore a backup.") from error
            raise

    @property
    def path(self) -> Path:
        """The file of the log."""
        return self.folder / "space.db"

    @property
    def vectors(self) -> Path:
        """Folder of the parts."""
        return self.folder / "vectors"

    @property
    def metrics(self) -> Path:
        """Folder of the learned metrics."""
        return self.folder / "metrics"

    def setting(self, key: str) -> str | None:
        """A value that was fixed when the folder was made."""
        row = self.db.execute("SELECT value FROM space WHERE key = ?", (key,)).fetchone()
        return row["value"] if row else None

    @property
    def seq(self) -> int:
        """Number of the last event."""
        return self.db.execute("SELECT coalesce(max(seq), 0) FROM events").fetchone()[0]

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction: durable when the block ends, gone without a trace when anything in it goes wrong."""
        try:
            self.db.execute("BEGIN IMMEDIATE")
            yield self.db
            self.commit()
        except BaseException as error:
            self._roll_back()
            if refused_by_disk(error):
                raise StorageFull(
                    f"Space: the disk did not take the change ({error}); make room and send it again."
                ) from error
            raise

    def commit(self) -> None:
        """Wait until the disk has the transaction."""
        self.db.execute("COMMIT")

    def _roll_back(self) -> None:
        try:
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")
        except sqlite3.Error:  # a connection that cannot roll back is of no more use
            self.db.close()
            self.db = writer(self.path)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that reads, from any thread."""
        try:
            db = self._readers.get_nowait()
        except queue.Empty:
            db = connect(self.path)
            db.execute("PRAGMA query_only = 1")
        try:
            yield db
        finally:
            self._readers.put(db)

    @property
    def log_bytes(self) -> int:
        """Size of the write-ahead log."""
        wal = self.folder / "space.db-wal"
        return wal.stat().st_size if wal.exists() else 0

    def checkpoint(self) -> None:
        """Copy the write-ahead log into the main file when it has grown, without holding up the writer."""
        if self.log_bytes > 4096 * CHECKPOINT_PAGES:
            with self.reading() as db:
                db.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def close(self) -> None:
        """Let go of the folder; what was not committed is gone. May be called twice."""
        while not self._readers.empty():
            self._readers.get_nowait().close()
        if hasattr(self, "db"):
            self.db.close()
        self._lock.release()


def refused_by_disk(error: BaseException) -> bool:
    """Whether an error means that the disk is full or does not write."""
    if isinstance(error, sqlite3.Error):
        name = getattr(error, "sqlite_errorname", "") or ""
        return name.startswith(("SQLITE_FULL", "SQLITE_IOERR"))
    return isinstance(error, OSError) and not isinstance(error, FileNotFoundError | ConnectionError)
