"""Files as collections, for ``gramian serve FILE``: vectors, and what belongs to them beside the events of a space."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gramian import _validate
from gramian.persist import replacing
from gramian.service.errors import SpaceError
from gramian.service.snapshot import Collection
from gramian.service.vectors import make_folder

if TYPE_CHECKING:
    from gramian.service.space import Space

BATCH = 20_000
"""Items that are added together."""
FILLING = "filling "
"""How the key begins under which the space remembers a fill until it is complete."""
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".bmp", ".avif")


class Unavailable(RuntimeError):
    """A source cannot be had on this machine; the message says why in one sentence."""


@dataclass(frozen=True)
class Source:
    """Vectors (n, d) and a row of meta for each; names of the features, an encoder and pictures where there are any.

    ``origin`` says where a demonstration is from, ``notice`` what is owed to whom, ``examples`` what to search first.
    """

    X: np.ndarray
    meta: list[dict[str, Any]]
    features: Sequence[str] = ()
    encoder: Mapping[str, np.ndarray] | None = None
    pictures: Mapping[str, Path | bytes] = field(default_factory=dict)
    origin: str = ""
    notice: str = ""
    examples: Sequence[str] = ()


def assemble(
    X: np.ndarray, columns: dict[str, np.ndarray], table: dict[str, np.ndarray] | None, images: list[str] | None
) -> Source:
    """Put together vectors, the columns that came with them, a table of meta, and the names of pictures."""
    columns = dict(columns)
    if table is not None:
        lengths = {len(column) for column in table.values()}
        if lengths != {len(X)}:
            raise SpaceError(f"serve: --meta must have a row for each of the {len(X)} vectors, got {sorted(lengths)}.")
        for name in sorted(set(columns) & set(table)):
            if not np.array_equal(columns[name], table[name]):
                columns[f"{name} of the vectors"] = columns[name]
                _validate.warn(
                    f"serve: both files have a column {name!r}; that of the vectors is '{name} of the vectors'."
                )
        columns |= table
    if images is not None and "image" not in columns:
        if len(images) != len(X):
            raise SpaceError(
                f"serve: --images must hold a picture for each of the {len(X)} vectors, got {len(images)}; "
                "or give a column 'image' of their names in --meta."
            )
        columns["image"] = np.array(images)
    names = list(columns)
    rows = zip(*(columns[name].tolist() for name in names))
    meta = [{name: _plain(value) for name, value in zip(names, row) if not _empty(value)} for row in rows]
    return Source(X, meta or [{} for _ in range(len(X))])


def _empty(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and not math.isfinite(value))


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def pictures(folder: Path) -> dict[str, Path]:
    """Pictures of a folder by their names, in the order of the names."""
    if not folder.is_dir():
        raise SpaceError(f"{folder}: no such folder of pictures.")
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in PICTURES and path.is_file())
    return {path.name: path for path in paths}


def fill(space: "Space", name: str, source: Source, step: Callable[[int], None] = lambda count: None) -> None:
    """Make a collection of a source; ids are the numbers of the rows.

    One that is there is left alone, but a fill that was interrupted goes on where it ended.
    """
    view, n = space.snapshot.collections.get(name), len(source.X)
    done = 0 if view is None else len(view.ids)
    if view is not None and done and name not in unfinished(space):
        if done != n:
            _validate.warn(f"serve: {name!r} is there already, with {done:,} items; of {n:,} rows nothing was added.")
        return
    if len(source.features):
        describe(space.store.folder, name, list(source.features), source.encoder, source.examples)
    space.create(name, source.X.shape[1])
    if view is not None:
        _continues(view, source)
    text, row = "INSERT OR REPLACE INTO space VALUES (?, ?, NULL)", (FILLING + name, str(n))
    space.transact(lambda draft: draft.db.execute(text, row))
    step(done)
    for start in range(done, n, BATCH):
        block = slice(start, start + BATCH)
        ids = list(range(start, start + len(source.X[block])))
        space.add(name, source.X[block], ids, meta=source.meta[block])
        step(len(ids))
    space.transact(lambda draft: draft.db.execute("DELETE FROM space WHERE key = ?", (FILLING + name,)))


def unfinished(space: "Space") -> dict[str, int]:
    """Collections whose fill was interrupted, with the number of rows that they should have got."""
    with space.store.reading() as db:
        rows = db.execute("SELECT key, value FROM space WHERE key LIKE ?", (f"{FILLING}%",)).fetchall()
    return {row["key"].removeprefix(FILLING): int(row["value"]) for row in rows}


def _continues(view: Collection, source: Source) -> None:
    """Raise unless the items are those that a fill would have begun with."""
    done = len(view.ids)
    pages = (slice(start, start + BATCH) for start in range(0, done, BATCH))
    same = done <= len(source.X) and np.array_equal(view.ids, np.arange(done))
    if not same or not all(np.allclose(view.points(view.ids[page]), source.X[page][:done]) for page in pages):
        raise SpaceError(
            f"serve: {view.name!r} must hold the first rows of the file, since its filling was interrupted, "
            f"got {done:,} other items; name another --space, or the file it came from."
        )


def describe(
    folder: Path,
    name: str,
    features: list[str],
    encoder: Mapping[str, np.ndarray] | None = None,
    examples: Sequence[str] = (),
) -> None:
    """Keep a name for each feature (equal names are a group), the arrays of an encoder, and searches to begin with."""
    place = folder / "about"
    make_folder(place)
    if encoder is not None:
        with replacing(place / f"{name}.npz", "Space") as beside:
            np.savez(beside, allow_pickle=False, **encoder)
    with replacing(place / f"{name}.json", "Space") as beside:
        beside.write_text(json.dumps({"features": features, "examples": list(examples)}), encoding="utf-8")


@lru_cache(maxsize=8)
def features(folder: Path, name: str) -> tuple[str, ...]:
    """Names of the features; empty when nobody named them."""
    return _told(folder, name, "features")


@lru_cache(maxsize=8)
def examples(folder: Path, name: str) -> tuple[str, ...]:
    """Searches to begin with; empty when nobody named any."""
    return _told(folder, name, "examples")


def _told(folder: Path, name: str, what: str) -> tuple[str, ...]:
    path = folder / "about" / f"{name}.json"
    return tuple(json.loads(path.read_text(encoding="utf-8")).get(what, ())) if path.is_file() else ()


@lru_cache(maxsize=8)
def encoder(folder: Path, name: str) -> dict[str, np.ndarray] | None:
    """Arrays of the encoder of a collection, None without one."""
    path = folder / "about" / f"{name}.npz"
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as arrays:
        return {key: arrays[key] for key in arrays.files}


def stored_pictures(folder: Path) -> dict[str, Path]:
    """Pictures that a space itself holds, by name."""
    place = folder / "pictures"
    return {path.name: path for path in sorted(place.iterdir()) if path.is_file()} if place.is_dir() else {}
