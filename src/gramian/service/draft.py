"""One transaction in the making: events that get their numbers, and what they will change in the snapshot."""

import json
import sqlite3
import time
from collections.abc import Callable
from typing import Any

from gramian.service.errors import SpaceError, Unknown
from gramian.service.store import Store, refused_by_disk

Delta = Callable[[Any], None]
"""A change of the snapshot, made once the transaction is durable."""


class Draft:
    """Changes of one transaction, of which each may be refused alone.

    Parameters
    ----------
    store : Store
        Inside of ``store.writing()``.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.db = store.db
        self.seq = store.seq
        self.time = time.time()
        self.deltas: list[Delta] = []

    def attempt(self, change: Callable[["Draft"], Any]) -> Any:
        """Make a change, or leave everything as it was and raise."""
        seq, n_deltas = self.seq, len(self.deltas)
        self.db.execute("SAVEPOINT change")
        try:
            answer = change(self)
        except Exception as error:
            if not refused_by_disk(error):  # otherwise the whole transaction is lost
                self.db.execute("ROLLBACK TO change")
                self.db.execute("RELEASE change")
            self.seq = seq
            del self.deltas[n_deltas:]
            raise
        self.db.execute("RELEASE change")
        return answer

    def event(
        self,
        op: str,
        data: dict[str, Any],
        *,
        collection: str | None = None,
        user: str | None = None,
        request: Any = None,
    ) -> int:
        """Append an event; returns its number."""
        self.seq += 1
        text = json.dumps(data, separators=(",", ":"), allow_nan=False)
        row = {"seq": self.seq, "time": self.time, "op": op, "collection": collection, "user": user, "data": text}
        row |= {"key": request.key if request else None}
        row["digest"] = request.digest if request and request.key else None
        self.db.execute(
            "INSERT INTO events VALUES (:seq, :time, :op, :collection, :user, :data, :key, :digest, NULL)", row
        )
        return self.seq

    def answered(self, collection: str, request: Any) -> sqlite3.Row | None:
        """The event that an earlier request with the same key made, None when there was none."""
        if request is None or request.key is None:
            return None
        found = self.db.execute(
            "SELECT * FROM events WHERE collection = ? AND key = ?", (collection, request.key)
        ).fetchone()
        if found is not None and found["digest"] != request.digest:
            raise SpaceError(
                f"Space: Idempotency-Key must belong to one request, got {request.key!r} again with another body; "
                "use a new key."
            )
        return found

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
