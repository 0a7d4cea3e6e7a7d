"""Pairs of points that should be near or far."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from gramian import _validate, linalg
from gramian._arrays import asarray, namespace, to_numpy
from gramian._settings import Count, Percentiles, Seed, Size, checked, require, shown
from gramian.constraints.base import Constraints, Sqdist, Terms, as_bool, bound_field, differences, index_field, reach
from gramian.constraints.labels import Labels
from gramian.constraints.sampling import dissimilar_pairs, similar_pairs, target_pairs
from gramian.linalg import take
from gramian.metrics import Metric

MOST_BY_CLASS = 100_000
"""Pairs for each pair of classes that are drawn at most in all, where their number was left open."""
ROUNDING = 1e-14
"""Squared distances below this share of the large ones are those of copies, in coordinates that were computed."""


@dataclass(frozen=True, eq=False)
class Pairs(Constraints):
    """Pairs of points that should be near, or far.

    d²(x_i, x_j) ≤ u for similar pairs, d²(x_i, x_j) ≥ l for dissimilar ones (Jain 2009, §3.1 item 1).

    Parameters
    ----------
    left, right : int array (m,)
        Indices into X.
    similar : bool array (m,)
        True for similar pairs; ±1 and 0/1 are accepted.
    bounds : (u, l), optional
        Bounds on **squared** distances, numbers or arrays (m,), 0 ≤ u and 0 ≤ l. None: percentiles of the squared
        distances of X, filled in when a learner sees X (see :meth:`with_bounds`).
    soft : bool
        Whether the bounds are a guess that rarely can hold for all pairs; learners then allow violations.
    weight : array (m,), optional
        What a violation of each pair counts in ITML; all the same when None.

    See Also
    --------
    gramian.Triplets : Which of two is nearer.
    gramian.Chunklets : Groups that belong together.
    gramian.ITML : Learns from pairs.

    Examples
    --------
    >>> import gramian as gm
    >>> pairs = gm.Pairs.from_labels(["a", "a", "b", "b"], random_state=0)
    >>> len(pairs), int(pairs.similar.sum())
    (6, 2)
    """

    left: np.ndarray
    right: np.ndarray
    similar: np.ndarray
    _: KW_ONLY
    bounds: tuple[Any, Any] | None = None
    soft: bool = False
    weight: Any = None

    def __post_init__(self) -> None:
        index_field(self, "left", "right")
        m = len(self.left)
        if self.weight is not None:
            weight = _validate.vector(self.weight, "Pairs", "weight", m)
            if not (weight > 0).all():
                raise ValueError("Pairs: weight must be positive numbers.")
            weight.flags.writeable = False
            object.__setattr__(self, "weight", weight)
        similar = as_bool(self.similar, m, "Pairs", "similar")
        object.__setattr__(self, "similar", similar)
        if self.bounds is not None:
            rows = isinstance(self.bounds, tuple | list | np.ndarray) and np.iterable(self.bounds)
            if not rows or len(self.bounds) != 2:
                raise ValueError(f"Pairs: bounds must be (u, l), got {shown(self.bounds)}.")
            u, l = (bound_field(b, m, "Pairs", name) for b, name in zip(self.bounds, ("u", "l")))
            if (u[similar] < 0).any() or (l[~similar] < 0).any():
                raise ValueError("Pairs: bounds (u, l) are squared distances and must be nonnegative.")
            object.__setattr__(self, "bounds", (u, l))

    @classmethod
    @checked
    def from_labels(
        cls,
        y: Any,
        n_pairs: Count | None = None,
        *,
        unknown: Any = None,
        X: Any = None,
        percentiles: Percentiles = (5, 95),
        random_state: Seed = None,
    ) -> "Pairs":
        """Draw distinct pairs from labels, half similar and half dissimilar, every class drawn.

        ``n_pairs`` defaults to max(5 n, min(20 C (C − 1), 100,000)) for n labeled points of C classes, or all pairs
        when there are fewer. Labels equal to ``unknown`` are left out. With X the bounds are filled in.
        """
        labels = Labels.from_array(y, "Pairs", unknown=unknown)
        n, C = int((labels.codes >= 0).sum()), len(labels.classes)
        if n < 2:
            raise ValueError(f"Pairs: needs at least two labeled points, got {n}.")
        count = max(5 * n, min(20 * C * (C - 1), MOST_BY_CLASS)) if n_pairs is None else n_pairs
        rng = _validate.random(random_state, "Pairs")
        a, b = similar_pairs(labels, (count + 1) // 2, rng)
        c, d = dissimilar_pairs(labels, count - min(len(a), (count + 1) // 2), rng)
        order = rng.permutation(len(a) + len(c))  # mixed, so that folds of pairs hold both kinds
        pairs = cls(np.concatenate([a, c])[order], np.concatenate([b, d])[order], order < len(a))
        return pairs if X is None else pairs.with_bounds(X, percentiles)

    @classmethod
    @checked
    def from_targets(
        cls,
        Y: Any,
        n_near: Count = 10,
        *,
        threshold: Size | None = None,
        n_pairs: Count | None = None,
        X: Any = None,
        percentiles: Percentiles = (5, 95),
        random_state: Seed = None,
    ) -> "Pairs":
        """Draw distinct pairs from continuous targets (ages, prices, poses), half similar and half dissimilar.

        A point is similar to the ``n_near`` points whose targets are nearest to its own, and dissimilar to those
        whose targets are apart by ``threshold`` or more (Jain 2009, §4.3.2); the median distance of targets when None.

        Parameters
        ----------
        Y : array (n,) or (n, t)
            Targets, compared by their Euclidean distance; rows with NaN are unknown and left out.
        n_near : int
        threshold : float, optional
        n_pairs : int, optional
            5 n for n known targets when None.
        X, percentiles
            With X the bounds are filled in, as in :meth:`from_labels`.
        random_state : int or generator, optional
        """
        rng = _validate.random(random_state, "Pairs")
        similar, dissimilar = target_pairs(Y, n_near, threshold, n_pairs, "Pairs", rng)
        left, right = np.concatenate([similar, dissimilar], axis=1)
        order = rng.permutation(len(left))
        pairs = cls(left[order], right[order], order < similar.shape[1])
        return pairs if X is None else pairs.with_bounds(X, percentiles)

    @classmethod
    def from_tuples(
        cls, pairs: Any, similar: Any, *, bounds: tuple[Any, Any] | None = None
    ) -> tuple[np.ndarray, "Pairs"]:
        """Points (2m, d) and constraints from an array of pairs (m, 2, d) and ±1 labels."""
        pairs = _validate.tuples(pairs, 2, "Pairs")
        m = pairs.shape[0]
        X = namespace(pairs).concat([pairs[:, 0, :], pairs[:, 1, :]])
        return X, cls(np.arange(m), np.arange(m, 2 * m), similar, bounds=bounds)

    def filled(
        self,
        X: Any,
        percentiles: tuple[float, float] = (5, 95),
        *,
        max_points: int = 1000,
        sqdist: Sqdist | None = None,
    ) -> "Pairs":
        """Fill in missing bounds: percentiles of the squared distances of X (all pairs of at most 1,000 points).

        Both bounds are made positive and distinct when the data have many duplicates.
        """
        if self.bounds is not None:
            return self
        require(Percentiles, percentiles, "Pairs", "percentiles")
        if percentiles[0] > percentiles[1]:
            raise ValueError(f"Pairs: percentiles must be in order, that of u and that of l, got {percentiles}.")
        D = typical_sqdist(X, max_points, sqdist)
        u, l = np.percentile(D, percentiles) if D.size else (1.0, 2.0)
        return replace(self, bounds=(u, l if l > u else 2 * u))

    @property
    def from_data(self) -> bool:
        """Whether the bounds are to be taken from the data."""
        return self.bounds is None

    def __add__(self, other: Any) -> Constraints:
        """Pairs and pairs are pairs; otherwise as in :class:`Constraints`."""
        if not isinstance(other, Pairs) or self.from_data != other.from_data:
            return super().__add__(other)
        bounds = None
        if self.bounds is not None and other.bounds is not None:
            u, l = (np.concatenate(two) for two in zip(self.bounds, other.bounds))
            bounds = u, l
        return Pairs(
            np.concatenate([self.left, other.left]),
            np.concatenate([self.right, other.right]),
            np.concatenate([self.similar, other.similar]),
            bounds=bounds,
            soft=self.soft or other.soft,
        )

    @property
    def n_points(self) -> int:
        """One more than the largest index."""
        return reach(self.left, self.right)

    @property
    def sign(self) -> np.ndarray:
        """δ = +1 for similar, −1 for dissimilar pairs."""
        return np.where(self.similar, 1.0, -1.0)

    @property
    def limit(self) -> np.ndarray:
        """The bound of each pair on its squared distance: u if similar, l if not."""
        if self.bounds is None:
            raise ValueError("Pairs: bounds are not set; give bounds=(u, l) or call with_bounds(X).")
        u, l = self.bounds
        limits: np.ndarray = np.where(self.similar, u, l)  # (m,)
        return limits

    @property
    def bound(self) -> np.ndarray:
        """Right-hand sides b = δ · limit of δ d² ≤ b."""
        b: np.ndarray = self.sign * self.limit
        return b

    def __len__(self) -> int:
        return len(self.left)

    def __getitem__(self, rows: Any) -> "Pairs":
        """The pairs of the given rows."""
        bounds = None if self.bounds is None else (self.bounds[0][rows], self.bounds[1][rows])
        return Pairs(self.left[rows], self.right[rows], self.similar[rows], bounds=bounds, soft=self.soft)

    def terms(self, n: int) -> Terms:
        """Bilinear terms over n points."""
        D = differences(self.left, self.right, n)
        return Terms(D, D, self.sign[:, None])

    def values(self, metric: Metric, X: Any) -> np.ndarray:
        """δ d²(x_i, x_j), shape (m,)."""
        X = metric.check(X)
        values: np.ndarray = self.sign * metric.pair_sqdist_of(take(X, self.left), take(X, self.right))
        return values


def typical_sqdist(X: Any, max_points: int = 1000, sqdist: Sqdist | None = None) -> np.ndarray:
    """Squared distances of all pairs of at most ``max_points`` points of X, without those of copies."""
    rows = linalg.spread(X.shape[0], max_points)
    D = to_numpy(linalg.sqdist(take(X, rows)) if sqdist is None else sqdist(rows))
    D = D[np.triu_indices(len(rows), 1)]  # (p (p − 1) / 2,)
    distinct: np.ndarray = D[ROUNDING * np.percentile(D, 95) < D] if D.size else D
    return distinct


def apart(pairs: Pairs, X: Any, owner: str, *, tol: float = 0.0) -> np.ndarray:
    """Which pairs are of points that differ, (m,); identical points say nothing about a metric.

    In coordinates that were computed, copies differ by rounding: ``tol``, relative to the pair farthest apart.
    """
    size = np.empty(len(pairs))
    for rows in linalg.blocks(len(pairs), 24 * X.shape[1], of=X):
        size[rows] = to_numpy(linalg.row_extents(take(X, pairs.left[rows]) - take(X, pairs.right[rows])))
    differ: np.ndarray = size > tol * size.max()
    if not differ.any():
        raise ValueError(f"{owner}: every pair is of two identical points; nothing can be learned.")
    return differ


def in_place(values: Any, rows: np.ndarray) -> Any:
    """Values of some constraints, (rows.sum(),), at their places among all (m,), and 0 for the others."""
    if values is None or rows.all():
        return values
    whole = np.zeros(len(rows))
    whole[rows] = to_numpy(values)
    return asarray(whole, values)
