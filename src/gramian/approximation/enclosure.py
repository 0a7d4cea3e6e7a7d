"""What the distances to a few points leave open about the distance to another: an interval, sharp in Hilbert space."""

from dataclasses import dataclass

import numpy as np

from gramian import linalg
from gramian.approximation.projection import Measured

RANK = 1e-10
"""Directions of R whose variance is below this share of the largest are none."""


@dataclass(frozen=True, eq=False)
class Enclosure:
    """Coordinates in the affine span of R, and what lies off it.

    A point with squared distances to R is z in the span and a height h off it. Of two points only the heights are
    known, not the angle between them: ‖z − z′‖² + (h − h′)² ≤ d² ≤ ‖z − z′‖² + (h + h′)². With one member these are
    the triangle inequalities.

    ``root`` (m, r) takes squared distances to R, centered, to coordinates; ``mean`` (m,) and ``spread`` are those of
    R itself; ``Z`` (n, r) and ``height`` (n,) are of Q.
    """

    root: np.ndarray
    mean: np.ndarray
    spread: float
    Z: np.ndarray
    height: np.ndarray

    @classmethod
    def of(cls, measured: Measured) -> "Enclosure":
        """The span of R, and Q in it."""
        k_RR, k_QQ = measured.inner.diagonal(), measured.K.diagonal()
        among = np.maximum(k_RR[:, None] + k_RR - 2 * measured.inner, 0)  # d² among R, (m, m)
        across = np.maximum(k_QQ[:, None] + k_RR - 2 * measured.cross.T, 0)  # d² of Q to R, (n, m)
        mean = among.mean(axis=0)
        # −½ J D J: inner products of R around its mean.
        values, vectors = linalg.eigh(linalg.symmetrize(-(among - mean - mean[:, None] + mean.mean()) / 2))
        keep = values > RANK * values.max(initial=0.0)
        root = vectors[:, keep] / np.sqrt(values[keep])
        span = cls(root, mean, float(mean.mean()) / 2, np.zeros((0, root.shape[1])), np.zeros(0))
        return cls(root, mean, span.spread, *span.placed(across))

    def placed(self, sqdist: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and heights of points with squared distances (n, m) to R."""
        centered = sqdist.mean(axis=1, keepdims=True) - sqdist + self.mean - self.mean.mean()
        Z = centered / 2 @ self.root  # ⟨x − mean, r − mean⟩ in an orthonormal basis
        # ‖x − mean‖² is the mean d² to R less the mean d² of R to its mean.
        height = np.sqrt(np.maximum(sqdist.mean(axis=1) - self.spread - linalg.row_norms(Z), 0))
        return Z, height

    def of_sqdist(self, sqdist: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Least and largest d² to Q, (k, n) each, of points with squared distances (k, m) to R."""
        Z, height = self.placed(sqdist)
        apart = linalg.sqdist(Z, self.Z)
        return apart + (height[:, None] - self.height) ** 2, apart + (height[:, None] + self.height) ** 2
