"""Hashed search whose hash functions carry the metric (Jain 2009, §4.1 and §4.2)."""

from typing import Any, Self

import numpy as np
from scipy import sparse

from gramian import _checks, _threads, linalg, neighbors
from gramian._device import held
from gramian._device.nearest import search, search_radius
from gramian.metrics import Metric
from gramian.search import budget, codes, device_codes
from gramian.search.base import Index
from gramian.search.candidates import Candidates, Found
from gramian.search.device_codes import CodeScan
from gramian.search.encoding import Asked, Encoder
from gramian.search.forms import Form, form
from gramian.search.items import Items
from gramian.search.orders import EPSILON, MOST_ORDERS, SortedOrders, n_candidates
from gramian.search.products import ProductCandidates, ProductLaw
from gramian.search.roads import listed_distances, unclear
from gramian.search.rounded import STORES, stored

SPARE = 8
"""Neighbors kept beyond k until ties of rounding are settled."""


class HashIndex(Index):
    """Find neighbors among many points, fast, under a metric that may change.

    Bits h_r(x) = [rᵀG(φ(x) − μ) ≥ 0] with r ~ N(0, I) and G = W^{1/2} (Jain 2009, (4.3)), then exact ranking.

    Two items collide in a bit with probability 1 − θ/π, θ the angle of G(φ(x) − μ) and G(φ(y) − μ). G is the symmetric
    root: it changes with W continuously, while another factor carries a rotation that would scramble every bit.

    Any metric will do. For a Mahalanobis, φ(x) = x. For a metric on coordinates, rᵀGφ(x) = rᵀφ(x) + Σ_i γ_i k(x_i, x)
    is computed from the coordinates and the (sparse) φ(x) alone (4.4); r is drawn for the non-zero features on demand,
    a function of (seed, feature, bit), and never stored. φ is known for vectors and for kernels with an explicit map:
    ``Linear``, ``Cosine``, ``PyramidMatch``, and scalar multiples. For any other kernel r is drawn on the coordinates
    M^{1/2}z(x) of the basis: points are told apart by their part inside the span of the basis, which never exceeds
    the distance, and ranked by the whole metric.

    ``mode="distance"`` centers on the mean μ of the items and answers in squared distances d²_W.
    ``mode="similarity"`` does not center and answers for the vectors Gφ/|Gφ|, sqdist = 2 − 2 cos_W(q, x): the thesis's
    setting, in which similar means a large normalized kernel value.

    ``searcher="scan"`` passes over all codes and compares an item at Hamming distance h exactly unless h would be
    improbable for any point as close as the k-th best so far. Every true neighbor is compared
    with probability at least ``recall`` over the draw of r, on any data; the work adapts. With ``epsilon`` given,
    the M = 2 n^{1/(1+ε)} nearest codes are compared instead, without that guarantee.
    ``estimate="products"`` takes the bits along the axes of a random rotation and leaves the query as it is: products
    of bits with real numbers tell angles two to four times as sharply as the same number of collisions, with an exact
    law of their own (``gramian.search.products``), so that fewer items are compared and codes may be shorter; the
    pass over the codes costs three times as much a bit. The promise is the same, over the draw of the rotation.
    ``searcher="orders"`` is the thesis's search: l permuted, sorted key orders and M candidates from them, for
    a (1+ε)-approximate nearest neighbor in sublinear time.

    Parameters
    ----------
    metric : Metric
        The distance that is searched under.
    n_bits : int or "auto"
        Bits b, a multiple of 8; "auto" weighs, on a sample of the items, the time of the pass over the codes against
        that of the comparisons it leaves, again whenever the index has doubled: more bits in high dimension.
    mode : {"distance", "similarity"}
        What near means: a small distance, or a small angle.
    searcher : {"scan", "orders"}
        How candidates are found: a pass over all codes, or sorted orders of them.
    recall : float
        Probability with which each true neighbor is compared; for the scan without ``epsilon``.
    epsilon : float, optional
        ε of the candidate number M; 1.5 for the orders when None.
    n_orders : int, optional
        l; M/2 but at most 32 when None.
    estimate : {"collisions", "products"}
        What bits say about angles: that they collide with probability 1 − θ/π, r independent; or their products with
        the query, r orthonormal. Not for sparse points.
    store : {"float64", "float32", "float16", "int8"}, optional
        How points are kept, in their own precision when None. Smaller ones take less memory and less time to compare;
        what is kept is what is searched, so distances are those of the rounded points
        (``gramian.search.rounded``). For plain vectors.
    random_state : int, generator or None
        Seed of r.

    Attributes
    ----------
    n_bits_ : int
        Bits in use.

    Notes
    -----
    μ is computed again, and the items hashed again, whenever the index has doubled since; this costs a constant
    factor over one pass and keeps the angles informative, and no guarantee rests on it. float32 items stay float32, and
    those of a file that is open for reading, ``np.load(path, mmap_mode="r")``, stay on disk.

    See Also
    --------
    gramian.ExactIndex : Compares with every point.
    gramian.OnlineHashIndex : Under a metric that learns.

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
        n_bits: int | str = 256,
        *,
        mode: str = "distance",
        searcher: str = "scan",
        recall: float = 0.99,
        epsilon: float | None = None,
        n_orders: int | None = None,
        estimate: str = "collisions",
        store: str | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(metric)
        owner = self._owner
        self.n_bits = n_bits if isinstance(n_bits, str) and n_bits == "auto" else whole_bytes(n_bits, owner)
        self.mode = _checks.one_of(mode, owner, "mode", ("distance", "similarity"))
        self.searcher = _checks.one_of(searcher, owner, "searcher", ("scan", "orders"))
        self.recall = _checks.number(recall, owner, "recall", low=0, high=1 - 1e-12, open_low=True)
        self.epsilon = None if epsilon is None else _checks.number(epsilon, owner, "epsilon", low=0)
        self.n_orders = None if n_orders is None else _checks.number(n_orders, owner, "n_orders", low=1, integer=True)
        self.estimate = _checks.one_of(estimate, owner, "estimate", ("collisions", "products"))
        self.store = None if store is None else _checks.one_of(store, owner, "store", STORES)
        if store is not None and not metric.coordinates.whole:
            raise ValueError(f"{owner}: store must be None for a metric on coordinates, got {store!r}.")
        self.seed = draw_seed(random_state, owner)
        self._forms: dict[tuple[bool, int], Form] = {}
        if self.mode == "similarity":
            self._check_similarity(metric)

    _devices = True

    @property
    def _products(self) -> bool:
        return self.estimate == "products"

    def _check_similarity(self, metric: Metric) -> None:
        """Cosines need the whole inner product."""
        if np.any(metric.coordinates.mean):
            raise ValueError(f"{self._owner}: mode must be 'distance' when the features are centered.")
        if metric.alpha > 0 and metric.coordinates.on_axes(lambda rows: np.zeros((rows.shape[0], 1))) is None:
            raise ValueError(f"{self._owner}: mode must be 'distance' for a kernel without φ and alpha > 0.")

    def _check(self, X: Any, name: str = "X") -> Any:
        X = super()._check(X, name)
        if sparse.issparse(X) and self.metric.coordinates.whole:
            raise TypeError(f"{self._owner}: {name} must be dense, got a sparse matrix; pass {name}.toarray().")
        return X

    @property
    def n_bits_(self) -> int:
        """Bits in use; with ``n_bits="auto"`` those that the items settled."""
        return self._bits(self._items.settled)

    def _bits(self, settled: dict[str, Any]) -> int:
        return settled["n_bits"] if settled else budget.DEFAULT if self.n_bits == "auto" else int(self.n_bits)

    def _form(self, points: Any, n_bits: int) -> Form:
        """The metric as hashing sees it, for dense or for sparse points."""
        kind = sparse.issparse(points), n_bits
        if kind not in self._forms:
            self._forms[kind] = form(self.metric, points, self.seed, n_bits, orthonormal=self._products)
        return self._forms[kind]

    def _encoder(self, items: Items, points: Any) -> Encoder:
        return items.cached("encoder", lambda: self._settled_encoder(items.settled, points))

    def _settled_encoder(self, settled: dict[str, Any], points: Any) -> Encoder:
        given = {name: settled[name] for name in ("center", "mean", "axes")}
        return Encoder(self._form(points, settled["n_bits"]), **given)

    def hash(self, X: Any) -> np.ndarray:
        """Packed bits of points, uint8 (n, n_bits / 8), lowest bit first."""
        items, X = self._items, self._check(X)
        if items.n == 0:
            return Encoder.around(self._form(X, self.n_bits_), X, centered=False).hash(X)
        return self._encoder(items, items["points"]).hash(items.held(X))

    def _store(self, X: Any) -> Any:
        return stored(X, self.store, self._owner)

    def _settle(self, points: Any) -> dict[str, Any]:
        self._check_device(points)
        bits = self._bits({})
        if self.n_bits == "auto":
            bits = budget.bits_that_pay(self._form(points, bits), points, self.recall, self.estimate)
        encoder = Encoder.around(self._form(points, bits), points, self.mode == "distance")
        return {"center": encoder.center, "mean": encoder.mean, "axes": encoder.axes, "n_bits": bits}

    def _derive(self, settled: dict[str, Any], X: Any, threads: int) -> dict[str, Any]:
        encoder = self._settled_encoder(settled, X)
        return device_codes.columns(encoder, X) if held(X) else encoder.columns(X, threads)

    def _limits(self, items: Items) -> np.ndarray:
        return codes.angle_limits(self._bits(items.settled), self.recall)

    def compared(self, X: Any, k: int = 10) -> np.ndarray:
        """Number of items that a query with each point compares exactly, (m,)."""
        k = _checks.number(k, self._owner, "k", low=1, integer=True)
        items, Q, _, _ = self._asked(X, None, None)
        if held(items["points"]):
            raise TypeError(f"{self._owner}: compared counts on the CPU only; pass the items as NumPy arrays.")
        return self._candidates(items, *self._ready(items, Q, None), min(k, items.n))[2]

    def _ready(self, items: Items, Q: Any, mask: np.ndarray | None) -> tuple[Candidates, Asked]:
        encoder, unit = self._encoder(items, items["points"]), self.mode == "similarity"
        candidates = Candidates(items, encoder, unit, mask)
        if self._products:
            law = ProductLaw(encoder.dimension, encoder.form.n_bits, self.recall, self.seed)
            candidates = ProductCandidates(items, encoder, unit, mask, law)
        return candidates, encoder.ask(Q, candidates.dtype, unit)

    def _candidates(self, items: Items, candidates: Candidates, asked: Asked, k: int) -> Found:
        keep = min(k + SPARE, items.n)
        if candidates.few():
            return candidates.all(asked, keep)
        epsilon = EPSILON if self.epsilon is None and self.searcher == "orders" else self.epsilon
        most = 0 if epsilon is None else min(max(n_candidates(items.n, epsilon), keep), items.n)
        if self.searcher == "scan":
            return candidates.scan(asked, k, keep, self._limits(items), most)
        return candidates.walk(asked, keep, items.cached("orders", lambda: self._orders(items, most)), most)

    def _orders(self, items: Items, most: int) -> SortedOrders:
        n_orders = self.n_orders or max(min(most // 2, MOST_ORDERS), 1)
        return SortedOrders(items["codes"].view(np.uint8), self._bits(items.settled), n_orders, self.seed)

    def _search(
        self, items: Items, Q: Any, k: int, mask: np.ndarray | None, threads: int
    ) -> tuple[np.ndarray, np.ndarray]:
        Q, m = items.held(Q), linalg.count(Q)
        if held(Q):
            return search(self._code_scan(items, mask), items["embedded"], self._asked_codes(items, Q), k)
        nearest = self._nearest if self._encoder(items, items["points"]).form.whole else self._nearest_outside
        pieces = neighbors.pieces(m, max(-(-m // threads), 1))
        found = _threads.each(lambda rows: nearest(items, linalg.take(Q, rows), k, mask), pieces, threads)
        return np.concatenate([rows for rows, _ in found]), np.concatenate([values for _, values in found])

    def _nearest(self, items: Items, Q: Any, k: int, mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest candidates; ties and small distances are computed from the differences."""
        candidates, asked = self._ready(items, Q, mask)
        near, D, _ = self._candidates(items, candidates, asked, k)
        if self.mode == "distance":
            i, j = unclear(D, asked.sizes)
            D[i, j] = listed_distances(self.metric, items["points"], Q)(i, near[i, j])
        return neighbors.smallest(D, k, near)

    def _nearest_outside(self, items: Items, Q: Any, k: int, mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest where the bits see a part of the metric only: that part bounds the distance from below."""
        candidates, asked = self._ready(items, Q, mask)
        near, D, _ = self._candidates(items, candidates, asked, min(4 * k, items.n if mask is None else mask.sum()))
        distances = listed_distances(self.metric, items["points"], Q)
        whole = distances(np.repeat(np.arange(len(near)), near.shape[1]), near.ravel()).reshape(near.shape)
        names, values = neighbors.smallest(np.where(np.isfinite(D), whole, np.inf), k, near)
        limits = self._limits(items)
        for q in range(len(names)):
            ids = candidates.within(asked, q, values[q, -1], limits)[None]
            names[[q]], values[[q]] = neighbors.smallest(distances(np.full(ids.size, q), ids[0])[None], k, ids)
        return names, values

    def _search_radius(
        self, items: Items, Q: Any, limit: float, mask: np.ndarray | None, threads: int
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        Q = items.held(Q)
        if held(Q):
            return search_radius(self._code_scan(items, mask), items["embedded"], self._asked_codes(items, Q), limit)
        candidates, asked = self._ready(items, Q, mask)
        distances, limits = listed_distances(self.metric, items["points"], Q), self._limits(items)

        def one(q: int) -> tuple[np.ndarray, np.ndarray]:
            ids = candidates.within(asked, q, limit, limits)
            D = candidates.listed(asked, q, ids) if candidates.unit else distances(np.full(len(ids), q), ids)
            inside = int((limit >= D).sum())
            names, values = neighbors.smallest(D[None], inside, ids[None])
            return names[0], values[0]

        return _threads.each(one, range(linalg.count(Q)), threads)

    def _check_device(self, points: Any) -> None:
        """One sentence for what items on a device cannot have."""
        if not held(points):
            return
        plain = self.mode == "distance" and self.searcher == "scan" and self.epsilon is None
        default = self.estimate == "collisions" and self.store is None and self.n_bits != "auto"
        if not (plain and default and self._form(points, int(self.n_bits)).whole):
            raise TypeError(
                f"{self._owner}: items on a device are scanned with the defaults, for a metric that lies in its "
                "coordinates; anything else runs on the CPU: pass the items as NumPy arrays."
            )

    def _code_scan(self, items: Items, mask: np.ndarray | None) -> CodeScan:
        scan = items.cached("code scan", lambda: CodeScan.items(items, self._limits(items)))
        return scan if mask is None else scan.only(linalg.placed(mask, items["signs"]))

    def _asked_codes(self, items: Items, Q: Any) -> Any:
        return device_codes.asked(self._encoder(items, items["points"]), Q)

    def _settings(self) -> dict[str, Any]:
        names = ("n_bits", "mode", "searcher", "recall", "epsilon", "n_orders", "estimate", "store")
        return {**{name: getattr(self, name) for name in names}, "random_state": self.seed}

    def _like(self, metric: Metric) -> Self:
        return type(self)(metric, **self._settings())

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "settings": self._settings()}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        return cls(state["metric"], **state["settings"])._restore(state)


def whole_bytes(n_bits: Any, owner: str) -> int:
    """A number of bits that fills whole bytes."""
    n_bits = _checks.number(n_bits, owner, "n_bits", low=8, high=32768, integer=True)
    if n_bits % 8:
        raise ValueError(f"{owner}: n_bits must be a multiple of 8, got {n_bits}.")
    return n_bits


def draw_seed(random_state: Any, owner: str) -> int:
    """A stored integer seed, so that an index hashes alike wherever it is loaded."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return _checks.number(random_state, owner, "random_state", low=0, high=2**63 - 1, integer=True)
    if isinstance(random_state, np.random.Generator) or random_state is None:
        return int(np.random.default_rng(random_state).integers(2**63))
    return int(_checks.random(random_state, owner).randint(2**31))
