"""What triplets and quadruplets share: one pair of points is nearer than another."""

from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from gramian import linalg
from gramian.constraints.base import Constraints, Terms, bound_field, differences, reach
from gramian.linalg import take

MARGIN = 0.1
"""Share of the mean squared distance that stands for a margin that was not given."""


class Comparisons(Constraints):
    """d²(far pair) − d²(near pair) ≥ margin, each row times its weight.

    Subclasses are frozen dataclasses with the fields ``margin`` (a number, one per row, or None for a tenth of the mean
    squared distance of the points compared) and ``soft`` (whether it is a guess), and give ``near_ends``, ``far_ends``.
    """

    margin: Any
    soft: bool

    @property
    @abstractmethod
    def near_ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Both ends of the pairs that should be nearer, two index arrays (m,)."""

    @property
    @abstractmethod
    def far_ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Both ends of the pairs that should be farther, two index arrays (m,)."""

    @property
    def weight(self) -> np.ndarray:
        """What a violation of each row counts, (m,)."""
        return np.ones(len(self))

    def _freeze_margin(self) -> None:
        """Validate the margin of a new object."""
        if self.margin is None:
            return
        owner = type(self).__name__
        margin = bound_field(self.margin, len(self), owner, "margin")
        if (margin < 0).any():
            raise ValueError(f"{owner}: margin must be nonnegative.")
        object.__setattr__(self, "margin", margin)

    def with_margin(self, X: Any) -> Self:
        """Fill in a missing margin, softly: a tenth of the mean squared distance of the points compared."""
        if self.margin is not None:
            return self
        pairs = (self.near_ends, self.far_ends)
        mean = float(np.mean([linalg.pair_sqdist(X[i], X[j]).mean() for i, j in pairs]))
        return replace(self, margin=MARGIN * mean if mean > 0 else 1.0, soft=True)  # type: ignore[type-var]  # dataclasses

    def check(self, X: Any, owner: str) -> Self:
        """Constraints that fit X, the margin filled in."""
        return super().check(X, owner).with_margin(X)

    @property
    def n_points(self) -> int:
        """One more than the largest index."""
        return reach(*self.near_ends, *self.far_ends)

    def __len__(self) -> int:
        return len(self.near_ends[0])

    @property
    def bound(self) -> np.ndarray:
        """B = −margin: d²(near pair) − d²(far pair) ≤ b, times the weights."""
        if self.margin is None:
            raise ValueError(f"{type(self).__name__}: margin is not set; give one or call with_margin(X).")
        return -self.weight * self.margin

    def _terms(self, n: int) -> Terms:
        m = len(self)
        rows = np.arange(2 * m).reshape(2, m).T.ravel()  # near and far terms of each constraint side by side
        both = sparse.vstack([differences(*self.near_ends, n), differences(*self.far_ends, n)])
        D = sparse.csr_array(sparse.csr_array(both)[rows])
        return Terms(D, D, self.weight[:, None] * np.array([1.0, -1.0]))

    def values(self, metric: Any, X: Any) -> np.ndarray:
        """d²(near pair) − d²(far pair), times the weights, shape (m,)."""
        X = metric.check(X)
        near, far = (metric.pair_sqdist_of(take(X, i), take(X, j)) for i, j in (self.near_ends, self.far_ends))
        return self.weight * (near - far)
