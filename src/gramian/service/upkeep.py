"""What a space does by itself, beside the requests: settle vectors in files, keep the log short, learn."""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from gramian.service.answers import Asker
from gramian.service.changes import parts_between, replace_parts
from gramian.service.errors import Conflict, refused
from gramian.service.learning import Teacher
from gramian.service.snapshot import Builder, Collection
from gramian.service.vectors import checksum, map_array, write_array
from gramian.service.writer import Draft, Writer

SETTLE_BYTES = 4 << 20
"""Vectors outside of files, in bytes, from which on they are written to one."""
LATER = 10
"""By how much the thread is nicer than the others."""
PAUSE = 0.2
"""Seconds between two looks, at least; clicks in between are seen together."""


class Upkeep:
    """A thread that looks after each commit whether something is to be done.

    Parameters
    ----------
    writer : Writer
    asker : Asker
        What people will ask for is made ready in it.
    teacher : Teacher or None
        Learns by itself, unless None.
    """

    def __init__(self, writer: Writer, asker: Asker, teacher: Teacher | None) -> None:
        self._writer = writer
        self._asker = asker
        self._teacher = teacher
        self._news = threading.Event()
        self._news.set()
        self._stop = threading.Event()
        self._unlisten = writer.listen(lambda seq: self._news.set())
        self._thread = threading.Thread(target=self._run, name="gramian-upkeep", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Stop; what is under way is finished before."""
        self._unlisten()
        self._stop.set()
        self._news.set()
        self._thread.join()

    def _run(self) -> None:
        troubles = self._writer.troubles
        with contextlib.suppress(Exception):  # then it is as nice as the others
            step_back()
        while not self._stop.is_set():
            try:
                troubles.attempt("upkeep", "space", self._round)
            except Exception:  # in the noting of another one, as where there is no memory
                troubles.counts["upkeep"] += 1
            self._stop.wait(PAUSE)

    def _round(self) -> None:
        """Wait for news, and look after everything once."""
        self._news.wait(self._pause())
        self._news.clear()
        self._attempt("checkpoint", "log", self._writer.store.checkpoint)
        for name in list(self._writer.snapshot.collections):
            self._attempt("settling", name, partial(self._settle, name))
            self._attempt("warming", name, partial(self._warm, name))
            if self._teacher is not None:
                self._attempt("learning", name, partial(self._teacher.look, name))

    def _attempt(self, task: str, of: str, work: Callable[[], object]) -> None:
        if not self._stop.is_set():
            self._writer.troubles.attempt(task, of, work)

    def _pause(self) -> float | None:
        """Seconds until something is to be looked at without news: a task that failed, or clicks during a rest."""
        rest = 0.0 if self._teacher is None else self._teacher.rested - time.monotonic()
        ends = [self._writer.troubles.pause, rest if rest > 0 else None]
        return min((end for end in ends if end is not None), default=None)

    def _settle(self, name: str) -> None:
        view = self._writer.snapshot.collection(name)
        if view.vectors.tail.nbytes >= SETTLE_BYTES:
            settle(self._writer, view)

    def _warm(self, name: str) -> None:
        self._asker.warm(self._writer.snapshot.collection(name))


def step_back() -> None:
    """Let the threads that answer people go first where cores are short, as far as the system lets one thread ask."""
    if not sys.platform.startswith("linux"):  # elsewhere it would be the whole process
        return
    with contextlib.suppress(OSError):
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + LATER)


def settle(writer: Writer, view: Collection) -> None:
    """Write the tail of a collection, with the parts before it that are no larger, as one part."""
    parts, blocks = list(view.vectors.parts), [view.vectors.tail]
    while parts and len(parts[-1]) <= sum(map(len, blocks)):
        blocks.insert(0, parts.pop())
    X = np.concatenate(blocks)  # (n, d)
    if len(X) == 0:
        return
    rows = range(len(view.vectors) - len(X), len(view.vectors))
    folder = writer.store.vectors
    with writer.store.reading() as db:
        replaced = parts_between(db, view.number, rows)
    if not _are(replaced, rows.start, X):
        raise Conflict(f"Space: rows of {view.name!r} were numbered anew while they were settled; they are left as is.")
    file, check = write_array(folder, X)
    try:
        settled = (*parts, map_array(folder / file, check))
    except BaseException:
        (folder / file).unlink()
        raise

    def change(draft: Draft) -> None:
        if parts_between(draft.db, view.number, rows) != replaced:
            raise Conflict(f"Space: parts of {view.name!r} changed while they were settled; they are left as they are.")
        old = replace_parts(draft.db, view.number, rows, X, file)
        draft.tell(Builder.settle, view.name, settled)
        draft.tell(lambda builder: _unlink(folder, old))

    done = writer.submit(change)
    if refused(done.exception()):
        _unlink(folder, [file])
    done.result()


def _are(parts: list[tuple], start: int, X: np.ndarray) -> bool:
    """Whether the parts hold the rows of X, from ``start`` on, in their order."""
    at = 0
    for first_row, n_rows, _, dtype, check in parts:
        if first_row != start + at or checksum(X[at : at + n_rows].astype(dtype, copy=False)) != check:
            return False
        at += n_rows
    return at == len(X)


def _unlink(folder: Path, names: list[str]) -> None:
    for name in names:
        (folder / name).unlink(missing_ok=True)
