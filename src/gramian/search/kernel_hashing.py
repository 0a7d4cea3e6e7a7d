"""Hashed search under kernel metrics and high-dimensional linear metrics: the implicit form (Jain 2009, §4.1.2)."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from gramian import _checks
from gramian.kernels.base import _length, take
from gramian.metrics import KernelMetric, Metric, SubspaceMahalanobis
from gramian.search import codes
from gramian.search.columns import TILE
from gramian.search.forms import ImplicitForm
from gramian.search.hashed import SPARE, HashedIndex
from gramian.search.implicit import mean_row


class KernelHashIndex(HashedIndex):
    """Bits [rᵀφ(x) + Σ_i γ_i k(x_i, x) ≥ t] of a metric in feature space (Jain 2009, (4.4)), then exact ranking.

    The left side is rᵀW^{1/2}φ(x), computed from the sparse φ(x) and the c basis points alone: r is drawn for the
    non-zero features on demand, a function of (seed, feature, bit), and never stored. The threshold t is its value
    at the mean of the items in distance mode, zero in similarity mode. Bits and guarantees are those of
    :class:`HashIndex`, and with a linear kernel and the same seed so are the bits themselves.

    φ is known for :class:`SubspaceMahalanobis` and for kernels with an explicit map: ``Linear``, ``Cosine``,
    ``PyramidMatch``, and scalar multiples. For any other kernel r is drawn on the coordinates M^{1/2}z(x)
    of the basis: points are told apart by their part inside the span of the basis, and candidates are still
    ranked by the whole metric. The recall guarantee holds there too, because that part never exceeds the
    distance.

    Parameters
    ----------
    metric : KernelMetric or SubspaceMahalanobis
    n_bits : int
    mode, searcher, recall, epsilon, n_orders, random_state
        As in :class:`HashIndex`.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> from scipy import sparse
    >>> X = sparse.random_array((500, 10000), density=0.002, rng=np.random.default_rng(0), format="csr")
    >>> features = gm.KernelFeatures(gm.Linear(), basis=X[:20]).fit(X)
    >>> metric = gm.KernelMetric(features, np.diag(np.linspace(1, 2, features.map_.shape[0])), alpha=1.0)
    >>> ids, sqdist = gm.KernelHashIndex(metric, random_state=0).add(X).query(X[:3], k=2)
    >>> ids[:, 0].tolist(), sqdist[:, 0].tolist()
    ([0, 1, 2], [0.0, 0.0, 0.0])
    """

    def __init__(self, metric: Metric, n_bits: int = 256, random_state: Any = None, **settings: Any) -> None:
        super().__init__(metric, n_bits, random_state=random_state, **settings)
        if not isinstance(metric, KernelMetric | SubspaceMahalanobis):
            raise TypeError(
                f"KernelHashIndex: metric must be a KernelMetric or SubspaceMahalanobis, got {type(metric).__name__}; "
                "use HashIndex for a Mahalanobis."
            )
        if self.mode == "similarity" and isinstance(metric, KernelMetric):
            if metric.features.mean_.any():
                raise ValueError("KernelHashIndex: mode must be 'distance' when the features are centered.")
            if metric.alpha > 0 and not self.form.explicit:
                raise ValueError("KernelHashIndex: mode must be 'distance' for a kernel without φ and alpha > 0.")
        self._center: tuple[Any, np.ndarray] | None = None

    @cached_property
    def form(self) -> ImplicitForm:
        """The metric as hashing sees it."""
        return ImplicitForm(self.metric, self.seed, self.n_bits)

    def _check(self, X: Any, name: str = "X") -> Any:
        if isinstance(self.metric, KernelMetric) and not self.form.kernel.on_vectors:
            return self.form.kernel.check(X, name)
        d = self.metric.n_features
        X = _checks.points(X, "KernelHashIndex", n_features=d, min_points=0, name=name)
        return X.astype(np.float64, copy=False)

    def _recenter(self, X: Any) -> None:
        phi, Z = self.form.phi(X), self.form.coordinates(X)
        self._center = (None if phi is None else mean_row(phi), Z.mean(axis=0))

    def _parts(self, X: Any) -> tuple[Any, np.ndarray]:
        return self.form.phi(X), self.form.coordinates(X)

    def _hash(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        phi, Z = self._parts(X)
        P, sqnorms = self.form.projections(phi, Z), self.form.norms(phi, Z)
        if self._center is not None:
            mean, z = self._center
            P -= self.form.projections(mean, z[None, :])
            sqnorms = sqnorms - 2 * self.form.products(phi, Z, mean, z) + self.form.norms(mean, z[None, :])[0]
        return codes.pack(P), np.maximum(sqnorms, 0)

    def _derive(self, X: Any) -> dict[str, Any]:
        phi, Z = self._parts(X)
        derived = {**super()._derive(X), "coordinates": Z, "selves": self.form.norms(phi, Z)}
        return {**derived, "phi": phi} if self.form.own_phi else derived

    def _search(self, Q: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        near, values, _ = self._candidates(Q, k)
        if self.mode == "distance":
            for i, rows in enumerate(near):
                values[i] = self.form.sqdist(take(self._rows("points"), rows), take(Q, slice(i, i + 1)))
        order = np.lexsort((near, values))[:, :k]
        return np.take_along_axis(near, order, axis=1), np.take_along_axis(values, order, axis=1)

    def _candidates(self, Q: Any, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions of the k + SPARE best candidates with their ranking distances, and how many were compared."""
        m, keep = _length(Q), min(k + SPARE, len(self))
        rows, values, seen = np.zeros((m, keep), np.int64), np.empty((m, keep)), np.zeros(m, np.int64)
        packed, sqnorms = self._hash(Q)
        pick = self._walk(packed, keep) if self.searcher == "orders" else self._scan(packed, sqnorms, k)
        phi, Z = self._parts(Q)
        for i in range(m):
            one = slice(i, i + 1)
            near, d = pick(i, self._ranking(take(Q, one), None if phi is None else phi[one], Z[one]))
            best = np.lexsort((near, d))[:keep]
            rows[i], values[i], seen[i] = near[best], d[best], len(near)
        return rows, values, seen

    def _ranking(self, q: Any, phi: Any, z: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Function rows → ranking distance of these items to q, with its φ and coordinates."""
        if not self.form.explicit and self.metric.alpha > 0:
            return lambda rows: self.form.sqdist(take(self._rows("points"), rows), q)
        own = self.form.norms(phi, z)[0]
        features = None if phi is None else self._rows("phi" if self.form.own_phi else "points")

        def ranking(rows: np.ndarray) -> np.ndarray:
            part = None if features is None else features[rows]
            dot, norms = (
                self.form.products(part, self._rows("coordinates")[rows], phi, z[0]),
                self._rows("selves")[rows],
            )
            if self.mode == "distance":
                return np.maximum(norms + own - 2 * dot, 0)
            size = np.sqrt(norms * own)
            return 2 - 2 * np.divide(dot, size, out=np.zeros_like(dot), where=size > 0)

        return ranking

    def _scan(self, packed: np.ndarray, sqnorms: np.ndarray, k: int) -> Callable:
        """Candidates of query i from the scan: the nearest codes, then all that are plausible, or a fixed number."""
        from gramian._jit.hashing import hamming_tiles, nearest_codes, nearest_first, plausible_rest

        n, tiles, queries = len(self), self._columns["codes"].tiles, codes.words(packed)
        h, least = np.empty((1, len(tiles) * TILE), np.uint16), np.empty((1, len(tiles)), np.uint16)
        unit = self.mode == "similarity"
        norms = np.ones(n) if unit else self._rows("sqnorms")
        budget, chosen = min(self._budget and max(self._budget, k + SPARE), n), np.empty(n + TILE, np.int64)

        def pick(i: int, ranking: Callable) -> tuple[np.ndarray, np.ndarray]:
            hamming_tiles(tiles, n, queries[i : i + 1], h, least)
            if budget:
                nearest_codes(h[0], n, self.n_bits, budget, chosen)
                return chosen[:budget].copy(), ranking(chosen[:budget])
            count, reach = nearest_first(h[0], least[0], 2 * k + SPARE, self.n_bits, chosen)
            first = chosen[:count].copy()
            d = ranking(first)
            size, bound = 1.0 if unit else sqnorms[i], np.partition(d, k - 1)[k - 1]
            plausible = (h[0], least[0], reach, norms, self._norm_ranges, size, bound, self._limits, chosen)
            rest = chosen[: plausible_rest(*plausible)].copy()
            return (np.concatenate([first, rest]), np.concatenate([d, ranking(rest)])) if len(rest) else (first, d)

        return pick

    def _walk(self, packed: np.ndarray, keep: int) -> Callable:
        """Candidates of query i from the sorted orders."""
        from gramian._jit.hashing import walk

        n, orders = len(self), self._orders
        queries, budget = orders.keys(packed), min(max(self._budget, keep), n)
        stamp, chosen = np.full(n, -1, np.int64), np.empty(n, np.int64)

        def pick(i: int, ranking: Callable) -> tuple[np.ndarray, np.ndarray]:
            near = chosen[: walk(orders.sorted, orders.items, queries[i], budget, stamp, i, chosen)].copy()
            return near, ranking(near)

        return pick

    def _like(self, metric: Metric) -> "KernelHashIndex":
        return type(self)(metric, **self._settings())

    def _rederive(self) -> None:
        if self._center is None and self.mode == "distance":
            self._recenter(self._rows("points"))
            self._centered_on = len(self)
        super()._rederive()

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "center": self._center}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "KernelHashIndex":
        index = cls(state["metric"], **state["settings"])
        index._center = None if state["center"] is None else tuple(state["center"])
        index._centered_on = state["centered_on"]
        return index._restore(state)  # type: ignore[return-value]
