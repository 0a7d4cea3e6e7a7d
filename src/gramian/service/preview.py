"""The metric that the live clicks would give at this moment, for a map that follows them."""

import threading
from typing import TYPE_CHECKING

from gramian.metrics import Metric
from gramian.service import learning

if TYPE_CHECKING:
    from gramian.service.space import Space


class Preview:
    """Learns from what was said so far without making a version; the last metric of each collection is kept."""

    def __init__(self, space: "Space") -> None:
        self.space = space
        self._lock = threading.Lock()
        self._clicks: dict[int, learning.Clicks] = {}
        self._last: dict[int, tuple[int, Metric]] = {}

    def metric(self, name: str) -> tuple[int, Metric]:
        """The event it stands for, and the metric; the plain features where nothing was said."""
        with self._lock:
            snapshot = self.space.snapshot
            view = snapshot.collection(name)
            known = self._last.get(view.number)
            if known is not None and known[0] == snapshot.seq:
                return known
            with self.space.store.reading() as db:
                evidence = self._clicks.setdefault(view.number, learning.Clicks()).evidence(db, view, snapshot.seq)
            unknown = evidence.n == 0 or evidence.background.size == 0 or view.n_features > learning.MOST_LEARNED
            learned = view.versions[0].metric if unknown else learning.learn("gmml", evidence)
            self._last[view.number] = (snapshot.seq, learned)
            return self._last[view.number]
