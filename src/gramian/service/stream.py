"""``gramian stream``: JSON events in, answers out, over the collection ``stream`` of a space.

The index that answers is an :class:`~gramian.OnlineHashIndex` whose metric is taught by lessons. Its state is a
function of the events alone: codes move when a lesson comes, never when a query does, so that a restart changes
no answer. Snapshots of it stand in the folder beside the log; opening takes the newest and learns what came after.
"""

import contextlib
import json
import os
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from gramian import persist
from gramian.online import LEGO
from gramian.search.online_hash_index import OnlineHashIndex
from gramian.service import changes
from gramian.service.changes import Batch
from gramian.service.store import Store
from gramian.service.vectors import narrow, sync_folder, write_array
from gramian.service.writer import Draft

SNAPSHOT_EVERY = 10_000
"""Events between snapshots: a restart replays at most this many."""
STALE, NEVER = 0.03, 0.5
"""Share of stale bits at which a lesson moves the codes; queries move them only at a share that does not occur."""
NAME = "stream"
"""The collection of a stream."""
OPS = ("learn", "feedback", "add", "query", "metric")
DEFAULTS: dict[str, Any] = {"eta": "auto", "n_bits": 256}
MOST_FEATURES = 4096
"""Widest vectors that are learned online: the metric has the square of it as many numbers."""


