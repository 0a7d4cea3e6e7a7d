"""Exact nearest neighbors under any metric: the reference for every other index."""

from typing import Any

import numpy as np

from gramian import linalg
from gramian.kernels.base import _length
from gramian.metrics import Mahalanobis
from gramian.search.base import Index, smallest


class ExactIndex(Index):
    """The k items x with the smallest d²_W(q, x), found by comparing q with all of them.

    The work is done in blocks of bounded memory. Under a Mahalanobis metric the items are kept in the coordinates Lx,
    a block of |Lq − Lx|² comes from one matrix product, and the values of the neighbors
    themselves are computed again from the differences, so that a point is at distance exactly zero from its copy.

    Parameters
    ----------
    metric : Metric, or a distance with ``sqdist(X, Y)`` and ``n_features``
        Mahalanobis, SubspaceMahalanobis, KernelMetric, GraphMetric; or a :class:`~gramian.TangentDistance`.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> index = gm.ExactIndex(gm.Mahalanobis.from_matrix(np.diag([4.0, 0.0])))
    >>> ids, sqdist = index.add([[0.0, 0.0], [1.0, 9.0], [3.0, 0.0]]).query([[1.0, 0.0]], k=2)
    >>> ids.tolist(), sqdist.tolist()
    ([[1, 0]], [[0.0, 4.0]])
    """

    def _accepts(self, metric: Any) -> bool:
        return hasattr(metric, "sqdist") and hasattr(metric, "n_features")

    def _derive(self, X: Any) -> dict[str, Any]:
        return {"embedded": self.metric.embed(X)} if isinstance(self.metric, Mahalanobis) else {}

    def _search(self, Q: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        found = [self._block(Q[block], k) for block in linalg.blocks(_length(Q), 24 * len(self))]
        return np.concatenate([rows for rows, _ in found]), np.concatenate([values for _, values in found])

    def _block(self, Q: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        metric, points = self.metric, self._rows("points")
        if not isinstance(metric, Mahalanobis):
            return smallest(metric.sqdist(Q, points), k)
        D = linalg.sqdist(metric.embed(Q), self._rows("embedded"))
        # The product rounds; every item that rounding may have pushed behind the k-th one is looked at again.
        edge = np.partition(D, k - 1, axis=1)[:, k - 1 : k]
        slack = 1e-12 * (D.max(axis=1, keepdims=True) + edge)
        row, item = np.nonzero(edge + slack >= D)
        D.fill(np.inf)
        for part in linalg.blocks(len(row), 32 * points.shape[1]):
            D[row[part], item[part]] = difference_sqdist(metric, Q[row[part]], points[item[part]])
        return smallest(D, k)


def difference_sqdist(metric: Mahalanobis, X: Any, Y: Any) -> np.ndarray:
    """|L(x − y)|² for paired rows, difference first: zero for equal rows, accurate for close ones."""
    return linalg.row_norms(metric.embed(X.astype(np.float64) - Y.astype(np.float64)))
