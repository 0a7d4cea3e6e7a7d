"""Copies of a space: backup while it runs, restore, and compaction."""

import os
import shutil
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from gramian.persist import PersistError, replacing
from gramian.persist import load as load_metric
from gramian.service.changes import replace_parts
from gramian.service.snapshot import Collection, load
from gramian.service.store import BESIDE, Store
from gramian.service.vectors import make_folder, map_array, private, sync_folder, sync_tree, write_array

TRIES = 5
"""How often a backup begins again when a file was replaced under its hands."""
PAGE = 4096
"""Items that are compared together."""


def backup(folder: str | os.PathLike, target: str | os.PathLike) -> dict[str, int]:
    """Copy a space into one zip file, also while another process serves it; the copy is checked by opening it.

    Returns
    -------
    dict
        ``seq``, the last event in the copy, and ``bytes``.
    """
    source, out = _space(folder, "backup"), Path(os.path.realpath(target))
    with replacing(out, "backup") as temporary:
        private(temporary)  # it holds what signs the cookies
        _at_one_moment(_write, source, temporary)
        seq = _checked(temporary)
    sync_folder(out.parent)
    return {"seq": seq, "bytes": out.stat().st_size}


@contextmanager
def still(folder: str | os.PathLike) -> Iterator[Path]:
    """A space as it is at this moment, in a folder of its own that is gone afterwards, also while it is served."""
    source = _space(folder, "export")
    with tempfile.TemporaryDirectory(prefix="gramian-") as place:
        copy = Path(place) / "space"
        _at_one_moment(_link, source, copy)
        yield copy


def _space(folder: str | os.PathLike, owner: str) -> Path:
    if not (Path(folder) / "space.db").is_file():
        raise FileNotFoundError(f"{owner}: no space at {str(folder)!r}.")
    return Path(folder)


def _at_one_moment(copy: Callable[[Path, Path], None], source: Path, target: Path) -> None:
    """Copy a space; once more where a file that its tables named was replaced meanwhile."""
    for attempt in range(TRIES):
        try:
            copy(source, target)
            break
        except FileNotFoundError:
            if attempt == TRIES - 1:
                raise


def _link(source: Path, target: Path) -> None:
    """A copy of the database beside the files that it names, which never change: links, where disks allow them."""
    shutil.rmtree(target, ignore_errors=True)
    for place in (target, target / "vectors", target / "metrics"):
        make_folder(place)
    _copy_database(source / "space.db", target / "space.db")
    for name in _named_files(target / "space.db"):
        try:
            (target / name).hardlink_to(source / name)
        except FileNotFoundError:
            raise
        except OSError:  # another disk, or one without links
            shutil.copyfile(source / name, target / name)


def _write(source: Path, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".backup-") as place:
        copy = Path(place) / "space.db"
        _copy_database(source / "space.db", copy)
        with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
            archive.write(copy, "space.db")
            for name in [*_named_files(copy), *_beside(source)]:
                archive.write(source / name, name)


def _beside(source: Path) -> list[str]:
    """Pictures and what else belongs to the collections without being in the log."""
    paths = [path for folder in BESIDE for path in sorted((source / folder).glob("*")) if path.is_file()]
    return [f"{path.parent.name}/{path.name}" for path in paths]


def _copy_database(source: Path, target: Path) -> None:
    """Everything that is committed, the write-ahead log included."""
    before = sqlite3.connect(f"file:{source}?mode=ro", uri=True, timeout=30)
    after = sqlite3.connect(target)
    try:
        before.backup(after)
        after.execute("PRAGMA journal_mode = DELETE")
    finally:
        after.close()
        before.close()


def _named_files(database: Path) -> list[str]:
    """Files that the tables name, by their places in the folder."""
    db = sqlite3.connect(database)
    try:
        parts = [f"vectors/{name}" for (name,) in db.execute("SELECT file FROM parts WHERE file IS NOT NULL")]
        return parts + [f"metrics/{name}" for (name,) in db.execute("SELECT file FROM versions")]
    finally:
        db.close()


def _checked(archive: Path) -> int:
    """Open the copy in a place of its own; returns its last event."""
    with tempfile.TemporaryDirectory(dir=archive.parent, prefix=".check-") as place:
        _unpack(archive, Path(place) / "space")
        return _sound(Path(place) / "space")


def _sound(folder: Path) -> int:
    """Read everything in a folder once: the database, vectors and metrics; returns the last event."""
    store = Store(folder)  # which compares all rows with their checksums
    try:
        for file, check in store.db.execute("SELECT file, sum FROM parts WHERE file IS NOT NULL"):
            map_array(store.vectors / file, check)
        for (file,) in store.db.execute("SELECT file FROM versions"):
            load_metric(store.metrics / file)
        return load(store).seq
    finally:
        store.close()


