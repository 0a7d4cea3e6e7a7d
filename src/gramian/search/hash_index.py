"""Hashed search whose hash functions carry the metric (Jain 2009, §4.1 and §4.2)."""

from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from scipy import sparse

from gramian import _threads, _validate, linalg, neighbors
from gramian._settings import Count, Size, Within, checked
from gramian.metrics import Metric
from gramian.search import budget
from gramian.search.cell_candidates import calibrated, centers_under
from gramian.search.cells import Cells, how_many, laid, late, learned_centers, means_by_cell, nearest_cells
from gramian.search.collection import rederived
from gramian.search.columns import ArrangedRows
from gramian.search.encoding import Encoder
from gramian.search.hash_forms import Form, form
from gramian.search.hash_search import HashSearch
from gramian.search.index import Index
from gramian.search.items import Items
from gramian.search.orders import HIGHEST_ORDERS, Lookup, Searcher, ordered
from gramian.search.rounded import RoundedRows, Store, stored

Bits = Annotated[int, Within(8, 32768)]
Recall = Annotated[float, Within(0, 1 - 1e-12, above=True)]
WORTH = 0.25
"""Share of the items in the cells that a list of ten visits, above which "auto" makes none."""


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
    With ``cells`` the items stand in the cells of a k-means partition of the points as they are, with bits of what is
    left of them after their center. A query visits the cells that begin nearest to it under the metric, and stops
    where neighbors are too rare: that is read from items that serve as queries, so ``recall`` is then kept on average
    over queries like the items, not for any query. A new metric measures centers, bits and this limit anew and moves
    no item.

    ``searcher="orders"`` is the thesis's search: l permuted, sorted key orders and M = 2 n^{1/(1+ε)} candidates from
    them, longest common prefix first, for a (1+ε)-approximate nearest neighbor in sublinear time. A query costs
    l binary searches, M log l steps of a heap and M comparisons; an item 12 l bytes, and when it is added a merge into
    orders of some 16 √n late items; ``remove`` one pass over the orders. The theorem asks for l = M/2 orders, which few
    have the memory for. ``searcher="buckets"`` is the older way: the first w bits of each order are the address of a
    hash table, w such that the l buckets of a query hold some M items; those one bit away follow, then two, until M
    candidates are there, for a binary search a bucket. Neither promises a recall.

    Parameters
    ----------
    metric : Metric
        The distance that is searched under.
    n_bits : int or "auto"
        Bits b, a multiple of 8; "auto" weighs, on a sample of the items, the time of the pass over the codes against
        that of the comparisons it leaves, again whenever the index has doubled: more bits in high dimension.
    mode : {"distance", "similarity"}
        What near means: a small distance, or a small angle.
    searcher : {"scan", "orders", "buckets"}
        How candidates are found: a pass over all codes, sorted orders of them, or buckets of hash tables.
    recall : float
        Probability with which each true neighbor is compared; for the scan without ``epsilon``.
    epsilon : float, optional
        ε of the candidate number M; 1.5 for orders and buckets when None.
    n_orders : int, optional
        l; 32 when None.
    estimate : {"collisions", "products"}
        What bits say about angles: that they collide with probability 1 − θ/π, r independent; or their products with
        the query, r orthonormal. Not for sparse points.
    store : {"float64", "float32", "float16", "int8"}, optional
        How points are kept, in their own precision when None. Smaller ones take less memory and less time to compare;
        what is kept is what is searched, so distances are those of the rounded points
        (``gramian.search.rounded``). For plain vectors.
    cells : int, "auto" or None
        Number of cells that the items stand in, so that a query reads a part of them only; "auto" takes the root of
        their number from 100,000 of them on, where that reads less than a quarter of them. For vectors, and the search
        that is the default otherwise.
    random_state : int, generator or None
        Seed of r.

    Attributes
    ----------
    n_bits_ : int
        Bits in use.
    n_cells_ : int
        Cells in use, 0 for none.

    Notes
    -----
    μ is computed again, and the items hashed again, whenever the index has doubled since; this costs a constant
    factor over one pass and keeps the angles informative, and no guarantee rests on it. float32 items stay float32, and
    those of a file that is open for reading, ``np.load(path, mmap_mode="r")``, stay on disk: a query raises where
    that file has another size or time than when they were added. Write a new file instead.

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

    @checked
    def __init__(
        self,
        metric: Any,
        n_bits: Literal["auto"] | Bits = 256,
        *,
        mode: Literal["distance", "similarity"] = "distance",
        searcher: Searcher = "scan",
        recall: Recall = 0.99,
        epsilon: Size | None = None,
        n_orders: Annotated[int, Within(1, HIGHEST_ORDERS)] | None = None,
        estimate: Literal["collisions", "products"] = "collisions",
        store: Store | None = None,
        cells: Cells = "auto",
        random_state: Any = None,
    ) -> None:
        super().__init__(metric)
        owner = self._owner
        self.n_bits = n_bits if isinstance(n_bits, str) else whole_bytes(n_bits, owner)
        self.mode, self.searcher, self.estimate, self.store = mode, searcher, estimate, store
        self.recall, self.epsilon, self.n_orders, self.cells = recall, epsilon, n_orders, cells
        if isinstance(cells, int) and not self._scans:
            raise ValueError(
                f"{owner}: cells must be 'auto' or None unless mode='distance', searcher='scan', epsilon=None and "
                f"estimate='collisions', got cells={cells}."
            )
        if store is not None and not metric.coordinates.whole:
            raise ValueError(f"{owner}: store must be None for a metric on coordinates, got {store!r}.")
        self.seed = self.random_state = draw_seed(random_state, owner)
        self._forms: dict[tuple[bool, int], Form] = {}
        if self.mode == "similarity":
            check_similarity(metric, owner)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_forms": {}}

    @property
    def _scans(self) -> bool:
        """Whether the search is the one that cells have."""
        plain = self.mode == "distance" and self.searcher == "scan" and self.epsilon is None
        return plain and self.estimate == "collisions"

    @property
    def _lookup(self) -> Lookup:
        return Lookup(self.searcher, self.epsilon, self.n_orders)

    @property
    def n_cells_(self) -> int:
        """Number of cells that the items stand in, 0 for none."""
        return len(self._items.settled["centers"]) if self._items.in_cells else 0

    @property
    def n_bits_(self) -> int:
        """Bits in use; with ``n_bits="auto"`` those that the items settled."""
        settled = self._items.settled
        if settled:
            return settled["n_bits"]
        return budget.DEFAULT if self.n_bits == "auto" else int(self.n_bits)

    def hash(self, X: Any) -> np.ndarray:
        """Packed bits of points, uint8 (n, n_bits / 8), lowest bit first."""
        items, X = self._items, self._check(X)
        if items.n == 0:
            return Encoder.around(self._form(X, self.n_bits_), X, centered=False).hash(X)
        return self._encoder(items).hash(items.held(X))

    @checked
    def compared(self, X: Any, k: Count = 10) -> np.ndarray:
        """Number of items that a query with each point compares exactly, (m,)."""
        items, Q, _, _ = self._asked(X, None, None)
        return HashSearch(self, items, items.held(Q), None).found(min(k, items.n))[2]

    def _check(self, X: Any, name: str = "X") -> Any:
        X = super()._check(X, name)
        if sparse.issparse(X) and self.metric.coordinates.whole:
            raise TypeError(f"{self._owner}: {name} must be dense, got a sparse matrix; pass {name}.toarray().")
        return X

    def _store(self, X: Any) -> Any:
        return stored(X, self.store, self._owner)

    def _form(self, points: Any, n_bits: int) -> Form:
        """The metric as hashing sees it, for dense or for sparse points."""
        kind = sparse.issparse(points), n_bits
        if kind not in self._forms:
            orthonormal = self.estimate == "products"
            self._forms[kind] = form(self.metric, points, self.seed, n_bits, orthonormal=orthonormal)
        return self._forms[kind]

    def _settle(self, points: Any) -> dict[str, Any]:
        settled = self._settle_plainly(points)
        seen = self._form(points, settled["n_bits"])
        count = how_many(self.cells, linalg.count(points)) if self._suits_cells(seen, points) else 0
        return {**settled, "centers": learned_centers(points, count, self.seed), "laid": 0} if count else settled

    def _settle_plainly(self, points: Any) -> dict[str, Any]:
        """What is settled beside cells."""
        bits = budget.DEFAULT if self.n_bits == "auto" else int(self.n_bits)
        if self.n_bits == "auto":
            bits = budget.bits_that_pay(self._form(points, bits), points, self.recall, self.estimate)
        encoder = Encoder.around(self._form(points, bits), points, self.mode == "distance")
        return {"center": encoder.center, "mean": encoder.mean, "axes": encoder.axes, "n_bits": bits}

    def _suits_cells(self, seen: Form, points: Any) -> bool:
        """Whether items may stand in cells: vectors, under a metric that their rows hold as a whole."""
        vectors = isinstance(points, np.ndarray | RoundedRows | ArrangedRows) and points.ndim == 2
        return self._scans and vectors and seen.view.whole and seen.view.outside is None

    def _place(
        self, settled: dict[str, Any], points: Any, cells: np.ndarray | None, threads: int
    ) -> tuple[dict[str, Any], np.ndarray | None]:
        centers = settled.get("centers")
        if centers is None:
            return settled, None
        cells = nearest_cells(points, centers, threads) if cells is None else cells
        seen = self._form(points, settled["n_bits"])
        places = None if seen.view.on_points else means_by_cell(seen.rows(points), cells, len(centers))
        return {**settled, "places": places}, cells

    def _derive(self, settled: dict[str, Any], X: Any, threads: int, cells: np.ndarray | None = None) -> dict[str, Any]:
        encoder = self._settled_encoder(settled, X)
        if settled.get("centers") is None:
            columns = encoder.columns(X, threads)
            return columns | self._lookup.columns(
                self._owner, columns["codes"], self.seed, encoder.form.n_bits, threads
            )
        cells = nearest_cells(X, settled["centers"], threads) if cells is None else cells
        return {**encoder.columns(X, threads, centers_under(settled), cells), "cells": cells}

    def _arranged(self, items: Items, threads: int) -> Items:
        """Items in the order of their cells, with the reach of a search; without cells where these save nothing."""
        whole = laid(items) if items.settled["laid"] == 0 or late(items) else items
        if "reach" in items.settled:
            return whole
        reach, sure, share = calibrated(whole, self._settled_encoder(whole.settled, whole["points"]), self.recall)
        if self.cells == "auto" and items.settled["laid"] == 0 and share > WORTH:
            settled = {
                name: value for name, value in items.settled.items() if name not in ("centers", "laid", "places")
            }
            return rederived(self, items, threads, settled)
        return replace(whole, settled={**whole.settled, "reach": reach, "sure": sure}, cache={})

    def _turned(self, items: Items, threads: int) -> Items:
        """Items of another metric; cells stay, and so does it that there are none."""
        points, old = items["points"], items.settled
        bits = old.get("n_bits", budget.DEFAULT)
        if not items.in_cells or not self._suits_cells(self._form(points, bits), points):
            return rederived(self, items, threads, self._settle_plainly(points) if "n_bits" in old else None)
        settled = {**self._settle_plainly(points), "centers": old["centers"], "laid": old["laid"]}
        return rederived(self, items, threads, settled, items["cells"])

    def _completed(self, items: Items) -> Items:
        return ordered(items, self._lookup, self._owner, self.seed, items.settled.get("n_bits", 0))

    def _settled_encoder(self, settled: dict[str, Any], points: Any) -> Encoder:
        seen = self._form(points, settled["n_bits"])
        if settled["mean"] is not None and not sparse.issparse(settled["mean"]):
            raise ValueError(f"{self._owner}: the mean of the items must be a sparse row or None.")
        return Encoder(seen, settled["center"], settled["mean"], settled["axes"])

    def _encoder(self, items: Items) -> Encoder:
        """The hash functions of a snapshot."""
        return items.cached("encoder", lambda: self._settled_encoder(items.settled, items["points"]))

    def _search(
        self, items: Items, Q: Any, k: int, mask: np.ndarray | None, threads: int
    ) -> tuple[np.ndarray, np.ndarray]:
        Q = items.held(Q)
        m = linalg.count(Q)
        pieces = neighbors.pieces(m, max(-(-m // threads), 1))
        found = _threads.each(
            lambda rows: HashSearch(self, items, linalg.take(Q, rows), mask).nearest(k), pieces, threads
        )
        return np.concatenate([rows for rows, _ in found]), np.concatenate([values for _, values in found])

    def _search_radius(
        self, items: Items, Q: Any, limit: float, mask: np.ndarray | None, threads: int
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        Q = items.held(Q)
        return HashSearch(self, items, Q, mask).within(limit, threads)


def check_similarity(metric: Metric, owner: str) -> None:
    """Cosines need the whole inner product."""
    if np.any(metric.coordinates.mean):
        raise ValueError(f"{owner}: mode must be 'distance' when the features are centered.")
    if metric.alpha > 0 and metric.coordinates.on_axes(lambda rows: np.zeros((rows.shape[0], 1))) is None:
        raise ValueError(f"{owner}: mode must be 'distance' for a kernel without φ and alpha > 0.")


def whole_bytes(n_bits: int, owner: str) -> int:
    """A number of bits that fills whole bytes."""
    if n_bits % 8:
        raise ValueError(f"{owner}: n_bits must be a multiple of 8, got {n_bits}.")
    return n_bits


def draw_seed(random_state: Any, owner: str) -> int:
    """A stored integer seed, so that an index hashes alike wherever it is loaded."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return _validate.number(random_state, owner, "random_state", low=0, high=2**63 - 1, integer=True)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    return int(_validate.random(random_state, owner).randint(2**31))
