"""A hash index whose metric is being learned (Jain 2009, §5.2)."""

import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from gramian import _checks, linalg, neighbors
from gramian.metrics import Metric
from gramian.online import lessons
from gramian.online.learner import OnlineLearner
from gramian.online.progress import Progress
from gramian.search import codes, following
from gramian.search.base import Index
from gramian.search.candidates import Candidates
from gramian.search.encoding import Asked, Encoder
from gramian.search.forms import Form, form
from gramian.search.hashing import SPARE, HashIndex, draw_seed, whole_bytes
from gramian.search.items import Items
from gramian.search.roads import listed_distances, unclear

DETECTORS = ("likely", "margin")
SCAN_BELOW = 2048
"""Up to this many items a query compares them all: cheaper than hashing, and exact."""
_WIDER = 40, 32
"""When a share f of the bits is stale, k(1 + 40 f) + 32 neighbors under the anchor are ranked by the live metric."""
_PROBES, _PROBED = 32, 128
"""Bits and items that the stale share is read from."""
_STEP, _PACE = (128, 512), 4
"""A query moves at least so many items, or one in so many; up to four times that when the codes are far behind."""
_AT_ONCE = 8192
"""Items that move together where nobody waits for an answer."""
_MOST = 1024
"""Coordinates up to which margins are kept."""


