"""Relative constraints: an anchor is nearer to one point than to another."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _checks
from gramian.constraints.base import Constraints, Labels, Terms, bound_field, differences, index_field, reach
from gramian.constraints.mixed import Mixed
from gramian.constraints.pairs import typical_sqdist
from gramian.constraints.sampling import triplets
from gramian.constraints.targets import target_triplets
from gramian.kernels.base import take

MARGIN = 0.1
"""Margin of triplets by default, as a share of the median squared distance of the points."""


@dataclass(frozen=True, eq=False)
class Triplets(Constraints):
    """d²(anchor, far) − d²(anchor, near) ≥ margin (Jain 2009, §3.1 item 2).

    The second term of the printed formula is misprinted there; it is (e_i − e_k)(e_i − e_k)ᵀ.

    Parameters
    ----------
    anchor, near, far : int array (m,)
        Indices into X.
    margin : float or array (m,), optional
        Margin on squared distances, ≥ 0. None is 1, in the unit of X squared; a learner that also chooses the slack
        takes the share :data:`MARGIN` of the median squared distance instead (:meth:`with_bounds`).
    soft : bool
        Whether the margin is a guess that rarely can hold for all triplets; learners then allow violations.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> wishes = gm.Triplets([0], [1], [2], margin=1.0)
    >>> wishes.violation(gm.Mahalanobis.euclidean(1), np.array([[0.0], [2.0], [1.0]])).tolist()
    [4.0]
    """

    anchor: np.ndarray
    near: np.ndarray
    far: np.ndarray
    margin: Any = None
    soft: bool = False

    def __post_init__(self) -> None:
        index_field(self, "anchor", "near", "far")
        if self.margin is None:
            return
        margin = bound_field(self.margin, len(self.anchor), "Triplets", "margin")
        if (margin < 0).any():
            raise ValueError("Triplets: margin must be nonnegative.")
        object.__setattr__(self, "margin", margin)

    @classmethod
    def from_labels(
        cls,
        y: Any,
        n_triplets: int | None = None,
        unknown: Any = None,
        random_state: Any = None,
        margin: float | None = None,
    ) -> "Triplets":
        """Draw distinct triplets from labels (default 5 per labeled point); every class is drawn as an anchor."""
        labels = Labels.from_array(y, "Triplets", unknown=unknown)
        if n_triplets is None:
            n_triplets = 5 * int((labels.codes >= 0).sum())
        count = _checks.number(n_triplets, "Triplets", "n_triplets", low=1, integer=True)
        chosen = triplets(labels, count, _checks.random(random_state, "Triplets"))
        if len(chosen[0]) == 0:
            raise ValueError("Triplets: needs two classes, one of them with two or more points.")
        return cls(*chosen, margin=margin)

    @classmethod
    def from_targets(
        cls,
        Y: Any,
        n_near: int = 10,
        *,
        threshold: float | None = None,
        n_triplets: int | None = None,
        margin: float | None = None,
        random_state: Any = None,
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
        X = np.concatenate([tuples[:, 0], tuples[:, 1], tuples[:, 2]])
        i = np.arange(m)
        return X, cls(i, i + m, i + 2 * m, margin)

    @property
    def n_points(self) -> int:
        """One more than the largest index."""
        return reach(self.anchor, self.near, self.far)

    @property
    def from_data(self) -> bool:
        """Whether the margin is to be taken from the data."""
        return self.margin is None

    def filled(
        self, X: Any, percentiles: Any = (5, 95), max_points: int = 1000, sqdist: Callable | None = None
    ) -> "Triplets":
        """Fill in a missing margin: the share :data:`MARGIN` of the median squared distance of X."""
        if self.margin is not None:
            return self
        D = typical_sqdist(X, max_points, sqdist)
        return replace(self, margin=MARGIN * float(np.median(D)) if D.size else 1.0)

    def softened(self) -> "Triplets":
        """The same triplets with a margin that may be violated."""
        return replace(self, soft=True)

    def __len__(self) -> int:
        return len(self.anchor)

    @property
    def bound(self) -> np.ndarray:
        """Right-hand sides b = −margin of d²(anchor, near) − d²(anchor, far) ≤ b."""
        return -np.ones(len(self)) if self.margin is None else -self.margin

    def terms(self, n: int) -> Terms:
        """Bilinear terms over n points."""
        m = len(self)
        rows = np.arange(2 * m).reshape(2, m).T.ravel()  # near and far terms of each constraint side by side
        both = sparse.vstack([differences(self.anchor, self.near, n), differences(self.anchor, self.far, n)])
        D = sparse.csr_array(sparse.csr_array(both)[rows])
        return Terms(D, D, np.tile([1.0, -1.0], (m, 1)))

    def values(self, metric: Any, X: Any) -> np.ndarray:
        """d²(anchor, near) − d²(anchor, far), shape (m,)."""
        X = metric.check(X)
        A, near, far = (take(X, rows) for rows in (self.anchor, self.near, self.far))
        return metric.pair_sqdist_of(A, near) - metric.pair_sqdist_of(A, far)


def unit_margins(side: Constraints) -> Constraints:
    """The same constraints, triplets without a margin with that of 1 in the unit of X squared."""
    if isinstance(side, Mixed):
        return Mixed(tuple(map(unit_margins, side.parts)))
    return replace(side, margin=1.0) if isinstance(side, Triplets) and side.margin is None else side
