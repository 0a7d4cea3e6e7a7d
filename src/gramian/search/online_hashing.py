"""A hash index whose metric is being learned (Jain 2009, §5.2)."""

import copy
from typing import Any

import numpy as np

from gramian import _checks, linalg
from gramian.metrics import Mahalanobis, Metric
from gramian.online.learner import OnlineLearner
from gramian.online.progress import Progress
from gramian.persist import Stored
from gramian.search.anchored import DETECTORS, AnchoredIndex, draw_rows
from gramian.search.base import smallest
from gramian.search.exact import difference_sqdist
from gramian.search.hashed import _draw_seed, _whole_bytes, best

SCAN_BELOW = 2048
"""Up to this many items a query compares them all: cheaper than hashing, and exact."""
_SPARE = (40, 32)
"""When a share f of the bits is stale, k(1 + 40 f) + 32 neighbors under the old metric are ranked by the live one."""


class OnlineHashIndex(Stored):
    """Nearest neighbors under M_t = G_tᵀG_t while a learner moves it (Jain 2009, §5.2).

    Items are hashed by [rᵀG_t(x − μ) ≥ 0]. Each step of the learner moves the direction Gᵀr of a bit by a_t (rᵀG_t
    v) M_t v (5.8), which is followed in O(d) a bit and touches no item. The codes stay at an anchor metric; a query
    takes candidates there and ranks them by the live metric, so distances and order are always live. Once the
    directions have turned so far that a share ``tolerance`` of all bits is expected to differ, the codes move to
    the live metric, by recomputing only the bits that may have flipped, or all of them when those are more than
    ``rehash_share``.

    Parameters
    ----------
    learner : LEGO, OnlineITML or OnlinePOLA
        Copied, with what it has learned. Dense, or with kernel ``features`` and ``alpha=0``.
    n_bits : int
        Bits, a multiple of 8.
    tolerance : float
        Expected share of stale bits at which the codes move; 0 moves them before each query.
    rehash_share : float
        Share of bits that may have flipped above which all are computed (10% in the thesis).
    detector : {"likely", "margin", "second_level"}
        How flipped bits are found. A margin is kept for each bit; "margin" looks at all that can have flipped, "likely"
        at fewer and misses about one flip in 200. "second_level" is the thesis's approximate second hash, on a random
        subset of the bits.
    recall : float
        As in :class:`HashIndex`.
    random_state : int, generator or None

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
        tolerance: float = 0.03,
        rehash_share: float = 0.4,
        detector: str = "likely",
        recall: float = 0.99,
        random_state: Any = None,
    ) -> None:
        owner = "OnlineHashIndex"
        if not isinstance(learner, OnlineLearner):
            raise TypeError(f"{owner}: learner must be LEGO, OnlineITML or OnlinePOLA, got {type(learner).__name__}.")
        if learner.rank is not None or (learner.features is not None and learner.alpha != 0):
            raise ValueError(f"{owner}: learner must be dense, or have features with alpha=0, got {learner!r}.")
        self.learner = copy.deepcopy(learner)
        self.n_bits = _whole_bytes(n_bits, owner)
        self.tolerance = _checks.number(tolerance, owner, "tolerance", low=0, high=0.5)
        self.rehash_share = _checks.number(rehash_share, owner, "rehash_share", low=0, high=1)
        self.detector = _checks.one_of(detector, owner, "detector", DETECTORS)
        self.recall = _checks.number(recall, owner, "recall", low=0, high=1 - 1e-12, open_low=True)
        self.seed = _draw_seed(random_state, owner)
        self.stats_ = dict.fromkeys(("updates", "queries", "moves", "rehashes", "touched", "flipped"), 0)
        self._index: AnchoredIndex | None = None
        if hasattr(self.learner, "progress_"):
            self._begin()

    def _begin(self) -> None:
        """Draw the directions once the number of coordinates is known."""
        core = self._core()
        self._rows = draw_rows(self.seed, core.coordinates.size, self.n_bits) @ core.components
        settings = {"n_bits": self.n_bits, "recall": self.recall, "random_state": self.seed}
        self._index = AnchoredIndex(core, self._rows, self.detector, **settings)
        self._moved = False

    def _core(self) -> Mahalanobis:
        """The live metric on coordinates."""
        progress = self.learner.progress_
        return progress.rule.metric(progress.state)

    def _started(self, X: Any = None) -> AnchoredIndex:
        if self._index is None:
            if X is None and self.learner.features is None:
                raise ValueError("OnlineHashIndex: the index is empty; add points or learn before a query.")
            self.learner.start(None if self.learner.features is not None else X.shape[1])
            self._begin()
        assert self._index is not None
        return self._index

    def _encode(self, X: Any, min_points: int = 0) -> np.ndarray:
        """Coordinates of points, validated."""
        if self.learner.features is not None:
            return self.learner.features.transform(X)
        d = self._index.metric.coordinates.size if self._index is not None else None
        return _checks.points(X, "OnlineHashIndex", n_features=d, allow_sparse=False, min_points=min_points)

    @property
    def metric_(self) -> Metric:
        """The metric after all constraints so far."""
        return self.learner.metric_

    @property
    def ids(self) -> np.ndarray:
        """Ids of the items, ascending."""
        return np.zeros(0, np.int64) if self._index is None else self._index.ids

    def __len__(self) -> int:
        """Number of items."""
        return 0 if self._index is None else len(self._index)

    def add(self, X: Any, ids: Any = None) -> "OnlineHashIndex":
        """Add points; ids default to the numbers after the largest id ever used."""
        Z = self._encode(X)
        self._started(Z).add(Z, ids)
        return self

    def remove(self, ids: Any) -> "OnlineHashIndex":
        """Remove items by id; unknown or repeated ids raise and nothing changes."""
        self._started().remove(ids)
        return self

    def hash(self, X: Any) -> np.ndarray:
        """Packed bits of points as the items are hashed now, uint8 (n, n_bits / 8)."""
        return self._started().hash(self._encode(X))

    def learn_one(self, u: Any, v: Any, target: float, kind: str = "equal") -> "OnlineHashIndex":
        """Learn from one pair, as the learner's ``learn_one``."""
        rows = self._followers()
        self._moved_to(self.learner._one(u, v, target, kind, rows), rows)
        return self

    def partial_fit(self, X: Any, y: Any) -> "OnlineHashIndex":
        """Learn from the pairs of a :class:`~gramian.Pairs`, or of labels, as the learner's ``partial_fit``."""
        learner = copy.copy(self.learner)
        learner.partial_fit(X, y)
        self._moved_to(learner.progress_, None)
        return self

    def _followers(self) -> np.ndarray | None:
        """Directions for the next step to carry along, a copy so that an error leaves them as they are."""
        progress = getattr(self.learner, "progress_", None)
        follows = progress is not None and progress.rule.follows(progress.state)
        return self._rows.copy() if follows and self._index is not None else None

    def _moved_to(self, progress: Progress, rows: np.ndarray | None) -> None:
        first = self._index is None
        self.stats_["updates"] += progress.n_seen - (0 if first else self.learner.n_seen_)
        self.learner._stand(progress)
        if first:
            return self._begin()
        if rows is None:
            core = self._core()
            rows = draw_rows(self.seed, core.coordinates.size, self.n_bits) @ core.components
        self._rows, self._moved = rows, True
        return None

    def query(self, X: Any, k: int = 10) -> tuple[np.ndarray, np.ndarray]:
        """Ids and squared distances (m, min(k, n)) of the nearest items under the live metric, ties by id."""
        k = _checks.number(k, "OnlineHashIndex", "k", low=1, integer=True)
        index = self._started()
        Q = self._encode(X)
        if len(index) == 0:
            raise ValueError("OnlineHashIndex: the index is empty; add points before a query.")
        k = min(k, len(index))
        self.stats_["queries"] += len(Q)
        if len(Q) == 0:
            return np.zeros((0, k), np.int64), np.zeros((0, k))
        rows, sqdist = self._scan(Q, k) if len(index) <= SCAN_BELOW else self._search(Q, k)
        return index._rows("ids")[rows], sqdist

    def _scan(self, Q: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        points, core = self._started()._rows("points"), self._core()
        n = len(points)
        D = [
            difference_sqdist(core, np.repeat(Q[block], n, axis=0), np.tile(points, (len(Q[block]), 1))).reshape(-1, n)
            for block in linalg.blocks(len(Q), 32 * n * points.shape[1])
        ]
        return smallest(np.concatenate(D), k)

    def _search(self, Q: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        self.upkeep()
        index, core = self._started(), self._core()
        wide = min(int(k * (1 + _SPARE[0] * self._stale)) + _SPARE[1], len(index)) if self._moved else k
        near, _, _ = index._candidates(Q, wide)
        pairs = np.repeat(Q, near.shape[1], axis=0), index._rows("points")[near.ravel()]
        values = difference_sqdist(core, *pairs).reshape(near.shape)
        return best(near, values, k)

    def upkeep(self, force: bool = False) -> dict[str, int]:
        """Move the codes to the live metric if they are stale (or ``force``); queries do this by themselves."""
        index = self._started()
        self._stale = index.flip_share(self._rows) if self._moved else 0.0
        if not self._moved or not (force or self._stale > self.tolerance):
            return {"touched": 0, "flipped": 0, "rehashed": 0}
        counts = index.move(self._core(), self._rows, self.rehash_share)
        self._moved, self._stale = False, 0.0
        self.stats_["moves"] += 1
        self.stats_["rehashes"] += counts["rehashed"]
        for name in ("touched", "flipped"):
            self.stats_[name] += int(counts[name])
        return counts

    def _state(self) -> dict[str, Any]:
        names = ("n_bits", "tolerance", "rehash_share", "detector", "recall")
        settings = {**{name: getattr(self, name) for name in names}, "random_state": self.seed}
        state = {"learner": self.learner, "settings": settings, "stats": self.stats_, "index": None}
        if self._index is not None:
            state.update(index=self._index._state(), rows=self._rows, moved=self._moved)
        return state

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "OnlineHashIndex":
        own = cls(state["learner"], **state["settings"])
        own.stats_ = state["stats"]
        if state["index"] is not None:
            own._index = AnchoredIndex._from_state(state["index"])
            own._rows, own._moved = state["rows"], state["moved"]
        return own

    def __repr__(self) -> str:
        return f"OnlineHashIndex({len(self)} items, {self.learner!r})"
