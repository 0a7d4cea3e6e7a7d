"""One pair of points is nearer than another: triplets and quadruplets."""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from gramian import _validate
from gramian._settings import Count, Seed, Size, checked
from gramian.constraints.base import (
    Constraints,
    Mixed,
    Sqdist,
    Terms,
    bound_field,
    differences,
    index_field,
    reach,
    within,
)
from gramian.constraints.labels import Labels
from gramian.constraints.pairs import typical_sqdist
from gramian.constraints.sampling import affordable, dissimilar_pairs, similar_pairs, target_triplets, triplets
from gramian.linalg import take
from gramian.metrics import Metric

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
        return replace(self, margin=0.0)  # type: ignore[type-var]  # subclasses are dataclasses

    def filled(
        self,
        X: Any,
        percentiles: tuple[float, float] = (5, 95),
        *,
        max_points: int = 1000,
        sqdist: Sqdist | None = None,
    ) -> Self:
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
        b: np.ndarray = -self.weight * (1.0 if self.margin is None else self.margin)
        return b

    def terms(self, n: int) -> Terms:
        """Bilinear terms over n points."""
        m = len(self)
        rows = np.arange(2 * m).reshape(2, m).T.ravel()  # near and far terms of each constraint side by side
        stacked = sparse.vstack([differences(*self.near_ends, n), differences(*self.far_ends, n)])
        D = sparse.csr_array(sparse.csr_array(stacked)[rows])  # (2m, n)
        return Terms(D, D, self.weight[:, None] * np.array([1.0, -1.0]))

    def values(self, metric: Metric, X: Any) -> np.ndarray:
        """d²(near pair) − d²(far pair), times the weights, shape (m,)."""
        X = metric.check(X)
        small, large = (metric.pair_sqdist_of(take(X, i), take(X, j)) for i, j in (self.near_ends, self.far_ends))
        values: np.ndarray = self.weight * (small - large)
        return values


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
        count = affordable(n_triplets, "Triplets", "n_triplets")
        indices = triplets(labels, count, _validate.random(random_state, "Triplets"))
        if len(indices[0]) == 0:
            raise ValueError("Triplets: needs two classes, one of them with two or more points.")
        return cls(*indices, margin=margin)

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
        rng = _validate.random(random_state, "Triplets")
        return cls(*target_triplets(Y, n_near, threshold, n_triplets, "Triplets", rng), margin=margin)

    @classmethod
    def from_tuples(cls, tuples: Any, margin: float | None = None) -> tuple[np.ndarray, "Triplets"]:
        """Points (3m, d) and constraints from an array of triplets (m, 3, d): anchor, near, far."""
        tuples = _validate.tuples(tuples, 3, "Triplets")
        m = tuples.shape[0]
        X = np.concatenate([tuples[:, place] for place in range(3)])  # (3m, d)
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
        count = affordable(n_quadruplets, "Quadruplets", "n_quadruplets")
        rng = _validate.random(random_state, "Quadruplets")
        similar, dissimilar = (np.stack(draw(labels, count, rng)) for draw in (similar_pairs, dissimilar_pairs))
        if similar.size == 0 or dissimilar.size == 0:
            raise ValueError("Quadruplets: needs two classes, one of them with two or more points.")
        # Small classes have fewer pairs than asked for: those come again, in another company.
        rows = [rng.permutation(np.resize(np.arange(ends.shape[1]), count)) for ends in (similar, dissimilar)]
        return cls(*similar[:, rows[0]], *dissimilar[:, rows[1]], margin=margin)

    @classmethod
    def from_tuples(
        cls, tuples: Any, margin: float | None = None, *, weight: Any = 1.0
    ) -> tuple[np.ndarray, "Quadruplets"]:
        """Points (4m, d) and constraints from an array of quadruplets (m, 4, d): a near pair and a far pair."""
        tuples = _validate.tuples(tuples, 4, "Quadruplets")
        m = tuples.shape[0]
        X = np.concatenate([tuples[:, place] for place in range(4)])  # (4m, d)
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


def moved(side: Comparisons, place: np.ndarray) -> Comparisons:
    """The same comparisons of points that are elsewhere: point i is now row ``place[i]``."""
    within(side, place, type(side).__name__)
    values = {field.name: getattr(side, field.name) for field in fields(side)}  # type: ignore[arg-type]
    index = {name: place[value] for name, value in values.items() if name not in ("margin", "weight", "soft")}
    return replace(side, **index)  # type: ignore[type-var]  # subclasses are dataclasses


def unit_margins(side: Constraints) -> Constraints:
    """The same constraints, comparisons without a margin with that of 1 in the unit of X squared."""
    if isinstance(side, Mixed):
        return Mixed(tuple(map(unit_margins, side.parts)))
    return replace(side, margin=1.0) if isinstance(side, Comparisons) and side.margin is None else side  # type: ignore[type-var]  # a dataclass
