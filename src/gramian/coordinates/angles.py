"""Coordinates on the sphere: vectors that are compared by their angle."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian import _checks, linalg
from gramian.coordinates.linear import VectorSpace


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
        center = _checks.array(self.center, "Angles", "center")
        factor = _checks.array(self.factor, "Angles", "factor")
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

    def z(self, X: Any) -> np.ndarray:
        """L(x − c) divided by its length."""
        return linalg.unit_rows((linalg.dense(X) - self.center) @ self.factor.T)

    def inner(self, X: Any, Y: Any) -> np.ndarray:
        """The cosine of the angle."""
        return super().inner(self.z(X), self.z(Y))

    def energy(self, X: Any) -> np.ndarray:
        """1, and 0 at the center."""
        return super().energy(self.z(X))

    def bilinear(self, X: Any, left: Any, right: Any) -> np.ndarray:
        """(left Z)(right Z)ᵀ on the diagonal."""
        return super().bilinear(self.z(X), left, right)

    def sqdist(self, X: Any, Y: Any | None) -> np.ndarray:
        """2 − 2 cos."""
        return super().sqdist(self.z(X), None if Y is None else self.z(Y))

    def pair_sqdist(self, X: Any, Y: Any) -> np.ndarray:
        """2 − 2 cos of paired points."""
        return super().pair_sqdist(self.z(X), self.z(Y))

    def phi(self, X: Any) -> np.ndarray:
        """z(x)."""
        return self.z(X)

    def on_axes(self, project: Any) -> np.ndarray:
        """``project`` of the unit vectors."""
        return project(np.eye(self.size))
