"""Bounds on learned inner products, and comparisons of them."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from gramian import _validate, linalg
from gramian._settings import Count, Percentiles, Seed, checked
from gramian.constraints.base import (
    Constraints,
    Terms,
    as_bool,
    bound_field,
    differences,
    index_field,
    reach,
    selections,
)
from gramian.constraints.comparisons import Triplets
from gramian.constraints.pairs import Pairs


@dataclass(frozen=True, eq=False)
class Similarities(Constraints):
    """How alike two points should be, by their inner product.

    x_iᵀ M x_j ≥ bound for similar pairs, ≤ bound for dissimilar ones (Jain 2009, §3.1 item 1).

    Parameters
    ----------
    left, right : int array (m,)
        Indices into X.
    similar : bool array (m,)
        True where the inner product must be at least the limit; ±1 accepted.
    limit : float or array (m,)
        Bounds on the learned inner product.

    See Also
    --------
    gramian.RelativeSimilarities : Which of two is more alike.
    gramian.Pairs : Bounds on distances.
    gramian.Framework : The learner that takes them.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> wishes = gm.Similarities([0], [1], [True], limit=2.0)
    >>> wishes.violation(gm.Mahalanobis.euclidean(2), np.ones((2, 2))).tolist()
    [0.0]
    """

    left: np.ndarray
    right: np.ndarray
    similar: np.ndarray
    _: KW_ONLY
    limit: Any = 0.0

    def __post_init__(self) -> None:
        index_field(self, "left", "right")
        m = len(self.left)
        object.__setattr__(self, "similar", as_bool(self.similar, m, "Similarities", "similar"))
        object.__setattr__(self, "limit", bound_field(self.limit, m, "Similarities", "limit"))

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
    ) -> "Similarities":
        """Draw pairs as :meth:`Pairs.from_labels`; limits are percentiles of the inner products of X (0 without X)."""
        rng = _validate.random(random_state, "Similarities")
        pairs = Pairs.from_labels(y, n_pairs, unknown=unknown, random_state=rng)
        limit = np.zeros(len(pairs))  # (m,)
        if X is not None:
            X = _validate.points(X, "Similarities")
            rows = linalg.spread(X.shape[0], 1000)
            products = linalg.inner(X[rows], X[rows])[np.triu_indices(len(rows), 1)]
            low, high = np.percentile(products, percentiles)
            limit = np.where(pairs.similar, high, low)
        return cls(pairs.left, pairs.right, pairs.similar, limit=limit)

    @property
    def n_points(self) -> int:
        """One more than the largest index."""
        return reach(self.left, self.right)

    @property
    def sign(self) -> np.ndarray:
        """−1 for similar (a lower bound), +1 for dissimilar pairs."""
        return np.where(self.similar, -1.0, 1.0)

    @property
    def bound(self) -> np.ndarray:
        """Right-hand sides b = sign · limit."""
        b: np.ndarray = self.sign * self.limit
        return b

    def terms(self, n: int) -> Terms:
        """Bilinear terms over n points."""
        return Terms(selections(self.left, n), selections(self.right, n), self.sign[:, None])


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
        b: np.ndarray = -self.margin
        return b

    def terms(self, n: int) -> Terms:
        """Bilinear terms over n points."""
        return Terms(selections(self.anchor, n), differences(self.far, self.near, n), np.ones((len(self.anchor), 1)))
