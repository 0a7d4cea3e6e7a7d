r"""The first pass over many items: a score that one product with every vector gives.

    f(x) = wᵀz + b − a |z − c|²        c = 2 mean₊ − mean₋, the point that Rocchio-like rules search from

fitted as the query model is, with the distance in place of the Gaussians. Its best items are then ranked by the query
model itself. The distance keeps the answer near the likes where the items fill few dimensions, as a linear
function alone would run away there.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian import linalg
from gramian.metrics import Mahalanobis
from gramian.service.query_model import Examples
from gramian.service.snapshot import Collection

LOCALITY = 10.0
"""Weight of the distance; more of it where the items fill few dimensions."""


@dataclass(frozen=True)
class Norms:
    """Squared distances under a metric of all rows from one point amid them, which keeps the numbers small."""

    origin: np.ndarray
    values: np.ndarray

    def extended(self, view: Collection, metric: Mahalanobis) -> "Norms":
        """With those of the rows that came since, in the precision of the vectors."""
        start, n = len(self.values), len(view.vectors)
        parts = [self.values]
        for block in linalg.blocks(n - start, 24 * view.n_features):
            X = view.vectors.take(np.arange(start + block.start, start + block.stop))
            parts.append(linalg.row_norms(metric.transform(X - self.origin)).astype(X.dtype))
        return Norms(self.origin, np.concatenate(parts))


@dataclass(frozen=True)
class Scout:
    """Scores direction·x − curvature · d²(x, center), on the features and up to a constant."""

    metric: Mahalanobis
    direction: np.ndarray
    center: np.ndarray
    curvature: float

    def product(self, origin: np.ndarray) -> np.ndarray:
        """w such that w·x − curvature · d²(x, origin) is the score up to a constant."""
        L = self.metric.components
        return self.direction + 2 * self.curvature * (L.T @ (L @ (self.center - origin)))

    def scores(self, view: Collection, norms: Norms, product: Any) -> np.ndarray:
        """Scores of all items in the order of their ids from the products of w with all rows, in their precision."""
        linear = product - product.dtype.type(self.curvature) * norms.values[: len(product)]
        return linear if view.straight else linear[view.rows]


def fit(examples: Examples) -> Scout:
    """The scout of one query."""
    cloud = examples.cloud
    locality = np.sqrt(LOCALITY / cloud.dimension)
    away = linalg.row_norms(examples.Z - _between(examples.Z, examples))
    direction, (weight,), _ = examples.fitted(-locality * away[:, None])
    back = cloud.metric.components.T @ direction / cloud.size
    point = _between(examples.X, examples)  # the same mix of the points themselves
    return Scout(cloud.metric, back, point, float(weight) * locality / cloud.size**2)


def _between(X: np.ndarray, examples: Examples) -> np.ndarray:
    """2 mean₊ − mean₋, or mean₊ when nothing is disliked."""
    near = X[: examples.n_near].mean(axis=0)
    return 2 * near - X[examples.n_near : examples.clicked].mean(axis=0) if examples.n_far else near
