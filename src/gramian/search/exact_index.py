"""Exact nearest neighbors under any metric: the reference for every other index."""

from typing import Any, Self

import numpy as np

from gramian import _validate, linalg, neighbors
from gramian.metrics import Mahalanobis, Metric
from gramian.search.exact_strategies import OnDevice, Strategy, strategy
from gramian.search.index import Index, learned
from gramian.search.items import Items


class ExactIndex(Index):
    """Find neighbors by comparing a query with all items; nothing is missed.

    The k items x with the smallest d²_W(q, x).

    The items are kept in coordinates in which the metric is Euclidean. Products in single precision bound the
    distances of all items from below, the most promising ones are computed in double precision, and more of them
    until the bounds prove that no other item belongs to the k nearest (``gramian.neighbors``). Ties, and distances
    that are small beside |q|, are computed from the differences of the points, so that a point is at distance
    exactly zero from its copy. Sparse points stay sparse. Where a part of the metric has no coordinates, as with a
    kernel and α > 0, the others give the bound. In many features the bounds are those of leading directions; lists of
    more than 100 neighbors, and of more than one item in 500, need all directions, which are kept when first asked for.
    Items of a file that is mapped for reading stay there, and nobody may write into it meanwhile.

    Parameters
    ----------
    metric : Metric, fitted learner, or a distance with ``sqdist(X, Y)`` and ``n_features``, optional
        Mahalanobis, SubspaceMahalanobis, KernelMetric, GraphMetric; or a :class:`~gramian.TangentDistance`, of which
        all distances are computed, in blocks of bounded memory. None is the Euclidean distance, of as many features as
        the first points have.

    See Also
    --------
    gramian.HashIndex : For more points, or a metric that changes.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> index = gm.ExactIndex(gm.Mahalanobis.from_matrix(np.diag([4.0, 0.0])))
    >>> ids, sqdist = index.add([[0.0, 0.0], [1.0, 9.0], [3.0, 0.0]]).query([[1.0, 0.0]], k=2)
    >>> ids.tolist(), sqdist.tolist()
    ([[1, 0]], [[0.0, 4.0]])
    """

    _devices = True

    def __init__(self, metric: Any = None) -> None:
        super().__init__(metric)

    def add(self, X: Any, ids: Any = None, *, n_jobs: int | None = None) -> Self:
        with self._lock:
            if self.metric is not None:
                return super().add(X, ids, n_jobs=n_jobs)
            d = _validate.points(X, self._owner, min_points=0, devices=True).shape[1]
            begun = type(self)(Mahalanobis.euclidean(d)).add(X, ids, n_jobs=n_jobs)
            self.metric, self._items = begun.metric, begun._items
            return self

    add.__doc__ = Index.add.__doc__

    def _accept(self, metric: Any) -> Any:
        metric = learned(metric, "ExactIndex")
        if metric is None:
            self._bounded = True
            return None
        if not (hasattr(metric, "sqdist") and hasattr(metric, "n_features")):
            raise TypeError(f"ExactIndex: metric must be a Metric, got {type(metric).__name__}.")
        self._bounded = isinstance(metric, Metric)
        return metric

    def _check(self, X: Any, name: str = "X") -> Any:
        if self.metric is None:
            raise ValueError("ExactIndex: there are no items yet, and no metric was given; add points first.")
        if self._bounded:
            return super()._check(X, name)
        return _validate.points(X, self._owner, n_features=self._width(self._items), min_points=0, name=name)

    def _width(self, items: Items) -> int | None:
        given = None if self.metric is None else self.metric.n_features
        return items["points"].shape[1] if given is None and not self._bounded and items.n else given

    def _strategy(self, points: Any) -> Strategy:
        return strategy(self.metric.view_of(points), points)

    def _settle(self, points: Any) -> dict[str, Any]:
        return self._strategy(points).settle(points) if self._bounded else {}

    def _derive(self, settled: dict[str, Any], X: Any, threads: int) -> dict[str, Any]:
        return self._strategy(X).derive(settled, X, threads) if self._bounded else {}

    def _search(
        self, items: Items, Q: Any, k: int, mask: np.ndarray | None, threads: int
    ) -> tuple[np.ndarray, np.ndarray]:
        if not self._bounded:
            found = [neighbors.smallest(D, k) for D in self._all(items, Q, mask)]
            return np.concatenate([rows for rows, _ in found]), np.concatenate([values for _, values in found])
        way = self._strategy(items["points"])
        if isinstance(way, OnDevice):
            return way.nearest(items, Q, k, mask)
        Q, distances = way.prepare(items, Q)
        scan = way.scan(items, k)
        return neighbors.search(scan if mask is None else scan.only(mask), Q, distances, k, threads=threads)

    def _search_radius(
        self, items: Items, Q: Any, limit: float, mask: np.ndarray | None, threads: int
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        if not self._bounded:
            rows = [row for D in self._all(items, Q, mask) for row in np.where(limit >= D, D, np.inf)]
            found = [neighbors.smallest(row[None], int((row < np.inf).sum())) for row in rows]
            return [(ids[0], values[0]) for ids, values in found]
        way = self._strategy(items["points"])
        if isinstance(way, OnDevice):
            return way.within(items, Q, limit, mask)
        Q, distances = way.prepare(items, Q)
        scan = way.scan(items)
        return neighbors.search_radius(scan if mask is None else scan.only(mask), Q, distances, limit, threads=threads)

    def _all(self, items: Items, Q: Any, mask: np.ndarray | None) -> Any:
        """All distances, in blocks of queries; infinity outside of the mask."""
        for block in linalg.blocks(linalg.count(Q), 24 * items.n):
            D = np.asarray(self.metric.sqdist(Q[block], items["points"]), dtype=float)
            yield D if mask is None else np.where(mask, D, np.inf)
