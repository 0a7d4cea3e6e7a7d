"""Learned distances as immutable values.

Every metric of the package has the form (Jain 2009, (3.6)–(3.8) and Theorem 5)::

    k_W(x, y)  = z(x)ᵀ M z(y) + α ρ(x, y)
    d²_W(x, y) = k_W(x, x) + k_W(y, y) − 2 k_W(x, y)

with coordinates z(x), a PSD core M on them, and a weight α ≥ 0 on the residual energy
ρ(x, y) = k(x, y) − z(x)ᵀz(y) outside their span. :class:`Mahalanobis` has z(x) = x and no residual,
:class:`SubspaceMahalanobis` has z(x) = Uᵀx, :class:`KernelMetric` has the coordinates of a kernel basis.
"""

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gramian import _checks, linalg
from gramian.persist import Stored


class Metric(ABC, Stored):
    """An immutable learned (pseudo-)distance on points.

    Subclasses give ``_embed(X)``, coordinates in which the metric is Euclidean, and, when a part of the metric
    lies outside of them, ``_residual(X, Y)`` and ``_residual_pairs(X, Y)``, the squared distances of that part.
    """

    @property
    @abstractmethod
    def n_features(self) -> int | None:
        """Number of features of a point; None where points need not be vectors."""

    @abstractmethod
    def _embed(self, X: Any) -> np.ndarray: ...

    def _residual(self, X: Any, Y: Any | None) -> np.ndarray | None:
        return None

    def _residual_pairs(self, X: Any, Y: Any) -> np.ndarray | None:
        return None

    def _points(self, X: Any, name: str = "X") -> Any:
        return _checks.points(X, type(self).__name__, n_features=self.n_features, name=name)

    def sqdist(self, X: Any, Y: Any | None = None) -> np.ndarray:
        """Squared distances d²_W between the rows of X and of Y (or of X), shape (n, m)."""
        X = self._points(X)
        Y = None if Y is None else self._points(Y, "Y")
        D = linalg.sqdist(self._embed(X), None if Y is None else self._embed(Y))
        rest = self._residual(X, Y)
        return D if rest is None else D + rest

    def distance(self, X: Any, Y: Any | None = None) -> np.ndarray:
        """Distances d_W, the only place where a root is taken, shape (n, m)."""
        D = self.sqdist(X, Y)
        return np.sqrt(D, out=D)

    def pair_sqdist(self, X: Any, Y: Any) -> np.ndarray:
        """Squared distance of row i of X to row i of Y, shape (n,)."""
        X, Y = self._points(X), self._points(Y, "Y")
        if X.shape[0] != Y.shape[0]:
            raise ValueError(f"{type(self).__name__}: X and Y must pair up, got {X.shape[0]} and {Y.shape[0]} rows.")
        d = linalg.pair_sqdist(self._embed(X), self._embed(Y))
        rest = self._residual_pairs(X, Y)
        return d if rest is None else d + rest

    def kernel(self, X: Any, Y: Any | None = None) -> np.ndarray:
        """Learned kernel k_W(x, y), shape (n, m)."""
        X = self._points(X)
        Y = None if Y is None else self._points(Y, "Y")
        E = self._embed(X)
        return linalg.inner(E, E if Y is None else self._embed(Y))

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates (n, r) in which the plain Euclidean distance is this metric (an isometry)."""
        return self._embed(self._points(X))

    def __reduce__(self) -> Any:
        # Rebuilt from its state: pickle would bring back frozen arrays as writable ones.
        return type(self)._from_state, (self._state(),)

    def __call__(self, u: Any, v: Any) -> float:
        """Distance of two single points, for libraries that take a callable metric."""
        return float(self.pair_sqdist(np.reshape(u, (1, -1)), np.reshape(v, (1, -1)))[0] ** 0.5)

    @property
    @abstractmethod
    def matrix(self) -> np.ndarray:
        """The matrix M of the metric."""


@dataclass(frozen=True, eq=False)
class Mahalanobis(Metric):
    """d²(x, y) = (x − y)ᵀ M (x − y) with M = LᵀL.

    Parameters
    ----------
    components : array (r, d)
        The factor L.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> metric = gm.Mahalanobis.from_matrix([[2.0, 0.0], [0.0, 0.0]])
    >>> metric.sqdist([[0.0, 0.0]], [[1.0, 5.0]]).round(12).tolist()
    [[2.0]]
    """

    components: np.ndarray

    def __post_init__(self) -> None:
        L = _checks.array(self.components, "Mahalanobis", "components")
        if L.ndim != 2 or not np.isfinite(L).all():
            raise ValueError(f"Mahalanobis: components must be a finite array (r, d), got shape {L.shape}.")
        L.flags.writeable = False
        object.__setattr__(self, "components", L)

    @classmethod
    def from_matrix(cls, M: Any) -> "Mahalanobis":
        """Metric of a PSD matrix, with its symmetric root as the factor."""
        return cls(linalg.psd_sqrt(_checks.psd(M, "Mahalanobis")))

    @classmethod
    def euclidean(cls, d: int) -> "Mahalanobis":
        """The Euclidean metric on d features."""
        return cls(np.eye(_checks.number(d, "Mahalanobis", "d", low=1, integer=True)))

    @property
    def n_features(self) -> int:
        """Number of input features d."""
        return self.components.shape[1]

    @cached_property
    def matrix(self) -> np.ndarray:
        """M = LᵀL, (d, d)."""
        M = self.components.T @ self.components
        M.flags.writeable = False
        return M

    @cached_property
    def root(self) -> np.ndarray:
        """Symmetric root G = M^{1/2}, (d, d): the factor that is free of an arbitrary rotation."""
        L = self.components
        symmetric = L.shape[0] == L.shape[1] and np.array_equal(L, L.T) and _is_psd(L)
        return L if symmetric else linalg.psd_sqrt(self.matrix)

    def _embed(self, X: Any) -> np.ndarray:
        return np.asarray(X @ self.components.T)


@dataclass(frozen=True, eq=False)
class SubspaceMahalanobis(Metric):
    """W = α I + U (M − α I) Uᵀ in high dimension, d × d never formed (Jain 2009, (3.6)).

    Parameters
    ----------
    basis : array (d, k)
        Orthonormal columns U.
    core : array (k, k)
        PSD matrix M on the coordinates Uᵀx (α I + L in the thesis).
    alpha : float
        Weight of what lies outside of the subspace.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> U = np.array([[1.0], [0.0], [0.0]])
    >>> metric = gm.SubspaceMahalanobis(U, core=[[9.0]], alpha=1.0)
    >>> metric.sqdist([[0.0, 0.0, 0.0]], [[1.0, 1.0, 0.0]]).round(6).tolist()
    [[10.0]]
    """

    basis: np.ndarray
    core: np.ndarray
    alpha: float = 1.0

    def __post_init__(self) -> None:
        U = _checks.array(self.basis, "SubspaceMahalanobis", "basis")
        if U.ndim != 2 or not np.allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-8):
            raise ValueError("SubspaceMahalanobis: basis must have orthonormal columns.")
        M = _checks.psd(self.core, "SubspaceMahalanobis", "core", U.shape[1])
        U.flags.writeable = M.flags.writeable = False
        object.__setattr__(self, "basis", U)
        object.__setattr__(self, "core", M)
        object.__setattr__(self, "alpha", _checks.number(self.alpha, "SubspaceMahalanobis", "alpha", low=0))

    @property
    def n_features(self) -> int:
        """Number of input features d."""
        return self.basis.shape[0]

    @property
    def matrix(self) -> np.ndarray:
        """W as a (d, d) array: d² memory, for small d only."""
        U = self.basis
        return self.alpha * np.eye(U.shape[0]) + U @ (self.core - self.alpha * np.eye(U.shape[1])) @ U.T

    @cached_property
    def _root(self) -> np.ndarray:
        return linalg.psd_sqrt(self.core)

    def _embed(self, X: Any) -> np.ndarray:
        return np.asarray(X @ self.basis) @ self._root

    def _residual(self, X: Any, Y: Any | None) -> np.ndarray | None:
        if self.alpha == 0:
            return None
        ZX = np.asarray(X @ self.basis)
        ZY = None if Y is None else np.asarray(Y @ self.basis)
        return self.alpha * np.maximum(linalg.sqdist(X, Y) - linalg.sqdist(ZX, ZY), 0)

    def _residual_pairs(self, X: Any, Y: Any) -> np.ndarray | None:
        if self.alpha == 0:
            return None
        V = X - Y
        return self.alpha * np.maximum(linalg.row_norms(V) - linalg.row_norms(np.asarray(V @ self.basis)), 0)

    def kernel(self, X: Any, Y: Any | None = None) -> np.ndarray:
        """Learned kernel xᵀ W y."""
        X = self._points(X)
        Y = X if Y is None else self._points(Y, "Y")
        ZX, ZY = np.asarray(X @ self.basis), np.asarray(Y @ self.basis)
        core = self.core - self.alpha * np.eye(len(self.core))
        return ZX @ core @ ZY.T + self.alpha * linalg.inner(X, Y)

    def transform(self, X: Any) -> np.ndarray:
        """Isometry: (n, k) when α = 0, otherwise √α x + U (M^{1/2} − √α I) Uᵀ x, dense (n, d)."""
        X = self._points(X)
        if self.alpha == 0:
            return self._embed(X)
        s = np.sqrt(self.alpha)
        Z = np.asarray(X @ self.basis) @ (self._root - s * np.eye(len(self.core)))
        return s * linalg.dense(X) + Z @ self.basis.T


@dataclass(frozen=True, eq=False)
class KernelMetric(Metric):
    """A learned metric in the feature space of a kernel (Jain 2009, Theorem 5).

    k_W(x, y) = z(x)ᵀ M z(y) + α (k(x, y) − z(x)ᵀz(y)), with z the coordinates of a fitted
    :class:`~gramian.KernelFeatures`. α = 0 is the KPCA trick of Chatpatanasiri et al. (2010);
    M = I with α = 1 gives back the kernel itself.

    Parameters
    ----------
    features : KernelFeatures
        Fitted coordinates z.
    core : array (r, r)
        PSD matrix M on the coordinates.
    alpha : float
        Weight of the part of the kernel outside of the span of the basis.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> features = gm.KernelFeatures(gm.Gaussian(1.0)).fit(X)
    >>> metric = gm.KernelMetric(features, np.eye(3), alpha=1.0)
    >>> bool(np.allclose(metric.kernel(X + 0.5), gm.Gaussian(1.0)(X + 0.5)))
    True
    """

    features: Any
    core: np.ndarray
    alpha: float = 0.0

    def __post_init__(self) -> None:
        M = _checks.psd(self.core, "KernelMetric", "core", self.features.map_.shape[0])
        M.flags.writeable = False
        object.__setattr__(
            self, "features", copy.copy(self.features)
        )  # a later refit of the caller's must not reach us
        object.__setattr__(self, "core", M)
        object.__setattr__(self, "alpha", _checks.number(self.alpha, "KernelMetric", "alpha", low=0))

    def _points(self, X: Any, name: str = "X") -> Any:
        return self.features.kernel_.check(X, name)

    @property
    def n_features(self) -> int | None:
        """Number of input features, None when the kernel takes other objects than vectors."""
        return getattr(self.features, "n_features_in_", None)

    @property
    def matrix(self) -> np.ndarray:
        """M on the coordinates, (r, r)."""
        return self.core

    @cached_property
    def _root(self) -> np.ndarray:
        """R (r, q) with M = RRᵀ: the symmetric root, or below full rank one column a direction, the longest first."""
        values, vectors = linalg.eigh(self.core)
        used = values > 1e-12 * values.max(initial=0.0)
        if used.all():
            return linalg.psd_sqrt(self.core)
        return (vectors[:, used] * np.sqrt(values[used]))[:, ::-1]

    def _embed(self, X: Any) -> np.ndarray:
        return self.features.transform(X) @ self._root

    def _residual(self, X: Any, Y: Any | None) -> np.ndarray | None:
        if self.alpha == 0:
            return None
        k, z = self.features.kernel_, self.features.transform
        inside = linalg.sqdist(z(X), None if Y is None else z(Y))
        return self.alpha * np.maximum(k.sqdist(X, Y) - inside, 0)

    def _residual_pairs(self, X: Any, Y: Any) -> np.ndarray | None:
        if self.alpha == 0:
            return None
        k, z = self.features.kernel_, self.features.transform
        full = k.diag(X) + k.diag(Y) - 2 * k.pairs(X, Y)
        return self.alpha * np.maximum(full - linalg.pair_sqdist(z(X), z(Y)), 0)

    def kernel(self, X: Any, Y: Any | None = None) -> np.ndarray:
        """Learned kernel k_W(x, y) on any points; with centered features z is centered in the first term only."""
        X = self._points(X)
        Y = X if Y is None else self._points(Y, "Y")
        ZX, ZY = self.features.transform(X), self.features.transform(Y)
        K = ZX @ self.core @ ZY.T
        if self.alpha == 0:
            return K
        mean = self.features.mean_  # ρ = k − z̃ᵀz̃ takes the uncentered coordinates, or it would not be PSD
        return K + self.alpha * (self.features.kernel_(X, Y) - (ZX + mean) @ (ZY + mean).T)

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates Rᵀz(x), M = RRᵀ, as many as M has rank: an isometry when α = 0 or on the span of the basis."""
        return super().transform(X)


def _is_psd(L: np.ndarray) -> bool:
    return bool(L.size == 0 or np.linalg.eigvalsh(L)[0] >= -1e-12 * np.abs(L).max())
