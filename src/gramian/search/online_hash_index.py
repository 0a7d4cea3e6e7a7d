"""A hash index whose metric is being learned (Jain 2009, §5.2)."""

import copy
from dataclasses import replace
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy import sparse

from gramian import _validate, linalg, neighbors
from gramian._settings import Count, Rule, Share, Size, Within, checked
from gramian.metrics import Metric
from gramian.online.learner import OnlineLearner
from gramian.search import codes, rehash, stored
from gramian.search.anchors import Anchors
from gramian.search.encoding import Encoder
from gramian.search.exact_strategies import listed_distances, settled, unclear
from gramian.search.hash_index import Bits, HashIndex, Recall, draw_seed, whole_bytes
from gramian.search.index import Index
from gramian.search.items import Items
from gramian.search.orders import HIGHEST_ORDERS, Lookup, Searcher, ordered
from gramian.search.teaching import Taught

SCAN_BELOW = 2048
"""Up to this many items a query compares them all: cheaper than hashing, and exact."""
AT_ONCE = 8192
"""Items that move together where nobody waits for an answer."""
MOST = 1024
"""Coordinates up to which margins are kept."""


class OnlineHashIndex(Taught, Index):
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
    recall, searcher, epsilon, n_orders
        As in :class:`HashIndex`, at the anchor. Orders and buckets are of the anchor: they are asked while codes
        move, and sorted for the new codes, one order a query, before these take over.
    random_state : int, generator or None
        Draws the hash functions.

    Attributes
    ----------
    metric_ : Metric
        The live metric.
    stats_ : dict
        Counts: ``updates``, ``queries``, ``moves`` and ``rehashes`` of the codes, bits ``touched`` and ``flipped``.

    See Also
    --------
    gramian.HashIndex : For a metric that stays.
    gramian.LEGO : The learner to begin with.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> X = np.random.default_rng(0).normal(size=(500, 4))
    >>> index = gm.OnlineHashIndex(gm.LEGO(eta=0.1), n_bits=64, random_state=0).add(X)
    >>> ids, sqdist = index.learn_one(X[0], X[1], target=0.0).query(X[:1], k=2)
    >>> ids.shape, float(sqdist[0, 0])
    ((1, 2), 0.0)
    """

    @checked
    def __init__(
        self,
        learner: Annotated[OnlineLearner, Rule("LEGO, OnlineITML or OnlinePOLA")],
        n_bits: Bits = 256,
        *,
        tol: Annotated[float, Within(0, 0.5)] = 0.03,
        rehash_share: Share = 0.4,
        detector: Literal["likely", "margin"] = "likely",
        recall: Recall = 0.99,
        searcher: Searcher = "scan",
        epsilon: Size | None = None,
        n_orders: Annotated[int, Within(1, HIGHEST_ORDERS)] | None = None,
        random_state: Any = None,
    ) -> None:
        owner = "OnlineHashIndex"
        self.learner = copy.deepcopy(learner)
        self.n_bits = whole_bytes(n_bits, owner)
        self.tol, self.rehash_share, self.detector, self.recall = tol, rehash_share, detector, recall
        self.searcher, self.epsilon, self.n_orders = searcher, epsilon, n_orders
        self.seed = self.random_state = draw_seed(random_state, owner)
        self.stats_ = dict.fromkeys(("updates", "queries", "moves", "rehashes", "touched", "flipped"), 0)
        limits = codes.angle_limits(self.n_bits, self.recall)
        self._anchors = Anchors(self.seed, self.n_bits, limits, Lookup(searcher, epsilon, n_orders))
        self._begin()

    @property
    def metric(self) -> Metric:  # type: ignore[override]  # a stored value elsewhere
        """The live metric."""
        return self.learner.metric_

    @property
    def stale_(self) -> float:
        """Share of the bits, of a sample of them, that the live metric would flip."""
        items = self._items
        return max(self._anchors.stale(items.settled["anchor"], self.metric, items), 0.0) if items.n else 0.0

    def hash(self, X: Any) -> np.ndarray:
        """Packed bits of points at the anchor, uint8 (n, n_bits / 8)."""
        items, X = self._items, self._check(X)
        if items.n == 0:
            raise ValueError(f"{self._owner}: the index is empty; add points before their bits are asked for.")
        return self._anchors.encoder(items.settled["anchor"], items["points"], items.settled).hash(items.held(X))

    @checked
    def compared(self, X: Any, k: Count = 10) -> np.ndarray:
        """Number of items that a query with each point compares at the anchor, (m,)."""
        items, Q, _, _ = self._asked(X, None, None)
        live, Q = self.metric, items.held(Q)
        seen = [self._anchors.part(items, live, k, Q, *part).seen for part in rehash.parts(items, None)]
        return np.sum(seen, axis=0)

    def upkeep(self, force: bool = False) -> dict[str, int]:
        """Move all codes to the live metric if they are stale (or ``force``); queries do this piece by piece.

        A move that is under way ends first; with ``force`` another one follows where the metric has gone on since.
        Returns counts: bits ``touched`` and ``flipped``, and whether all bits were computed again (``rehashed``).
        """
        total = {"touched": 0, "flipped": 0, "rehashed": 0}
        with self._lock:
            live = self.metric
            counts = rehash.advance(self, live, force, AT_ONCE)
            while counts is not None:
                total = {name: total[name] + counts[name] for name in total}
                total["rehashed"] = counts["rehashed"]
                settled = self._items.settled
                behind = force and self._anchors.stale(settled["anchor"], live, self._items) >= 0
                counts = rehash.advance(self, live, behind, AT_ONCE) if settled["move"] or behind else None
        return total

    def with_metric(self, metric: Metric, *, n_jobs: int | None = None) -> HashIndex:  # type: ignore[override]
        """A :class:`HashIndex` of the same items under a metric that stays as it is."""
        how = {name: getattr(self, name) for name in ("recall", "searcher", "epsilon", "n_orders")}
        other = HashIndex(self.metric, self.n_bits, random_state=self.seed, **how)
        other._items = replace(self._items.unmoved(), settled={}, settled_on=0)
        return other.with_metric(metric, n_jobs=n_jobs)

    def _check(self, X: Any, name: str = "X") -> Any:
        learner = self.learner
        stands = hasattr(learner, "progress_")
        if not stands and learner.features is None:
            return _validate.points(X, self._owner, allow_sparse=learner.rank is not None, min_points=0, name=name)
        started = learner if stands else copy.copy(learner).start()
        coordinates = started.progress_.coordinates
        X = coordinates.check(X, self._owner, name, 0)
        if sparse.issparse(X) and coordinates.whole:
            raise TypeError(f"{self._owner}: {name} must be dense, got a sparse matrix; pass {name}.toarray().")
        return X

    def _settle(self, points: Any) -> dict[str, Any]:
        if not hasattr(self.learner, "progress_"):
            self.learner.start(None if self.learner.features is not None else points.shape[1])
        encoder = Encoder.around(self._anchors.form(self.metric, points), points, centered=True)
        return rehash.settle(encoder, points, MOST)

    def _derive(self, settled: dict[str, Any], X: Any, threads: int) -> dict[str, Any]:
        anchor, base = (self._anchors.encoder(settled[name], X, settled) for name in ("anchor", "base"))
        columns = rehash.derive(settled, anchor, base, X, threads)
        lookup = self._anchors.lookup
        return columns | lookup.columns(self._owner, columns["codes"], self.seed, self.n_bits, threads)

    def _completed(self, items: Items) -> Items:
        return ordered(items, self._anchors.lookup, self._owner, self.seed, self.n_bits)

    def _search(
        self, items: Items, Q: Any, k: int, mask: np.ndarray | None, threads: int
    ) -> tuple[np.ndarray, np.ndarray]:
        live, Q = self.metric, items.held(Q)
        self.stats_["queries"] += linalg.count(Q)
        if items.n <= SCAN_BELOW:
            near = np.flatnonzero(np.ones(items.n, bool) if mask is None else mask)
            return nearest(live, items, Q, np.broadcast_to(near, (linalg.count(Q), len(near))), k)
        parts = [self._anchors.part(items, live, k, Q, *part) for part in rehash.parts(items, mask)]
        rehash.tend(self, live)
        names, values = nearest(live, items, Q, np.concatenate([part.near for part in parts], axis=1), k)
        if live.alpha > 0 and not all(part.whole for part in parts):
            for q in range(len(names)):
                bits = [part.within(q, values[q, -1]) for part in parts]
                near = np.unique(np.concatenate([names[q, names[q] >= 0], *bits]))
                names[[q]], values[[q]] = nearest(live, items, linalg.take(Q, slice(q, q + 1)), near[None], k)
        return names, values

    def _search_radius(
        self, items: Items, Q: Any, limit: float, mask: np.ndarray | None, threads: int
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        live, Q = self.metric, items.held(Q)
        near = np.flatnonzero(np.ones(items.n, bool) if mask is None else mask)
        found = []
        for block in linalg.blocks(linalg.count(Q), 64 * len(near)):
            some = linalg.take(Q, block)
            rows, values = nearest(live, items, some, np.broadcast_to(near, (linalg.count(some), len(near))), len(near))
            found += [(row[inside], value[inside]) for row, value in zip(rows, values) for inside in [limit >= value]]
        return found

    def _state(self) -> dict[str, Any]:
        return {**stored.state(self), "learner": self.learner, "settings": self._settings(), "stats": self.stats_}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        own = cls(state["learner"], **state["settings"])
        stats = state["stats"]
        own.stats_ = {name: _validate.number(stats[name], "load", name, low=0, integer=True) for name in own.stats_}
        return stored.restore(own, state)

    def __repr__(self) -> str:
        return f"OnlineHashIndex({len(self)} items, {self.learner!r})"


def nearest(metric: Metric, items: Items, Q: Any, near: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest of each query's candidates, −1 for none, under a metric."""
    rows, points = np.repeat(np.arange(len(near)), near.shape[1]), items["points"]
    ids, D = near.ravel(), np.empty(near.size)
    for part in linalg.blocks(len(ids), 32.0 * metric.coordinates.size):
        D[part] = metric.pair_sqdist_of(linalg.take(points, ids[part]), linalg.take(Q, rows[part]))
    D = np.where(near >= 0, D.reshape(near.shape), np.inf)
    sizes = linalg.row_norms(metric.embed(Q))
    i, j = unclear(D, sizes)
    D[i, j] = listed_distances(metric, points, Q)(i, near[i, j])
    return neighbors.smallest(settled(metric, D, sizes), k, near)
