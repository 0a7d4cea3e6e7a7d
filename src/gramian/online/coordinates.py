"""Where an online learner works: the features themselves, a growing subspace of them, or the span of a kernel basis.

Each maps pairs of points to differences of coordinates Z (m, r) and to ρ (m,), the squared distance that the
coordinates leave out. The metric is d²_W = zᵀMz + αρ, so the rule sees the target y − αρ (the constraint
form of :mod:`gramian.metrics`), and learning is dense in r dimensions whatever d is.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _checks, linalg
from gramian.metrics import KernelMetric, Mahalanobis, Metric, SubspaceMahalanobis

_INDEPENDENT = 1e-10
"""A difference spans a new direction when this share of its energy lies outside of the basis."""


@dataclass(frozen=True, eq=False)
class Plain:
    """All d features, nothing left out."""

    n_features: int
    alpha = 0.0

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.n_features

    def check(self, X: Any, owner: str, name: str = "X") -> Any:
        """Validated points."""
        return _checks.points(X, owner, n_features=self.n_features, allow_sparse=False, name=name)

    def encode(self, U: Any, W: Any) -> tuple["Plain", np.ndarray, np.ndarray]:
        """Differences of the rows, and ρ = 0."""
        Z = np.subtract(U, W, dtype=np.float64)
        return self, Z, np.zeros(len(Z))

    def lift(self, core: Mahalanobis) -> Metric:
        """The metric on points from the metric on coordinates."""
        return core


@dataclass(frozen=True, eq=False)
class Subspace:
    """z = Uᵀx for orthonormal U (d, r) grown from the differences seen, until r = rank: M = I + U(C − I)Uᵀ.

    While r < rank this is the dense rule in R^d; afterwards it is the rule restricted to metrics of that form. A step
    costs O(dr), or O(r · nonzeros) for sparse points once U is full.
    """

    basis: np.ndarray
    rank: int
    alpha = 1.0

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return self.basis.shape[0]

    @property
    def size(self) -> int:
        """Number of coordinates now."""
        return self.basis.shape[1]

    def check(self, X: Any, owner: str, name: str = "X") -> Any:
        """Validated points, sparse or dense."""
        return _checks.points(X, owner, n_features=self.n_features, name=name)

    def encode(self, U: Any, W: Any) -> tuple["Subspace", np.ndarray, np.ndarray]:
        """Grow the basis by new directions, then coordinates and what they leave out.

        Growing before learning changes nothing: M is the identity on directions that no step has used.
        """
        V = U - W
        grown = self._grow(V)
        Z = np.ascontiguousarray(V @ grown.basis, dtype=np.float64)
        return grown, Z, np.maximum(linalg.row_norms(V) - linalg.row_norms(Z), 0)

    def _grow(self, V: Any) -> "Subspace":
        new: list[np.ndarray] = []
        for i in range(V.shape[0]):
            if self.size + len(new) >= min(self.rank, self.n_features):
                break
            v = V[[i]].toarray()[0] if sparse.issparse(V) else np.array(V[i], dtype=np.float64)
            energy = v @ v
            for _ in range(2):
                v -= self.basis @ (self.basis.T @ v)
                for w in new:
                    v -= (w @ v) * w
            if v @ v > _INDEPENDENT * energy:
                new.append(v / np.sqrt(v @ v))
        return self if not new else replace(self, basis=np.column_stack([self.basis, *new]))

    def lift(self, core: Mahalanobis) -> Metric:
        """I + U(C − I)Uᵀ, never formed."""
        return SubspaceMahalanobis(self.basis, core.matrix, 1.0)


@dataclass(frozen=True, eq=False)
class KernelSpace:
    """Coordinates of a fitted :class:`~gramian.KernelFeatures`; ρ is the kernel distance outside of its span."""

    features: Any
    alpha: float = 1.0

    @property
    def n_features(self) -> int | None:
        """Number of input features, None when the kernel takes other objects."""
        return getattr(self.features, "n_features_in_", None)

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return len(self.features.map_)

    def check(self, X: Any, owner: str, name: str = "X") -> Any:
        """Validated points of the kernel."""
        return self.features.kernel_.check(X, name)

    def encode(self, U: Any, W: Any) -> tuple["KernelSpace", np.ndarray, np.ndarray]:
        """Differences of coordinates, and the residual of each pair."""
        Z = np.ascontiguousarray(self.features.transform(U) - self.features.transform(W))
        if self.alpha == 0:
            return self, Z, np.zeros(len(Z))
        k = self.features.kernel_
        full = k.diag(U) + k.diag(W) - 2 * k.pairs(U, W)
        return self, Z, np.maximum(full - linalg.row_norms(Z), 0)

    def lift(self, core: Mahalanobis) -> Metric:
        """The kernel metric with this core."""
        return KernelMetric(self.features, core.matrix, self.alpha)
