r"""The folder of a space: an SQLite log of numbered events, with the state that follows from it in the same file.

Each table has a column ``row_sum``, the CRC-32 of the other columns of its row in their order, as Python writes them,
with ``"\x1f"`` between two; vectors in ``parts`` have a checksum of their own instead. Triggers that only the
connection of the writer has compute them, so whatever else changes a row is noticed at the door.
"""

import os
import queue
import secrets
import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gramian.persist import PersistError
from gramian.service.errors import StorageFull, refused_by_disk
from gramian.service.vectors import FolderLock, make_folder, private

FORMAT = "2"
SCHEMA = Path(__file__).with_name("schema.sql")
TABLES = ("space", "events", "collections", "items", "parts", "feedback", "versions", "duels", "tokens")
BESIDE = ("about", "pictures")
"""Folders of what belongs to collections without being in the log; they travel with a backup."""
CHECKPOINT_PAGES = 1000
"""Pages of the write-ahead log from which on the background copies them to the main file."""
MOST_LOG_PAGES = 10_000
"""Pages at which a commit copies them itself, because nobody else did."""


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
        for place in (self.folder, self.vectors, self.metrics):
            make_folder(place)
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
            self.db = connect(self.path)
            add_triggers(self.db)

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

    def sweep(self) -> None:
        """Remove the files that no table names: left by a crash, or replaced. Only once what is named was read."""
        for folder, named, present in files(self):
            for name in present - named:
                (folder / name).unlink()

    def close(self) -> None:
        """Let go of the folder; what was not committed is gone. May be called twice."""
        while not self._readers.empty():
            self._readers.get_nowait().close()
        if hasattr(self, "db"):
            self.db.close()
        self._lock.release()


def connect(path: Path) -> sqlite3.Connection:
    """A connection to the log, durable when it commits."""
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute(f"PRAGMA wal_autocheckpoint = {MOST_LOG_PAGES}")  # mostly done beside the writer before
    db.create_function("row_sum", -1, row_sum, deterministic=True)
    return db


def row_sum(*values: Any) -> int:
    """CRC-32 of the values of a row."""
    return zlib.crc32("\x1f".join(map(repr, values)).encode())


def columns(db: sqlite3.Connection, table: str) -> list[str]:
    """Columns under the checksum."""
    names = [row["name"] for row in db.execute(f"PRAGMA table_info({table})")]
    return [name for name in names if name != "row_sum" and (table, name) != ("parts", "x")]


def add_triggers(db: sqlite3.Connection) -> None:
    """Let every row that a connection inserts or changes get its checksum; one that comes with the row is taken."""
    for table in TABLES:
        names = columns(db, table)
        keys = [row["name"] for row in db.execute(f"PRAGMA table_info({table})") if row["pk"]]
        place = " AND ".join(f"{key} = NEW.{key}" for key in keys)
        values = ", ".join(f"NEW.{name}" for name in names)
        change = f"BEGIN UPDATE {table} SET row_sum = row_sum({values}) WHERE {place}; END"
        after = f"CREATE TEMP TRIGGER {table}_%s AFTER %s ON main.{table}"
        db.execute(f"{after % ('inserted', 'INSERT')} WHEN NEW.row_sum IS NULL {change}")
        db.execute(f"{after % ('updated', 'UPDATE OF ' + ', '.join(names))} {change}")


def prepare(store: Store) -> None:
    """Make the tables of a new folder, or those of format 2 from those of format 1; refuse any other."""
    if list(store.folder.glob("events-*.log")):
        raise PersistError(f"Space: {str(store.folder)!r} is a stream of gramian 0.1; feed its events to a new folder.")
    if store.db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        if store.db.execute("PRAGMA page_count").fetchone()[0] > 1:
            raise PersistError(f"Space: {str(store.path)!r} is damaged, it names no tables; restore a backup.")
        with store.writing() as db:
            make_tables(db)
            add_triggers(db)
            values = {"format": FORMAT, "secret": secrets.token_hex(32), "made": str(time.time())}
            db.executemany("INSERT INTO space VALUES (?, ?, NULL)", values.items())
        return
    number = store.setting("format")
    if number == "1":
        upgrade(store)
    elif number != FORMAT:
        raise PersistError(f"Space: {str(store.folder)!r} has format {number!r}, this gramian reads {FORMAT!r}.")
    add_triggers(store.db)


