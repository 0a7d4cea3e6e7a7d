"""What a space does by itself, beside the requests: settle vectors in files, keep the log short, learn."""

import contextlib
import os
import sys
import threading
import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gramian.service.changes import parts_between, replace_parts
from gramian.service.draft import Draft
from gramian.service.errors import Conflict, refused
from gramian.service.files import checksum, map_array, write_array
from gramian.service.snapshot import Collection
from gramian.service.troubles import Troubles

if TYPE_CHECKING:
    from gramian.service.space import Space

SETTLE_BYTES = 4 << 20
"""Vectors outside of files, in bytes, from which on they are written to one."""
REST = 10
"""How many times as long as learning takes nothing is learned afterwards."""
LATER = 10
"""By how much the thread is nicer than the others."""
PAUSE = 0.2
"""Seconds between two looks, at least; clicks in between are seen together."""


class Upkeep:
    """A thread that looks after each commit whether something is to be done.

    Attributes
    ----------
    troubles : Troubles
        What does not work at present.
    """

    def __init__(self, space: "Space", learning: bool) -> None:
        self.space = space
        self.learning = learning
        self.troubles = Troubles()
        self._rested = 0.0
        self._news = threading.Event()
        self._news.set()
        self._stop = threading.Event()
        self._unlisten = space.listen(lambda seq: self._news.set())
        self._thread = threading.Thread(target=self._run, name="gramian-upkeep", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Stop; what is under way is finished first."""
        self._unlisten()
        self._stop.set()
        self._news.set()
        self._thread.join()

    def _run(self) -> None:
        _step_back()
        while not self._stop.is_set():
            self._news.wait(self._pause())
            self._news.clear()
            self.troubles.attempt("checkpoint", "log", self.space.store.checkpoint)
            for name in list(self.space.snapshot.collections):
                for task, work in (("settling", self._settle), ("warming", self._warm), ("learning", self._learn)):
                    if not self._stop.is_set():
                        self.troubles.attempt(task, name, partial(work, name))
            self._stop.wait(PAUSE)

    def _pause(self) -> float | None:
        """Seconds until something is to be looked at without news: a task that failed, or clicks during a rest."""
        rest = self._rested - time.monotonic()
        ends = [self.troubles.pause, rest if self.learning and rest > 0 else None]
        return min((end for end in ends if end is not None), default=None)

    def _settle(self, name: str) -> None:
        view = self.space.collection(name)
        if view.vectors.tail.nbytes >= SETTLE_BYTES:
            settle(self.space, view)

    def _warm(self, name: str) -> None:
        self.space.asker.warm(self.space.collection(name))

    def _learn(self, name: str) -> None:
        """Learn a candidate, and then leave the cores to the people for several times as long as it took."""
        begun = time.monotonic()
        if not self.learning or begun < self._rested or not self.space.teacher.due(self.space.collection(name)):
            return
        self.space.teacher.learn(name, self.space.learner, by_itself=True)
        self._rested = time.monotonic() + REST * (time.monotonic() - begun)


def _step_back() -> None:
    """Let the threads that answer people go first where cores are short, as far as the system lets one thread ask."""
    if not sys.platform.startswith("linux"):  # elsewhere it would be the whole process
        return
    with contextlib.suppress(OSError):
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + LATER)


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
    with space.store.reading() as db:
        replaced = parts_between(db, view.number, first_row, len(X))
    if not _are(replaced, first_row, X):
        raise Conflict(f"Space: rows of {view.name!r} were numbered anew while they were settled; they are left as is.")
    file, check = write_array(space.store.vectors, X)
    try:
        settled = (*parts, map_array(space.store.vectors / file, check))
    except BaseException:
        _unlink(space, [file])
        raise

    def change(draft: Draft) -> None:
        if parts_between(draft.db, view.number, first_row, len(X)) != replaced:
            raise Conflict(f"Space: parts of {view.name!r} changed while they were settled; they are left as they are.")
        old = replace_parts(draft, view.number, first_row, X, file, check)
        draft.deltas.append(lambda builder: builder.settle(view.name, settled))
        draft.deltas.append(lambda builder: _unlink(space, old))

    try:
        space.transact(change)
    except Exception as error:
        if refused(error):
            _unlink(space, [file])
        raise


def _are(parts: list[tuple], first_row: int, X: np.ndarray) -> bool:
    """Whether the parts hold the rows of X, from ``first_row`` on, in their order."""
    at = 0
    for start, n_rows, _, dtype, check in parts:
        if start != first_row + at or checksum(X[at : at + n_rows].astype(dtype, copy=False)) != check:
            return False
        at += n_rows
    return at == len(X)


def _unlink(space: "Space", names: list[str]) -> None:
    for name in names:
        (space.store.vectors / name).unlink(missing_ok=True)
