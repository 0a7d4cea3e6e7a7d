"""One search in hashed items: candidates by their bits, then the exact ranking of those that are left."""

from typing import TYPE_CHECKING, Any

import numpy as np

from gramian import _threads, linalg, neighbors
from gramian.search import codes
from gramian.search.candidates import Candidates, Found
from gramian.search.cell_candidates import CellCandidates, code_recall
from gramian.search.exact_strategies import TIE, leveled, listed_distances, settled, unclear
from gramian.search.items import Items
from gramian.search.products import ProductCandidates, ProductLaw

if TYPE_CHECKING:
    from gramian.search.hash_index import HashIndex

SPARE = 8
"""Neighbors kept beyond k until ties of rounding are settled."""
Answer = tuple[np.ndarray, np.ndarray]
"""Positions and squared distances, (m, k)."""


class HashSearch:
    """Queries among the items of one snapshot that are in a mask (None: all)."""

    def __init__(self, index: "HashIndex", items: Items, Q: Any, mask: np.ndarray | None) -> None:
        self.index = index
        self.items = items
        self.Q = Q
        encoder = index._encoder(items)
        unit = index.mode == "similarity"
        self.whole = encoder.form.view.whole
        self.limits = codes.angle_limits(encoder.form.n_bits, index.recall)
        if items.in_cells:
            self.limits = codes.angle_limits(encoder.form.n_bits, code_recall(index.recall))
            read = items.settled["reach"], items.settled["sure"]
            self.candidates: Candidates = CellCandidates(items, encoder, mask, Q, *read)
        elif index.estimate == "products":
            law = ProductLaw(encoder.dimension, encoder.form.n_bits, index.recall, index.seed)
            self.candidates = ProductCandidates(items, encoder, unit, mask, law)
        else:
            self.candidates = Candidates(items, encoder, unit, mask)
        self.asked = encoder.ask(Q, self.candidates.dtype, unit)
        self.distances = listed_distances(index.metric, items["points"], Q)

    def found(self, k: int) -> Found:
        """The best candidates of each query, as many as are needed for k neighbors."""
        return self.candidates.search(self.asked, k, min(k + SPARE, self.items.n), self.limits, self.index._lookup)

    def nearest(self, k: int) -> Answer:
        """The k nearest candidates; ties and small distances are computed from the differences."""
        if not self.whole:
            return self.nearest_outside(k)
        near, D, _ = self.found(k)
        last = D[:, -1].copy()
        if not self.candidates.unit:
            i, j = unclear(D, self.asked.sizes)
            D[i, j] = self.distances(i, near[i, j])
        names, values = self.smallest(self.ordered(D, slice(None)), k, near)
        if self.index.searcher == "scan" and self.index.epsilon is None and D.shape[1] < self.candidates.allowed:
            end = values[:, -1]
            for q in np.flatnonzero((end < np.inf) & (last - end <= TIE * (self.asked.sizes + end))):
                self.widen(names, values, q, k)  # more items may be tied with the last one than were kept
        return names, values

    def nearest_outside(self, k: int) -> Answer:
        """The k nearest where the bits see a part of the metric only: that part bounds the distance from below."""
        near, D, _ = self.found(min(4 * k, self.candidates.allowed))
        queries = np.repeat(np.arange(len(near)), near.shape[1])
        whole = self.distances(queries, near.ravel()).reshape(near.shape)
        names, values = self.smallest(np.where(np.isfinite(D), whole, np.inf), k, near)
        for q in range(len(names)):
            self.widen(names, values, q, k)
        return names, values

    def widen(self, names: np.ndarray, values: np.ndarray, q: Any, k: int) -> None:
        """Look for neighbors of query q among all items that are plausible within its last distance, in place."""
        more = self.candidates.within(self.asked, q, max(values[q, -1], 0.0), self.limits)
        ids = np.union1d(names[q, names[q] >= 0], more)
        names[[q]], values[[q]] = self.smallest(self.listed(q, ids)[None], k, ids[None])

    def smallest(self, D: np.ndarray, k: int, near: np.ndarray) -> Answer:
        """The k smallest distances of each row and where these items stand, ties by id."""
        if not self.items.in_cells:
            return neighbors.smallest(D, k, near)
        order = np.argsort(self.items["ids"][near], axis=1)
        near, D = np.take_along_axis(near, order, axis=1), np.take_along_axis(D, order, axis=1)
        places, values = neighbors.smallest(D, k)
        return np.where(places < 0, -1, np.take_along_axis(near, np.maximum(places, 0), axis=1)), values

    def listed(self, q: int, ids: np.ndarray) -> np.ndarray:
        """Distances of query q to some items."""
        if self.candidates.unit:
            D = self.candidates.listed(self.asked, q, ids)
        else:
            D = self.distances(np.full(len(ids), q), ids)
        return self.ordered(D[None], slice(q, q + 1))[0]

    def ordered(self, D: np.ndarray, queries: slice) -> np.ndarray:
        """Distances without differences of rounding: cosines are read to as many digits as they have."""
        if not self.candidates.unit:
            return settled(self.index.metric, D, self.asked.sizes[queries])
        return leveled(np.where(D <= TIE, 0.0, D), lambda S: np.full(S.shape, TIE))

    def within(self, limit: float, threads: int) -> list[Answer]:
        """All items with d² ≤ limit, for each query, ascending."""

        def one(q: int) -> Answer:
            ids = self.candidates.within(self.asked, q, limit, self.limits)
            D = self.listed(q, ids)
            names, values = self.smallest(D[None], int((limit * (1 + neighbors.TIE) >= D).sum()), ids[None])
            return names[0], values[0]

        return _threads.each(one, range(linalg.count(self.Q)), threads)
