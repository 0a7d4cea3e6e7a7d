"""What triplets and quadruplets share: one pair of points is nearer than another."""

import copy
from abc import abstractmethod
from dataclasses import fields, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from gramian.constraints.base import Constraints, Terms, bound_field, differences, reach, within
from gramian.constraints.pairs import typical_sqdist
from gramian.linalg import take

MARGIN = 0.1
"""Share of the median squared distance of the points that stands for a margin that was not given."""


class Comparisons(Constraints):
    """d²(far pair) − d²(near pair) ≥ margin, each row times its weight.

    Subclasses are frozen dataclasses with the fields ``margin`` (a number, one per row, or None for a tenth of the
    median squared distance of the points) and ``soft`` (whether it is a guess), and give ``near_ends``, ``far_ends``.
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

    @property
    def from_data(self) -> bool:
        """Whether the margin is to be taken from the data."""
        return self.margin is None

    def without_margin(self) -> Self:
        """The same comparisons where any difference will do."""
        found = copy.copy(self)
        object.__setattr__(found, "margin", np.zeros(len(self)))
        return found

    def filled(self, X: Any, percentiles: Any = (5, 95), *, max_points: int = 1000, sqdist: Any = None) -> Self:
        """Fill in a missing margin: the share ``MARGIN`` of the median squared distance of X."""
        if self.margin is not None:
            return self
        D = typical_sqdist(X, max_points, sqdist)
        margin = MARGIN * float(np.median(D)) if D.size else 1.0
        return replace(self, margin=margin, soft=True)  # type: ignore[type-var]  # dataclasses

    @property
    def n_points(self) -> int:
        """One more than the largest index."""
        return reach(*self.near_ends, *self.far_ends)

    def __len__(self) -> int:
        return len(self.near_ends[0])

    @property
    def bound(self) -> np.ndarray:
        """b = −margin (1 where it is open): d²(near pair) − d²(far pair) ≤ b, times the weights."""
        return -self.weight * (1.0 if self.margin is None else self.margin)

    def terms(self, n: int) -> Terms:
        """Bilinear terms over n points."""
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


def moved(side: Comparisons, place: np.ndarray) -> Comparisons:
    """The same comparisons of points that are elsewhere: point i is now row ``place[i]``."""
    within(side, place, type(side).__name__)
    values = {field.name: getattr(side, field.name) for field in fields(side)}  # type: ignore[arg-type]
    index = {name: place[value] for name, value in values.items() if name not in ("margin", "weight", "soft")}
    return replace(side, **index)  # type: ignore[type-var]  # subclasses are dataclasses
