"""Coordinates in the feature space of a kernel."""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian import _validate, linalg
from gramian._arrays import asarray
from gramian.coordinates.base import Coordinates


@dataclass(frozen=True, eq=False)
class KernelSpace(Coordinates):
    """z(x) of a fitted :class:`~gramian.KernelFeatures` in the space of its kernel k; points are whatever it takes."""

    features: Any

    def __post_init__(self) -> None:
        if not hasattr(self.features, "map_") or not hasattr(self.features, "kernel_"):
            raise TypeError(
                f"KernelMetric: features must be fitted KernelFeatures, got {_validate.shown(self.features)}."
            )
        # A copy: a later refit of the caller's must not reach us.
        object.__setattr__(self, "features", copy.copy(self.features))

    @property
    def kernel(self) -> Any:
        """The kernel k."""
        return self.features.kernel_

    @property
    def linear(self) -> bool:  # type: ignore[override]  # a constant elsewhere
        """Whether k(x, y) = w xᵀy."""
        return self.kernel.linear

    @property
    def mean(self) -> np.ndarray:
        """What centered features subtract."""
        return self.features.mean_

    @property
    def n_features(self) -> int | None:
        """Number of input features, None when the kernel takes other objects."""
        return getattr(self.features, "n_features_in_", None)

    @property
    def size(self) -> int:
        """Number of kernel coordinates."""
        return self.features.map_.shape[0]

    def check(self, X: Any, owner: str, name: str = "X", min_points: int = 1) -> Any:
        """Points of the kernel."""
        if self.kernel.on_vectors:
            X = _validate.points(
                X, owner, n_features=self.n_features, name=name, min_points=min_points, devices=self.kernel.devices
            )
        return self.kernel.accept(X, name)

    def accept(self, X: Any, name: str = "X") -> Any:
        """What the kernel asks of vectors."""
        return self.kernel.accept(X, name)

    def one(self, x: Any, owner: str, name: str) -> Any:
        """A set of one point: an object as it is, a vector as a row."""
        return super().one(x, owner, name) if self.kernel.on_vectors else [x]

    def inner(self, X: Any, Y: Any) -> np.ndarray:
        """k(x, y)."""
        return self.kernel._gram(X, Y)

    def energy(self, X: Any) -> np.ndarray:
        """k(x, x)."""
        return linalg.dense(self.kernel._diag(X))

    def bilinear(self, X: Any, left: Any, right: Any) -> np.ndarray:
        """Left K rightᵀ on the diagonal; K is evaluated only on the points that a block of rows touches."""
        total = linalg.empty(left.shape[0], X)
        for rows in linalg.blocks(left.shape[0], 16.0 * left.shape[1], 32 << 20):
            L, R = left[rows], right[rows]
            a, b = np.unique(L.indices), np.unique(R.indices)
            K = self.kernel._gram(linalg.take(X, a), linalg.take(X, b))
            total[rows] = linalg.row_inner(linalg.dense(linalg.product(L[:, a], K)), asarray(R[:, b].toarray(), K))
        return total

    def sqdist(self, X: Any, Y: Any | None) -> np.ndarray:
        """Squared distances in feature space."""
        return self.kernel._sqdist(X, Y)

    def pair_sqdist(self, X: Any, Y: Any) -> np.ndarray:
        """Squared distances of paired points in feature space."""
        k = self.kernel
        return k._diag(X) + k._diag(Y) - 2 * k._pairs(X, Y)

    def phi(self, X: Any) -> Any:
        """Explicit features of the kernel, where it has some."""
        return self.kernel._phi(X)

    def z(self, X: Any) -> np.ndarray:
        """z(x)."""
        return self.features.coordinates_of(X)

    def on_basis(self, X: Any, Y: Any, M: np.ndarray) -> np.ndarray:
        """δ_b (TᵀMTδ)_b with z = Tk(B, x) and δ = k(B, x) − k(B, y)."""
        basis, T = self.features.basis_, self.features.map_
        apart = (linalg.dense(self.kernel._gram(X, basis)) - linalg.dense(self.kernel._gram(Y, basis)))[0]
        return apart * (T.T @ (M @ (T @ apart)))

    def lower(self, A: np.ndarray) -> np.ndarray:
        """PAPᵀ with z = Px, for a kernel whose φ are the features themselves."""
        basis = self.features.basis_
        if self.kernel._phi(basis) is not basis:
            return A
        P = linalg.dense(self.features.map_ @ basis)
        return P @ A @ P.T if len(A) == P.shape[1] else A

    def on_axes(self, project: Any) -> np.ndarray | None:
        """``project`` of the whitened basis points."""
        basis = self.kernel._phi(self.features.basis_)
        return None if basis is None else self.features.map_ @ project(basis)
