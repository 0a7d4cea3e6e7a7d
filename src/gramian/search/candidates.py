"""Items of one snapshot as the compiled loops take them: which are worth an exact comparison, and its outcome."""

from typing import Any

import numpy as np

from gramian import linalg
from gramian.search import codes
from gramian.search.encoding import Asked, Encoder
from gramian.search.items import Items
from gramian.search.orders import Lookup, keys_of

FEW = 1024
"""So few items are compared without their codes."""
_QUANTILES = (0, 0.01, 0.1, 0.5, 1)
_SAMPLE = 2000
"""Items that the classes of norms are read from."""

Found = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Positions and distances (m, keep) of the best candidates, and how many were compared, (m,)."""


class Candidates:
    """The items in a mask (None: all); with ``unit`` they are compared as vectors of length one."""

    def __init__(self, items: Items, encoder: Encoder, unit: bool, mask: np.ndarray | None) -> None:
        self.n, self.unit, self.mask, self.items = items.n, unit, mask, items
        rows, center, sizes, (*outside, alpha), scales = encoder.kept(items)
        rows, center, sizes, scales, *outside = map(linalg.sealed, (rows, center, sizes, scales, *outside))
        self.kept = rows, center, sizes, (*outside, alpha), scales
        sqnorms = items.cached("ones", lambda: np.ones(items.n)) if unit else items["sqnorms"]
        edges, masks = items.cached("classes", lambda: norm_classes(sqnorms))
        allowed = np.zeros(0, np.uint64)
        if mask is not None:
            allowed = codes.words(np.packbits(mask, bitorder="little")[None])[0]
        self.coded = items.columns["codes"].tiles, items.n, allowed, sqnorms, edges, masks

    @property
    def dtype(self) -> Any:
        """Precision in which the bits of queries are computed, as those of the items were."""
        return self.kept[0].dtype if self.kept[0].dtype.kind == "f" else np.dtype(np.float32)

    def _room(self, m: int, keep: int) -> Found:
        return np.zeros((m, keep), np.int64), np.full((m, keep), np.inf), np.zeros(m, np.int64)

    @property
    def allowed(self) -> int:
        """How many items may be found."""
        return self.n if self.mask is None else int(self.mask.sum())

    def search(self, asked: Asked, k: int, keep: int, limits: np.ndarray, lookup: Lookup) -> Found:
        """The best candidates of each query, as many as are needed for k neighbors."""
        most = lookup.budget(self.n, keep)
        if self.mask is not None and self.allowed <= max(FEW, most):
            return self.all(asked, keep)
        return self.scan(asked, k, keep, limits, most) if lookup.scans else self.walk(asked, keep, lookup, most)

    def all(self, asked: Asked, keep: int) -> Found:
        """Every item compared with every query."""
        from gramian._jit.scan import compare_all

        chosen = np.arange(self.n) if self.mask is None else np.flatnonzero(self.mask)
        found = self._room(len(asked.sizes), keep)
        compare_all(chosen, self.kept, asked.weights, asked.sizes, asked.outside, self.unit, *found[:2])
        found[2][:] = len(chosen)
        return found

    def scan(self, asked: Asked, k: int, keep: int, limits: np.ndarray, budget: int) -> Found:
        """What the pass over all codes leaves plausible, or the ``budget`` nearest codes."""
        from gramian._jit.scan import scan

        found = self._room(len(asked.sizes), keep)
        query = asked.weights, asked.sizes, asked.outside, self.unit
        coded = self.coded, codes.words(asked.packed), asked.sqnorms, asked.blurs
        scan(*coded, self.kept, *query, limits, budget, k, *found)
        return found

    def walk(self, asked: Asked, keep: int, lookup: Lookup, budget: int) -> Found:
        """What stands near the queries in sorted orders, or in their buckets."""
        from gramian._jit.orders import walk_all

        found, orders = self._room(len(asked.sizes), keep), self.items["orders"]
        query = asked.weights, asked.sizes, asked.outside, self.unit
        keys = np.ascontiguousarray(keys_of(codes.words(asked.packed), orders.bits).T)  # (m, l)
        width = lookup.width(self.n, budget, int((orders.bits[0] >= 0).sum()))
        within = orders.first, orders.n, self.coded[2]
        walk_all(*orders.runs, keys, width, budget, within, self.kept, *query, *found)
        return found

    def within(self, asked: Asked, q: int, bound: float, limits: np.ndarray) -> np.ndarray:
        """Positions of the items that are plausible within a squared distance of query q."""
        from gramian._jit.scan import plausible_within

        code, bound = codes.words(asked.packed[q : q + 1])[0], asked.blurred(q, bound)
        return plausible_within(self.coded, code, asked.sqnorms[q], bound, limits)

    def listed(self, asked: Asked, q: int, chosen: np.ndarray) -> np.ndarray:
        """Distances of listed items to query q."""
        from gramian._jit.scan import listed

        return listed(chosen, self.kept, asked.weights, asked.sizes, asked.outside, self.unit, q)


def norm_classes(sqnorms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Edges (c + 1,) of classes of squared norms, and which items are in each."""
    from gramian._jit.hamming import class_masks

    edges = np.quantile(sqnorms[:: max(1, len(sqnorms) // _SAMPLE)], _QUANTILES)
    edges[0], edges[-1] = sqnorms.min(), sqnorms.max()
    return edges, class_masks(sqnorms, edges)