class Stream:
    """One :class:`OnlineHashIndex` in a space, fed with events.

    Parameters
    ----------
    folder : path
        Made when it is not there. Only one process may have it open.
    eta, n_bits : optional
        Settings of a new stream: the step size of :class:`~gramian.LEGO`, and the bits of the hash. One that
        exists keeps its own; other values raise.
    snapshot_every : int
        Events between snapshots.

    Attributes
    ----------
    seq : int
        Events of the space, so far.
    """

    def __init__(
        self,
        folder: str | os.PathLike,
        eta: float | str | None = None,
        n_bits: int | None = None,
        *,
        snapshot_every: int = SNAPSHOT_EVERY,
    ) -> None:
        wanted = {name: value for name, value in {"eta": eta, "n_bits": n_bits}.items() if value is not None}
        if not Path(folder).exists():  # settings that cannot be used shall leave nothing behind
            check(wanted)
        self.store = Store(folder)
        try:
            self.settings = settings(self.store, wanted)
            self.snapshot_every = snapshot_every
            self._load()
            self.store.sweep()
        except BaseException:
            self.store.close()
            raise

    def _load(self) -> None:
        """The newest snapshot that can be read, and the events after it."""
        self._whole = False
        self._waiting: list[dict[str, Any]] = []
        self._since, self.index = 0, _index(self.settings)
        for path in sorted(self.store.folder.glob("stream-*.gram"), reverse=True):
            with contextlib.suppress(persist.PersistError, ValueError):
                self._since, self.index = int(path.stem.removeprefix("stream-")), _restored(path)
                break
        events = "SELECT seq, op, data FROM events WHERE collection = ? AND seq > ? ORDER BY seq"
        for row in self.store.db.execute(events, (NAME, self._since)):
            if row["op"] in ("items", "remove"):
                raise ValueError(
                    f"Stream: event {row['seq']} changed the items of {NAME!r} over HTTP; serve it instead."
                )
            if row["op"] in ("add", "learn", "clicks"):
                self._apply({"op": row["op"], **json.loads(row["data"])})
        self.seq = self.store.seq
        self._whole = True

    def answer(self, line: str | bytes) -> dict[str, Any]:
        """Answer one JSON event; the answer may be given out only after :meth:`commit`."""
        try:
            event = parsed(line)
            if event["op"] == "query":
                return self._query(event)
            if event["op"] == "metric":
                return {"matrix": self.index.metric_.matrix.tolist(), "seq": self.seq}
            return self._change(clean(event))
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            what = f"event needs {error}." if isinstance(error, KeyError) else str(error)
            return {"ok": False, "error": what}

    def _query(self, event: dict[str, Any]) -> dict[str, Any]:
        ids, sqdist = self.index.query(np.asarray([vector(event, "x")], dtype=float), event.get("k", 10))
        return {"ids": ids[0].tolist(), "sqdist": sqdist[0].tolist(), "seq": self.seq}

    def _change(self, event: dict[str, Any]) -> dict[str, Any]:
        self._whole = False
        try:
            self._apply(event)
        except Exception:  # a refused event has changed nothing; an interruption may have
            self._whole = True
            raise
        self._waiting.append(event)
        self.seq += 1
        self._whole = True
        return {"ok": True, "seq": self.seq}

    def _apply(self, event: dict[str, Any]) -> None:
        if event["op"] == "add":
            self.index.add(np.asarray([event["x"]], dtype=float), [event["id"]])
            return
        if event["op"] == "learn":
            self.index.learn_one(event["u"], event["v"], event["target"], event["kind"])
        else:
            query = np.asarray(event["x"], dtype=float)
            self.index.feedback(query, event.get("liked", ()), event.get("disliked", ()), event.get("shown"))
        if self.index.stale_ > STALE:
            self.index.upkeep(force=True)

    def commit(self) -> None:
        """Make every event answered so far durable; after a failure none of them has happened."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        self._whole = False
        try:
            with self.store.writing():
                draft = Draft(self.store)
                for event in waiting:
                    _record(draft, event)
        except Exception:
            self._load()
            raise
        self._whole = True
        if self.seq - self._since >= self.snapshot_every:
            self.snapshot()

    def snapshot(self) -> None:
        """Write the whole state, and remove snapshots older than the one before."""
        if self.seq == self._since or not self._whole or self._waiting:
            return
        path = self.store.folder / f"stream-{self.seq:012d}.gram"
        persist.save(self.index, path)
        sync_folder(self.store.folder)
        self.index = _restored(path)  # so that from here on it is what a restart would have
        before, self._since = self._since, self.seq
        for path in self.store.folder.glob("stream-*.gram"):
            if path.stem.removeprefix("stream-").isdigit() and int(path.stem.removeprefix("stream-")) < before:
                path.unlink()
        _settle(self.store)

    def close(self) -> None:
        """Write a snapshot of what is durable and let go of the folder; what was not committed is gone."""
        try:
            self.snapshot()
        finally:
            self.store.close()


def serve(stream: Stream, source: int, sink: BinaryIO) -> None:
    """Answer the lines of a file descriptor until it ends; answers are written once their events are durable.

    All lines that have arrived together share one wait for the disk.
    """
    rest = b""
    while chunk := os.read(source, 1 << 16):
        *whole, rest = (rest + chunk).split(b"\n")
        _respond(stream, whole, sink)
    _respond(stream, [rest], sink)


def _respond(stream: Stream, whole: list[bytes], sink: BinaryIO) -> None:
    answers = [stream.answer(line) for line in whole if line.strip()]
    stream.commit()
    sink.write(b"".join(json.dumps(answer).encode() + b"\n" for answer in answers))
    sink.flush()


def parsed(line: str | bytes) -> dict[str, Any]:
    """The event of a line."""
    try:
        event = json.loads(line)
    except ValueError as error:
        raise ValueError(f"event must be one line of JSON, got {error}.") from error
    if not isinstance(event, dict) or event.get("op") not in OPS:
        raise ValueError(f"event must be an object with op one of {', '.join(OPS)}, got {event!r:.80}.")
    return event


def clean(event: dict[str, Any]) -> dict[str, Any]:
    """The fields of an event that changes the state, so that the log holds nothing else."""
    if event["op"] == "add":
        if type(event["id"]) is not int or not -(2**63) <= event["id"] < 2**63:
            raise ValueError(f"id must be a 64-bit integer, got {event['id']!r}.")
        return {"op": "add", "id": event["id"], "x": vector(event, "x")}
    if event["op"] == "feedback":
        lists: dict[str, Any] = {name: ids(event, name) for name in ("liked", "disliked", "shown") if name in event}
        return {"op": "clicks", "x": vector(event, "x"), **lists}  # in a space a feedback is one click of a person
    u, v = vector(event, "u"), vector(event, "v")
    return {"op": "learn", "u": u, "v": v, "target": event["target"], "kind": event.get("kind", "equal")}


def vector(event: dict[str, Any], name: str) -> list[float]:
    """A list of numbers in an event."""
    value = event[name]
    if not isinstance(value, list) or not all(type(x) in (int, float) for x in value):
        raise ValueError(f"{name} must be a list of numbers, got {value!r:.80}.")
    if len(value) > MOST_FEATURES:
        raise ValueError(f"{name} must have at most {MOST_FEATURES} numbers, got {len(value)}; reduce them first.")
    return value


def ids(event: dict[str, Any], name: str) -> list[int]:
    """A list of ids of items in an event."""
    value = event[name]
    if not isinstance(value, list) or not all(type(one) is int for one in value):
        raise ValueError(f"{name} must be a list of ids of items, got {value!r:.80}.")
    return value


def settings(store: Store, wanted: dict[str, Any]) -> dict[str, Any]:
    """Settings of a stream, written once; a different value later raises."""
    text = store.setting("stream")
    if text is None:
        check(wanted)
        with store.writing() as db:
            db.execute("INSERT INTO space VALUES ('stream', ?, NULL)", (json.dumps({**DEFAULTS, **wanted}),))
        return {**DEFAULTS, **wanted}
    stored = json.loads(text)
    for name, value in wanted.items():
        if stored[name] != value:
            place = str(store.folder)
            raise ValueError(f"Stream: {name} must be {stored[name]!r}, with which {place!r} was made, got {value!r}.")
    return stored


def check(wanted: dict[str, Any]) -> None:
    """Raise when an index cannot be made with these settings."""
    every = {**DEFAULTS, **wanted}
    OnlineHashIndex(LEGO(eta=every["eta"]).start(1), n_bits=every["n_bits"])


def _index(settings: dict[str, Any]) -> OnlineHashIndex:
    learner = LEGO(eta=settings["eta"])
    return OnlineHashIndex(learner, n_bits=settings["n_bits"], tol=NEVER, random_state=0)


def _restored(path: Path) -> OnlineHashIndex:
    """The index of a snapshot, with the share of stale bits measured, which queries would else do in their own time."""
    index = persist.load(path)
    assert index.stale_ >= 0
    return index


def _record(draft: Draft, event: dict[str, Any]) -> None:
    """An event of the stream as an event of the space; the one that comes before all others makes the collection."""
    data = {name: value for name, value in event.items() if name != "op"}
    width = len(event["u"] if event["op"] == "learn" else event["x"])
    if draft.db.execute("SELECT 1 FROM collections WHERE name = ?", (NAME,)).fetchone() is None:
        changes.insert_collection(draft, NAME, width)
    seq = draft.event(event["op"], data, NAME)
    if event["op"] == "add":
        X = narrow(np.asarray([event["x"]], dtype=float))
        changes.place(draft, draft.collection(NAME), [event["id"]], Batch([event["id"]], X, [None]), seq)


def _settle(store: Store) -> None:
    """Move vectors from the log into a file."""
    row = store.db.execute("SELECT * FROM collections WHERE name = ?", (NAME,)).fetchone()
    tail = "SELECT * FROM parts WHERE collection = ? AND file IS NULL ORDER BY first_row"
    parts = store.db.execute(tail, (row["number"],)).fetchall()
    if not parts:
        return
    X = np.concatenate([np.frombuffer(part["x"], part["dtype"]).reshape(-1, row["n_features"]) for part in parts])
    file, _ = write_array(store.vectors, X)
    rows = range(parts[0]["first_row"], parts[0]["first_row"] + len(X))
    with store.writing() as db:
        changes.replace_parts(db, row["number"], rows, X, file)
