"""The basis of kernel features: pivots of a Cholesky factor, landmarks, or points that are given."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gramian.features import landmarks
from gramian.features.cholesky import PivotedCholesky, factorize
from gramian.kernels import Kernel
from gramian.linalg import count, take

Choice = Literal["cholesky", "random-cholesky", "kmeans", "uniform", "leverage", "all"]
OWNER = "KernelFeatures"


@dataclass(frozen=True, eq=False)
class Basis:
    """Basis points, the factor of their Gram matrix, and the training coordinates where these come for free."""

    points: Any
    factor: PivotedCholesky
    coordinates: np.ndarray | None = None


def choose(kernel: Kernel, X: Any, basis: Any, size: int | None, tol: float, rng: np.random.RandomState) -> Basis:
    """The basis that a word asks for, or the points that are given."""
    if not isinstance(basis, str):
        points = given(kernel, X, basis)
        return Basis(points, factorize(kernel, points))
    if basis in ("cholesky", "random-cholesky"):
        outer = factorize(kernel, X, size, tol, greedy=basis == "cholesky", rng=rng)
        L = take(outer.factor, outer.pivots)
        inner = PivotedCholesky(L, np.arange(L.shape[0]), outer.residual, outer.trace)
        return Basis(take(X, outer.pivots), inner, outer.factor)
    points = drawn(kernel, X, basis, size, rng)
    return Basis(points, factorize(kernel, points))


def given(kernel: Kernel, X: Any, points: Any) -> Any:
    """A copy of the caller's points, which may change later."""
    points = kernel.check(points, "basis")
    if kernel.on_vectors and points.shape[1] != X.shape[1]:
        raise ValueError(f"{OWNER}: basis must have {X.shape[1]} features, got {points.shape[1]}.")
    return take(points, np.arange(count(points)))


def drawn(kernel: Kernel, X: Any, basis: str, size: int | None, rng: np.random.RandomState) -> Any:
    """Landmarks: all points, centers of clusters, or some points."""
    if basis == "all":
        return take(X, np.arange(count(X)))
    if size is None:
        raise ValueError(f"{OWNER}: basis={basis!r} needs rank or n_basis, got None for both.")
    if basis == "kmeans":
        if not kernel.on_vectors:
            raise ValueError(f"{OWNER}: basis='kmeans' needs a kernel on vectors; use 'random-cholesky'.")
        return landmarks.kmeans_centers(X, size, rng)
    if basis == "leverage":
        return take(X, landmarks.leverage(kernel, X, size, rng))
    return take(X, landmarks.uniform(count(X), size, rng))
