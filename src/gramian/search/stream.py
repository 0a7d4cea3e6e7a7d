"""A service that learns, stores and answers from one stream of JSON events, and survives being killed.

State lives in a folder: ``settings.json``, snapshots ``snapshot-<n>.gram`` of everything after n events, and journals
``events-<n>.log`` of the events that came after snapshot n. Opening the folder loads the newest snapshot and replays
the journal behind it, so no acknowledged event is ever lost.
"""

import contextlib
import json
import os
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from gramian import persist
from gramian.online import LEGO
from gramian.search.journal import Journal, sync_folder
from gramian.search.online_hashing import OnlineHashIndex

SNAPSHOT_EVERY = 10_000
"""Events between snapshots: a restart replays at most this many."""


class StreamService:
    """One :class:`OnlineHashIndex` in a folder, fed with events.

    Parameters
    ----------
    folder : path
        Made when it is not there. Only one service may have it open.
    eta, n_bits : optional
        Settings of a new folder: the step size of :class:`~gramian.LEGO`, and the bits of the hash. A folder that
        exists keeps its own; other values raise.
    snapshot_every : int
        Events between snapshots.

    Attributes
    ----------
    seq : int
        Events that changed the state, so far.
    dropped : int
        Bytes of a torn last record that opening cut off.
    """

    def __init__(
        self,
        folder: str | os.PathLike,
        eta: float | str | None = None,
        n_bits: int | None = None,
        snapshot_every: int = SNAPSHOT_EVERY,
    ) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = _lock(self.folder)
        self.settings = _settings(self.folder, {"eta": eta, "n_bits": n_bits})
        self.snapshot_every = snapshot_every
        self.seq, self.index = self._newest()
        self._since = self.seq
        self._open_journal()

    def _newest(self) -> tuple[int, OnlineHashIndex]:
        """Load the newest snapshot, or start empty."""
        for path in sorted(self.folder.glob("snapshot-*.gram"), reverse=True):
            with contextlib.suppress(persist.PersistError):
                return _number(path), persist.load(path)
        learner = LEGO(eta=self.settings["eta"])
        return 0, OnlineHashIndex(learner, n_bits=self.settings["n_bits"], random_state=0)

    def _open_journal(self) -> None:
        """Replay the journals behind the snapshot; only the last of them may have a torn tail."""
        self.dropped, number = 0, self._since
        while True:
            self._journal = Journal(self._journal_path(number))
            self.dropped += self._journal.dropped
            for event in self._journal:
                self._apply(event)
                self.seq += 1
            number = self.seq
            if self._journal.count == 0 or not self._journal_path(number).exists():
                break
            self._journal.close()
        if any(_number(path) > self.seq for path in self.folder.glob("events-*.log")):
            raise persist.PersistError(f"StreamService: events after {self.seq} are missing in {str(self.folder)!r}.")

    def _journal_path(self, number: int) -> Path:
        return self.folder / f"events-{number:012d}.log"

    def answer(self, line: str | bytes) -> dict[str, Any]:
        """Answer one JSON event; the answer may be given out only after :meth:`commit`."""
        try:
            event = _parsed(line)
            if not isinstance(event, dict) or event.get("op") not in _ANSWERS:
                raise ValueError(f"event must be an object with op one of {', '.join(_ANSWERS)}, got {event!r:.80}.")
            return _ANSWERS[event["op"]](self, event)
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            what = f"event needs {error}." if isinstance(error, KeyError) else str(error)
            return {"ok": False, "error": what}

    def _change(self, event: dict[str, Any]) -> dict[str, Any]:
        event = _clean(event)
        self._apply(event)
        self._journal.append(event)
        self.seq += 1
        return {"ok": True, "seq": self.seq}

    def _apply(self, event: dict[str, Any]) -> None:
        if event["op"] == "learn":
            self.index.learn_one(event["u"], event["v"], event["target"], event["kind"])
        else:
            self.index.add(np.asarray([event["x"]], dtype=float), [event["id"]])

    def _query(self, event: dict[str, Any]) -> dict[str, Any]:
        ids, sqdist = self.index.query(np.asarray([_vector(event, "x")], dtype=float), event.get("k", 10))
        return {"ids": ids[0].tolist(), "sqdist": sqdist[0].tolist(), "seq": self.seq}

    def _metric(self, event: dict[str, Any]) -> dict[str, Any]:
        return {"matrix": self.index.metric_.matrix.tolist(), "seq": self.seq}

    def commit(self) -> None:
        """Make every event answered so far durable; now and then write a snapshot."""
        self._journal.commit()
        if self.seq - self._since >= self.snapshot_every:
            self.snapshot()

    def snapshot(self) -> None:
        """Write the whole state, begin a new journal, and remove what is older than the snapshot before."""
        self._journal.commit()
        if self.seq == self._since:
            return
        persist.save(self.index, self.folder / f"snapshot-{self.seq:012d}.gram")
        sync_folder(self.folder)
        self._journal.close()
        before, self._since = self._since, self.seq
        self._journal = Journal(self._journal_path(self.seq))
        for path in [*self.folder.glob("snapshot-*.gram"), *self.folder.glob("events-*.log")]:
            if _number(path) < before:
                path.unlink()

    def close(self) -> None:
        """Write a snapshot and let go of the folder."""
        self.snapshot()
        self._journal.close()
        os.close(self._lock)


