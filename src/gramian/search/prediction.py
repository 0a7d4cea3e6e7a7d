"""k-nearest-neighbor prediction with any index."""

from typing import Any, Literal

import numpy as np

from gramian import _validate, neighbors
from gramian._settings import Count, checked
from gramian.search.index import Index

Weights = Literal["uniform", "distance"]


@checked
def knn_proba(
    index: Index, y: Any, X: Any, *, k: Count = 5, weights: Weights = "uniform"
) -> tuple[np.ndarray, np.ndarray]:
    """Classes, and the share of the votes of the k nearest items for each of them, (m, n_classes).

    Parameters
    ----------
    index : Index
    y : labels (n,) in the order of ``index.ids``
    X : points (m, d)
    k : int
    weights : {"uniform", "distance"}
        One vote each, or 1/d; items at distance zero then outvote all others.
    """
    classes, codes = _validate.labels(y, "knn_proba", len(index))
    near, weight = _weighted(index, X, k, weights)
    return classes, neighbors.tally(codes[near], len(classes), weight / weight.sum(axis=1, keepdims=True))


@checked
def knn_classify(index: Index, y: Any, X: Any, *, k: Count = 5, weights: Weights = "uniform") -> np.ndarray:
    """Label of the majority of the k nearest items, of tied ones that of nearer items; see :func:`.knn_proba`.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> from gramian.search import knn_classify
    >>> index = gm.ExactIndex(gm.Mahalanobis.euclidean(1)).add([[0.0], [1.0], [8.0], [9.0]])
    >>> knn_classify(index, ["low", "low", "high", "high"], [[2.0], [7.0]], k=2).tolist()
    ['low', 'high']
    """
    classes, codes = _validate.labels(y, "knn_classify", len(index))
    near, weight = _weighted(index, X, k, weights)
    return classes[neighbors.winners(codes[near], len(classes), weight)]


@checked
def knn_regress(index: Index, y: Any, X: Any, *, k: Count = 5, weights: Weights = "uniform") -> np.ndarray:
    """Mean target of the k nearest items, (m,) or (m, t) as y is (n,) or (n, t); see :func:`.knn_proba`."""
    target = _validate.array(y, "knn_regress", "y")
    if target.ndim == 0 or len(target) != len(index):
        raise ValueError(f"knn_regress: y must have one target per item ({len(index)}), got shape {target.shape}.")
    if not np.isfinite(target).all():
        raise ValueError("knn_regress: y contains NaN or infinity.")
    near, weight = _weighted(index, X, k, weights)
    return np.einsum("mk,mk...->m...", weight / weight.sum(axis=1, keepdims=True), target[near])


def _weighted(index: Index, X: Any, k: int, weights: Weights) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the neighbors in ``index.ids`` and the weight of each."""
    ids, sqdist = index.query(X, k)
    near = np.searchsorted(index.ids, ids)
    if weights == "uniform":
        return near, np.ones(ids.shape)
    zero = sqdist == 0
    weight = np.divide(1.0, np.sqrt(sqdist), out=np.zeros_like(sqdist), where=~zero)
    return near, np.where(zero.any(axis=1, keepdims=True), zero, weight)
