"""A folder that is open: what is durable in it, changes in a queue, and who is told of them."""

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, Self

from gramian.service.draft import Draft
from gramian.service.snapshot import Collection, Snapshot
from gramian.service.store import Store
from gramian.service.writer import Writer


class OpenFolder:
    """A store with its one thread that writes, and a thread beside it that looks after it."""

    store: Store
    _writer: Writer
    _upkeep: Any
    _closed: bool

    @property
    def snapshot(self) -> Snapshot:
        """What is durable, as one immutable value."""
        return self._writer.snapshot

    @property
    def alive(self) -> bool:
        """Whether changes are taken."""
        return self._writer.alive

    @property
    def troubles(self) -> list[str]:
        """What does not work beside the requests at present, in words; empty when all is well."""
        ended = [] if self._upkeep.alive or self._closed else ["the thread that looks after the space has ended"]
        return [*ended, *self._upkeep.troubles.reasons]

    @property
    def failures(self) -> dict[str, int]:
        """How often something beside the requests failed so far, by what it was."""
        return dict(self._upkeep.troubles.counts)

    @property
    def seq(self) -> int:
        """Number of the last event."""
        return self.snapshot.seq

    def collection(self, name: str) -> Collection:
        """A collection as it is now."""
        return self.snapshot.collection(name)

    def listen(self, listener: Callable[[int], None]) -> Callable[[], None]:
        """Call ``listener(seq)`` after each commit, in the thread that writes; returns what stops it."""
        self._writer.listeners.append(listener)
        return partial(self._writer.listeners.remove, listener)

    def submit(self, change: Callable[..., Any], *values: Any, **named: Any) -> Future:
        """Queue one of the changes of ``gramian.service.changes``; the future has its answer once it is durable."""
        return self._writer.submit(lambda draft: change(draft, *values, **named))

    def transact(self, change: Callable[[Draft], Any]) -> Any:
        """Run a change of one's own in the thread that writes."""
        return self._writer.submit(change).result()

    def close(self) -> None:
        """Finish what is queued and let go of the folder; may be called twice."""
        if self._closed:
            return
        self._closed = True
        self._upkeep.close()
        self._writer.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()
