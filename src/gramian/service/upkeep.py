"""What a space does by itself, beside the requests: settle vectors in files, keep the log short, learn."""

import threading
from typing import TYPE_CHECKING

import numpy as np

from gramian.service.changes import replace_parts
from gramian.service.draft import Draft
from gramian.service.errors import SpaceError
from gramian.service.files import map_array, write_array
from gramian.service.snapshot import Collection

if TYPE_CHECKING:
    from gramian.service.space import Space

SETTLE_BYTES = 4 << 20
"""Vectors outside of files, in bytes, from which on they are written to one."""
PAUSE = 0.2
"""Seconds between two looks, at least; clicks in between are seen together."""


class Upkeep:
    """A thread that looks after each commit whether something is to be done."""

    def __init__(self, space: "Space", learning: bool) -> None:
        self.space = space
        self.learning = learning
        self.failures = 0
        self._news = threading.Event()
        self._news.set()
        self._stop = threading.Event()
        self._unlisten = space.listen(lambda seq: self._news.set())
        self._thread = threading.Thread(target=self._run, name="gramian-upkeep", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop; what is under way is finished first."""
        self._unlisten()
        self._stop.set()
        self._news.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            self._news.wait()
            self._news.clear()
            for name in list(self.space.snapshot.collections):
                if not self._stop.is_set():
                    self._look_after(name)
            self._stop.wait(PAUSE)

    def _look_after(self, name: str) -> None:
        try:
            view = self.space.collection(name)
            if view.vectors.tail.nbytes >= SETTLE_BYTES:
                settle(self.space, view)
            self.space.asker.warm(view)
            self.space.store.checkpoint()
            if self.learning and self.space.teacher.due(view):
                self.space.learn(name)
        except (SpaceError, OSError):  # a full disk, or nothing to learn after all: the next commit tries again
            self.failures += 1


def settle(space: "Space", view: Collection) -> None:
    """Write the tail of a collection, with the parts before it that are no larger, as one part."""
    parts = list(view.vectors.parts)
    first_row, rows = view.vectors.n_settled, [view.vectors.tail]
    while parts and len(parts[-1]) <= sum(map(len, rows)):
        rows.insert(0, parts.pop())
        first_row -= len(rows[0])
    X = np.concatenate(rows)
    if len(X) == 0:
        return
    file, check = write_array(space.store.vectors, X)
    settled = (*parts, map_array(space.store.vectors / file, check))

    def change(draft: Draft) -> None:
        old = replace_parts(draft, view.number, first_row, X, file, check)
        draft.deltas.append(lambda builder: builder.settle(view.name, settled))
        draft.deltas.append(lambda builder: _unlink(space, old))

    space.transact(change)


def _unlink(space: "Space", names: list[str]) -> None:
    for name in names:
        (space.store.vectors / name).unlink(missing_ok=True)