def verify(folder: str | os.PathLike) -> dict[str, int]:
    """Read all of a space and compare every checksum; no other process may have it open.

    Returns
    -------
    dict
        ``seq``, the last event, and ``bytes``. What is damaged raises.
    """
    source = _space(folder, "verify")
    return {"seq": _sound(source), "bytes": _size(source)}


def _unpack(archive: Path, folder: Path) -> None:
    """Take out the files of a backup; other names are refused, so nothing is written outside of the folder."""
    with zipfile.ZipFile(archive) as packed:
        _check_entries(packed.infolist(), archive)
        for info in packed.infolist():
            target = folder / info.filename
            target.parent.mkdir(parents=True, exist_ok=True)
            with packed.open(info) as stream, open(target, "xb") as out:
                shutil.copyfileobj(stream, out)


def _check_entries(entries: list[zipfile.ZipInfo], archive: Path) -> None:
    """Raise unless these are the files of a space, each once, stored as they are, and no larger than the backup."""
    for info in entries:
        parts = info.filename.split("/")
        of_a_space = parts == ["space.db"] or (len(parts) == 2 and parts[0] in ("vectors", "metrics", *BESIDE))
        if not of_a_space or parts[-1] != Path(parts[-1]).name or parts[-1] in ("", ".", ".."):
            raise PersistError(f"restore: {info.filename!r} is no file of a space.")
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            raise PersistError(f"restore: {info.filename!r} is compressed or encrypted, which backups never are.")
    sizes = {info.filename: info.file_size for info in entries}
    if len(sizes) < len(entries) or sum(sizes.values()) > archive.stat().st_size:
        raise PersistError(f"restore: {str(archive)!r} names more than it holds; it is no backup.")
    if not sizes.get("space.db"):
        raise PersistError(f"restore: {str(archive)!r} holds no log of a space (space.db); it is no backup.")


def restore(archive: str | os.PathLike, folder: str | os.PathLike) -> dict[str, int]:
    """Make a space from a backup; the folder must be empty or absent. Returns when the disk has all of it."""
    target = Path(folder)
    if target.exists() and any(target.iterdir()):
        raise FileExistsError(f"restore: {str(target)!r} is not empty; name another folder.")
    make_folder(target.parent)
    place = Path(tempfile.mkdtemp(dir=target.parent, prefix=".restore-"))
    try:
        try:
            _unpack(Path(archive), place / "space")
        except zipfile.BadZipFile as error:
            raise PersistError(f"restore: {str(archive)!r} is not a backup ({error}).") from error
        seq = _sound(place / "space")
        sync_tree(place / "space")
        if target.exists():
            target.rmdir()
        os.replace(place / "space", target)
        sync_folder(target.parent)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return {"seq": seq}


def compact(folder: str | os.PathLike) -> dict[str, int]:
    """Give back the room of removed and replaced items; no other process may have the space open.

    Returns
    -------
    dict
        Bytes of the folder ``before`` and ``after``.
    """
    before = _size(_space(folder, "compact"))
    store = Store(folder)  # without the threads of a space, so that nobody else changes rows or files meanwhile
    try:
        views = load(store).collections
        with store.writing():
            for view in views.values():
                _pack(view, store)
            _compare(views, load(store).collections)  # from the new files; what differs is not committed
        store.sweep()
        store.db.execute("VACUUM")
        store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        store.close()
    return {"before": before, "after": _size(Path(folder))}


def _compare(before: Mapping[str, Collection], after: Mapping[str, Collection]) -> None:
    """Raise unless all items are what they were."""
    for name, view in before.items():
        packed = after[name]
        pages = (view.ids[start : start + PAGE] for start in range(0, len(view.ids), PAGE))
        same = np.array_equal(packed.ids, view.ids) and len(packed.vectors) == len(view.ids)
        if not same or any((packed.points(ids) != view.points(ids)).any() for ids in pages):
            raise PersistError(f"compact: items of {name!r} were not packed as they were; nothing was changed.")


def _pack(view: Collection, store: Store) -> None:
    """Number the rows of the items anew, without gaps, in one file."""
    order = np.argsort(view.rows, kind="stable")
    X = view.vectors.take(view.rows[order])  # (n, d)
    renumbered = [(row, view.number, i) for row, i in enumerate(view.ids[order].tolist())]
    store.db.executemany("UPDATE items SET row = ? WHERE collection = ? AND id = ?", renumbered)
    store.db.execute("UPDATE collections SET n_rows = ? WHERE number = ?", (len(X), view.number))
    if len(X):
        replace_parts(store.db, view.number, range(len(view.vectors)), X, write_array(store.vectors, X)[0])
    else:
        store.db.execute("DELETE FROM parts WHERE collection = ?", (view.number,))


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
