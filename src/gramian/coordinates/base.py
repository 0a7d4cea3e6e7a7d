"""The contract of coordinates.

Points live in a space with its own inner product k(x, y): that of the features, or of a kernel. Coordinates are
orthonormal there, so that k(x, y) = z(x)ᵀz(y) + ρ(x, y), with ρ the *rest* outside of their span. A metric is a
matrix on z and one weight on the rest (Jain 2009, (3.6)–(3.8) and Theorem 5).
"""

from abc import abstractmethod
from typing import Any

import numpy as np

from gramian import linalg
from gramian.coordinates.space import Space
from gramian.persist import Stored


class Coordinates(Space, Stored):
    """One frozen map z with its door.

    Subclasses give the :class:`Space` (``n_features``, ``check``, and the inner product as ``inner``, ``energy``,
    ``bilinear``, ``sqdist`` and ``pair_sqdist``), ``size`` and ``z``; the rest follows from these.
    """

    whole = False
    """Whether z holds all of a point, so that there is no rest."""
    mean: Any = 0.0
    """What was subtracted from z where coordinates are centered."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of coordinates r."""

    @abstractmethod
    def z(self, X: Any) -> Any:
        """Coordinates of points, (n, r)."""

    def difference(self, X: Any, Y: Any) -> np.ndarray:
        """z(x) − z(y) of paired points, (n, r)."""
        return self.z(X) - self.z(Y)

    def rest(self, X: Any, Y: Any | None, ZX: Any, ZY: Any | None) -> np.ndarray:
        """Squared distances outside of the coordinates, (n, m), given those of both sets."""
        return np.maximum(self.sqdist(X, Y) - linalg.sqdist(ZX, ZY), 0)

    def pair_rest(self, X: Any, Y: Any, Z: np.ndarray) -> np.ndarray:
        """Squared distances of paired points outside of the coordinates, given their ``difference``, (n,)."""
        return np.maximum(self.pair_sqdist(X, Y) - linalg.row_norms(Z), 0)

    def back(self, Z: np.ndarray) -> np.ndarray | None:
        """Points of the span with the coordinates Z, (n, d); None where the space has no vectors to give."""
        return None

    def on_basis(self, X: Any, Y: Any, M: np.ndarray) -> np.ndarray | None:
        """Shares of the points of a basis in (z(x) − z(y))ᵀM(z(x) − z(y)), of one x and one y; None without a basis."""
        return None

    def rest_vectors(self, X: Any) -> Any:
        """Points as vectors of the rest, (n, q); None where these are not known, or a part of ``back``."""
        return None

    def lower(self, A: np.ndarray) -> np.ndarray:
        """A symmetric matrix on the features as the form UᵀAU on the coordinates; as it is where there is no U."""
        return A

    def on_axes(self, project: Any) -> np.ndarray | None:
        """``project`` of the orthonormal axes that z refers to, with ``project`` linear on rows φ; None without φ."""
        return None
