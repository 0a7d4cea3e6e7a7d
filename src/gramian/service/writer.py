"""The one thread that changes a space: changes that wait together share one wait for the disk."""

import json
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from gramian import _validate
from gramian.service.errors import Closed, SpaceError, Unknown, refused_by_disk
from gramian.service.snapshot import Builder, load
from gramian.service.store import Store
from gramian.service.troubles import Troubles

MOST_AT_ONCE = 1000
"""Changes of one transaction."""


@dataclass(frozen=True)
class Request:
    """Who asks, and under which key a repeated request is known."""

    actor: str | None = None
    admin: bool = True
    key: str | None = None
    digest: bytes | None = None


class Draft:
    """Changes of one transaction, of which each may be refused alone.

    Parameters
    ----------
    store : Store
        Inside of ``store.writing()``.

    Attributes
    ----------
    effects : list
        Methods of the builder of the next snapshot, with their values.
    broken : bool
        Whether something of a refused change may be left, so that nothing of the transaction may be kept.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.db = store.db
        self.seq = store.seq
        self.time = time.time()
        self.effects: list[tuple[Callable[..., None], tuple[Any, ...]]] = []
        self.broken = False

    def attempt(self, change: Callable[["Draft"], Any]) -> Any:
        """Make a change, or leave everything as it was and raise; where that fails too, the transaction is broken."""
        seq, n_effects = self.seq, len(self.effects)
        self.db.execute("SAVEPOINT change")
        try:
            answer = change(self)
            self.db.execute("RELEASE change")
        except Exception as error:
            self.broken = True  # until all of the change is gone
            if not refused_by_disk(error):
                self.db.execute("ROLLBACK TO change")
                self.db.execute("RELEASE change")
                self.broken = False
            self.seq = seq
            del self.effects[n_effects:]
            raise
        return answer

    def tell(self, effect: Callable[..., None], *values: Any) -> None:
        """Change the next snapshot by a method of its builder, once the transaction is durable."""
        self.effects.append((effect, values))

    def event(
        self,
        op: str,
        data: dict[str, Any],
        collection: str | None = None,
        user: str | None = None,
        request: Request | None = None,
    ) -> int:
        """Append an event; returns its number."""
        self.seq += 1
        text = json.dumps(data, separators=(",", ":"), allow_nan=False)
        key, digest = (request.key, request.digest) if request is not None and request.key else (None, None)
        row = (self.seq, self.time, op, collection, user, text, key, digest)
        self.db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)", row)
        return self.seq

    def answered(self, collection: str, request: Request | None) -> sqlite3.Row | None:
        """The event that an earlier request with the same key made, None when there was none."""
        if request is None or request.key is None:
            return None
        text = "SELECT * FROM events WHERE collection = ? AND key = ?"
        row = self.db.execute(text, (collection, request.key)).fetchone()
        if row is not None and row["digest"] != request.digest:
            raise SpaceError(
                f"Space: Idempotency-Key must belong to one request, got {request.key!r} again with another body; "
                "use a new key."
            )
        return row

    def collection(self, name: str) -> sqlite3.Row:
        """The row of a collection."""
        row = self.db.execute("SELECT * FROM collections WHERE name = ?", (name,)).fetchone()
        if row is None:
            raise Unknown(f"Space: no collection {name!r}; make it first.")
        return row


def public(row: Any) -> dict[str, Any]:
    """An event as everyone may see it."""
    head = {name: row[name] for name in ("seq", "time", "op", "collection", "user")}
    return {**head, **json.loads(row["data"])}


class Writer:
    """Takes changes from any thread, commits them in groups, and publishes the snapshot after each commit.

    Attributes
    ----------
    snapshot : Snapshot
        What is durable, as one immutable value.
    troubles : Troubles
        What went wrong beside the changes, here and in the background.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.troubles = Troubles()
        self.snapshot = load(store)
        self._listeners: list[Callable[[int], None]] = []
        self._queue: queue.Queue[tuple[Callable[[Draft], Any], Future] | None] = queue.Queue()
        self._closed = False
        self._gate = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="gramian-writer", daemon=True)
        self._thread.start()

    def submit(self, change: Callable[..., Any], *values: Any, **named: Any) -> Future:
        """Queue a change of a draft; the future has its answer once it is durable, or why it was refused."""
        future: Future = Future()
        with self._gate:
            if self._closed:
                raise Closed("Space: the space is closed; open it again.")
            self._queue.put((lambda draft: change(draft, *values, **named), future))
        return future

    def listen(self, listener: Callable[[int], None]) -> Callable[[], None]:
        """Call ``listener(seq)`` after each commit, in the thread that writes; returns what stops it."""
        self._listeners.append(listener)
        return partial(self._listeners.remove, listener)

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
        batch: list[tuple[Callable[[Draft], Any], Future]] = []
        try:
            while self._gather(batch):
                self._transact(batch)
                batch.clear()
            self._transact(batch)
        except BaseException as error:  # whoever waits is told, and who comes later too
            self._end(batch, error)

    def _gather(self, batch: list[tuple[Callable[[Draft], Any], Future]]) -> bool:
        """Wait for changes and take all that wait; False when they are the last."""
        item = self._queue.get()
        while item is not None:
            if item[1].set_running_or_notify_cancel():
                batch.append(item)
            if len(batch) == MOST_AT_ONCE or self._queue.empty():
                return True
            item = self._queue.get_nowait()
        return False

    def _end(self, batch: list[tuple[Callable[[Draft], Any], Future]], error: BaseException) -> None:
        """Take no more changes; those under way may be on disk, those that wait are not."""
        with self._gate:
            self._closed = True
            while not self._queue.empty():
                item = self._queue.get_nowait()
                if item is not None and item[1].set_running_or_notify_cancel():
                    batch.append(item)
        reason = f"the thread that writes has ended ({type(error).__name__}: {error})"
        for _, future in batch:
            if not future.done():
                future.set_exception(
                    Closed(f"Space: {reason}; open the space again and see whether it has the change.")
                )
        with suppress(Exception):  # where warnings are errors
            _validate.warn(f"Space: {reason}; open the space again.")

    def _transact(self, batch: list[tuple[Callable[[Draft], Any], Future]]) -> None:
        """Make all changes of a batch in one transaction; the refused ones leave no trace in it."""
        if not batch:
            return
        answers: list[tuple[Future, Any]] = []
        refusals: list[tuple[Future, BaseException]] = []
        try:
            with self.store.writing():
                draft = Draft(self.store)
                for change, future in batch:
                    try:
                        answers.append((future, draft.attempt(change)))
                    except Exception as error:
                        if draft.broken:
                            raise
                        refusals.append((future, error))
        except BaseException as failure:
            done = {id(future) for future, _ in refusals}
            refusals += [(future, failure) for _, future in batch if id(future) not in done]
            answers = []
        else:
            self._publish(draft)
        for future, reason in refusals:
            future.set_exception(reason)
        for future, answer in answers:
            future.set_result(answer)

    def _build(self, draft: Draft) -> None:
        """The next snapshot, from this one and what the transaction changed."""
        builder = Builder(self.snapshot)
        for effect, values in draft.effects:
            effect(builder, *values)
        self.snapshot = builder.result(draft.seq)

    def _publish(self, draft: Draft) -> None:
        before = self.snapshot.seq
        if draft.seq == before and not draft.effects:
            return
        self.troubles.watch("publishing", "changes", partial(self._build, draft))
        if self.snapshot.seq != draft.seq:  # the events are durable, so the state is read again from where it is whole
            self.snapshot = load(self.store)
        if draft.seq > before:
            for listener in list(self._listeners):  # what is durable stands, whatever goes wrong in there
                self.troubles.watch("telling", "events", partial(listener, draft.seq))
