"""A metric as hashing sees it: rows on which it is a quadratic form, and what lies outside of them.

A metric with coordinates z(x) = Uᵀφ(x), core M and weight α outside of them is the matrix W = αI + U (M − αI) Uᵀ on φ.
With a factor M = GᵀG a factor of it is √α I + U (G − √α I) Uᵀ (Jain 2009, Lemma 2), so that

    rᵀW^{1/2}φ(x) = √α rᵀφ(x) + (Uᵀr)ᵀ (G − √α I) z(x),

which with U the whitened basis of a kernel is (4.4) with the S of (4.5): no d × d matrix is needed.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy import sparse

from gramian import linalg
from gramian._device import held
from gramian.metrics import Metric
from gramian.search import codes


def form(
    metric: Metric,
    points: Any,
    seed: int,
    n_bits: int,
    factor: np.ndarray | None = None,
    orthonormal: bool = False,
) -> "Form":
    """The form for these points, dense or sparse; ``factor`` is a G with GᵀG = M, the symmetric root when None.

    With ``orthonormal`` the directions of the bits are those of a random rotation, otherwise independent.
    """
    coordinates, one = metric.coordinates, linalg.take(points, slice(0, 1))
    phi = coordinates.phi(one) if metric.alpha > 0 and coordinates.z(one) is not one else None
    factor = metric.root if factor is None else factor
    if phi is None and orthonormal and 2 * len(metric.components) <= len(factor):
        factor = metric.components  # a rotation of fewer dimensions errs less, and no code has to follow a metric
    if coordinates.z(one) is one:
        return Whole(metric, factor, seed, n_bits, orthonormal)
    if phi is None:
        return Inside(metric, factor, seed, n_bits, orthonormal)
    if sparse.issparse(phi) and orthonormal:
        raise ValueError("HashIndex: estimate must be 'collisions' for sparse points: they have no random rotation.")
    return (Mixed if sparse.issparse(phi) else Direct)(metric, factor, seed, n_bits, orthonormal)


class Form(ABC):
    """Rows v(x), dense, and perhaps u(x), sparse, with k_W(x, y) = v(x)ᵀBv(y) + α u(x)ᵀu(y).

    ``projection`` (p, n_bits) are the directions of the bits on v.
    """

    whole = True
    """Whether this is all of the metric; otherwise distances have a part outside that is only known to be ≥ 0."""
    on_points = False
    """Whether the sparse part of points is the points themselves."""
    projection: np.ndarray
    offset: Any = 0.0
    """What was subtracted from the rows."""
    width: int
    """Number of features that the directions are drawn on."""

    def __init__(self, metric: Metric, factor: np.ndarray, seed: int, n_bits: int, orthonormal: bool = False) -> None:
        self.metric = metric
        self.factor = factor
        self.seed = seed
        self.n_bits = n_bits
        self.orthonormal = orthonormal
        self.projection = self._directions()

    @property
    def dimension(self) -> int:
        """Dimension of the random rotation, where the directions are orthonormal."""
        return max(self.width, self.n_bits)

    @property
    def embedding(self) -> np.ndarray | None:
        """Matrix E with vᵀBv = |Eᵀv|², where B is one matrix with a factor at hand."""
        return None

    def _first(self, n_features: int) -> np.ndarray:
        """Directions on the first features, (n_features, n_bits)."""
        draw = codes.orthonormal_directions if self.orthonormal else codes.first_directions
        self.width = n_features
        return draw(self.seed, n_features, self.n_bits)

    @abstractmethod
    def _directions(self) -> np.ndarray: ...

    @abstractmethod
    def rows(self, X: Any) -> np.ndarray:
        """The dense part of points, uncentered; the points themselves where that is all."""

    @abstractmethod
    def weigh(self, V: np.ndarray) -> np.ndarray:
        """BV of rows."""

    def outside(self, X: Any) -> sparse.csr_array | None:
        """The sparse part of points."""
        return None

    def sqnorms(self, V: np.ndarray) -> np.ndarray:
        """Values vᵀBv of rows."""
        return linalg.row_inner(V, self.weigh(V))

    def project(self, U: Any) -> np.ndarray:
        """The part √α rᵀu of the bits that sparse rows make."""
        return np.sqrt(self.metric.alpha) * self._drawn(U)

    def _drawn(self, V: Any) -> np.ndarray:
        return codes.project(V, self.seed, self.n_bits)


class Whole(Form):
    """Dense points under a matrix: v(x) = x, B = M."""

    def _directions(self) -> np.ndarray:
        L = self.metric.components
        diagonal = L.shape[0] == L.shape[1] and np.count_nonzero(L) == np.count_nonzero(np.diagonal(L))
        self.scales = np.diag(self.metric.core).copy() if diagonal else None
        return self.factor.T @ self._first(len(self.factor))

    @property
    def embedding(self) -> np.ndarray | None:
        """Gᵀ."""
        return self.factor.T

    def rows(self, X: Any) -> np.ndarray:
        """The points."""
        return X

    def weigh(self, V: np.ndarray) -> np.ndarray:
        """MV."""
        return V @ self.metric.core if self.scales is None else V * self.scales

    def sqnorms(self, V: np.ndarray) -> np.ndarray:
        """|Lv|²."""
        return linalg.row_norms(V @ self.metric.components.T) if self.scales is None else (V * V) @ self.scales


class Direct(Form):
    """Dense φ under αI + U (M − αI) Uᵀ: v(x) = φ(x)."""

    def _directions(self) -> np.ndarray:
        alpha = self.metric.alpha
        self.axes: np.ndarray = linalg.dense(self.metric.coordinates.on_axes(lambda rows: rows))
        eye = np.eye(len(self.axes))
        self.inside = self.metric.core - alpha * eye
        R = self._first(self.axes.shape[1])
        return np.sqrt(alpha) * R + self.axes.T @ ((self.factor.T - np.sqrt(alpha) * eye) @ (self.axes @ R))

    def rows(self, X: Any) -> np.ndarray:
        """φ(x)."""
        return self.metric.coordinates.phi(X)

    def weigh(self, V: np.ndarray) -> np.ndarray:
        """WV."""
        return self.metric.alpha * V + ((V @ self.axes.T) @ self.inside) @ self.axes


class Inside(Form):
    """Coordinates alone: v(x) = z(x), B = M. A part of the metric outside of them has no bits."""

    def _directions(self) -> np.ndarray:
        self.whole, self.offset = self.metric.alpha == 0, self.metric.coordinates.mean
        on_axes = len(self.factor) == self.metric.coordinates.size and not self.orthonormal
        axes = self.metric.coordinates.on_axes(self._drawn) if on_axes else None
        return self.factor.T @ (self._first(len(self.factor)) if axes is None else axes)

    @property
    def embedding(self) -> np.ndarray | None:
        """Gᵀ."""
        return self.factor.T

    def rows(self, X: Any) -> np.ndarray:
        """z(x)."""
        Z = self.metric.coordinates.z(X)
        return Z if held(Z) else np.ascontiguousarray(Z)

    def weigh(self, V: np.ndarray) -> np.ndarray:
        """MV."""
        return V @ self.metric.core


class Mixed(Form):
    """Coordinates and sparse φ: v(x) = z(x), B = M − αI, u(x) = φ(x)."""

    def _directions(self) -> np.ndarray:
        alpha, eye = self.metric.alpha, np.eye(self.metric.coordinates.size)
        self.inside = self.metric.core - alpha * eye
        return (self.factor.T - np.sqrt(alpha) * eye) @ self.metric.coordinates.on_axes(self._drawn)

    def rows(self, X: Any) -> np.ndarray:
        """z(x), not centered."""
        return np.ascontiguousarray(self.metric.coordinates.z(X) + self.metric.coordinates.mean)

    def outside(self, X: Any) -> sparse.csr_array:
        """φ(x)."""
        phi = self.metric.coordinates.phi(X)
        self.on_points = phi is X
        return phi

    def weigh(self, V: np.ndarray) -> np.ndarray:
        """(M − αI)V."""
        return V @ self.inside
