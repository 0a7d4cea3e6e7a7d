"""Relative constraints: one point is nearer than another."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from gramian import _checks
from gramian._settings import Count, Seed, Size, checked
from gramian.constraints.base import Constraints, Labels, index_field
from gramian.constraints.comparisons import Comparisons
from gramian.constraints.mixed import Mixed
from gramian.constraints.sampling import asked, triplets
from gramian.constraints.targets import target_triplets


@dataclass(frozen=True, eq=False)
class Triplets(Comparisons):
    """This point is nearer to the second than to the third.

    d²(anchor, far) − d²(anchor, near) ≥ margin (Jain 2009, §3.1 item 4).

    The thesis prints the second term of this constraint with a misprint; the matrix is
    (e_i − e_j)(e_i − e_j)ᵀ − (e_i − e_k)(e_i − e_k)ᵀ.

    Parameters
    ----------
    anchor, near, far : int array (m,)
        Indices into X.
    margin : float or array (m,), optional
        Margin on squared distances, nonnegative. None: a tenth of the median squared distance of the points, soft,
        filled in when a learner sees X; that is the default of triplets drawn from labels, targets and tuples.
    soft : bool
        Whether the margin is a guess that rarely can hold for all triplets; learners then allow violations.

    See Also
    --------
    gramian.Quadruplets : Four points.
    gramian.Pairs : Near or far, without a comparison.
    gramian.AutoMetric : Learns from triplets.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> triplets = gm.Triplets([0], [1], [2])
    >>> triplets.violation(gm.Mahalanobis.euclidean(1), np.array([[0.0], [2.0], [1.0]])).tolist()
    [4.0]
    """

    anchor: np.ndarray
    near: np.ndarray
    far: np.ndarray
    _: KW_ONLY
    margin: Any = 1.0
    soft: bool = False

    def __post_init__(self) -> None:
        index_field(self, "anchor", "near", "far")
        self._freeze_margin()

    @classmethod
    @checked
    def from_labels(
        cls,
        y: Any,
        n_triplets: Count | None = None,
        *,
        unknown: Any = None,
        margin: Any = None,
        random_state: Seed = None,
    ) -> "Triplets":
        """Draw distinct triplets from labels (default 5 per labeled point); every class is drawn as an anchor."""
        labels = Labels.from_array(y, "Triplets", unknown=unknown)
        if n_triplets is None:
            n_triplets = 5 * int((labels.codes >= 0).sum())
        count = asked(n_triplets, "Triplets", "n_triplets")
        chosen = triplets(labels, count, _checks.random(random_state, "Triplets"))
        if len(chosen[0]) == 0:
            raise ValueError("Triplets: needs two classes, one of them with two or more points.")
        return cls(*chosen, margin=margin)

    @classmethod
    @checked
    def from_targets(
        cls,
        Y: Any,
        n_near: Count = 10,
        *,
        threshold: Size | None = None,
        n_triplets: Count | None = None,
        margin: Any = None,
        random_state: Seed = None,
    ) -> "Triplets":
        """Draw distinct triplets from continuous targets Y (n,) or (n, t), 5 for each known target by default.

        Near and far are those of :meth:`Pairs.from_targets`.
        """
        rng = _checks.random(random_state, "Triplets")
        chosen = target_triplets(Y, n_near, threshold, n_triplets, "Triplets", rng)
        return cls(*chosen, margin=margin)

    @classmethod
    def from_tuples(cls, tuples: Any, margin: float | None = None) -> tuple[np.ndarray, "Triplets"]:
        """Points (3m, d) and constraints from an array of triplets (m, 3, d): anchor, near, far."""
        tuples = _checks.tuples(tuples, 3, "Triplets")
        m = tuples.shape[0]
        X = np.concatenate([tuples[:, place] for place in range(3)])
        i = np.arange(m)
        return X, cls(i, i + m, i + 2 * m, margin=margin)

    @property
    def near_ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Anchors and the points near to them."""
        return self.anchor, self.near

    @property
    def far_ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Anchors and the points far from them."""
        return self.anchor, self.far


def unit_margins(side: Constraints) -> Constraints:
    """The same constraints, comparisons without a margin with that of 1 in the unit of X squared."""
    if isinstance(side, Mixed):
        return Mixed(tuple(map(unit_margins, side.parts)))
    return replace(side, margin=1.0) if isinstance(side, Comparisons) and side.margin is None else side  # type: ignore[type-var]  # a dataclass
