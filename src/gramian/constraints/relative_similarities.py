"""Relative constraints on learned inner products."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from gramian._settings import Count, Seed, checked
from gramian.constraints.base import Constraints, Terms, bound_field, differences, index_field, reach, selections
from gramian.constraints.triplets import Triplets


@dataclass(frozen=True, eq=False)
class RelativeSimilarities(Constraints):
    """This point is more like the second than the third.

    x_aᵀ M x_near − x_aᵀ M x_far ≥ margin (Jain 2009, §3.1 item 2, for similarities).

    Parameters
    ----------
    anchor, near, far : int array (m,)
        Indices into X of the points x_a, x_near and x_far.
    margin : float or array (m,)
        Margin on learned inner products, ≥ 0.

    See Also
    --------
    gramian.Similarities : Bounds, without a comparison.
    gramian.Triplets : By distances.
    gramian.Framework : The learner that takes them.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> wishes = gm.RelativeSimilarities([0], [1], [2], margin=1.0)
    >>> wishes.violation(gm.Mahalanobis.euclidean(1), np.array([[1.0], [2.0], [3.0]])).tolist()
    [2.0]
    """

    anchor: np.ndarray
    near: np.ndarray
    far: np.ndarray
    _: KW_ONLY
    margin: Any = 1.0

    def __post_init__(self) -> None:
        index_field(self, "anchor", "near", "far")
        margin = bound_field(self.margin, len(self.anchor), "RelativeSimilarities", "margin")
        if (margin < 0).any():
            raise ValueError("RelativeSimilarities: margin must be nonnegative.")
        object.__setattr__(self, "margin", margin)

    @classmethod
    @checked
    def from_labels(
        cls,
        y: Any,
        n_triplets: Count | None = None,
        *,
        unknown: Any = None,
        margin: Any = 1.0,
        random_state: Seed = None,
    ) -> "RelativeSimilarities":
        """Draw distinct triplets as :meth:`Triplets.from_labels`."""
        drawn = Triplets.from_labels(y, n_triplets, unknown=unknown, random_state=random_state)
        return cls(drawn.anchor, drawn.near, drawn.far, margin=margin)

    @property
    def n_points(self) -> int:
        """One more than the largest index."""
        return reach(self.anchor, self.near, self.far)

    @property
    def bound(self) -> np.ndarray:
        """Right-hand sides b = −margin of x_aᵀ M (x_far − x_near) ≤ b."""
        return -self.margin

    def terms(self, n: int) -> Terms:
        """Bilinear terms over n points."""
        return Terms(selections(self.anchor, n), differences(self.far, self.near, n), np.ones((len(self.anchor), 1)))
