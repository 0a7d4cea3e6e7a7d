"""Small groups of points known to belong together."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from gramian import _validate, linalg
from gramian._arrays import asarray, to_numpy
from gramian._settings import Count, Seed, Size, check, checked
from gramian.constraints.base import Constraints, Terms, selections
from gramian.constraints.labels import Labels
from gramian.constraints.pairs import Pairs


@dataclass(frozen=True, eq=False)
class Chunklets(Constraints):
    """Groups of points that belong together.

    One constraint on the scatter within chunklets: (1/n) Σ_l Σ_{i∈Ω_l} d²(x_i, μ_l) ≤ 1 (Jain 2009, (3.4)).

    n counts the points that are in a chunklet.

    Parameters
    ----------
    ids : int array (n,)
        Chunklet of each point, −1 for none.
    limit : float
        The bound on the mean scatter.
    weight : array (n,), optional
        What each point counts in the mean, and in the mean μ_l of its chunklet; all the same when None.

    See Also
    --------
    gramian.Pairs : Also says what is dissimilar.
    gramian.RCA : Learns from groups in closed form.

    Examples
    --------
    >>> import gramian as gm
    >>> chunks = gm.Chunklets.from_labels(["a", "b", "a", "?"], unknown="?")
    >>> chunks.ids.tolist(), len(chunks)
    ([0, 1, 0, -1], 1)
    """

    ids: np.ndarray
    limit: Size = 1.0
    _: KW_ONLY
    weight: Any = None

    def __post_init__(self) -> None:
        check(self)
        ids = _validate.plain(self.ids, "Chunklets", "ids")
        if ids.ndim != 1 or ids.dtype.kind not in "iu" or ids.max(initial=0) > np.iinfo(np.intp).max:
            raise ValueError(f"Chunklets: ids must be a 1-D integer array, got shape {ids.shape}, {ids.dtype}.")
        ids = ids.astype(np.intp, copy=ids.flags.writeable or ids.base is not None)
        if ids.min(initial=0) < -1:
            ids = np.maximum(ids, -1)
        ids.flags.writeable = False
        object.__setattr__(self, "ids", ids)
        if self.weight is not None:
            weight = _validate.vector(self.weight, "Chunklets", "weight", len(ids))
            if (weight < 0).any() or not weight[ids >= 0].all():
                raise ValueError("Chunklets: weight must be positive for points in a chunklet.")
            weight.flags.writeable = False
            object.__setattr__(self, "weight", weight)

    @classmethod
    @checked
    def from_labels(
        cls,
        y: Any,
        n_chunklets: Count | None = None,
        *,
        size: Count = 2,
        unknown: Any = None,
        random_state: Seed = None,
    ) -> "Chunklets":
        """Whole classes as chunklets, or ``n_chunklets`` disjoint groups of ``size`` points of one class.

        Groups are drawn class by class in turn, so that every class with enough points has some.
        """
        labels = Labels.from_array(y, "Chunklets", unknown=unknown)
        if n_chunklets is None:
            return cls(labels.codes)
        rng = _validate.random(random_state, "Chunklets")
        queues = [rng.permutation(g) for g in labels.groups()]
        ids = np.full(len(labels.codes), -1, dtype=np.intp)
        # The first group of every class, the second ones, and so on.
        rounds = [(turn, c) for c, q in enumerate(queues) for turn in range(len(q) // size)]
        for number, (turn, c) in enumerate(sorted(rounds)[:n_chunklets]):
            ids[queues[c][turn * size : (turn + 1) * size]] = number
        if len(rounds) < n_chunklets:
            raise ValueError(
                f"Chunklets: n_chunklets must be at most {len(rounds)} for groups of {size} points, got {n_chunklets}."
            )
        return cls(ids)

    @classmethod
    @checked
    def from_pairs(cls, pairs: Any, n_points: Count | None = None) -> "Chunklets":
        """Points that similar pairs join, directly or through others, of ``n_points`` in all; others are in none."""
        if not isinstance(pairs, Pairs):
            raise TypeError(f"Chunklets: pairs must be Pairs, got {_validate.shown(pairs)}.")
        n = max(pairs.n_points, n_points or 0)
        left, right = pairs.left[pairs.similar], pairs.right[pairs.similar]
        joined = sparse.csr_array((np.ones(len(left)), (left, right)), shape=(n, n))
        ids = connected_components(joined, directed=False)[1]
        return cls(np.where(np.bincount(ids)[ids] > 1, ids, -1))

    @property
    def n_points(self) -> int:
        """Number of points the ids cover."""
        return len(self.ids)

    def check(self, X: Any, owner: str, fill: bool = True) -> "Chunklets":
        """Constraints that fit X: one id for each point."""
        super().check(X, owner, fill)
        if len(self.ids) != X.shape[0]:
            n = X.shape[0]
            raise ValueError(f"{owner}: ids of Chunklets must have one entry per point ({n}), got {len(self.ids)}.")
        return self

    @property
    def bound(self) -> np.ndarray:
        """The limit, as one bound."""
        return np.array([self.limit], dtype=float)

    def __len__(self) -> int:
        return 1 if (self.ids >= 0).any() else 0

    def members(self) -> np.ndarray:
        """Indices of the points that are in a chunklet."""
        return np.flatnonzero(self.ids >= 0)

    def _averages(self, n: int) -> tuple[sparse.csr_array, np.ndarray]:
        """Rows that take the means of the chunklets, and what each chunklet counts."""
        inside = self.members()
        counts = self._counts()
        _, chunk = np.unique(self.ids[inside], return_inverse=True)
        size = np.bincount(chunk, counts)  # (chunklets,)
        return sparse.csr_array((counts / size[chunk], (chunk, inside)), shape=(len(size), n)), size

    def _counts(self) -> np.ndarray:
        """What each point of a chunklet counts."""
        inside = self.members()
        counts: np.ndarray = np.ones(len(inside)) if self.weight is None else self.weight[inside]
        return counts

    def moments(self, X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sizes of the chunklets, their means, and the scatter (d, d) of their points around them."""
        if self.weight is not None:
            V = self.centered(X)  # (n_inside, d)
            scatter = V.T @ (V * asarray(self._counts(), V)[:, None])
            return self._averages(X.shape[0])[1], to_numpy(self.means(X)), to_numpy(scatter)
        if (self.ids >= 0).all():
            return linalg.moments(X, linalg.renamed(self.ids)[1])
        inside = self.members()
        return linalg.moments(linalg.take(X, inside), linalg.renamed(self.ids[inside])[1])

    def centered(self, X: Any) -> Any:
        """Points of the chunklets minus the mean of theirs, (n_inside, d)."""
        inside = self.members()
        average, _ = self._averages(X.shape[0])
        _, chunk = np.unique(self.ids[inside], return_inverse=True)
        return linalg.take(X, inside) - linalg.take(linalg.product(average, X), chunk)

    def means(self, X: Any) -> Any:
        """The mean of each chunklet, in the order of their ids."""
        return linalg.product(self._averages(X.shape[0])[0], X)

    def terms(self, n: int) -> Terms:
        """Bilinear terms over n points."""
        # Jain 2009, (3.4): Σ|x − μ|² = Σ|x|² − Σ size·|μ|²
        inside = self.members()
        average, size = self._averages(n)
        rows = sparse.csr_array(sparse.vstack([selections(inside, n), average]))  # (n_inside + chunklets, n)
        weight = np.concatenate([self._counts(), -size]) / size.sum()
        return Terms(rows, rows, weight[None, :])