def statements() -> Iterator[str]:
    """Those that make the tables, one by one, so that they share a transaction."""
    lines = [line for line in SCHEMA.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("--")]
    for statement in "\n".join(lines).split(";"):
        if statement.strip():
            yield statement.strip()


def make_tables(db: sqlite3.Connection) -> None:
    """Make all tables."""
    for statement in statements():
        db.execute(statement)


def upgrade(store: Store) -> None:
    """Give the rows of format 1 their checksums; its events had some already, which are compared."""
    names = ("seq", "time", "op", "collection", "user", "data")
    for row in store.db.execute("SELECT * FROM events ORDER BY seq"):
        if row["sum"] != row_sum(*(row[name] for name in names)):
            raise PersistError(f"Space: event {row['seq']} is damaged in {str(store.folder)!r}; restore a backup.")
    with store.writing() as db:
        named = "SELECT type, name FROM sqlite_master WHERE type IN ('index', 'view') AND sql IS NOT NULL"
        for kind, name in db.execute(named).fetchall():
            db.execute(f"DROP {kind} {name}")
        for table in TABLES:
            db.execute(f"ALTER TABLE {table} RENAME TO old_{table}")
        make_tables(db)
        for table in TABLES:
            listed = ", ".join([row["name"] for row in db.execute(f"PRAGMA table_info({table})")][:-1])
            db.execute(f"INSERT INTO {table} ({listed}) SELECT {listed} FROM old_{table}")
            db.execute(f"UPDATE {table} SET row_sum = row_sum({', '.join(columns(db, table))})")
            db.execute(f"DROP TABLE old_{table}")
        db.execute("UPDATE space SET value = ?1, row_sum = row_sum(key, ?1) WHERE key = 'format'", (FORMAT,))


def verify(store: Store) -> None:
    """Raise when the database is not what was written, or a file that a table names is not there."""
    for problem in problems(store.db):
        raise PersistError(f"Space: {problem} in {str(store.folder)!r}; restore a backup.")
    for folder, named, present in files(store):
        for lost in sorted(named - present):
            raise PersistError(f"Space: file {lost!r} is missing in {str(folder)!r}; restore a backup.")


def problems(db: sqlite3.Connection) -> Iterator[str]:
    """What is not as it was written, in words."""
    report = db.execute("PRAGMA integrity_check").fetchone()[0]
    if report != "ok":
        yield f"space.db is damaged ({' '.join(report.split())[:200]})"
    if {row["sql"] for row in db.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")} != set(statements()):
        yield "the names of tables or columns are damaged"
    for table in TABLES:
        text = f"SELECT * FROM {table} WHERE row_sum IS NOT row_sum({', '.join(columns(db, table))}) LIMIT 1"
        for row in db.execute(text):
            yield f"event {row['seq']} is damaged" if table == "events" else f"a row of {table!r} is damaged"
    n, last = db.execute("SELECT count(*), coalesce(max(seq), 0) FROM events").fetchone()
    if n != last:  # seq is the key, and begins with 1
        gap = "SELECT min(seq) FROM (SELECT 0 AS seq UNION SELECT seq FROM events) WHERE seq + 1 NOT IN numbers"
        row = db.execute(f"WITH numbers AS (SELECT seq FROM events) {gap}").fetchone()
        yield f"event {row[0] + 1} is missing"
    for table, op in (("feedback", "feedback"), ("versions", "version"), ("duels", "duel")):
        text = f"SELECT (SELECT count(*) FROM events WHERE op = ?) - (SELECT count(*) FROM {table})"
        if db.execute(text, (op,)).fetchone()[0] != 0:
            yield f"a row of {table!r} is missing"


def files(store: Store) -> Iterator[tuple[Path, set[str], set[str]]]:
    """Folders with the names of their files that the tables hold, and of those that are there."""
    for folder, table in ((store.vectors, "parts"), (store.metrics, "versions")):
        named = {row[0] for row in store.db.execute(f"SELECT file FROM {table} WHERE file IS NOT NULL")}
        yield folder, named, {path.name for path in folder.iterdir()}
