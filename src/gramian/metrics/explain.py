"""What each feature adds to a distance."""

from typing import TYPE_CHECKING, Any

import numpy as np

from gramian import _checks, linalg

if TYPE_CHECKING:
    from gramian.metrics.base import Metric


def shares(metric: "Metric", x: Any, y: Any) -> np.ndarray:
    """Shares v_j (Wv)_j of the features in d²(x, y), v = x − y, (d,)."""
    owner = type(metric).__name__
    for point, name in ((x, "x"), (y, "y")):
        _checks.same_columns(point, metric.feature_names, owner, name)
    X, Y = (metric.check(metric.coordinates.one(point, owner, name), name) for point, name in ((x, "x"), (y, "y")))
    Z = metric.coordinates.difference(X, Y)
    inside = metric.coordinates.back(np.asarray(Z @ (metric.core - metric.alpha * np.eye(len(metric.core)))))
    if inside is None:
        raise TypeError(f"{owner}: explain needs a metric on features, which coordinates of a kernel are not.")
    V = linalg.dense(X).astype(np.float64) - linalg.dense(Y)
    return (V * (inside + metric.alpha * V))[0]


def by_name(found: np.ndarray, names: Any, owner: str) -> dict[str, float]:
    """Shares under the names of their features, the largest first."""
    if not isinstance(names, list | tuple | np.ndarray) or len(names) != len(found):
        wanted = f"{len(found)} names of features"
        raise ValueError(f"{owner}: names must be {wanted}, got {_checks.shown(names)}.")
    return {str(names[j]): float(found[j]) for j in np.argsort(-np.abs(found), kind="stable")}
