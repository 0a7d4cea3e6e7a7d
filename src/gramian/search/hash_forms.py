"""A metric as hashing sees it: a view of it, and the directions of the bits on its rows.

A factor of W = αI + U (M − αI) Uᵀ is √α I + U (G − √α I) Uᵀ for any G with M = GᵀG (Jain 2009, Lemma 2), so that

    rᵀW^{1/2}φ(x) = √α rᵀφ(x) + (Uᵀr)ᵀ (G − √α I) z(x),

which with U the whitened basis of a kernel is (4.4) with the S of (4.5): no d × d matrix is needed.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gramian.metrics import Metric
from gramian.metrics.view import View
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
    view = metric.view_of(points)
    if orthonormal and view.outside is not None:
        raise ValueError("HashIndex: estimate must be 'collisions' for sparse points: they have no random rotation.")
    factor = metric.root if factor is None else factor
    if orthonormal and view.axes is None and 2 * len(metric.components) <= len(factor):
        factor = metric.components  # a rotation of fewer dimensions errs less, and no code has to follow a metric
    return Form(view, factor, seed, n_bits, orthonormal)


@dataclass(frozen=True, eq=False)
class Form:
    """Rows v(x), dense, and perhaps u(x), sparse, with k_W(x, y) = v(x)ᵀBv(y) + α u(x)ᵀu(y), and bits on them."""

    view: View
    factor: np.ndarray
    seed: int
    n_bits: int
    orthonormal: bool = False

    @property
    def metric(self) -> Metric:
        """The metric."""
        return self.view.metric

    @cached_property
    def projection(self) -> np.ndarray:
        """Directions of the bits on v, (p, n_bits)."""
        z, axes, G = self.metric.coordinates, self.view.axes, self.factor
        lifted = G.T - np.sqrt(self.metric.alpha) * np.eye(len(G)) if G.shape[0] == G.shape[1] else G.T
        if self.view.outside is not None:
            return lifted @ z.on_axes(self._drawn)
        if axes is not None:
            R = self._first(self.width)
            return np.sqrt(self.metric.alpha) * R + axes.T @ (lifted @ (axes @ R))
        follows = len(G) == z.size and not self.orthonormal and not self.view.on_points
        drawn = z.on_axes(self._drawn) if follows else None
        return G.T @ (self._first(len(G)) if drawn is None else drawn)

    @property
    def width(self) -> int:
        """Number of features that the directions are drawn on."""
        return len(self.factor) if self.view.axes is None else self.view.axes.shape[1]

    @property
    def dimension(self) -> int:
        """Dimension of the random rotation, where the directions are orthonormal."""
        return max(self.width, self.n_bits)

    @property
    def embedding(self) -> np.ndarray | None:
        """Gᵀ with vᵀBv = |Gv|², where B is one matrix with a factor at hand."""
        return self.factor.T if self.view.axes is None and self.view.outside is None else None

    def rows(self, X: Any) -> Any:
        """v(x), uncentered; the points themselves where that is all."""
        return self.view.rows(X)

    def outside(self, X: Any) -> Any:
        """u(x), None where there is none."""
        return None if self.view.outside is None else self.view.outside(X)

    def project(self, U: Any) -> np.ndarray:
        """The part √α rᵀu of the bits that sparse rows make."""
        return np.sqrt(self.view.alpha) * self._drawn(U)

    def _first(self, n_features: int) -> np.ndarray:
        """Directions on the first features, (n_features, n_bits)."""
        draw = codes.orthonormal_directions if self.orthonormal else codes.first_directions
        return draw(self.seed, n_features, self.n_bits)

    def _drawn(self, rows: Any) -> np.ndarray:
        return codes.project(rows, self.seed, self.n_bits)
