"""Hashed search whose hash functions carry the metric: the explicit form (Jain 2009, §4.1.1 and §4.2)."""

from functools import cached_property
from typing import Any

import numpy as np

from gramian import _checks, linalg
from gramian.metrics import Mahalanobis, Metric
from gramian.search import codes
from gramian.search.hashed import SPARE, HashedIndex, best


class HashIndex(HashedIndex):
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

    metric: Any

    def __init__(self, metric: Metric, n_bits: int = 256, random_state: Any = None, **settings: Any) -> None:
        super().__init__(metric, n_bits, random_state=random_state, **settings)
        if not isinstance(metric, Mahalanobis):
            raise TypeError(
                f"HashIndex: metric must be a Mahalanobis, got {type(metric).__name__}; use KernelHashIndex for it."
            )
        self.center = np.zeros(metric.coordinates.size)

    @cached_property
    def projection(self) -> np.ndarray:
        """Gr, (d, n_bits): the sign of (x − μ)ᵀGr is the hash of x."""
        return self.metric.root @ codes.directions(self.seed, np.arange(self.metric.coordinates.size), self.n_bits)

    def _check(self, X: Any, name: str = "X") -> Any:
        d = self.metric.coordinates.size
        return _checks.points(X, "HashIndex", n_features=d, min_points=0, allow_sparse=False, name=name)

    def _recenter(self, X: np.ndarray) -> None:
        self.center = X.mean(axis=0, dtype=np.float64)

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

    def _search(self, Q: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        near, ranked, _ = self._candidates(Q, k)
        if self.mode == "similarity":
            return best(near, self._unit_sqdist(Q, near), k)
        from gramian._jit.ranking import refine

        points = self._rows("points")
        L = np.ascontiguousarray(self.metric.components, dtype=points.dtype)
        rows, sqdist = np.empty((len(Q), k), np.int64), np.empty((len(Q), k))
        rounding = 64 * np.finfo(points.dtype).eps
        refine(points, Q.astype(np.float64), L, self._rows("sqnorms"), rounding, near, ranked, rows, sqdist)
        return rows, sqdist

    def _unit_sqdist(self, Q: np.ndarray, near: np.ndarray) -> np.ndarray:
        """|u − v|² = 2 − 2 cos_M of each query to the items in its row, u and v the normalized images."""
        unit = [_unit(self.metric.embed(part.astype(np.float64))) for part in (Q, self._rows("points")[near.ravel()])]
        return 2 - 2 * np.einsum("qd,qkd->qk", unit[0], unit[1].reshape(*near.shape, -1))

    def _candidates(self, Q: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions of the k + SPARE best candidates with their ranking distances, and how many were compared."""
        from gramian._jit.orders import walk_all
        from gramian._jit.scan import scan

        n, m, unit = len(self), len(Q), self.mode == "similarity"
        points, sqnorms = self._rows("points"), self._rows("sqnorms")
        queries, _ = self._hash(Q.astype(points.dtype, copy=False))
        W, qnorms = self._query_weights(Q, unit)
        keep = min(k + SPARE, n)
        budget = self._budget and min(max(self._budget, keep), n)
        ranking = (points, self.center, sqnorms, W, qnorms, unit)
        found = np.zeros((m, keep), np.int64), np.full((m, keep), np.inf), np.zeros(m, np.int64)
        if self.searcher == "orders":
            orders = self._orders
            walk_all(orders.sorted, orders.items, orders.keys(queries), budget, *ranking, *found)
        else:
            tiles, limits = self._columns["codes"].tiles, (self._norm_classes, self._limits)
            scan(tiles, n, codes.words(queries), *ranking, *limits, budget, k, *found)
        return found

    def _query_weights(self, Q: np.ndarray, unit: bool) -> tuple[np.ndarray, np.ndarray]:
        """Mq and |q|²_M of the centered queries, or of the normalized ones."""
        V = Q.astype(np.float64) - self.center
        W = V @ self.metric.matrix
        qnorms = np.maximum(np.einsum("ij,ij->i", V, W), 0)
        if not unit:
            return W, qnorms
        W = np.divide(W, np.sqrt(qnorms)[:, None], out=np.zeros_like(W), where=qnorms[:, None] > 0)
        return W, np.ones(len(Q))

    def _like(self, metric: Metric) -> "HashIndex":
        other = type(self)(metric, **self._settings())
        other.center, other._centered_on = self.center, self._centered_on
        return other

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "center": self.center}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "HashIndex":
        index = cls(state["metric"], **state["settings"])
        index.center, index._centered_on = state["center"], state["centered_on"]
        return index._restore(state)


def _unit(Z: np.ndarray) -> np.ndarray:
    norms = np.sqrt(linalg.row_norms(Z))[:, None]
    return np.divide(Z, norms, out=np.zeros_like(Z), where=norms > 0)
