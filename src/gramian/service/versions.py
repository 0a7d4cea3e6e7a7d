"""Candidates: learned from the live clicks, indexed beforehand, and handed to the writer when all is ready."""

import secrets
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gramian import persist
from gramian.metrics import Metric
from gramian.service import duels, learning, teaching
from gramian.service.errors import StorageFull, refused
from gramian.service.files import sync_folder
from gramian.service.snapshot import Collection, Version
from gramian.service.store import refused_by_disk

if TYPE_CHECKING:
    from gramian.service.space import Space

FIRST = 50
"""Live clicks before the background learns a first candidate."""
GROWTH = 1.5
"""Clicks by which the evidence must have grown for the next one."""
OUTGROWN = 3
"""Clicks by which the evidence must have grown to replace a candidate in the middle of its duels."""
TINY = 1e-300


class Teacher:
    """Learns candidates, one at a time; the work is done beside the writer."""

    def __init__(self, space: "Space") -> None:
        self.space = space
        self._clicks: dict[int, learning.Clicks] = {}
        self._lock = threading.Lock()

    def learn(
        self,
        name: str,
        learner: str,
        label: str | None = None,
        user: str | None = None,
        *,
        by_itself: bool = False,
    ) -> dict[str, Any]:
        """Learn a candidate from all live clicks and make it the one that duels.

        What the background learns ``by_itself`` and ranks as the metric in use is kept without duels.
        """
        with self._lock:
            snapshot = self.space.snapshot
            view = snapshot.collection(name)
            with self.space.store.reading() as db:
                clicks = self._clicks.setdefault(view.number, learning.Clicks())
                evidence = clicks.evidence(db, view, snapshot.seq)
                metric = learning.learn(learner, evidence)
            label = label or f"{learner} of {evidence.n} clicks"
            same = by_itself and ranks_alike(metric, view.version("active").metric)
            status = "same" if same else "candidate"
            version = Version(0, label, learner, 0, evidence.n, snapshot.seq, status)
            index = view.build_index(metric)
            file = save_metric(self.space.store.metrics, metric, version)
            change = self.space.submit(
                teaching.add_version, name, version, file, index=index, revision=view.revision, user=user
            )
            if refused(change.exception()):
                (self.space.store.metrics / file).unlink(missing_ok=True)
            return change.result()

    def activate(self, name: str, number: int, user: str | None = None) -> dict[str, Any]:
        """Let a version answer; its index is built before the change."""
        view = self.space.collection(name)
        index = self.space.asker.index(view, view.version(number))
        return self.space.submit(
            teaching.activate, name, number, index=index, revision=view.revision, user=user
        ).result()

    def due(self, view: Collection) -> bool:
        """Whether the clicks have grown enough for another candidate.

        One that is in the middle of its duels is replaced only when it has been outgrown by far: a metric of a few
        clicks, worth little, shall not hold up what many clicks have taught.
        """
        last = view.versions[max(view.versions)]
        with self.space.store.reading() as db:
            enough = max(FIRST, GROWTH * last.events)
            text = "SELECT count(*) FROM feedback WHERE collection = ? AND undone IS NULL"  # no fewer, and quick
            if db.execute(text, (view.number,)).fetchone()[0] < enough or view.n_features > learning.MOST_LEARNED:
                return False
            live = learning.n_live(db, view)
            if live < enough:
                return False
            if view.candidate is None or live >= OUTGROWN * last.events:
                return True
            return len(duels.record(db, view.number, view.candidate, view.active).differences) == 0


def ranks_alike(metric: Metric, other: Metric) -> bool:
    """Whether one metric is a multiple of another, up to rounding, so that both give every list in the same order."""
    M, N = metric.matrix, other.matrix
    return bool(np.allclose(M * (np.trace(N) / max(np.trace(M), TINY)), N, rtol=0, atol=1e-9 * np.abs(N).max()))


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
