"""How well several found clusterings fit several true ones, how much they repeat each other, and how many there are."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from gramian import _validate
from gramian._settings import Count, Seed, Within, checked, shown
from gramian.clustering.base import Counts, sizes
from gramian.clustering.decorrelated import DecorrelatedKMeans


def accuracy(found: Any, truth: Any) -> float:
    """Share of points in agreement when clusters are matched one to one to classes, the best way (Kuhn 1955)."""
    F, Y = _columns(found, "found"), _columns(truth, "truth")
    if F.shape != Y.shape or F.shape[1] > 1:
        raise ValueError(f"accuracy: found and truth must label the same points, got {F.shape} and {Y.shape}.")
    shared = contingency_matrix(Y[:, 0], F[:, 0])  # (classes, clusters)
    rows, columns = linear_sum_assignment(-shared)
    return float(shared[rows, columns].sum() / shared.sum())


Score = Literal["nmi", "ari", "accuracy"]
SCORES = {"nmi": normalized_mutual_info_score, "ari": adjusted_rand_score, "accuracy": accuracy}


@dataclass(frozen=True)
class Match:
    """Found clustering ``found[i]`` stands for true labeling ``truth[i]``, with ``scores[i]``."""

    found: np.ndarray
    truth: np.ndarray
    scores: np.ndarray


@checked
def table(found: Any, truth: Any, *, score: Score = "nmi") -> np.ndarray:
    """Scores (T, S) of each of T found labelings against each of S true ones.

    ``score`` is ``"nmi"`` (normalized mutual information, arithmetic mean), ``"ari"`` (adjusted Rand index) or
    ``"accuracy"``.
    """
    measure = SCORES[score]
    F, Y = _columns(found, "found"), _columns(truth, "truth")
    if len(F) != len(Y):
        raise ValueError(f"table: found and truth must label the same points, got {len(F)} and {len(Y)}.")
    return np.array([[measure(Y[:, j], F[:, i]) for j in range(Y.shape[1])] for i in range(F.shape[1])])


@checked
def match(found: Any, truth: Any, *, score: Score = "nmi") -> Match:
    """Pair found clusterings with true labelings, one to one, so that the sum of the scores is largest.

    Parameters
    ----------
    found : array (n, T) or (n,)
    truth : array (n, S) or (n,)
        Labels of any type.
    score : {"nmi", "ari", "accuracy"}

    Returns
    -------
    Match, min(T, S) pairs in the order of the true labelings.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.clustering import match
    >>> truth = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> match(truth[:, ::-1], truth).found.tolist()
    [1, 0]
    """
    values = table(found, truth, score=score)  # (T, S)
    i, j = linear_sum_assignment(-values)
    order = np.argsort(j)
    return Match(i[order], j[order], values[i, j][order])


def redundancy(found: Any) -> float:
    """Mean normalized mutual information between the found clusterings: 0 when each tells something new.

    >>> redundancy([[0, 0], [0, 0], [1, 1], [1, 1]])
    1.0
    """
    F = _columns(found, "found")
    values = table(F, F)
    upper = np.triu_indices(len(values), 1)
    return float(values[upper].mean()) if len(upper[0]) else 0.0


def _columns(labels: Any, name: str) -> np.ndarray:
    try:
        array = np.asarray(labels)
    except ValueError:
        array = np.zeros(0)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"match: {name} must be labels (n,) or (n, T), got {shown(labels)}.")
    return np.column_stack([_validate.labels(column, "match")[1] for column in array.T])


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
    k, rng = sizes(n_clusters, owner), _validate.random(random_state, owner)
    X = _validate.points(X, owner, min_points=2 * max(2, *k))
    halves = [np.array_split(rng.permutation(X.shape[0]), 2) for _ in range(n_splits)]
    stability, repeats = [], []
    for T in range(1, len(k) + 1):
        model = DecorrelatedKMeans(k[:T], n_init=n_init, random_state=rng)
        # labels of all points by each half
        fits = [[model.fit(X[rows]).predict(X) for rows in two] for two in halves]
        stability.append(np.mean([match(a, b, score="ari").scores.min() for a, b in fits]))
        repeats.append(np.mean([redundancy(a) for a, _ in fits]))
    good = np.flatnonzero(np.array(stability) >= threshold)
    return Selection(int(good[-1]) + 1 if len(good) else 1, np.array(stability), np.array(repeats))
