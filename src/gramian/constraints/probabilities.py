"""Bounds on class probabilities estimated by Parzen windows."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _validate
from gramian._settings import Count, Seed, Share, checked, shown
from gramian.constraints.base import Constraints, Terms, as_bool, bound_field, index_field, selections
from gramian.constraints.labels import Labels


@dataclass(frozen=True, eq=False)
class Probabilities(Constraints):
    """How probable a class should be for a point.

    p(c | x) = Σ_{i∈c} xᵀM x_i / Σ_j xᵀM x_j ≥ p, or ≤ p, for a point x and a class c (Jain 2009, §3.1 item 3).

    Written, as there, without the quotient: ± xᵀ M (Σ_{i∈c} x_i − p Σ_j x_j) ≥ 0. The two agree where the denominator
    is positive, as it is for nonnegative kernels.

    Parameters
    ----------
    point : int array (m,)
        Indices into X of the points x.
    target : int array (m,)
        Class code c of each constraint.
    codes : int array (n,)
        Class code of every point of X, −1 for none.
    level : float or array (m,)
        The probability p, in [0, 1].
    at_least : bool or bool array (m,)
        True where the probability must be at least p, False where it must be at most p.

    See Also
    --------
    gramian.Similarities : Bounds on inner products.
    gramian.Framework : The learner that takes them.

    Examples
    --------
    >>> import gramian as gm
    >>> wishes = gm.Probabilities.from_labels(["a", "a", "b"], level=0.9)
    >>> len(wishes), wishes.target.tolist()
    (3, [0, 0, 1])
    """

    point: np.ndarray
    target: np.ndarray
    codes: np.ndarray
    _: KW_ONLY
    level: Any = 0.5
    at_least: Any = True

    def __post_init__(self) -> None:
        index_field(self, "point", "target")
        codes = _validate.plain(self.codes, "Probabilities", "codes")
        if codes.ndim != 1 or codes.dtype.kind not in "iu" or codes.max(initial=0) > np.iinfo(np.int32).max:
            raise ValueError(
                f"Probabilities: codes must be a class number for each point, −1 where unknown, "
                f"got {shown(self.codes)}."
            )
        object.__setattr__(self, "codes", codes.astype(np.intp))
        level = bound_field(self.level, len(self.point), "Probabilities", "level")
        if (level < 0).any() or (level > 1).any():
            raise ValueError("Probabilities: level must lie in [0, 1].")
        object.__setattr__(self, "level", level)
        at_least = _validate.plain(self.at_least, "Probabilities", "at_least")
        if at_least.dtype.kind not in "biu":
            raise ValueError(
                f"Probabilities: at_least must be True or False, or one for each point, got {shown(self.at_least)}."
            )
        at_least = np.full(len(self.point), at_least) if at_least.ndim == 0 else at_least
        object.__setattr__(self, "at_least", as_bool(at_least, len(self.point), "Probabilities", "at_least"))

    @classmethod
    @checked
    def from_labels(
        cls,
        y: Any,
        level: Any = 0.5,
        *,
        unknown: Any = None,
        n_points: Count | None = None,
        ceiling: Share | None = None,
        random_state: Seed = None,
    ) -> "Probabilities":
        """Each labeled point (or ``n_points`` of them, drawn) should have its own class with probability ≥ level.

        With ``ceiling`` every other class should also have a probability ≤ ceiling.
        """
        labels = Labels.from_array(y, "Probabilities", unknown=unknown)
        points = np.flatnonzero(labels.codes >= 0)
        if n_points is not None and n_points < len(points):
            points = np.sort(_validate.random(random_state, "Probabilities").choice(points, n_points, replace=False))
        floors = cls(points, labels.codes[points], labels.codes, level=level)
        if ceiling is None:
            return floors
        # each point with every class that is not its own
        row, foreign = np.nonzero(labels.codes[points][:, None] != np.arange(len(labels.classes)))
        return cls(
            np.concatenate([floors.point, points[row]]),
            np.concatenate([floors.target, foreign]),
            labels.codes,
            level=np.concatenate([floors.level, np.full(len(row), ceiling)]),
            at_least=np.concatenate([floors.at_least, np.zeros(len(row), dtype=bool)]),
        )

    @property
    def n_points(self) -> int:
        """Number of points the class codes cover."""
        return len(self.codes)

    @property
    def bound(self) -> np.ndarray:
        """Right-hand sides, all 0."""
        return np.zeros(len(self.point))

    def __len__(self) -> int:
        return len(self.point)

    def terms(self, n: int) -> Terms:
        """Bilinear terms over n points."""
        labeled = np.flatnonzero(self.codes >= 0)
        n_classes = int(self.codes.max(initial=-1)) + 1
        share = np.full(len(labeled), 1 / max(len(labeled), 1))  # means in place of sums: the same constraint, scaled
        sums = sparse.csr_array((share, (self.codes[labeled], labeled)), shape=(n_classes, n))
        everything = sparse.csr_array(sums.sum(axis=0).reshape(1, -1))  # (1, n)
        # p Σ_j x_j − Σ_{i∈c} x_i, (m, n)
        right = sparse.csr_array(sparse.csr_array(self.level[:, None]) @ everything - sums[self.target])
        return Terms(selections(self.point, n), right, np.where(self.at_least, 1.0, -1.0)[:, None])
