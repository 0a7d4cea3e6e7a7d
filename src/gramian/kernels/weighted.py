"""Weighted sums of kernels, and the families of kernels to weigh."""

import operator
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from gramian._settings import Count, Sizes, checked
from gramian.kernels.base import Kernel
from gramian.kernels.basic import Gaussian, Polynomial
from gramian.kernels.combinations import Combination

WIDTHS = (0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 25, 50, 75, 100, 250, 500, 750, 1000)
"""The 21 widths of Chatpatanasiri et al. (2010), §5.1."""


@checked
def scaled_gaussians(n_features: Count, widths: Sizes = WIDTHS) -> list[Gaussian]:
    """exp(−‖x − y‖² / (2 D σ²)) for each width σ and D = ``n_features`` (Chatpatanasiri et al. 2010, §5.1)."""
    return [Gaussian(float(width) * float(np.sqrt(n_features))) for width in widths]


@checked
def polynomials(n_features: Count, degrees: Sequence[Count] = (1, 2, 3, 4, 5)) -> list[Polynomial]:
    """(xᵀy / D)^p for each degree p and D = ``n_features``; the paper names the degrees only."""
    return [Polynomial(degree, offset=0.0, scale=1.0 / n_features) for degree in degrees]


@dataclass(frozen=True, eq=False)
class Weighted(Combination):
    """k(x, y) = Σ_j weights_j k_j(x, y), weights ≥ 0; kernels of weight zero are not evaluated.

    ``alignment`` is the alignment (9) that the weights reach on the points they were found on.
    """

    weights: np.ndarray
    _: KW_ONLY
    alignment: float = np.nan

    def __post_init__(self) -> None:
        super().__post_init__()
        w = np.array(self.weights, dtype=np.float64)
        if w.shape != (len(self.parts),) or not np.isfinite(w).all() or (w < 0).any():
            raise ValueError(f"Weighted: weights must be {len(self.parts)} finite numbers ≥ 0, got {self.weights!r}.")
        w.flags.writeable = False
        object.__setattr__(self, "weights", w)

    def bound(self, X: Any) -> Kernel:
        return replace(self, parts=tuple(part.bound(X) for part in self.parts))

    def _terms(self) -> list[tuple[float, Kernel]]:
        kept = [(float(w), part) for w, part in zip(self.weights, self.parts) if w > 0]
        return kept or [(0.0, self.parts[0])]

    def _gram(self, X: Any, Y: Any) -> np.ndarray:
        total: Any = 0.0
        for weight, part in self._terms():
            K = part._gram(X, Y)
            K *= weight
            if isinstance(total, float):
                total = K
            else:
                total += K
        return total

    def _diag(self, X: Any) -> np.ndarray:
        return reduce(operator.add, (weight * part._diag(X) for weight, part in self._terms()))

    def _pairs(self, X: Any, Y: Any) -> np.ndarray:
        return reduce(operator.add, (weight * part._pairs(X, Y) for weight, part in self._terms()))
