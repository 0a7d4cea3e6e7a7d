"""Hashed search under kernel metrics and high-dimensional linear metrics: the implicit form (Jain 2009, §4.1.2)."""

from functools import cached_property
from typing import Any

import numpy as np

from gramian import _checks, linalg
from gramian.kernels.base import _length, take
from gramian.metrics import KernelMetric, Metric, SubspaceMahalanobis
from gramian.search import codes
from gramian.search.columns import TILE
from gramian.search.forms import ImplicitForm
from gramian.search.hashed import SPARE, HashedIndex, best
from gramian.search.implicit import mean_row
from gramian.search.paired import PairedDistances


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
        self._offsets: tuple[np.ndarray, np.ndarray] | None = None

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
        phi, Z = self._parts(X)
        self._center, self._offsets = (None if phi is None else mean_row(phi), Z.mean(axis=0)), None

    def _parts(self, X: Any) -> tuple[Any, np.ndarray]:
        return self.form.phi(X), self.form.coordinates(X)

    def _hash(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        return self._hash_parts(*self._parts(X))

    def _hash_parts(self, phi: Any, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        P, sqnorms = self.form.projections(phi, Z), self.form.norms(phi, Z)
        if self._center is not None:
            mean, z = self._center
            if self._offsets is None:  # the mean has many non-zero features
                self._offsets = self.form.projections(mean, z[None, :]), self.form.norms(mean, z[None, :])
            P -= self._offsets[0]
            sqnorms = sqnorms - 2 * self.form.products(phi, Z, mean, z) + self._offsets[1]
        return codes.pack(P), np.maximum(sqnorms, 0)

    def _derive(self, X: Any) -> dict[str, Any]:
        phi, Z = self._parts(X)
        derived = {**super()._derive(X), "coordinates": Z, "selves": self.form.selves(X, phi, Z)}
        return {**derived, "phi": phi} if self.form.own_phi else derived

    def _search(self, Q: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        near, values, _ = self._candidates(Q, k)
        if self.mode == "distance":
            items, owners = near.ravel(), np.repeat(np.arange(len(near)), near.shape[1])
            phi = self._rows("phi")[items] if self.form.own_phi else None
            pairs = take(self._rows("points"), items), take(Q, owners)
            values = self.form.pair_sqdist(*pairs, phi).reshape(near.shape)
        return best(near, values, k)

    def _candidates(self, Q: Any, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions of the k + SPARE best candidates with their ranking distances, and how many were compared."""
        m, slots = _length(Q), len(self._columns["codes"].tiles) * TILE
        found = [self._block(take(Q, block), k) for block in linalg.blocks(m, 2 * slots, 16 << 20)]
        rows, values, seen = zip(*found)
        return np.concatenate(rows), np.concatenate(values), np.concatenate(seen)

    def _block(self, Q: Any, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Candidates of queries whose Hamming distances fit in memory together."""
        from gramian._jit.candidates import first_candidates, keep_best, plausible_candidates, walked_candidates

        n, m, keep = len(self), _length(Q), min(k + SPARE, len(self))
        phi, Z = self._parts(Q)
        packed, qnorms = self._hash_parts(phi, Z)
        ranked = PairedDistances(self.form, self._rows, Q, phi, Z, self.mode == "similarity")
        rows, values = np.zeros((m, keep), np.int64), np.full((m, keep), np.inf)
        budget = self._budget and min(max(self._budget, keep), n)
        if self.searcher == "orders":
            orders = self._orders
            items, starts = walked_candidates(orders.sorted, orders.items, orders.keys(packed), budget)
        else:
            scanned = self._scanned(packed)
            items, starts, levels = first_candidates(*scanned, 4 * (k + keep), budget, self.n_bits)
        keep_best(items, ranked(items, starts), starts, rows, values, 0)
        seen = np.diff(starts)
        if not budget:
            norms = self._rows("sqnorms"), ranked.unit, np.ones(m) if ranked.unit else qnorms
            bounds = values[:, k - 1].copy()
            items, starts = plausible_candidates(*scanned, levels, *norms, bounds, *self._norm_classes, self._limits)
            keep_best(items, ranked(items, starts), starts, rows, values, keep)
            seen += np.diff(starts)
        return rows, values, seen

    def _scanned(self, packed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Hamming distances of all items to the queries, and the least of each tile."""
        from gramian._jit.hamming import hamming_tiles

        tiles, m = self._columns["codes"].tiles, len(packed)
        distances, least = np.empty((m, len(tiles) * TILE), np.uint16), np.empty((m, len(tiles)), np.uint16)
        hamming_tiles(tiles, len(self), codes.words(packed), distances, least)
        return distances, least

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
        return index._restore(state)
