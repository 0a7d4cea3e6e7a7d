"""Coordinates beside the roots of class probabilities."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import block_diag

from gramian import linalg
from gramian._arrays import Array, Matrix, asarray, namespace, to_numpy
from gramian.coordinates.base import Coordinates
from gramian.coordinates.probabilities import Probabilities


@dataclass(frozen=True, eq=False)
class Hellinger(Coordinates):
    """z(x) = (z₀(x), √p(x)): coordinates of the features beside the roots of c class probabilities.

    |√p(x) − √p(y)|² is Hellinger's squared distance of the probabilities, 2 − 2 Σ_c √(p_c(x) p_c(y)), and the sum in it
    Bhattacharyya's coefficient (1943), so that the space has the kernel k(x, y) = k₀(x, y) + Σ_c √(p_c(x) p_c(y)).
    What z₀ leaves out, the rest, stays as it was.

    Parameters
    ----------
    space : Coordinates
        z₀ with its door.
    model : Probabilities
        p, of points behind that door.
    """

    space: Coordinates
    model: Probabilities

    def __post_init__(self) -> None:
        if self.space.n_features != self.model.n_features:
            raise ValueError(
                f"Hellinger: model must take {self.space.n_features} features, got one for {self.model.n_features}."
            )

    @property
    def whole(self) -> bool:  # type: ignore[override]  # a constant elsewhere
        """Whether z₀ holds all of a point."""
        return self.space.whole

    @property
    def beside(self) -> bool:  # type: ignore[override]  # a constant elsewhere
        """Whether the rest are the features themselves."""
        return self.space.beside

    @property
    def mean(self) -> Array:
        """What z₀ subtracts, and nothing of √p."""
        return np.append(np.broadcast_to(self.space.mean, self.space.size), np.zeros(len(self.classes)))

    @property
    def classes(self) -> np.ndarray:  # type: ignore[override]  # None elsewhere
        """Names of the classes, in the order of the last coordinates."""
        return self.model.classes

    @property
    def n_features(self) -> int | None:
        """Number of features d."""
        return self.space.n_features

    @property
    def size(self) -> int:
        """Coordinates of z₀ and classes."""
        return self.space.size + len(self.classes)

    def check(self, X: Matrix, owner: str, name: str = "X", min_points: int = 1) -> Any:
        """The door of z₀."""
        return self.space.check(X, owner, name, min_points)

    def accept(self, X: Matrix, name: str = "X") -> Any:
        """The door of z₀ behind the validation of vectors."""
        return self.space.accept(X, name)

    def roots(self, X: Matrix) -> Array:
        """√p(x), where the points are, (n, c)."""
        return asarray(self.model.roots(to_numpy(X)), X)

    def z(self, X: Matrix) -> Array:
        """(z₀(x), √p(x))."""
        Z = linalg.dense(self.space.z(X))
        return namespace(Z).concat([Z, self.roots(X)], axis=1)

    def difference(self, X: Matrix, Y: Matrix) -> Array:
        """(z₀(x) − z₀(y), √p(x) − √p(y)) of paired points."""
        Z = self.space.difference(X, Y)
        return namespace(Z).concat([Z, self.roots(X) - self.roots(Y)], axis=1)

    def inner(self, X: Matrix, Y: Matrix) -> np.ndarray:
        """k₀(x, y) + Σ_c √(p_c(x) p_c(y))."""
        return self.space.inner(X, Y) + self.roots(X) @ self.roots(Y).T

    def energy(self, X: Matrix) -> np.ndarray:
        """k₀(x, x) + 1."""
        return self.space.energy(X) + linalg.row_norms(self.roots(X))

    def bilinear(self, X: Matrix, left: Any, right: Any) -> np.ndarray:
        """That of z₀, and (left √P)(right √P)ᵀ on the diagonal."""
        P = self.roots(X)
        return self.space.bilinear(X, left, right) + linalg.row_inner(linalg.product(left, P), linalg.product(right, P))

    def sqdist(self, X: Matrix, Y: Any | None) -> np.ndarray:
        """Squared distances of the space of z₀, and Hellinger's."""
        return self.space.sqdist(X, Y) + linalg.sqdist(self.roots(X), None if Y is None else self.roots(Y))

    def pair_sqdist(self, X: Matrix, Y: Matrix) -> np.ndarray:
        """The same of paired points."""
        return self.space.pair_sqdist(X, Y) + linalg.row_norms(self.roots(X) - self.roots(Y))

    def rest(self, X: Matrix, Y: Any | None, ZX: Array, ZY: Any | None) -> np.ndarray:
        """What z₀ leaves out."""
        r = self.space.size
        return self.space.rest(X, Y, ZX[:, :r], None if ZY is None else ZY[:, :r])

    def pair_rest(self, X: Matrix, Y: Matrix, Z: np.ndarray) -> np.ndarray:
        """What z₀ leaves out of paired points."""
        return self.space.pair_rest(X, Y, Z[:, : self.space.size])

    def phi(self, X: Matrix) -> Any:
        """(φ₀(x), √p(x))."""
        phi, P = self.space.phi(X), self.roots(X)
        if phi is None:
            return None
        return (
            sparse.csr_array(sparse.hstack([phi, P])) if sparse.issparse(phi) else namespace(P).concat([phi, P], axis=1)
        )

    def on_axes(self, project: Any) -> np.ndarray | None:
        """``project`` of the axes of z₀, and of the last ones of φ."""
        axes = self.space.on_axes(lambda rows: linalg.dense(rows))
        return None if axes is None else project(block_diag(axes, np.eye(len(self.classes))))
