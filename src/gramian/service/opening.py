"""How the folder of a space is opened: tables that are there and of this format, events and files that are whole."""

import secrets
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gramian.persist import PersistError
from gramian.service import row_sums

if TYPE_CHECKING:
    from gramian.service.store import Store

FORMAT = "2"
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
    row_sums.know(db)
    return db


def writer(path: Path) -> sqlite3.Connection:
    """The connection that writes: rows get their checksums."""
    db = connect(path)
    row_sums.keep(db)
    return db


def prepare(store: "Store") -> None:
    """Make the tables of a new folder, or those of format 2 from those of format 1; refuse any other."""
    if list(store.folder.glob("events-*.log")):
        raise PersistError(f"Space: {str(store.folder)!r} is a stream of gramian 0.1; feed its events to a new folder.")
    if store.db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        if store.db.execute("PRAGMA page_count").fetchone()[0] > 1:
            raise PersistError(f"Space: {str(store.path)!r} is damaged, it names no tables; restore a backup.")
        with store.writing():
            _make_tables(store.db)
            row_sums.keep(store.db)
            values = {"format": FORMAT, "secret": secrets.token_hex(32), "made": str(time.time())}
            store.db.executemany("INSERT INTO space VALUES (?, ?, NULL)", values.items())
        return
    found = store.setting("format")
    if found == "1":
        _upgrade(store)
    elif found != FORMAT:
        raise PersistError(f"Space: {str(store.folder)!r} has format {found!r}, this gramian reads {FORMAT!r}.")
    row_sums.keep(store.db)


def _make_tables(db: sqlite3.Connection) -> None:
    for statement in statements(SCHEMA.read_text(encoding="utf-8")):
        db.execute(statement)


def _tables_differ(db: sqlite3.Connection) -> bool:
    """Whether the database does not say of its tables what was written."""
    said = {row["sql"] for row in db.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
    return said != set(statements(SCHEMA.read_text(encoding="utf-8")))


def _upgrade(store: "Store") -> None:
    """Give the rows of format 1 their checksums; its events had some already, which are compared."""
    names = ("seq", "time", "op", "collection", "user", "data")
    for row in store.db.execute("SELECT * FROM events ORDER BY seq"):
        if row["sum"] != row_sums.row_sum(*(row[name] for name in names)):
            raise PersistError(f"Space: event {row['seq']} is damaged in {str(store.folder)!r}; restore a backup.")
    with store.writing() as db:
        said = "SELECT type, name FROM sqlite_master WHERE type IN ('index', 'view') AND sql IS NOT NULL"
        for kind, name in db.execute(said).fetchall():
            db.execute(f"DROP {kind} {name}")
        for table in row_sums.TABLES:
            db.execute(f"ALTER TABLE {table} RENAME TO old_{table}")
        _make_tables(db)
        for table in row_sums.TABLES:
            names_now = [row["name"] for row in db.execute(f"PRAGMA table_info({table})")][:-1]
            listed = ", ".join(names_now)
            db.execute(f"INSERT INTO {table} ({listed}) SELECT {listed} FROM old_{table}")
            db.execute(f"UPDATE {table} SET row_sum = row_sum({', '.join(row_sums.columns(db, table))})")
            db.execute(f"DROP TABLE old_{table}")
        db.execute("UPDATE space SET value = ?1, row_sum = row_sum(key, ?1) WHERE key = 'format'", (FORMAT,))


def verify(store: "Store") -> None:
    """Raise when the database is not what was written, or a file that a table names is not there."""
    where = f"{str(store.folder)!r}; restore a backup"
    said = store.db.execute("PRAGMA integrity_check").fetchone()[0]
    if said != "ok":
        raise PersistError(f"Space: space.db is damaged ({' '.join(said.split())[:200]}) in {where}.")
    if _tables_differ(store.db):
        raise PersistError(f"Space: the names of tables or columns are damaged in {where}.")
    for row in row_sums.damaged(store.db):
        raise PersistError(f"Space: {row} is damaged in {where}.")
    n, last = store.db.execute("SELECT count(*), coalesce(max(seq), 0) FROM events").fetchone()
    if n != last:  # seq is the key, and begins with 1
        text = "SELECT min(seq) FROM (SELECT 0 AS seq UNION SELECT seq FROM events) WHERE seq + 1 NOT IN events_seq"
        gap = store.db.execute(f"WITH events_seq AS (SELECT seq FROM events) {text}").fetchone()[0]
        raise PersistError(f"Space: event {gap + 1} is missing in {where}.")
    for table, op in (("feedback", "feedback"), ("versions", "version"), ("duels", "duel")):
        text = f"SELECT (SELECT count(*) FROM events WHERE op = ?) - (SELECT count(*) FROM {table})"
        if store.db.execute(text, (op,)).fetchone()[0] != 0:
            raise PersistError(f"Space: a row of {table!r} is missing in {where}.")
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


def statements(script: str) -> Iterator[str]:
    """The statements of a script one by one, so that they share a transaction."""
    lines = [line for line in script.splitlines() if not line.lstrip().startswith("--")]
    for statement in "\n".join(lines).split(";"):
        if statement.strip():
            yield statement.strip()
