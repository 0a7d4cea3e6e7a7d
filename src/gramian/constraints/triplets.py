"""Relative constraints: an anchor is nearer to one point than to another."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _checks
from gramian.constraints.base import Constraints, Labels, Terms, bound_field, differences, index_field, reach
from gramian.constraints.sampling import triplets
from gramian.kernels.base import take


@dataclass(frozen=True, eq=False)
class Triplets(Constraints):
    """d²(anchor, far) − d²(anchor, near) ≥ margin (Jain 2009, §3.1 item 2).

    The second term of the printed formula is misprinted there; it is (e_i − e_k)(e_i − e_k)ᵀ.

    Parameters
    ----------
    anchor, near, far : int array (m,)
        Indices into X.
    margin : float or array (m,)
        Margin on squared distances, positive.

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
    margin: Any = 1.0

    def __post_init__(self) -> None:
        index_field(self, "anchor", "near", "far")
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
        margin: float = 1.0,
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
    def from_tuples(cls, tuples: Any, margin: float = 1.0) -> tuple[np.ndarray, "Triplets"]:
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
    def bound(self) -> np.ndarray:
        """B = −margin: d²(anchor, near) − d²(anchor, far) ≤ b."""
        return -self.margin

    def _terms(self, n: int) -> Terms:
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
