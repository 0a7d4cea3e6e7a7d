"""The one thread that changes a space: changes that wait together share one wait for the disk."""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from gramian import _checks
from gramian.service.builder import Builder
from gramian.service.draft import Draft
from gramian.service.errors import Closed
from gramian.service.loading import load
from gramian.service.store import Store, refused_by_disk

Change = Callable[[Draft], Any]
MOST_AT_ONCE = 1000
"""Changes of one transaction."""


class Writer:
    """Takes changes from any thread, commits them in groups, and publishes the snapshot after each commit.

    Attributes
    ----------
    snapshot : Snapshot
        What is durable, as one immutable value.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.snapshot = load(store)
        self.listeners: list[Callable[[int], None]] = []
        self._queue: queue.Queue[tuple[Change, Future] | None] = queue.Queue()
        self._closed = False
        self._gate = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="gramian-writer", daemon=True)
        self._thread.start()

    def submit(self, change: Change) -> Future:
        """Queue a change; the future has its answer once it is durable, or the reason why it was refused."""
        future: Future = Future()
        with self._gate:
            if self._closed:
                raise Closed("Space: the space is closed; open it again.")
            self._queue.put((change, future))
        return future

    @property
    def alive(self) -> bool:
        """Whether changes are taken."""
        return self._thread.is_alive() and not self._closed

    def close(self) -> None:
        """Finish what is queued, and stop."""
        with self._gate:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        batch: list[tuple[Change, Future]] = []
        try:
            while self._gather(batch):
                self._transact(batch)
                batch.clear()
            self._transact(batch)
        except BaseException as error:  # whoever waits is told, and who comes later too
            self._end(batch, error)

    def _gather(self, batch: list[tuple[Change, Future]]) -> bool:
        """Wait for changes and take all that wait; False when they are the last."""
        item = self._queue.get()
        while item is not None:
            if item[1].set_running_or_notify_cancel():
                batch.append(item)
            if len(batch) == MOST_AT_ONCE or self._queue.empty():
                return True
            item = self._queue.get_nowait()
        return False

    def _end(self, batch: list[tuple[Change, Future]], error: BaseException) -> None:
        """Take no more changes; those under way may be on disk, those that wait are not."""
        with self._gate:
            self._closed = True
            while not self._queue.empty():
                item = self._queue.get_nowait()
                if item is not None and item[1].set_running_or_notify_cancel():
                    batch.append(item)
        said = f"the thread that writes has ended ({type(error).__name__}: {error})"
        for _, future in batch:
            if not future.done():
                future.set_exception(Closed(f"Space: {said}; open the space again and see whether it has the change."))
        with suppress(Exception):  # where warnings are errors
            _checks.warn(f"Space: {said}; open the space again.")

    def _transact(self, batch: list[tuple[Change, Future]]) -> None:
        """Make all changes of a batch in one transaction; the refused ones leave no trace in it."""
        if not batch:
            return
        answers: list[tuple[Future, Any]] = []
        refused: list[tuple[Future, BaseException]] = []
        try:
            with self.store.writing():
                draft = Draft(self.store)
                for change, future in batch:
                    try:
                        answers.append((future, draft.attempt(change)))
                    except Exception as error:
                        if refused_by_disk(error):
                            raise
                        refused.append((future, error))
        except BaseException as failure:
            done = {id(future) for future, _ in refused}
            refused += [(future, failure) for _, future in batch if id(future) not in done]
            answers = []
        else:
            self._publish(draft)
        for future, reason in refused:
            future.set_exception(reason)
        for future, answer in answers:
            future.set_result(answer)

    def _publish(self, draft: Draft) -> None:
        before = self.snapshot.seq
        if draft.seq == before and not draft.deltas:
            return
        try:
            builder = Builder(self.snapshot)
            for delta in draft.deltas:
                delta(builder)
            self.snapshot = builder.result(draft.seq)
        except Exception:  # the events are durable, so the state is read again from where it is whole
            self.snapshot = load(self.store)
        if draft.seq > before:
            for listener in list(self.listeners):
                self._tell(listener, draft.seq)

    def _tell(self, listener: Callable[[int], None], seq: int) -> None:
        """Call a listener; what is durable stands, so that an error in there is told and ends nothing."""
        try:
            listener(seq)
        except Exception as error:
            _checks.warn(f"Space: a listener failed after event {seq} ({type(error).__name__}: {error}).")
