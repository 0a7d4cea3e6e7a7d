"""Relative constraints between two pairs: one pair is nearer than another."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from gramian import _checks
from gramian._settings import Count, Seed, checked
from gramian.constraints.base import Labels, bound_field, index_field
from gramian.constraints.comparisons import Comparisons
from gramian.constraints.sampling import asked, dissimilar_pairs, similar_pairs


@dataclass(frozen=True, eq=False)
class Quadruplets(Comparisons):
    """These two points are nearer to each other than those two.

    d²(far_left, far_right) − d²(near_left, near_right) ≥ margin; triplets are those that share an end.

    Parameters
    ----------
    near_left, near_right, far_left, far_right : int array (m,)
        Indices into X.
    margin : float or array (m,), optional
        Margin on squared distances, nonnegative; None: a tenth of the mean squared distance of the pairs compared,
        filled in when a learner sees X.
    weight : float or array (m,)
        What a violation of each counts, positive.
    soft : bool
        Whether the margin is a guess that rarely can hold for all; learners then allow violations.

    See Also
    --------
    gramian.Triplets : Two pairs that share a point.
    gramian.LSML : Learns from quadruplets.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> wishes = gm.Quadruplets([0], [1], [2], [3], margin=1.0)
    >>> wishes.violation(gm.Mahalanobis.euclidean(1), np.array([[0.0], [2.0], [5.0], [6.0]])).tolist()
    [4.0]
    """

    near_left: np.ndarray
    near_right: np.ndarray
    far_left: np.ndarray
    far_right: np.ndarray
    _: KW_ONLY
    margin: Any = 1.0
    weight: Any = 1.0
    soft: bool = False

    def __post_init__(self) -> None:
        index_field(self, "near_left", "near_right", "far_left", "far_right")
        self._freeze_margin()
        weight = bound_field(self.weight, len(self), "Quadruplets", "weight")
        if (weight <= 0).any():
            raise ValueError("Quadruplets: weight must be positive; drop rows that should not count.")
        object.__setattr__(self, "weight", weight)

    @classmethod
    @checked
    def from_labels(
        cls,
        y: Any,
        n_quadruplets: Count | None = None,
        *,
        unknown: Any = None,
        margin: Any = None,
        random_state: Seed = None,
    ) -> "Quadruplets":
        """Pairs of one class against pairs of two, drawn from labels (default 5 per labeled point)."""
        labels = Labels.from_array(y, "Quadruplets", unknown=unknown)
        if n_quadruplets is None:
            n_quadruplets = 5 * int((labels.codes >= 0).sum())
        count = asked(n_quadruplets, "Quadruplets", "n_quadruplets")
        rng = _checks.random(random_state, "Quadruplets")
        near, far = similar_pairs(labels, count, rng), dissimilar_pairs(labels, count, rng)
        if len(near[0]) == 0 or len(far[0]) == 0:
            raise ValueError("Quadruplets: needs two classes, one of them with two or more points.")
        # Small classes have fewer pairs than asked for: those come again, in another company.
        first, second = (rng.permutation(np.resize(np.arange(len(ends[0])), count)) for ends in (near, far))
        return cls(near[0][first], near[1][first], far[0][second], far[1][second], margin=margin)

    @classmethod
    def from_tuples(
        cls, tuples: Any, margin: float | None = None, *, weight: Any = 1.0
    ) -> tuple[np.ndarray, "Quadruplets"]:
        """Points (4m, d) and constraints from an array of quadruplets (m, 4, d): a near pair and a far pair."""
        tuples = _checks.tuples(tuples, 4, "Quadruplets")
        m = tuples.shape[0]
        X = np.concatenate([tuples[:, place] for place in range(4)])
        i = np.arange(m)
        return X, cls(i, i + m, i + 2 * m, i + 3 * m, margin=margin, weight=weight)

    @property
    def near_ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Both ends of the pairs that should be nearer."""
        return self.near_left, self.near_right

    @property
    def far_ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Both ends of the pairs that should be farther."""
        return self.far_left, self.far_right
