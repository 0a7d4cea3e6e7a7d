"""How exact search goes about a metric: what is kept of the items, what bounds their distances, what computes them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _threads, linalg, neighbors
from gramian._arrays import asarray, foreign, to_numpy
from gramian.device_scan import DeviceScan, search, search_radius
from gramian.lower_bounds import BLOCK_BYTES, DenseScan, Frame, MixedScan, Scan, sparse_scan
from gramian.metrics import Metric
from gramian.metrics.view import View
from gramian.neighbors import Distances
from gramian.search.items import Items

TIE, _CLOSE = 1e-12, 1e-8
"""Gaps and values, relative to |q|², below which distances are computed again from the differences of the points."""

SAMPLE = 2000
"""Items, at least, that a center and a frame are read from; the bounds hold for all others too."""


def strategy(view: View, points: Any) -> "Strategy":
    """The strategy for these points, dense or sparse."""
    if foreign(points):
        return OnDevice(view)
    if view.identity:
        return SparseEuclidean(view) if sparse.issparse(points) else Euclidean(view)
    return Embedded(view) if view.outside is None else Mixed(view)


@dataclass(frozen=True, eq=False)
class Strategy:
    """Subclasses give ``derive``, ``scan`` and ``prepare``; see :class:`gramian.ExactIndex`."""

    view: View

    def settle(self, points: Any) -> dict[str, Any]:
        """What is chosen once for many items."""
        return {}

    def derive(self, settled: dict[str, Any], X: Any, threads: int) -> dict[str, Any]:
        """What is kept of items beside the points."""
        return {}

    def scan(self, items: Items, k: int = 1) -> Scan:
        """Lower bounds of the distances to all items, for lists of k."""
        raise NotImplementedError

    def prepare(self, items: Items, Q: Any) -> tuple[Any, Distances]:
        """Queries as the scan takes them, and the distances to them."""
        raise NotImplementedError


class Euclidean(Strategy):
    """Points that are compared as they are."""

    placed = "points"
    """What the frame is for."""

    def settle(self, points: Any) -> dict[str, Any]:
        """A frame for the scan."""
        return vars(Frame.around(points))

    def derive(self, settled: dict[str, Any], X: Any, threads: int) -> dict[str, Any]:
        """Coordinates of the scan."""
        scan = DenseScan.of(X, Frame(**settled), threads)
        return {"rows": scan.rows, "halves": scan.halves}

    def scan(self, items: Items, k: int = 1) -> Scan:
        """Single-precision bounds; those for long lists are made when the first one is asked for."""
        frame = Frame(*(items.settled[name] for name in ("center", "unit", "directions")))
        if frame.suits(k, items.n):
            return DenseScan(items["rows"], items["halves"], frame)
        return items.cached("whole", lambda: DenseScan.of(items[self.placed], frame.whole()))

    def prepare(self, items: Items, Q: Any) -> tuple[Any, Distances]:
        """Distances of the points themselves."""
        Q = linalg.dense(Q)
        return Q, neighbors.dense_distances(Q, items["points"])


class Embedded(Euclidean):
    """Points in coordinates e(x) whose Euclidean distance is the metric, or with α > 0 and no φ a part of it."""

    placed = "embedded"

    def settle(self, points: Any) -> dict[str, Any]:
        """A center of the points, and a frame for the scan of e(x)."""
        some = linalg.take(points, slice(None, None, max(1, linalg.count(points) // SAMPLE)))
        origin = some.mean(axis=0, dtype=np.float64) if self.view.linear and not sparse.issparse(points) else None
        return {"origin": origin, **super().settle(self._embed(origin, some))}

    def derive(self, settled: dict[str, Any], X: Any, threads: int) -> dict[str, Any]:
        """The coordinates e(x), and those of the scan."""
        frame = dict(settled)
        E = self._embed(frame.pop("origin"), X, threads)
        return {"embedded": E, **super().derive(frame, E, threads)}

    def _embed(self, origin: np.ndarray | None, X: Any, threads: int = 0) -> np.ndarray:
        if origin is None:
            return self.view.embed(X)
        E = self.view.embed(X[:0])
        E = np.empty((len(X), E.shape[1]), E.dtype)

        def fill(block: slice) -> None:
            E[block] = self.view.embed(X[block] - origin)

        _threads.each(fill, linalg.blocks(len(X), 16 * X.shape[1], BLOCK_BYTES), threads)
        return E

    def prepare(self, items: Items, Q: Any) -> tuple[Any, Distances]:
        """Distances in e(x), computed from the points where that is not sharp or not the whole metric."""
        Q = items.held(Q)
        E = self._embed(items.settled["origin"], Q)
        inside = neighbors.dense_distances(E, items["embedded"])
        sizes, exactly = linalg.row_norms(E), listed_distances(self.view.metric, items["points"], Q)

        def sharp(rows: np.ndarray, ids: np.ndarray, lower: np.ndarray, k: int) -> np.ndarray:
            D = inside(rows, ids, lower, k)
            i, j = unclear(D, sizes[rows])
            D[i, j] = exactly(rows[i], ids[i, j])
            return settled(self.view.metric, D, sizes[rows])

        def whole(rows: np.ndarray, ids: np.ndarray, lower: np.ndarray, k: int) -> np.ndarray:
            D = exactly(np.repeat(rows, ids.shape[1]), ids.ravel()).reshape(ids.shape)
            return settled(self.view.metric, D, sizes[rows])

        return E, sharp if self.view.finite else whole


class OnDevice(Strategy):
    """Points on a device, in coordinates e(x) there; a metric with a part outside of them is not for devices."""

    def settle(self, points: Any) -> dict[str, Any]:
        """The center of the points."""
        if not self.view.finite:
            name = type(self.view.metric).__name__
            raise TypeError(
                f"ExactIndex: {name} with alpha > 0 in the space of a kernel runs on the CPU; "
                "pass the points as NumPy arrays."
            )
        return {"origin": to_numpy(linalg.mean(points)) if self.view.linear else None}

    def derive(self, settled: dict[str, Any], X: Any, threads: int) -> dict[str, Any]:
        """The coordinates e(x)."""
        return {"embedded": self._embed(settled, X)}

    def _embed(self, settled: dict[str, Any], X: Any) -> Any:
        origin = settled["origin"]
        return self.view.embed(X if origin is None else X - asarray(origin, X))

    def device_scan(self, items: Items) -> DeviceScan:
        """Distances to all items in single precision."""
        return items.cached("device scan", lambda: DeviceScan.of(items["embedded"]))

    def nearest(self, items: Items, Q: Any, k: int, mask: np.ndarray | None) -> tuple[Any, Any]:
        """Rows and squared distances of the k nearest items."""
        scan, E = self.device_scan(items), items["embedded"]
        scan = scan if mask is None else scan.only(asarray(mask, E))
        return search(scan, E, self._embed(items.settled, items.held(Q)), k)

    def within(self, items: Items, Q: Any, limit: float, mask: np.ndarray | None) -> list[tuple[Any, Any]]:
        """Rows and squared distances of all items within the limit, for each query."""
        scan, E = self.device_scan(items), items["embedded"]
        scan = scan if mask is None else scan.only(asarray(mask, E))
        return search_radius(scan, E, self._embed(items.settled, items.held(Q)), limit)


class SparseEuclidean(Strategy):
    """Sparse points that are compared as they are."""

    def scan(self, items: Items, k: int = 1) -> Scan:
        """Double-precision bounds by postings."""
        return items.cached("scan", lambda: sparse_scan(items["points"]))

    def prepare(self, items: Items, Q: Any) -> tuple[Any, Distances]:
        """Distances of the points themselves."""
        Q = sparse.csr_array(Q)
        return Q, neighbors.sparse_distances(Q, items["points"])


class Mixed(Strategy):
    """Points with dense rows v and sparse ones u: k_W(x, y) = vᵀBv + α uᵀu."""

    def derive(self, settled: dict[str, Any], X: Any, threads: int) -> dict[str, Any]:
        """Coordinates and norms."""
        V = self.view.rows(X)
        return {"inside": V, "sqnorms": self._sizes(V, self.view.weigh(V), X)}

    def _sizes(self, V: np.ndarray, W: np.ndarray, X: Any) -> np.ndarray:
        return linalg.row_inner(W, V) + self.view.alpha * self.view.metric.coordinates.energy(X)

    def _lift(self, X: Any) -> tuple[np.ndarray, Any, np.ndarray]:
        V = self.view.rows(X)
        W = self.view.weigh(V)
        return W, self._outside(X), self._sizes(V, W, X)

    def _outside(self, X: Any) -> Any:
        assert self.view.outside is not None
        return self.view.outside(X)

    def scan(self, items: Items, k: int = 1) -> Scan:
        """Double-precision bounds from both parts."""

        def make() -> Scan:
            U = self._outside(items["points"])
            return MixedScan.of(items["inside"], U, items["sqnorms"], self.view.alpha, self._lift)

        return items.cached("scan", make)

    def prepare(self, items: Items, Q: Any) -> tuple[Any, Distances]:
        """Distances from the differences of the points."""
        Q, exactly = items.held(Q), listed_distances(self.view.metric, items["points"], Q)
        sizes = np.maximum(self._lift(Q)[2], 0)

        def distances(rows: np.ndarray, ids: np.ndarray, lower: np.ndarray, k: int) -> np.ndarray:
            D = exactly(np.repeat(rows, ids.shape[1]), ids.ravel()).reshape(ids.shape)
            return settled(self.view.metric, D, sizes[rows])

        return Q, distances


def listed_distances(metric: Metric, points: Any, Q: Any) -> Any:
    """Function of (rows, items) → d²_W of these queries and items, from differences: equal pairs have equal values."""
    from gramian._jit.ranking import image_sqnorms

    coordinates, L = metric.coordinates, metric.components
    # Lv is off by as much as d ε ‖L‖ |v|: where it should be 0, that is all there is of it.
    blind = (coordinates.size * np.finfo(np.float64).eps) ** 2 * float(linalg.row_norms(L).sum())

    def distances(rows: np.ndarray, ids: np.ndarray) -> np.ndarray:
        D = np.empty(len(rows))
        for part in linalg.blocks(len(rows), 32.0 * coordinates.size):
            X, Y = linalg.take(points, ids[part]), linalg.take(Q, rows[part])
            Z = np.ascontiguousarray(coordinates.difference(X, Y), dtype=np.float64)
            images = image_sqnorms(metric.components, Z)
            D[part] = np.where(images > blind * linalg.row_norms(Z), images, 0.0)
            if metric.alpha > 0:
                D[part] += metric.alpha * coordinates.pair_rest(X, Y, Z)
        return D

    return distances


def unclear(D: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Entries of distances that are tied, or so small beside |q|² that their digits are in doubt."""
    order = np.argsort(D, axis=1)
    S = np.take_along_axis(D, order, axis=1)
    finite = np.isfinite(S)
    gaps = np.diff(np.where(finite, S, 0.0), axis=1)
    tied = (np.abs(gaps) <= TIE * (sizes[:, None] + S[:, :-1])) & finite[:, 1:]
    doubt = _CLOSE * sizes[:, None] >= S
    doubt[:, 1:] |= tied
    doubt[:, :-1] |= tied
    row, place = np.nonzero(doubt & finite)
    return row, order[row, place]


def settled(metric: Metric, D: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Distances (m, n) from differences with the ties of equal points, to queries of |q|² ``sizes``.

    Points that are their own coordinates have them. Other coordinates come from products whose last digits depend on
    where a point stands, which moves d by a few units of the last digit of |q|.
    """
    if metric.coordinates.whole:
        return D
    return leveled(D, lambda S: TIE * (np.sqrt(S * (sizes[:, None] + S)) + TIE * sizes[:, None]))


def leveled(D: np.ndarray, room: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Values of each row, where runs of neighbors in order with gaps within their ``room`` all have the first value."""
    order = np.argsort(D, axis=1)
    S = np.take_along_axis(D, order, axis=1)
    finite = np.isfinite(S)
    level = np.where(finite, S, 0.0)
    apart = np.diff(level, axis=1, prepend=-np.inf) > room(level)
    first = np.maximum.accumulate(np.where(apart | ~finite, np.arange(S.shape[1]), 0), axis=1)
    out = np.empty_like(D)
    np.put_along_axis(out, order, np.take_along_axis(S, first, axis=1), axis=1)
    return out
