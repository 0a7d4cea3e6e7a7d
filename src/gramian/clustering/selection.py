"""How many clusterings the data hold: as many as are found again in other points."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from gramian import _checks
from gramian._settings import Count, Seed, Within, checked
from gramian.clustering.base import Counts, sizes
from gramian.clustering.decorrelated import DecorrelatedKMeans
from gramian.clustering.scores import match, redundancy


@dataclass(frozen=True)
class Selection:
    """The choice, and for T = 1, 2, … the stability of the least stable clustering and how much they repeat."""

    n_clusterings: int
    stability: np.ndarray
    redundancy: np.ndarray


@checked
def select_clusterings(
    X: Any,
    n_clusters: Counts = (2, 2, 2, 2),
    *,
    n_splits: Count = 3,
    threshold: Annotated[float, Within(-1, 1)] = 0.8,
    n_init: Count = 4,
    random_state: Seed = None,
) -> Selection:
    """Choose the number T of clusterings by stability under halving.

    For T = 1, 2, … the estimator with (k₁, …, k_T) is fitted to two random halves, both fits label all points, and the
    labelings are matched one to one. The stability of T is the adjusted Rand index of the worst matched pair, averaged
    over ``n_splits`` halvings: a clustering that is not in the data comes out differently from each half. The choice is
    the largest T with a stability of at least ``threshold``, or 1. One clustering may be less stable than two: when two
    views are equally strong, a single one has no reason to prefer either.

    Parameters
    ----------
    X : array or sparse matrix (n, d)
    n_clusters : sequence of int
        Numbers of clusters of the first, second, … clustering.
    n_splits : int
    threshold : float
    n_init : int
        Starts of each fit.
    random_state : int, RandomState or None

    Examples
    --------
    >>> import gramian as gm
    >>> from gramian.clustering import select_clusterings
    >>> data = gm.datasets.two_views(300, 10, n_clusters=2, family="concatenated", random_state=0)
    >>> select_clusterings(data.X, (2, 2, 2), random_state=0).n_clusterings
    2
    """
    owner = "select_clusterings"
    k, rng = sizes(n_clusters, owner), _checks.random(random_state, owner)
    X = _checks.points(X, owner, min_points=2 * max(2, *k))
    halves = [np.array_split(rng.permutation(X.shape[0]), 2) for _ in range(n_splits)]
    stability, repeats = [], []
    for T in range(1, len(k) + 1):
        model = DecorrelatedKMeans(k[:T], n_init=n_init, random_state=rng)
        fits = [[model.fit(X[rows]).predict(X) for rows in two] for two in halves]
        stability.append(np.mean([match(a, b, score="ari").scores.min() for a, b in fits]))
        repeats.append(np.mean([redundancy(a) for a, _ in fits]))
    good = np.flatnonzero(np.array(stability) >= threshold)
    return Selection(int(good[-1]) + 1 if len(good) else 1, np.array(stability), np.array(repeats))