class OnlineHashIndex(Index):
    """Search while the metric learns.

    Nearest neighbors under M_t = G_tᵀG_t while a learner moves it (Jain 2009, §5.2).

    Items are hashed by [rᵀG(x − μ) ≥ 0] at an anchor, the metric of some earlier time. A query takes candidates there
    and ranks them by the live metric, so distances and order are always live. Each step of the learner moves the
    direction Gᵀr of a bit by a_t (rᵀG_t v) M_t v (5.8), which touches no item. Once the directions have turned so far
    that a share ``tol`` of all bits differs, the codes move to the live metric: only the bits that may have
    flipped are computed, or all of them when those are more than ``rehash_share``. Each query moves a bounded
    number of items, so that none waits for all of them; :meth:`upkeep` moves the rest at once.

    Parameters
    ----------
    learner : LEGO, OnlineITML or OnlinePOLA
        Copied, with what it has learned. With ``rank`` or ``features`` the points may be sparse, or objects.
    n_bits : int
        Bits, a multiple of 8.
    tol : float
        Share of stale bits at which the codes begin to move.
    rehash_share : float
        Share of bits that may have flipped above which all are computed (10% in the thesis).
    detector : {"likely", "margin"}
        How flipped bits are found. A margin is kept for each bit; "margin" looks at all that can have flipped, "likely"
        at fewer and misses about one flip in 200.
    recall : float
        As in :class:`HashIndex`.
    random_state : int, generator or None
        Draws the hash functions.

    Attributes
    ----------
    metric_ : Metric
        The live metric.
    stats_ : dict
        Counts: ``updates``, ``queries``, ``moves`` and ``rehashes`` of the codes, bits ``touched`` and ``flipped``.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> X = np.random.default_rng(0).normal(size=(500, 4))
    >>> index = gm.OnlineHashIndex(gm.LEGO(eta=0.1), n_bits=64, random_state=0).add(X)
    >>> ids, sqdist = index.learn_one(X[0], X[1], target=0.0).query(X[:1], k=2)
    >>> ids.shape, float(sqdist[0, 0])
    ((1, 2), 0.0)
    """

    def __init__(
        self,
        learner: OnlineLearner,
        n_bits: int = 256,
        *,
        tol: float = 0.03,
        rehash_share: float = 0.4,
        detector: str = "likely",
        recall: float = 0.99,
        random_state: Any = None,
    ) -> None:
        owner = "OnlineHashIndex"
        if not isinstance(learner, OnlineLearner):
            raise TypeError(f"{owner}: learner must be LEGO, OnlineITML or OnlinePOLA, got {type(learner).__name__}.")
        self.learner = copy.deepcopy(learner)
        self.n_bits = whole_bytes(n_bits, owner)
        self.tol = _checks.number(tol, owner, "tol", low=0, high=0.5)
        self.rehash_share = _checks.number(rehash_share, owner, "rehash_share", low=0, high=1)
        self.detector = _checks.one_of(detector, owner, "detector", DETECTORS)
        self.recall = _checks.number(recall, owner, "recall", low=0, high=1 - 1e-12, open_low=True)
        self.seed = draw_seed(random_state, owner)
        self.stats_ = dict.fromkeys(("updates", "queries", "moves", "rehashes", "touched", "flipped"), 0)
        self._encoders: dict[tuple[int, int], tuple[Metric, np.ndarray, Encoder]] = {}
        self._measured: dict[tuple[int, int], tuple[Metric, Metric, float]] = {}
        self._limits = codes.angle_limits(self.n_bits, self.recall)
        self._begin()

    @property
    def metric_(self) -> Metric:
        """The metric after all constraints so far."""
        return self.learner.metric_

    @property
    def metric(self) -> Metric:  # type: ignore[override]  # a stored value elsewhere
        """The live metric."""
        return self.learner.metric_

    @property
    def _stands(self) -> bool:
        return hasattr(self.learner, "progress_")

    def _check(self, X: Any, name: str = "X") -> Any:
        learner = self.learner
        if not self._stands and learner.features is None:
            return _checks.points(X, self._owner, allow_sparse=learner.rank is not None, min_points=0, name=name)
        started = learner if self._stands else copy.copy(learner).start()
        coordinates = started.progress_.coordinates
        X = coordinates.check(X, self._owner, name, 0)
        if sparse.issparse(X) and coordinates.whole:
            raise TypeError(f"{self._owner}: {name} must be dense, got a sparse matrix; pass {name}.toarray().")
        return X

    def _grown(self, items: Items, ids: np.ndarray, X: Any, threads: int) -> Items:
        if not self._stands:
            self.learner.start(None if self.learner.features is not None else X.shape[1])
        return super()._grown(items, ids, X, threads)

    def _reordered(self, items: Items, order: np.ndarray) -> Items:
        return super()._reordered(following.unmoved(items), order)

    def _encoder(self, metric: Metric, points: Any, settled: dict[str, Any]) -> Encoder:
        """Encoder of an anchor; the last few are kept."""
        key = id(metric), id(settled["center"])
        if key not in self._encoders:
            encoder = self._centered(self._form(metric, points, self.n_bits), settled)
            self._encoders = {**dict(list(self._encoders.items())[-3:]), key: (metric, settled["center"], encoder)}
        return self._encoders[key][2]

    def _form(self, metric: Metric, points: Any, n_bits: int) -> Form:
        L = metric.components
        return form(metric, points, self.seed, n_bits, L if L.shape[0] == L.shape[1] else None)

    def _centered(self, seen: Form, settled: dict[str, Any]) -> Encoder:
        """A form around the settled center; in coordinates that have grown since, where the center has more."""
        center, mean = settled["center"], settled["mean"]
        grown = mean is not None and len(center) < seen.metric.coordinates.size
        return Encoder(seen, seen.rows(mean)[0] if grown else center, mean)

    def _settle(self, points: Any) -> dict[str, Any]:
        encoder = Encoder.around(self._form(self.metric, points, self.n_bits), points, centered=True)
        return following.settle(encoder, points, _MOST)

    def _derive(self, settled: dict[str, Any], X: Any, threads: int) -> dict[str, Any]:
        anchor, base = (self._encoder(settled[name], X, settled) for name in ("anchor", "base"))
        return following.derive(settled, anchor, base, X, threads)

    def hash(self, X: Any) -> np.ndarray:
        """Packed bits of points at the anchor, uint8 (n, n_bits / 8)."""
        items, X = self._items, self._check(X)
        if items.n == 0:
            raise ValueError(f"{self._owner}: the index is empty; add points before their bits are asked for.")
        return self._encoder(items.settled["anchor"], items["points"], items.settled).hash(items.held(X))

    def learn_one(self, u: Any, v: Any, target: float, kind: str = "equal") -> Self:
        """Learn from one pair, as the learner's ``learn_one``."""
        with self._lock:
            self._learned(lessons.pair(self.learner, u, v, target, kind))
        return self

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn from the pairs of a :class:`~gramian.Pairs`, or of labels, as the learner's ``partial_fit``."""
        with self._lock:
            learner = copy.copy(self.learner)
            learner.partial_fit(X, y)
            self._learned(learner.progress_)
        return self

    def feedback(self, query: Any, liked: Any = (), disliked: Any = (), shown: Any = None) -> Self:
        """Learn from clicks on a list of results, as the learner's ``feedback``.

        Parameters
        ----------
        query : point (d,), or the id of an item
        liked, disliked, shown : points (m, d), or ids of items
        """
        with self._lock:
            items = self._items
            asked = self._meant(items, query, "query")
            near, far = self._meant(items, liked, "liked"), self._meant(items, disliked, "disliked")
            screen = None if shown is None else self._meant(items, shown, "shown")
            self._learned(lessons.clicks(self.learner, asked, near, far, screen))
        return self

    def _meant(self, items: Items, value: Any, name: str) -> Any:
        """Points as they are, or those of items that are named by their ids."""
        listed = isinstance(value, int | np.integer | list | tuple | np.ndarray)
        ids = _checks.plain(value, self._owner, name) if listed else np.zeros(1)
        if ids.dtype.kind not in "iu" or ids.ndim > 1 or (ids.ndim == 1 and name == "query"):
            return value
        rows = self._positions(items, np.atleast_1d(ids), name)
        return linalg.take(items["points"], int(rows[0]) if ids.ndim == 0 else rows)

    def _learned(self, progress: Progress) -> None:
        self.stats_["updates"] += progress.n_seen - (self.learner.progress_.n_seen if self._stands else 0)
        self.learner._stand(progress)

    def _search(
        self, items: Items, Q: Any, k: int, mask: np.ndarray | None, threads: int
    ) -> tuple[np.ndarray, np.ndarray]:
        live, Q = self.metric, items.held(Q)
        self.stats_["queries"] += linalg.count(Q)
        if items.n <= SCAN_BELOW:
            near = np.flatnonzero(np.ones(items.n, bool) if mask is None else mask)
            return _live(live, items, Q, np.broadcast_to(near, (linalg.count(Q), len(near))), k)
        parts = [self._part(items, live, k, Q, *part) for part in following.parts(items, mask)]
        self._tend(live)
        names, values = _live(live, items, Q, np.concatenate([part.near for part in parts], axis=1), k)
        if live.alpha > 0 and not all(part.whole for part in parts):
            for q in range(len(names)):
                near = np.concatenate([part.within(q, values[q, -1]) for part in parts])
                names[[q]], values[[q]] = _live(live, items, linalg.take(Q, slice(q, q + 1)), near[None], k)
        return names, values

    def _part(
        self, items: Items, live: Metric, k: int, Q: Any, part: Items, anchor: Metric, first: int, mask: Any
    ) -> "_Part":
        """Candidates among items that stand at one anchor."""
        stale = self._stale(anchor, live, items)
        wide = min(k if stale < 0 else int(k * (1 + _WIDER[0] * stale)) + _WIDER[1], part.n)
        encoder = self._encoder(anchor, part["points"], items.settled)
        candidates = Candidates(part, encoder, False, mask)
        asked = encoder.ask(Q, candidates.dtype, False)
        near, D, seen = candidates.scan(asked, wide, min(wide + SPARE, part.n), self._limits, 0)
        near = np.where(np.isfinite(D), near + first, -1)
        return _Part(candidates, asked, encoder.form.whole, first, near, seen, stale, self._limits)

    def compared(self, X: Any, k: int = 10) -> np.ndarray:
        """Number of items that a query with each point compares at the anchor, (m,)."""
        k = _checks.number(k, self._owner, "k", low=1, integer=True)
        items, Q, _, _ = self._asked(X, None, None)
        live, Q = self.metric, items.held(Q)
        seen = [self._part(items, live, k, Q, *part).seen for part in following.parts(items, None)]
        return np.sum(seen, axis=0)

    @property
    def stale_(self) -> float:
        """Share of the bits, of a sample of them, that the live metric would flip."""
        items = self._items
        return max(self._stale(items.settled["anchor"], self.metric, items), 0.0) if items.n else 0.0

    def _search_radius(
        self, items: Items, Q: Any, limit: float, mask: np.ndarray | None, threads: int
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        live, Q = self.metric, items.held(Q)
        near = np.flatnonzero(np.ones(items.n, bool) if mask is None else mask)
        found = []
        for block in linalg.blocks(linalg.count(Q), 64 * len(near)):
            some = linalg.take(Q, block)
            rows, values = _live(live, items, some, np.broadcast_to(near, (linalg.count(some), len(near))), len(near))
            found += [(row[inside], value[inside]) for row, value in zip(rows, values) for inside in [limit >= value]]
        return found

    def _stale(self, anchor: Metric, live: Metric, items: Items) -> float:
        """Share of bits that differ between two metrics, of some bits of some items; −1 between equal metrics."""
        if anchor is live or np.array_equal(anchor.components, live.components):
            return -1.0
        known = self._measured.get((id(anchor), id(live)))
        if known is None or known[0] is not anchor or known[1] is not live:
            some = linalg.take(items["points"], linalg.spread(items.n, _PROBED))
            forms = [self._form(metric, some, _PROBES) for metric in (anchor, live)]
            one, two = (self._centered(seen, items.settled).hash(some) for seen in forms)
            known = anchor, live, float(np.bitwise_count(one ^ two).mean() / 8)
            self._measured = {**dict(list(self._measured.items())[-3:]), (id(anchor), id(live)): known}
        return known[2]

    def _tend(self, live: Metric) -> None:
        """Move some codes toward the live metric if they are stale, unless another thread is at work."""
        if self._lock.acquire(blocking=False):
            try:
                self._move(live, force=False)
            finally:
                self._lock.release()

    def _move(self, live: Metric, force: bool, least: int = 0) -> dict[str, int] | None:
        """One step of a move that is under way or due; what it did, None when there was nothing to do."""
        items = self._items
        if items.n == 0:
            return None
        settled, points = items.settled, items["points"]
        if settled["move"] is None:
            if not force and self._stale(settled["anchor"], live, items) <= self.tol:
                return None
            base, target = (self._encoder(metric, points, settled) for metric in (settled["base"], live))
            items = following.start(items, base, target, self.rehash_share, self.detector == "likely")
        move = items.settled["move"]
        target = self._encoder(move["target"], points, settled)
        # The further the metric has gone, the larger the steps that follow it.
        pace = min(max(self._stale(settled["anchor"], live, items) / max(self.tol, 1e-3), 1), _PACE)
        self._items, counts = following.step(items, target, int(pace * max(least or _STEP[0], items.n // _STEP[1])))
        for name, count in counts.items():
            self.stats_[name] += count
        if self._items.settled["move"] is None:
            self.stats_["moves"] += 1
            self.stats_["rehashes"] += move["levels"] is None
        return {**counts, "rehashed": int(move["levels"] is None)}

    def upkeep(self, force: bool = False) -> dict[str, int]:
        """Move all codes to the live metric if they are stale (or ``force``); queries do this piece by piece.

        Returns counts: bits ``touched`` and ``flipped``, and whether all bits were computed again (``rehashed``).
        """
        total = {"touched": 0, "flipped": 0, "rehashed": 0}
        with self._lock:
            counts = self._move(self.metric, force, _AT_ONCE)
            while counts is not None:
                total = {name: total[name] + counts[name] for name in total}
                total["rehashed"] = counts["rehashed"]
                counts = self._move(self.metric, False, _AT_ONCE) if self._items.settled["move"] else None
        return total

    def with_metric(self, metric: Metric, *, n_jobs: int | None = None) -> HashIndex:  # type: ignore[override]
        """A :class:`HashIndex` of the same items under a metric that stays as it is."""
        other = HashIndex(self.metric, self.n_bits, recall=self.recall, random_state=self.seed)
        items = following.unmoved(self._items)
        other._items = replace(items, settled={}, settled_on=0)
        return other.with_metric(metric, n_jobs=n_jobs)

    def _state(self) -> dict[str, Any]:
        names = ("n_bits", "tol", "rehash_share", "detector", "recall")
        settings = {**{name: getattr(self, name) for name in names}, "random_state": self.seed}
        return {**self._items_state(), "learner": self.learner, "settings": settings, "stats": self.stats_}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        own = cls(state["learner"], **state["settings"])
        stats = state["stats"]
        own.stats_ = {name: _checks.number(stats[name], "load", name, low=0, integer=True) for name in own.stats_}
        return own._restore(state)

    def __repr__(self) -> str:
        return f"OnlineHashIndex({len(self)} items, {self.learner!r})"


@dataclass(frozen=True, eq=False)
class _Part:
    """Candidates of all queries among the items from position ``first`` on."""

    candidates: Candidates
    asked: Asked
    whole: bool
    first: int
    near: np.ndarray
    seen: np.ndarray
    stale: float
    limits: np.ndarray

    def within(self, q: int, bound: float) -> np.ndarray:
        """Items that are plausible within a squared distance of query q, with room for what is stale."""
        wider = bound * (1 + 10 * max(self.stale, 0.0))
        return self.first + self.candidates.within(self.asked, q, wider, self.limits)


def _live(metric: Metric, items: Items, Q: Any, near: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest of each query's candidates, −1 for none, under a metric."""
    rows, points = np.repeat(np.arange(len(near)), near.shape[1]), items["points"]
    ids, D = near.ravel(), np.empty(near.size)
    for part in linalg.blocks(len(ids), 32.0 * metric.coordinates.size):
        D[part] = metric.pair_sqdist_of(linalg.take(points, ids[part]), linalg.take(Q, rows[part]))
    D = np.where(near >= 0, D.reshape(near.shape), np.inf)
    sizes = linalg.row_norms(metric.embed(Q))
    i, j = unclear(D, sizes)
    D[i, j] = listed_distances(metric, points, Q)(i, near[i, j])
    return neighbors.smallest(D, k, near)
