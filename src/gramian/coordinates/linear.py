"""Coordinates of vectors: all features, their angles, or an orthonormal subspace of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _validate, linalg
from gramian._arrays import Array, Matrix, asarray
from gramian.coordinates.base import Coordinates

INDEPENDENT = 1e-10
"""A difference spans a new direction when this share of its energy lies outside of the basis."""


class VectorSpace(Coordinates):
    """k(x, y) = xᵀy."""

    devices = True
    """Whether points may be on a device."""

    def check(self, X: Matrix, owner: str, name: str = "X", min_points: int = 1) -> Any:
        """Points (n, d), dense or sparse."""
        return _validate.points(
            X, owner, n_features=self.n_features, name=name, min_points=min_points, devices=self.devices
        )

    def inner(self, X: Matrix, Y: Matrix) -> np.ndarray:
        """xᵀy."""
        return linalg.inner(X, Y)

    def energy(self, X: Matrix) -> np.ndarray:
        """|x|²."""
        return linalg.row_norms(X)

    def bilinear(self, X: Matrix, left: Any, right: Any) -> np.ndarray:
        """(left X)(right X)ᵀ on the diagonal, in blocks of rows."""
        total = linalg.empty(left.shape[0], X)
        X = X[:, linalg.held_columns(X)] if sparse.issparse(X) else X
        for rows in linalg.blocks(left.shape[0], 48 * X.shape[1], of=X):
            total[rows] = linalg.row_inner(linalg.product(left[rows], X), linalg.product(right[rows], X))
        return total

    def sqdist(self, X: Matrix, Y: Any | None) -> np.ndarray:
        """|x − y|²."""
        return linalg.sqdist(X, Y)

    def pair_sqdist(self, X: Matrix, Y: Matrix) -> np.ndarray:
        """|x − y|² of paired points."""
        return linalg.pair_sqdist(X, Y)

    def phi(self, X: Matrix) -> Any:
        """The points themselves."""
        return X


@dataclass(frozen=True, eq=False)
class Plain(VectorSpace):
    """z(x) = x: all d features, nothing left out."""

    d: int
    whole = linear = True

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return self.d

    @property
    def size(self) -> int:
        """Number of features d."""
        return self.d

    def z(self, X: Matrix) -> Array:
        """The points themselves."""
        return X

    def difference(self, X: Matrix, Y: Matrix) -> Array:
        """x − y in double precision: the difference first, so that close points keep their digits."""
        if sparse.issparse(X) or sparse.issparse(Y):
            return linalg.dense(X - Y) if sparse.issparse(X - Y) else np.asarray(X - Y)
        return linalg.difference(X, Y)

    def back(self, Z: np.ndarray) -> np.ndarray:
        """The points themselves."""
        return Z

    def on_axes(self, project: Any) -> np.ndarray:
        """``project`` of the unit vectors."""
        return project(np.eye(self.size))


@dataclass(frozen=True, eq=False)
class UnitRows(Plain):
    """z(x) = x / |x|: vectors that are compared by their angle, as embeddings are. The door sets the length."""

    angle = None, None

    def check(self, X: Matrix, owner: str, name: str = "X", min_points: int = 1) -> Any:
        """Points of length one; a row of zeros stays as it is."""
        return self.accept(super().check(X, owner, name, min_points), name)

    def accept(self, X: Matrix, name: str = "X") -> Any:
        """Rows divided by their length."""
        return linalg.unit_rows(X)


@dataclass(frozen=True, eq=False)
class Angles(VectorSpace):
    """z(x) = L(x − c) / |L(x − c)|, so that |z(x) − z(y)|² = 2 − 2 cos: the angle under L, seen from the center c.

    Embeddings are compared by their angle, and mostly lie to one side of the origin: seen from their mean the angles
    tell more. A point at the center has z = 0.

    Parameters
    ----------
    center : array (d,)
        c; becomes read-only.
    factor : array (r, d)
        L; becomes read-only.
    """

    center: np.ndarray
    factor: np.ndarray
    whole = True

    def __post_init__(self) -> None:
        center = _validate.array(self.center, "Angles", "center")
        factor = _validate.array(self.factor, "Angles", "factor")
        if center.ndim != 1 or factor.ndim != 2 or factor.shape[1] != len(center):
            raise ValueError(
                f"Angles: center must have shape (d,) and factor (r, d), got {center.shape} and {factor.shape}."
            )
        for name, value in (("center", center), ("factor", factor)):
            value.flags.writeable = False
            object.__setattr__(self, name, value)

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return len(self.center)

    @property
    def size(self) -> int:
        """Number of rows of L."""
        return len(self.factor)

    @property
    def angle(self) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[override]  # a constant elsewhere
        """(L, c)."""
        return self.factor, self.center

    def z(self, X: Matrix) -> np.ndarray:
        """L(x − c) divided by its length."""
        return linalg.unit_rows((linalg.dense(X) - asarray(self.center, X)) @ asarray(self.factor.T, X))

    def inner(self, X: Matrix, Y: Matrix) -> np.ndarray:
        """The cosine of the angle."""
        return super().inner(self.z(X), self.z(Y))

    def energy(self, X: Matrix) -> np.ndarray:
        """1, and 0 at the center."""
        return super().energy(self.z(X))

    def bilinear(self, X: Matrix, left: Any, right: Any) -> np.ndarray:
        """(left Z)(right Z)ᵀ on the diagonal."""
        return super().bilinear(self.z(X), left, right)

    def sqdist(self, X: Matrix, Y: Any | None) -> np.ndarray:
        """2 − 2 cos."""
        return super().sqdist(self.z(X), None if Y is None else self.z(Y))

    def pair_sqdist(self, X: Matrix, Y: Matrix) -> np.ndarray:
        """2 − 2 cos of paired points."""
        return super().pair_sqdist(self.z(X), self.z(Y))

    def phi(self, X: Matrix) -> np.ndarray:
        """z(x)."""
        return self.z(X)


@dataclass(frozen=True, eq=False)
class Subspace(VectorSpace):
    """z(x) = Uᵀx for orthonormal columns U (d, r); U becomes read-only."""

    basis: np.ndarray
    linear = True

    def __post_init__(self) -> None:
        if not isinstance(self.basis, np.ndarray) or self.basis.ndim != 2 or self.basis.dtype.kind != "f":
            raise ValueError(f"Subspace: basis must be an array (d, r) of numbers, got {_validate.shown(self.basis)}.")
        self.basis.flags.writeable = False

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return self.basis.shape[0]

    @property
    def size(self) -> int:
        """Number of columns of U."""
        return self.basis.shape[1]

    def z(self, X: Matrix) -> np.ndarray:
        """Uᵀx."""
        return linalg.dense(X @ asarray(self.basis, X))

    def difference(self, X: Matrix, Y: Matrix) -> np.ndarray:
        """Uᵀ(x − y)."""
        return linalg.double(linalg.dense((X - Y) @ asarray(self.basis, X)))

    def back(self, Z: np.ndarray) -> np.ndarray:
        """Uz."""
        return Z @ self.basis.T

    def lower(self, A: np.ndarray) -> np.ndarray:
        """UᵀAU."""
        return self.basis.T @ A @ self.basis if len(A) == self.n_features else A

    def on_axes(self, project: Any) -> np.ndarray:
        """``project`` of the columns of U."""
        return project(self.basis.T)

    def grown(self, V: Matrix, rank: int) -> "Subspace":
        """The span of U and of the rows of V, as far as ``rank`` columns go."""
        new: list[np.ndarray] = []
        for i in range(V.shape[0]):
            if self.size + len(new) >= min(rank, self.n_features):
                break
            v = V[[i]].toarray()[0] if sparse.issparse(V) else np.array(V[i], dtype=np.float64)
            energy = v @ v
            for _ in range(2):  # once loses digits, twice is enough
                v -= self.basis @ (self.basis.T @ v)
                for w in new:
                    v -= (w @ v) * w
            if v @ v > INDEPENDENT * energy:
                new.append(v / np.sqrt(v @ v))
        return Subspace(np.column_stack([self.basis, *new])) if new else self

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "Subspace":
        return cls(orthonormal(state["basis"], "Subspace"))


def orthonormal(basis: Any, owner: str) -> np.ndarray:
    """A copy of a basis (d, r), when its columns are orthonormal."""
    U = _validate.array(basis, owner, "basis")
    if U.ndim != 2 or not np.allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-8):
        raise ValueError(f"{owner}: basis must have orthonormal columns.")
    return U
