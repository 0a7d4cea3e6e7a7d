"""Hashed search whose hash functions carry the metric: the explicit form (Jain 2009, §4.1.1 and §4.2)."""

from functools import cached_property
from typing import Any

import numpy as np

from gramian import _checks, linalg
from gramian.metrics import Mahalanobis, Metric
from gramian.search import codes
from gramian.search.base import Index
from gramian.search.columns import TILE, Tiles
from gramian.search.exact import difference_sqdist
from gramian.search.orders import MOST_ORDERS, SortedOrders, n_candidates

SPARE = 8
"""Neighbors kept beyond k until their distances are computed from the differences, against ties of rounding."""


class HashIndex(Index):
    """Bits h_r(x) = [rᵀG(x − μ) ≥ 0] with r ~ N(0, I) and G = M^{1/2} (Jain 2009, (4.3)), then exact ranking.

    Two items collide in a bit with probability 1 − θ/π, θ the angle of G(x − μ) and G(y − μ). G is the symmetric root:
    it changes with M continuously, while another factor carries a rotation that would scramble every bit.
    Ranking needs one dot product per candidate, d² = |x|²_M + |q|²_M − 2 xᵀ(Mq), whatever the metric.

    ``mode="distance"`` centers on the mean μ of the items and answers in squared distances d²_M.
    ``mode="similarity"`` does not center and answers for the vectors Gx/|Gx|, sqdist = 2 − 2 cos_M(q, x): the thesis's
    setting, in which similar means a large normalized kernel value.

    ``searcher="scan"`` passes over all codes and compares an item at Hamming distance h exactly unless h would be
    improbable for any point as close as the k-th best so far. Every true neighbor is compared
    with probability at least ``recall`` over the draw of r, on any data; the work adapts. With ``epsilon`` given,
    the M = 2 n^{1/(1+ε)} nearest codes are compared instead, without that guarantee.
    ``searcher="orders"`` is the thesis's search: l permuted, sorted key orders and M candidates from them, for
    a (1+ε)-approximate nearest neighbor in sublinear time.

    Parameters
    ----------
    metric : Mahalanobis
    n_bits : int
        Bits b, a multiple of 8.
    mode : {"distance", "similarity"}
    searcher : {"scan", "orders"}
    recall : float
        Probability with which each true neighbor is compared; for the scan without ``epsilon``.
    epsilon : float, optional
        ε of the candidate number M; 1.5 for the orders when None.
    n_orders : int, optional
        l; M/2 but at most 32 when None.
    random_state : int, generator or None
        Seed of r.

    Notes
    -----
    μ is computed again, and the items hashed again, whenever the index has doubled since; this costs a constant
    factor over one pass and keeps the angles informative, and no guarantee rests on it. float32 items stay float32.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> X = np.random.default_rng(0).normal(size=(1000, 8))
    >>> index = gm.HashIndex(gm.Mahalanobis.from_matrix(np.diag(np.arange(8.0))), random_state=0).add(X)
    >>> ids, sqdist = index.query(X[:3], k=2)
    >>> ids[:, 0].tolist(), sqdist[:, 0].tolist()
    ([0, 1, 2], [0.0, 0.0, 0.0])
    >>> index.hash(X[:3]).shape
    (3, 32)
    """

    def __init__(
        self,
        metric: Metric,
        n_bits: int = 256,
        *,
        mode: str = "distance",
        searcher: str = "scan",
        recall: float = 0.99,
        epsilon: float | None = None,
        n_orders: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(metric)
        if not isinstance(metric, Mahalanobis):
            raise TypeError(
                f"HashIndex: metric must be a Mahalanobis, got {type(metric).__name__}; use KernelHashIndex for it."
            )
        self.n_bits = hash_bits(n_bits, "HashIndex")
        self.mode = _checks.one_of(mode, "HashIndex", "mode", ("distance", "similarity"))
        self.searcher = _checks.one_of(searcher, "HashIndex", "searcher", ("scan", "orders"))
        self.recall = _checks.number(recall, "HashIndex", "recall", low=0, high=1 - 1e-12, open_low=True)
        self.epsilon = None if epsilon is None else _checks.number(epsilon, "HashIndex", "epsilon", low=0)
        low = {"low": 1, "integer": True}
        self.n_orders = None if n_orders is None else _checks.number(n_orders, "HashIndex", "n_orders", **low)
        self.seed = draw_seed(random_state)
        self.center = np.zeros(metric.n_features)
        self._centered_on = 0

    @cached_property
    def projection(self) -> np.ndarray:
        """Gr, (d, n_bits): the sign of (x − μ)ᵀGr is the hash of x."""
        return self.metric.root @ codes.directions(self.seed, np.arange(self.metric.n_features), self.n_bits)

    @cached_property
    def _limits(self) -> np.ndarray:
        return codes.angle_limits(self.n_bits, self.recall)

    def _check(self, X: Any, name: str = "X") -> Any:
        d = self.metric.n_features
        return _checks.points(X, "HashIndex", n_features=d, min_points=0, allow_sparse=False, name=name)

    def hash(self, X: Any) -> np.ndarray:
        """Packed bits of points, uint8 (n, n_bits / 8), lowest bit first."""
        return self._hash(self._check(X))[0]

    def _hash(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Codes and squared norms |G(x − μ)|² from one matrix product per block."""
        dtype, b = X.dtype, self.n_bits
        factors = np.hstack([self.projection, self.metric.components.T]).astype(dtype)
        center = self.center.astype(dtype)
        packed, sqnorms = np.empty((len(X), b // 8), np.uint8), np.empty(len(X))
        for block in linalg.blocks(len(X), factors.itemsize * factors.shape[1], 16 << 20):
            P = (X[block] - center) @ factors
            packed[block] = codes.pack(P[:, :b])
            sqnorms[block] = linalg.row_norms(P[:, b:])
        return packed, sqnorms

    def _derive(self, X: np.ndarray) -> dict[str, Any]:
        packed, sqnorms = self._hash(X)
        return {"codes": Tiles.empty(-(-self.n_bits // 64)).append(codes.words(packed)), "sqnorms": sqnorms}

    def _grow(self, new: dict[str, Any]) -> None:
        n, old = len(self) + len(new["ids"]), self._columns
        if self.mode == "similarity" or n < 2 * self._centered_on:
            return super()._grow(new)
        points = old["points"].append(new["points"]).rows if old else new["points"]
        self.center = points.mean(axis=0, dtype=np.float64)
        self._centered_on = n
        if old:
            self._rederive()
        return super()._grow(new)

    def _search(self, Q: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        rows, sqdist = np.empty((len(Q), k), np.int64), np.empty((len(Q), k))
        for block in linalg.blocks(len(Q), 32 * (k + SPARE) * Q.shape[1]):
            near, _ = self._candidates(Q[block], k)
            values = self._exact(Q[block], near)
            order = np.lexsort((near, values))[:, :k]
            rows[block] = np.take_along_axis(near, order, axis=1)
            sqdist[block] = np.take_along_axis(values, order, axis=1)
        return rows, sqdist

    def _exact(self, Q: np.ndarray, near: np.ndarray) -> np.ndarray:
        """Squared distances of each query to the items in its row."""
        points, m = self._rows("points")[near.ravel()], near.shape[1]
        if self.mode == "distance":
            return difference_sqdist(self.metric, np.repeat(Q, m, axis=0), points).reshape(near.shape)
        unit = [_unit(self.metric._embed(part.astype(np.float64))) for part in (Q, points)]
        return 2 - 2 * np.einsum("qd,qkd->qk", unit[0], unit[1].reshape(*near.shape, -1))

    def _candidates(self, Q: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the k + SPARE best candidates by ranking distance, and how many were compared."""
        from gramian._jit import hashing

        n = len(self)
        packed = self._hash(Q.astype(self._rows("points").dtype, copy=False))[0]
        V = Q.astype(np.float64) - self.center
        W = V @ self.metric.matrix
        qnorms = np.maximum(np.einsum("ij,ij->i", V, W), 0)
        unit = self.mode == "similarity"
        if unit:
            W = np.divide(W, np.sqrt(qnorms)[:, None], out=np.zeros_like(W), where=qnorms[:, None] > 0)
            qnorms = np.ones(len(Q))
        keep = min(k + SPARE, n)
        rows, values = np.zeros((len(Q), keep), np.int64), np.full((len(Q), keep), np.inf)
        seen = np.zeros(len(Q), np.int64)
        points, sqnorms = self._rows("points"), self._rows("sqnorms")
        if self.searcher == "orders":
            budget = max(n_candidates(n, 1.5 if self.epsilon is None else self.epsilon), keep)
            orders = self._orders(n)
            orders.search(packed, min(budget, n), points, self.center, sqnorms, W, qnorms, unit, rows, values, seen)
            return rows, seen
        budget = 0 if self.epsilon is None else min(max(n_candidates(n, self.epsilon), keep), n)
        scanned = (
            self._columns["codes"].tiles,
            n,
            codes.words(packed),
            points,
            self.center,
            sqnorms,
            self._norm_ranges,
        )
        hashing.scan(*scanned, W, qnorms, unit, self._limits, self.n_bits, budget, k, rows, values, seen)
        return rows, seen

    @property
    def _norm_ranges(self) -> np.ndarray:
        """Smallest and largest norm |G(x − μ)| in each tile of codes, (n_tiles, 2)."""
        if "norms" not in self._cache:
            norms = np.sqrt(self._rows("sqnorms")) if self.mode == "distance" else np.ones(len(self))
            starts = np.arange(0, len(self), TILE)
            ends = (np.minimum.reduceat(norms, starts), np.maximum.reduceat(norms, starts))
            self._cache["norms"] = np.column_stack(ends)
        return self._cache["norms"]

    def _orders(self, n: int) -> SortedOrders:
        if "orders" not in self._cache:
            l = self.n_orders or min(n_candidates(n, 1.5 if self.epsilon is None else self.epsilon) // 2, MOST_ORDERS)
            packed = self._rows("codes").view(np.uint8)
            self._cache["orders"] = SortedOrders(packed, self.n_bits, max(l, 1), self.seed)
        return self._cache["orders"]

    def compared(self, X: Any, k: int = 10) -> np.ndarray:
        """Number of items that a query with each point compares exactly, (m,)."""
        k = min(_checks.number(k, "HashIndex", "k", low=1, integer=True), len(self))
        return self._candidates(self._check(X), k)[1]

    def _like(self, metric: Metric) -> "HashIndex":
        other = type(self)(metric, **self._settings())
        other.center, other._centered_on = self.center, self._centered_on
        return other

    def _settings(self) -> dict[str, Any]:
        names = ("n_bits", "mode", "searcher", "recall", "epsilon", "n_orders")
        return {**{name: getattr(self, name) for name in names}, "random_state": self.seed}

    def _state(self) -> dict[str, Any]:
        state = {"settings": self._settings(), "center": self.center, "centered_on": self._centered_on}
        return {**super()._state(), **state}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "HashIndex":
        index = cls(state["metric"], **state["settings"])
        index.center, index._centered_on = state["center"], state["centered_on"]
        return index._restore(state)  # type: ignore[return-value]


def hash_bits(n_bits: Any, owner: str) -> int:
    """A number of bits that packs into bytes."""
    n_bits = _checks.number(n_bits, owner, "n_bits", low=8, high=32768, integer=True)
    if n_bits % 8:
        raise ValueError(f"{owner}: n_bits must be a multiple of 8, got {n_bits}.")
    return n_bits


def draw_seed(random_state: Any) -> int:
    """A stored integer seed, so that an index hashes alike wherever it is loaded."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return _checks.number(random_state, "HashIndex", "random_state", low=0, high=2**63 - 1, integer=True)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    return int(np.random.default_rng(random_state).integers(2**63))


def _unit(Z: np.ndarray) -> np.ndarray:
    norms = np.sqrt(linalg.row_norms(Z))[:, None]
    return np.divide(Z, norms, out=np.zeros_like(Z), where=norms > 0)
