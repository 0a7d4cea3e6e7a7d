r"""What one query means, from the clicks on its results: a logistic model for the open query alone.

Items are scored by a linear part and Gaussians at the query and the clicked items c::

    f(x) = wᵀz + b + Σ_c β_c exp(−|z − z_c|² / 2s²)

with z the coordinates of the active metric, centered and scaled to mean squared norm one, and s² twice the usual
squared distance of an item to its twentieth neighbor (among 2,000). With K the matrix of the Gaussians at the c,
(w, b, β) minimize by Newton steps::

    Σ_i h_i log(1 + exp(−t_i f(x_i))) + ½ λ (|w|² + βᵀKβ)

over the query and the likes (t = 1), the dislikes (t = −1), and 100 random items (t = −1, h = 0.1). The linear part
finds what the likes have in common, the Gaussians what lies beside a like or a dislike, also when the likes lie in
several places. Of many items only those are scored that a scout finds, by a score that one product with every
vector gives::

    g(x) = wᵀz + b − a |z − c|²        c = 2 mean₊ − mean₋, the point that Rocchio-like rules search from

fitted in the same way. The distance keeps its answer near the likes where the items fill few dimensions, as a linear
function alone would run away there.
"""

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, solve, solve_triangular
from scipy.special import expit

from gramian import linalg
from gramian.metrics import Mahalanobis
from gramian.service.snapshot import Collection

RANDOM = 100
RANDOM_WEIGHT = 0.1
PENALTY = 0.1
BREADTH = 2.0
"""h, λ and s² were chosen on tasks of their own, none of which is reported (benchmarks/serve)."""
MOST_CENTERS = 200
"""Gaussians of one model; of more clicks some are left to the linear part."""
STEPS = 25
FEW, PROBED, NEIGHBOR = 2000, 300, 20
"""Items from which the scale of a model is computed, those whose neighbors are looked at, and which neighbor."""
LOCALITY = 10.0
"""Weight of the distance in a scout; more of it where the items fill few dimensions."""
JITTER = 1e-6
CLOSEST = 1e-3
TINY = 1e-200


@dataclass(frozen=True)
class Cloud:
    """How the items lie under a metric: center, root mean square distance from it, effective dimension, neighbors.

    ``near`` is the median squared distance of an item to its twentieth neighbor, in units of ``size``².
    """

    metric: Mahalanobis
    center: np.ndarray
    size: float
    dimension: float
    near: float

    @classmethod
    def of(cls, view: Collection, metric: Mahalanobis) -> "Cloud":
        """Of a few items, evenly spaced by id; the dimension is (Σλ)² / Σλ² of their covariance."""
        X = view.points(view.ids[linalg.spread(len(view.ids), FEW)])
        center = X.mean(axis=0)
        Z = metric.transform(X - center)
        squares = max(float(linalg.row_norms(Z).mean()), TINY)
        spread = max(float(((Z.T @ Z / len(Z)) ** 2).sum()), TINY)
        D = _sqdist(Z[linalg.spread(len(Z), PROBED)] / np.sqrt(squares), Z / np.sqrt(squares))
        place = min(NEIGHBOR, len(Z) - 1)
        near = max(float(np.median(np.partition(D, place, axis=1)[:, place])), CLOSEST)
        return cls(metric, center, float(np.sqrt(squares)), squares**2 / spread or 1.0, near)

    def coordinates(self, X: np.ndarray) -> np.ndarray:
        """z of points."""
        return self.metric.transform(X - self.center) / self.size


@dataclass(frozen=True)
class Examples:
    """What a model is fitted to: points that are near the query (itself first), far ones, and random ones."""

    cloud: Cloud
    X: np.ndarray
    Z: np.ndarray
    n_near: int
    n_far: int

    @classmethod
    def of(cls, view: Collection, cloud: Cloud, near: np.ndarray, far: np.ndarray) -> "Examples":
        """The clicks of one query, and random items; the same clicks draw the same ones."""
        rng = np.random.default_rng(zlib.crc32(near.tobytes() + far.tobytes()))
        n = len(view.ids)
        random = view.points(view.ids[rng.choice(n, min(n, RANDOM), replace=False)])
        X = np.concatenate([near, far, random])
        return cls(cloud, X, cloud.coordinates(X), len(near), len(far))

    @property
    def clicked(self) -> int:
        """Number of points that somebody named."""
        return self.n_near + self.n_far

    def fitted(self, F: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Weights of the coordinates and of further features F (m, p), and the bias."""
        t = np.where(np.arange(len(self.X)) < self.n_near, 1.0, -1.0)
        h = np.where(np.arange(len(self.X)) < self.clicked, 1.0, RANDOM_WEIGHT)
        Q, Y = _compressed(self.Z)
        w = _logistic(np.column_stack([Y, F, np.ones(len(Y))]), t, h)
        return Q @ w[: Y.shape[1]], w[Y.shape[1] : -1], float(w[-1])


@dataclass(frozen=True)
class QueryModel:
    """Scores f(x) = direction·z + bias + Σ_c weight_c exp(−|z − z_c|² / 2s²)."""

    cloud: Cloud
    direction: np.ndarray
    bias: float
    centers: np.ndarray
    weights: np.ndarray

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Scores of points."""
        Z = self.cloud.coordinates(X)
        return Z @ self.direction + self.bias + _gaussians(Z, self.centers, self.cloud.near) @ self.weights


def fit(examples: Examples) -> QueryModel:
    """The model of one query."""
    cloud = examples.cloud
    centers = examples.Z[linalg.spread(examples.clicked, MOST_CENTERS)]
    K = _gaussians(centers, centers, cloud.near)
    K.flat[:: len(K) + 1] += JITTER
    R = cho_factor(K)[0]  # K = RᵀR, so with β = R⁻¹u the penalty is |u|²
    F = solve_triangular(R, _gaussians(examples.Z, centers, cloud.near).T, trans="T").T
    direction, u, bias = examples.fitted(F)
    return QueryModel(cloud, direction, bias, centers, solve_triangular(R, u))


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


def fit_scout(examples: Examples) -> Scout:
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


def _sqdist(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.maximum(linalg.row_norms(A)[:, None] + linalg.row_norms(B) - 2 * A @ B.T, 0)


def _gaussians(Z: np.ndarray, centers: np.ndarray, near: float) -> np.ndarray:
    return np.exp(_sqdist(Z, centers) / (-2 * BREADTH * near))


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
