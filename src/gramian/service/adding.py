"""Items on their way in: checked, in the narrowest form that loses nothing, large batches written beforehand."""

import json
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gramian import _checks
from gramian.service import changes
from gramian.service.changes import Batch
from gramian.service.errors import SpaceError, StorageFull, refused
from gramian.service.files import narrow, write_array
from gramian.service.store import refused_by_disk

if TYPE_CHECKING:
    from gramian.service.space import Space

LARGE_BATCH = 1 << 20
"""Bytes of vectors from which on a batch gets a file of its own."""
MOST_META = 1 << 16
"""Characters of JSON that may belong to an item."""


def add(space: "Space", name: str, X: Any, ids: Any = None, meta: Any = None, **named: Any) -> Future:
    """Queue items; the future has the answer once they are durable."""
    width = space.collection(name).n_features
    X = narrow(_checks.points(X, "Space", n_features=width, allow_sparse=False, name="x"))
    numbers: list[int | None] = [None] * len(X) if ids is None else [_whole(i) for i in ids]
    metas: list[str | None] = [None] * len(X) if meta is None else [_text(m) for m in meta]
    if not len(numbers) == len(metas) == len(X):
        raise SpaceError(f"Space: ids and meta must have one entry per point ({len(X)}).")
    if X.nbytes < LARGE_BATCH:
        return space.submit(changes.add_items, name, Batch(numbers, X, metas), **named)
    try:
        file, _ = write_array(space.store.vectors, X)
    except OSError as error:
        if refused_by_disk(error):
            raise StorageFull(f"Space: the disk did not take the vectors ({error}); make room first.") from error
        raise
    future = space.submit(changes.add_items, name, Batch(numbers, X, metas, file), **named)
    future.add_done_callback(partial(_drop_refused, space.store.vectors / file))
    return future


def _drop_refused(path: Path, future: Future) -> None:
    """Remove the file of a batch that was not taken; where that is not sure the next opening sees to it."""
    if future.cancelled() or refused(future.exception()):
        path.unlink(missing_ok=True)


def _whole(number: Any) -> int | None:
    """An id as the store and the log hold it, also where it came from an array."""
    return None if number is None else int(number)


def _text(meta: dict[str, Any] | None) -> str | None:
    if not meta:
        return None
    try:
        text = json.dumps(meta, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise SpaceError(f"Space: meta must be what JSON can hold ({error}).") from error
    if len(text) > MOST_META:
        raise SpaceError(f"Space: meta must be at most {MOST_META} characters of JSON, got {len(text)}.")
    return text
