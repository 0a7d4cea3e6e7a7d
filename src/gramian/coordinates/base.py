"""The contract of coordinates.

Points live in a space with its own inner product k(x, y): that of the features, or of a kernel. Coordinates are
orthonormal there, so that k(x, y) = z(x)ᵀz(y) + ρ(x, y), with ρ the *rest* outside of their span. A metric is a
matrix on z and one weight on the rest (Jain 2009, (3.6)–(3.8) and Theorem 5).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _validate, linalg
from gramian._arrays import Array, asarray, foreign, to_numpy
from gramian.persist import Stored

INSIDE = 1e-9
"""Points whose energy outside of the coordinates is below this share of the largest lie inside."""


class Coordinates(Stored, ABC):
    """One frozen map z with its door. All methods but ``check`` and ``one`` take points that went through ``check``."""

    whole = False
    """Whether z holds all of a point, so that there is no rest."""
    linear = False
    """Whether z is affine in points behind the door, so that they may be centered first."""
    beside = False
    """Whether the rest are the features themselves, the first columns of φ, and z the others."""
    angle: tuple[np.ndarray | None, np.ndarray | None] | None = None
    """(L, c) where z(x) = L(x − c) / |L(x − c)|, None in it for the identity and for zero; None for other maps."""
    mean: Any = 0.0
    """What was subtracted from z where coordinates are centered."""
    classes: np.ndarray | None = None
    """Names of the classes whose probabilities the last coordinates are the roots of; None where there are none."""

    @property
    @abstractmethod
    def n_features(self) -> int | None:
        """Number of features of a point; None where points need not be vectors."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of coordinates r."""

    @abstractmethod
    def check(self, X: Any, owner: str, name: str = "X", min_points: int = 1) -> Any:
        """The door: points as the other methods take them, or one sentence in the name of ``owner``."""

    def accept(self, X: Any, name: str = "X") -> Any:
        """The part of the door behind the validation of vectors, for callers that did that themselves."""
        return X

    def one(self, x: Any, owner: str, name: str) -> Any:
        """A set of one point, for the door."""
        if sparse.issparse(x):
            return sparse.csr_array(x.reshape(1, -1))
        x = x if foreign(x) else _validate.plain(x, owner, name)
        if x.ndim != 1:
            raise ValueError(f"{owner}: {name} must be a single point of shape (d,), got {x.shape}.")
        return x[None, :]

    @abstractmethod
    def z(self, X: Any) -> Array:
        """Coordinates of points, (n, r)."""

    @abstractmethod
    def inner(self, X: Any, Y: Any) -> np.ndarray:
        """k(x, y), (n, m)."""

    @abstractmethod
    def energy(self, X: Any) -> np.ndarray:
        """k(x, x), (n,)."""

    @abstractmethod
    def bilinear(self, X: Any, left: Any, right: Any) -> np.ndarray:
        """Inner products of the combinations ``left`` and ``right`` (m, n) of the points, row by row, (m,)."""

    @abstractmethod
    def sqdist(self, X: Any, Y: Any | None) -> np.ndarray:
        """k(x, x) + k(y, y) − 2k(x, y), (n, m); Y=None is X."""

    @abstractmethod
    def pair_sqdist(self, X: Any, Y: Any) -> np.ndarray:
        """Squared distance in the space of row i of X to row i of Y, (n,)."""

    def difference(self, X: Any, Y: Any) -> np.ndarray:
        """z(x) − z(y) of paired points, (n, r)."""
        return self.z(X) - self.z(Y)

    def rest(self, X: Any, Y: Any | None, ZX: Array, ZY: Any | None) -> np.ndarray:
        """Squared distances outside of the coordinates, (n, m), given those of both sets."""
        return linalg.at_least(self.sqdist(X, Y) - linalg.sqdist(ZX, ZY), 0.0)

    def pair_rest(self, X: Any, Y: Any, Z: np.ndarray) -> np.ndarray:
        """Squared distances of paired points outside of the coordinates, given their ``difference``, (n,)."""
        return linalg.at_least(self.pair_sqdist(X, Y) - linalg.row_norms(Z), 0.0)

    def back(self, Z: np.ndarray) -> np.ndarray | None:
        """Points of the span with the coordinates Z, (n, d); None where the space has no vectors to give."""
        return None

    def phi(self, X: Any) -> Any:
        """Points as vectors of the space, rows of an array or CSR matrix; None where they are not known."""
        return None

    def on_axes(self, project: Any) -> np.ndarray | None:
        """``project`` of the orthonormal axes that z refers to, with ``project`` linear on rows φ; None without φ."""
        return None

    def on_basis(self, X: Any, Y: Any, M: np.ndarray) -> np.ndarray | None:
        """Shares of the points of a basis in (z(x) − z(y))ᵀM(z(x) − z(y)), of one x and one y; None without a basis."""
        return None

    def lower(self, A: np.ndarray) -> np.ndarray:
        """A symmetric matrix on the features as the form UᵀAU on the coordinates; as it is where there is no U."""
        return A


@dataclass(frozen=True, eq=False)
class Rest:
    """The part of the training points X outside of Z = z(X), for learners that work on Z alone."""

    coordinates: Coordinates
    X: Any
    Z: Any
    under: "Rest | None" = None
    """Where X are coordinates themselves: what those leave out."""

    @cached_property
    def empty(self) -> bool:
        """Whether the coordinates hold all of the points."""
        if self.under is not None and not self.under.empty:
            return False
        if self.coordinates.whole:
            return True
        energy = to_numpy(self.coordinates.energy(self.X))
        outside = energy - to_numpy(linalg.row_norms(self.Z + asarray(self.coordinates.mean, self.Z)))
        return bool(outside.max(initial=0.0) <= INSIDE * energy.max(initial=0.0))

    def sqdist(self, rows: np.ndarray) -> np.ndarray:
        """Squared distances in the *whole* space among some of the points."""
        if self.under is not None and not self.under.empty:
            return self.under.sqdist(rows)
        return self.coordinates.sqdist(linalg.take(self.X, rows), None)

    def pair_sqdist(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Squared distances outside of the coordinates, of pairs of points."""
        X, Y = (linalg.take(self.X, rows) for rows in (left, right))
        outside = self.coordinates.pair_rest(X, Y, linalg.take(self.Z, left) - linalg.take(self.Z, right))
        return outside if self.under is None or self.under.empty else outside + self.under.pair_sqdist(left, right)

    def energy(self, terms: Any) -> np.ndarray:
        """⟨C_i, R⟩ of each constraint, R the Gram matrix of the rest (Jain 2009, (3.8))."""
        Z = self.Z + asarray(self.coordinates.mean, self.Z)
        inside = linalg.row_inner(linalg.product(terms.left, Z), linalg.product(terms.right, Z))
        outside = to_numpy(self.coordinates.bilinear(self.X, terms.left, terms.right) - inside)
        energy = (terms.weight * outside.reshape(terms.weight.shape)).sum(axis=1)
        return energy if self.under is None or self.under.empty else energy + self.under.energy(terms)

    def lower(self, A: np.ndarray) -> np.ndarray:
        """A symmetric matrix on the features, as one on the coordinates."""
        return self.coordinates.lower(A if self.under is None else self.under.lower(A))
