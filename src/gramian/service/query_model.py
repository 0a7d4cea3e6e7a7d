r"""What one query means, from the clicks on its results: a logistic model for the open query alone.

Items are scored by f(x) = wᵀz + b − a |z − c|², with z the coordinates of the active metric, centered and scaled to
mean squared norm one, and c = 2 mean₊ − mean₋ the point that Rocchio-like rules search from. (w, b, a) minimize::

    Σ_i h_i log(1 + exp(−t_i f(x_i))) + ½ λ (|w|² + a'²)        a = a' sqrt(10 / dimension)

over the query and the likes (t = 1), the dislikes (t = −1), and 100 random items (t = −1, h = 0.1), by Newton
steps. The linear part finds what the likes have in common, the distance keeps the answer near them where the
items fill few dimensions, as a linear function alone would run away there.
"""

import zlib
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve
from scipy.special import expit

from gramian import linalg
from gramian.metrics import Mahalanobis
from gramian.service.snapshot import Collection

RANDOM = 100
RANDOM_WEIGHT = 0.1
PENALTY = 0.1
LOCALITY = 10.0
"""λ and the other constants were chosen on tasks of their own (benchmarks/serve)."""
STEPS = 25
FEW = 2000
"""Items from which the scale of a model is computed."""
TINY = 1e-200


@dataclass(frozen=True)
class QueryModel:
    """Scores f(x) = direction·x + offset − curvature · d²(x, center), on the features."""

    metric: Mahalanobis
    direction: np.ndarray
    offset: float
    center: np.ndarray
    curvature: float

    def scores(self, view: Collection, norms: "Norms") -> np.ndarray:
        """Scores of all items in the order of their ids, up to a constant, by one pass over the vectors.

        They have the precision of the vectors.
        """
        L = self.metric.components
        w = self.direction + 2 * self.curvature * (L.T @ (L @ (self.center - norms.origin)))
        linear = view.vectors.product(w)
        linear -= linear.dtype.type(self.curvature) * norms.values[: len(linear)]
        return linear if view.straight else linear[view.rows]

    def exact(self, X: np.ndarray) -> np.ndarray:
        """Scores of given points in double precision."""
        V = self.metric.transform(X - self.center)
        return X @ self.direction + self.offset - self.curvature * np.einsum("ij,ij->i", V, V)


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
class Cloud:
    """How the items lie under a metric: their center, root mean square distance from it, and effective dimension."""

    center: np.ndarray
    size: float
    dimension: float

    @classmethod
    def of(cls, view: Collection, metric: Mahalanobis) -> "Cloud":
        """Of a few items, evenly spaced by id; the dimension is (Σλ)² / Σλ² of their covariance."""
        X = view.points(view.ids[linalg.spread(len(view.ids), FEW)])
        center = X.mean(axis=0)
        Z = metric.transform(X - center)
        squares = np.einsum("ij,ij->i", Z, Z).mean()
        spread = ((Z.T @ Z / len(Z)) ** 2).sum()
        return cls(center, float(np.sqrt(max(squares, TINY))), float(squares**2 / max(spread, TINY)) or 1.0)


def fit(view: Collection, metric: Mahalanobis, cloud: Cloud, near: np.ndarray, far: np.ndarray) -> QueryModel:
    """The model of one query from points that are near it (itself among them) and far from it."""
    others = view.points(view.ids[_sample(len(view.ids), near, far)])
    X = np.concatenate([near, far, others])
    t = np.concatenate([np.ones(len(near)), -np.ones(len(X) - len(near))])
    h = np.concatenate([np.ones(len(near) + len(far)), np.full(len(others), RANDOM_WEIGHT)])
    Z = metric.transform(X - cloud.center) / cloud.size
    center = _between(Z, len(near), len(far))
    locality = np.sqrt(LOCALITY / cloud.dimension)
    distance = locality * ((Z - center) ** 2).sum(axis=1)
    Q, Y = _compressed(Z)
    w = _logistic(np.column_stack([Y, -distance, np.ones(len(Y))]), t, h)
    direction = metric.components.T @ (Q @ w[:-2]) / cloud.size
    offset = float(w[-1] - direction @ cloud.center)
    point = _between(X, len(near), len(far))  # the same mix of the points themselves has the coordinates `center`
    return QueryModel(metric, direction, offset, point, float(w[-2]) * locality / cloud.size**2)


def _between(X: np.ndarray, n_near: int, n_far: int) -> np.ndarray:
    """2 mean₊ − mean₋, or mean₊ when nothing is disliked."""
    near = X[:n_near].mean(axis=0)
    return 2 * near - X[n_near : n_near + n_far].mean(axis=0) if n_far else near


def _sample(n: int, near: np.ndarray, far: np.ndarray) -> np.ndarray:
    """Positions of random items; the same clicks draw the same ones."""
    seed = zlib.crc32(near.tobytes() + far.tobytes())
    return np.random.default_rng(seed).choice(n, min(n, RANDOM), replace=False)


def _compressed(Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An orthonormal basis Q of the rows and their coordinates: the optimal w lies in their span."""
    if len(Z) >= Z.shape[1]:
        return np.eye(Z.shape[1]), Z
    Q, R = np.linalg.qr(Z.T)
    return Q, R.T


def _logistic(A: np.ndarray, t: np.ndarray, h: np.ndarray) -> np.ndarray:
    """argmin_w Σ h log(1 + exp(−t Aw)) + ½ wᵀRw by damped Newton; the last column is the bias, all but free."""
    R = np.full(A.shape[1], PENALTY)
    R[-1] = 1e-3 * PENALTY
    w = np.zeros(A.shape[1])
    loss = _loss(A, t, h, R, w)
    for _ in range(STEPS):
        p = expit(-t * (A @ w))
        gradient = R * w - A.T @ (h * t * p)
        H = (A.T * (h * p * (1 - p))) @ A
        H.flat[:: len(w) + 1] += R
        step = solve(H, gradient, assume_a="pos", check_finite=False)
        scale = 1.0
        while (new := _loss(A, t, h, R, w - scale * step)) > loss and scale > 1e-6:
            scale /= 2
        w, before, loss = w - scale * step, loss, new
        if before - loss <= 1e-9 * max(1.0, abs(loss)):
            break
    return w


def _loss(A: np.ndarray, t: np.ndarray, h: np.ndarray, R: np.ndarray, w: np.ndarray) -> float:
    return float((h * np.logaddexp(0, -t * (A @ w))).sum() + 0.5 * (R * w * w).sum())
