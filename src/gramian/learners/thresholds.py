"""Where to cut a score into two classes."""

from typing import Any

import numpy as np

from gramian import _validate

STRATEGIES = ("accuracy", "f_beta", "max_tpr", "max_tnr")


def best_threshold(
    score: np.ndarray,
    positive: np.ndarray,
    strategy: str = "accuracy",
    *,
    min_rate: Any = None,
    beta: Any = 1.0,
    owner: str = "best_threshold",
) -> float:
    """The threshold t for which "score ≥ t" tells positives from negatives best, of all there are.

    Between two scores that differ every cut is the same, so t lies in the middle; it is the least score when all
    should be accepted, and just above the largest when none should be. Of equally good cuts the one is taken that is
    best by the rates of both classes.

    Parameters
    ----------
    score : array (n,)
    positive : bool array (n,)
    strategy : {"accuracy", "f_beta", "max_tpr", "max_tnr"}
        "max_tpr" is the largest true positive rate with a true negative rate of at least ``min_rate``, "max_tnr" the
        other way round. A rate of a class that has no member is 0.
    min_rate : float in [0, 1]
    beta : float
    owner : str
        Named in messages.
    """
    _validate.one_of(strategy, owner, "strategy", STRATEGIES)
    order = np.argsort(-score, kind="stable")
    score, positive = score[order], positive[order]
    accepted = np.flatnonzero(np.r_[True, score[1:] != score[:-1], True])  # how many lie above each cut
    found = np.r_[0, np.cumsum(positive)][accepted]
    wrong = accepted - found
    n_positive = int(positive.sum())
    tpr = found / max(n_positive, 1)
    tnr = (len(score) - n_positive - wrong) / max(len(score) - n_positive, 1)
    if strategy == "accuracy":
        value = found - wrong
    elif strategy == "f_beta":
        b = _validate.number(beta, owner, "beta") ** 2
        value = (1 + b) * found / np.maximum(b * n_positive + accepted, 1e-300)
    else:
        least = _validate.number(min_rate, owner, "min_rate", low=0, high=1)
        rate, other = (tpr, tnr) if strategy == "max_tpr" else (tnr, tpr)
        value = np.where(other >= least, rate, -1.0)
    best = int(np.lexsort((tpr + tnr, value))[-1])
    return threshold_after(score, int(accepted[best]))


def threshold_after(score: np.ndarray, count: int) -> float:
    """A threshold that accepts the first ``count`` of scores in falling order."""
    if count == 0:
        return float(np.nextafter(score[0], np.inf))
    if count == len(score):
        return float(score[-1])
    middle = score[count] + (score[count - 1] - score[count]) / 2
    return float(middle if middle > score[count] else score[count - 1])
