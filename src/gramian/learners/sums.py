"""Sums over points: all that closed forms and frames ask of them, so that they are added up wherever they lie."""

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over n points in d coordinates; what nobody asks for is None.

    A linear map of the points maps them too, so that a blend with a prior needs nothing else.
    """

    n: int
    covariance: Any = None
    """(d, d) of all points."""
    sizes: Any = None
    """(g,): what the points of each group count."""
    means: Any = None
    """(g, d) of the groups."""
    scatter: Any = None
    """(d, d), Σ (x − μ)(x − μ)ᵀ around the means of the groups."""

    @property
    def spread(self) -> float:
        """Mean squared distance of points to their mean."""
        return float(self.covariance.trace()) * (self.n - 1) / self.n

    def seen(self, A: Any) -> "Sums":
        """The sums of the points xA, for A (d, p)."""
        means = None if self.means is None else self.means @ A
        covariance, scatter = (None if S is None else A.T @ S @ A for S in (self.covariance, self.scatter))
        return replace(self, covariance=covariance, means=means, scatter=scatter)
