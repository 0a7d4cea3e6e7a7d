"""Coordinates of a kernel beside the features: what is learned in the space of a kernel stays near the points."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from gramian import linalg
from gramian._arrays import Array, Matrix, namespace
from gramian.coordinates.kernel import KernelSpace


@dataclass(frozen=True, eq=False)
class BesideFeatures(KernelSpace):
    """The space of φ(x) = (x, z(x)), with z of a fitted :class:`~gramian.KernelFeatures`.

    The rest outside of z is the features themselves, so that a metric here is d² = |L(z(x) − z(y))|² + α |x − y|²:
    far from the basis, where z says nothing, the plain distance remains. Unlike the rest of a kernel it is known as
    vectors, and ``transform`` is an isometry everywhere.
    """

    beside = True
    linear = False

    def inner(self, X: Matrix, Y: Matrix) -> np.ndarray:
        """xᵀy + z(x)ᵀz(y)."""
        return linalg.inner(X, Y) + self.z(X) @ self.z(Y).T

    def energy(self, X: Matrix) -> np.ndarray:
        """|x|² + |z(x)|²."""
        return linalg.row_norms(X) + linalg.row_norms(self.z(X))

    def bilinear(self, X: Matrix, left: Any, right: Any) -> np.ndarray:
        """(left φ)(right φ)ᵀ on the diagonal, in blocks of rows."""
        Z = self.z(X)
        total = linalg.empty(left.shape[0], X)
        for rows in linalg.blocks(left.shape[0], 48 * (X.shape[1] + self.size), of=X):
            outside = linalg.row_inner(linalg.product(left[rows], X), linalg.product(right[rows], X))
            inside = linalg.row_inner(linalg.product(left[rows], Z), linalg.product(right[rows], Z))
            total[rows] = outside + inside
        return total

    def sqdist(self, X: Matrix, Y: Any | None) -> np.ndarray:
        """|x − y|² + |z(x) − z(y)|²."""
        return linalg.sqdist(X, Y) + linalg.sqdist(self.z(X), None if Y is None else self.z(Y))

    def pair_sqdist(self, X: Matrix, Y: Matrix) -> np.ndarray:
        """|x − y|² + |z(x) − z(y)|² of paired points."""
        return linalg.pair_sqdist(X, Y) + linalg.row_norms(self.difference(X, Y))

    def rest(self, X: Matrix, Y: Any | None, ZX: Array, ZY: Any | None) -> np.ndarray:
        """|x − y|²."""
        return linalg.sqdist(X, Y)

    def pair_rest(self, X: Matrix, Y: Matrix, Z: np.ndarray) -> np.ndarray:
        """|x − y|² of paired points."""
        return linalg.pair_sqdist(X, Y)

    def phi(self, X: Matrix) -> Any:
        """(x, z(x))."""
        Z = self.z(X)
        return sparse.csr_array(sparse.hstack([X, Z])) if sparse.issparse(X) else namespace(X).concat([X, Z], axis=1)

    def on_axes(self, project: Any) -> np.ndarray:
        """``project`` of the last axes of φ."""
        axes = np.zeros((self.size, (self.n_features or 0) + self.size))
        axes[:, -self.size :] = np.eye(self.size)
        return project(axes)
