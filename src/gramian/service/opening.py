"""How the folder of a space is opened: tables that are there and of this format, events and files that are whole."""

import secrets
import sqlite3
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gramian.persist import PersistError

if TYPE_CHECKING:
    from gramian.service.store import Store

FORMAT = "1"
MOST_LOG_PAGES = 10_000
"""Pages of the write-ahead log at which a commit copies them itself, because nobody else did."""
SCHEMA = Path(__file__).with_name("schema.sql")


def connect(path: Path) -> sqlite3.Connection:
    """A connection to the log, durable when it commits."""
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute(f"PRAGMA wal_autocheckpoint = {MOST_LOG_PAGES}")  # mostly done beside the writer before
    return db


def prepare(store: "Store") -> None:
    """Make the tables of a new folder; refuse one of another format."""
    if list(store.folder.glob("events-*.log")):
        raise PersistError(f"Space: {str(store.folder)!r} is a stream of gramian 0.1; feed its events to a new folder.")
    if store.db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        with store.writing():
            for statement in statements(SCHEMA.read_text(encoding="utf-8")):
                store.db.execute(statement)
            values = {"format": FORMAT, "secret": secrets.token_hex(32), "made": str(time.time())}
            store.db.executemany("INSERT INTO space VALUES (?, ?)", values.items())
    found = store.setting("format")
    if found != FORMAT:
        raise PersistError(f"Space: {str(store.folder)!r} has format {found!r}, this gramian reads {FORMAT!r}.")


def verify(store: "Store") -> None:
    """Raise when events are missing or damaged, or a file that a table names is not there."""
    for expected, row in enumerate(store.db.execute("SELECT * FROM events ORDER BY seq"), 1):
        if row["seq"] != expected:
            raise PersistError(f"Space: event {expected} is missing in {str(store.folder)!r}; restore a backup.")
        if row["sum"] != event_sum(row):
            raise PersistError(f"Space: event {expected} is damaged in {str(store.folder)!r}; restore a backup.")
    for folder, named, present in _files(store):
        for lost in sorted(named - present):
            raise PersistError(f"Space: file {lost!r} is missing in {str(folder)!r}; restore a backup.")


def sweep(store: "Store") -> None:
    """Remove the files that no table names: left by a crash, or replaced. Only once what is named was read."""
    for folder, named, present in _files(store):
        for name in present - named:
            (folder / name).unlink()


def _files(store: "Store") -> Iterator[tuple[Path, set[str], set[str]]]:
    """Folders with the names of their files that the tables hold, and of those that are there."""
    for folder, table in ((store.vectors, "parts"), (store.metrics, "versions")):
        named = {row[0] for row in store.db.execute(f"SELECT file FROM {table} WHERE file IS NOT NULL")}
        yield folder, named, {path.name for path in folder.iterdir()}


def event_sum(event: Any) -> int:
    """Checksum of an event."""
    content = (event[name] for name in ("seq", "time", "op", "collection", "user", "data"))
    return zlib.crc32("\x1f".join(map(repr, content)).encode())


def statements(script: str) -> Iterator[str]:
    """The statements of a script one by one, so that they share a transaction."""
    lines = [line for line in script.splitlines() if not line.lstrip().startswith("--")]
    for statement in "\n".join(lines).split(";"):
        if statement.strip():
            yield statement