_ANSWERS = {
    "learn": StreamService._change,
    "add": StreamService._change,
    "query": StreamService._query,
    "metric": StreamService._metric,
}


def serve(service: StreamService, source: int, sink: BinaryIO) -> None:
    """Answer the lines of a file descriptor until it ends; answers are written once their events are durable.

    All lines that have arrived together share one wait for the disk.
    """
    rest = b""
    while chunk := os.read(source, 1 << 16):
        *lines, rest = (rest + chunk).split(b"\n")
        _respond(service, lines, sink)
    _respond(service, [rest], sink)


def _respond(service: StreamService, lines: list[bytes], sink: BinaryIO) -> None:
    answers = [service.answer(line) for line in lines if line.strip()]
    service.commit()
    sink.write(b"".join(json.dumps(answer).encode() + b"\n" for answer in answers))
    sink.flush()


def _parsed(line: str | bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise ValueError(f"event must be one line of JSON, got {error}.") from error


def _clean(event: dict[str, Any]) -> dict[str, Any]:
    """The fields of an event that changes the state, so that the journal holds nothing else."""
    if event["op"] == "add":
        if type(event["id"]) is not int or not -(2**63) <= event["id"] < 2**63:
            raise ValueError(f"id must be a 64-bit integer, got {event['id']!r}.")
        return {"op": "add", "id": event["id"], "x": _vector(event, "x")}
    kind = event.get("kind", "equal")
    u, v = _vector(event, "u"), _vector(event, "v")
    return {"op": "learn", "u": u, "v": v, "target": event["target"], "kind": kind}


def _vector(event: dict[str, Any], name: str) -> list[float]:
    value = event[name]
    if not isinstance(value, list) or not all(type(x) in (int, float) for x in value):
        raise ValueError(f"{name} must be a list of numbers, got {value!r:.80}.")
    return value


def _number(path: Path) -> int:
    return int(path.stem.split("-")[1])


def _lock(folder: Path) -> int:
    import fcntl

    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise ValueError(
            f"StreamService: folder {str(folder)!r} must not be open elsewhere, got a lock on it."
        ) from error
    return handle


def _settings(folder: Path, given: dict[str, Any]) -> dict[str, Any]:
    """Settings of a folder, written once; a different value later raises."""
    path = folder / "settings.json"
    wanted = {name: value for name, value in given.items() if value is not None}
    if not path.exists():
        settings = {"eta": "auto", "n_bits": 256, **wanted}
        OnlineHashIndex(LEGO(eta=settings["eta"]).start(1), n_bits=settings["n_bits"])
        temporary = path.with_suffix(".new")
        with open(temporary, "w") as stream:
            stream.write(json.dumps(settings))
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
        sync_folder(folder)
        return settings
    settings = json.loads(path.read_text())
    for name, value in wanted.items():
        if settings[name] != value:
            raise ValueError(
                f"StreamService: {name} must be {settings[name]!r}, with which {str(folder)!r} was made, got {value!r}."
            )
    return settings
