"""Relative constraints: an anchor is nearer to one point than to another."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian import _checks
from gramian.constraints.base import Labels, index_field
from gramian.constraints.comparisons import Comparisons
from gramian.constraints.sampling import triplets


@dataclass(frozen=True, eq=False)
class Triplets(Comparisons):
    """d²(anchor, far) − d²(anchor, near) ≥ margin (Jain 2009, §3.1 item 2).

    The second term of the printed formula is misprinted there; it is (e_i − e_k)(e_i − e_k)ᵀ.

    Parameters
    ----------
    anchor, near, far : int array (m,)
        Indices into X.
    margin : float or array (m,), optional
        Margin on squared distances, nonnegative; None: a tenth of the mean squared distance of the points compared,
        filled in when a learner sees X.
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
    margin: Any = 1.0
    soft: bool = False

    def __post_init__(self) -> None:
        index_field(self, "anchor", "near", "far")
        self._freeze_margin()

    @classmethod
    def from_labels(
        cls,
        y: Any,
        n_triplets: int | None = None,
        unknown: Any = None,
        random_state: Any = None,
        margin: float | None = 1.0,
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
    def from_tuples(cls, tuples: Any, margin: float | None = 1.0) -> tuple[np.ndarray, "Triplets"]:
        """Points (3m, d) and constraints from an array of triplets (m, 3, d): anchor, near, far."""
        tuples = _checks.tuples(tuples, 3, "Triplets")
        m = tuples.shape[0]
        X = np.concatenate([tuples[:, 0], tuples[:, 1], tuples[:, 2]])
        i = np.arange(m)
        return X, cls(i, i + m, i + 2 * m, margin)

    @property
    def near_ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Anchors and the points near to them."""
        return self.anchor, self.near

    @property
    def far_ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Anchors and the points far from them."""
        return self.anchor, self.far
