"""Files as collections: vectors with what belongs to them, for ``gramian serve FILE``."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gramian.service import about
from gramian.service.errors import SpaceError
from gramian.service.space import Space

BATCH = 20_000
"""Items that are added together."""
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".bmp", ".avif")


@dataclass(frozen=True)
class Source:
    """Vectors (n, d) and a row of meta for each; names of the features and an encoder where there are any."""

    X: np.ndarray
    meta: list[dict[str, Any]]
    features: Sequence[str] = ()
    encoder: Mapping[str, np.ndarray] | None = None


def assemble(
    X: np.ndarray, own: dict[str, np.ndarray], table: dict[str, np.ndarray] | None, images: list[str] | None
) -> Source:
    """Put together vectors, the columns that came with them, a table of meta, and the names of pictures."""
    columns = dict(own)
    if table is not None:
        lengths = {len(column) for column in table.values()}
        if lengths != {len(X)}:
            raise SpaceError(f"serve: --meta must have a row for each of the {len(X)} vectors, got {sorted(lengths)}.")
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
    found = sorted(path for path in folder.iterdir() if path.suffix.lower() in PICTURES and path.is_file())
    return {path.name: path for path in found}


def fill(space: Space, name: str, source: Source, step: Callable[[int], None] = lambda count: None) -> None:
    """Make a collection of a source; ids are the numbers of the rows. One that is there is left alone."""
    if len(source.features):
        about.write(space.store.folder, name, list(source.features), source.encoder)
    space.create(name, source.X.shape[1])
    if len(space.collection(name).ids):
        return
    for start in range(0, len(source.X), BATCH):
        part = slice(start, start + BATCH)
        ids = list(range(start, start + len(source.X[part])))
        space.add(name, source.X[part], ids, meta=source.meta[part])
        step(len(ids))
