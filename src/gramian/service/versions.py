"""Candidates: learned from the live clicks, indexed beforehand, and handed to the writer when all is ready."""

import secrets
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gramian import persist
from gramian.service import duels, learning, teaching
from gramian.service.errors import StorageFull
from gramian.service.files import sync_folder
from gramian.service.snapshot import Collection, Version
from gramian.service.store import refused_by_disk

if TYPE_CHECKING:
    from gramian.service.space import Space

FIRST = 50
"""Live clicks before the background learns a first candidate."""
GROWTH = 1.5
"""Clicks by which the evidence must have grown for the next one."""


class Teacher:
    """Learns candidates, one at a time; the work is done beside the writer."""

    def __init__(self, space: "Space") -> None:
        self.space = space
        self._clicks: dict[int, learning.Clicks] = {}
        self._lock = threading.Lock()

    def learn(self, name: str, learner: str, label: str | None = None, user: str | None = None) -> dict[str, Any]:
        """Learn a candidate from all live clicks and make it the one that duels."""
        with self._lock:
            snapshot = self.space.snapshot
            view = snapshot.collection(name)
            with self.space.store.reading() as db:
                clicks = self._clicks.setdefault(view.number, learning.Clicks())
                evidence = clicks.evidence(db, view, snapshot.seq)
                metric = learning.learn(learner, evidence)
            label = label or f"{learner} of {evidence.n} clicks"
            version = Version(0, label, learner, 0, evidence.n, snapshot.seq)
            file = save_metric(self.space.store.metrics, metric, version)
            index = view.build_index(metric)
            change = self.space.submit(
                teaching.add_version, name, version, file, index=index, revision=view.revision, user=user
            )
            return change.result()

    def activate(self, name: str, number: int, user: str | None = None) -> dict[str, Any]:
        """Let a version answer; its index is built before the change."""
        view = self.space.collection(name)
        index = self.space.asker.index(view, view.version(number))
        return self.space.submit(
            teaching.activate, name, number, index=index, revision=view.revision, user=user
        ).result()

    def due(self, view: Collection) -> bool:
        """Whether the clicks have grown enough for another candidate, and none is in the middle of its duels."""
        last = view.versions[max(view.versions)]
        with self.space.store.reading() as db:
            text = "SELECT count(*) FROM feedback WHERE collection = ? AND undone IS NULL"
            live = db.execute(text, (view.number,)).fetchone()[0]
            if live < max(FIRST, GROWTH * last.events) or view.n_features > learning.MOST_LEARNED:
                return False
            if view.candidate is None:
                return True
            return len(duels.record(db, view.number, view.candidate, view.active).differences) == 0


def save_metric(folder: Path, metric: Any, version: Version) -> str:
    """Write the metric of a version under a name of its own and wait for the disk; returns the name."""
    file = f"{secrets.token_hex(8)}.gram"
    about = {"learner": version.learner, "clicks": version.events, "through event": version.through}
    try:
        persist.save(metric, folder / file, about={"name": version.name, **about})
        sync_folder(folder)
    except OSError as error:
        if refused_by_disk(error):
            raise StorageFull(f"Space: the disk did not take the metric ({error}); make room first.") from error
        raise
    return file
