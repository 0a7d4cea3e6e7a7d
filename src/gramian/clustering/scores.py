"""How well several found clusterings fit several true ones, and how much they repeat each other."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from gramian import _checks
from gramian._settings import checked, shown


def accuracy(found: Any, truth: Any) -> float:
    """Share of points in agreement when clusters are matched one to one to classes, the best way (Kuhn 1955)."""
    F, Y = _columns(found, "found"), _columns(truth, "truth")
    if F.shape != Y.shape or F.shape[1] > 1:
        raise ValueError(f"accuracy: found and truth must label the same points, got {F.shape} and {Y.shape}.")
    table = contingency_matrix(Y[:, 0], F[:, 0])
    rows, columns = linear_sum_assignment(-table)
    return float(table[rows, columns].sum() / table.sum())


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
    values = table(found, truth, score=score)
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
    return np.column_stack([_checks.labels(column, "match")[1] for column in array.T])
