"""Learned metrics as classifiers of pairs, triplets and quadruplets of points."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import roc_auc_score
from sklearn.utils import ClassifierTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gramian import _validate, linalg
from gramian._arrays import namespace, to_numpy
from gramian.constraints import Comparisons, Constraints, Labels, Pairs, Triplets
from gramian.constraints.base import within
from gramian.learners.door import are_tuples
from gramian.learners.task import Task

FIRST = {2: (0, 1), 3: (0, 1), 4: (0, 1)}
SECOND = {3: (0, 2), 4: (2, 3)}
"""Places of the near pair, and of the far one, in a tuple."""
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
    hits = np.r_[0, np.cumsum(positive)][accepted]
    wrong = accepted - hits
    n_positive = int(positive.sum())
    tpr = hits / max(n_positive, 1)
    tnr = (len(score) - n_positive - wrong) / max(len(score) - n_positive, 1)
    if strategy == "accuracy":
        value = hits - wrong
    elif strategy == "f_beta":
        b = _validate.number(beta, owner, "beta") ** 2
        value = (1 + b) * hits / np.maximum(b * n_positive + accepted, 1e-300)
    else:
        least = _validate.number(min_rate, owner, "min_rate", low=0, high=1)
        rate, limited = (tpr, tnr) if strategy == "max_tpr" else (tnr, tpr)
        value = np.where(limited >= least, rate, -1.0)
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


def _decides(learner: Any) -> bool:
    return hasattr(learner, "tuple_size_")


def _must_decide(learner: "TupleMixin") -> bool:
    """Raise where there is nothing to decide; scikit-learn shows why below its own words."""
    if not _decides(learner):
        raise AttributeError(
            f"{type(learner).__name__}: tells tuples apart after a fit on pairs, triplets or quadruplets, or, for "
            "pairs, after calibrate_threshold or set_threshold."
        )
    return True


class TupleMixin:
    """What a learner says of tuples (n, 2, d), (n, 3, d) and (n, 4, d) once it is fitted.

    Fitted on pairs it also learns the squared distance ``threshold_`` that tells similar ones from dissimilar ones
    best; on points with labels it has none until :meth:`calibrate_threshold` or :meth:`set_threshold`. ``predict`` and
    ``decision_function`` exist only when there is something to decide.
    """

    metric_: Any

    def _points(self, X: Any) -> Any:
        raise NotImplementedError

    def pair_distance(self, pairs: Any) -> np.ndarray:
        """Learned distance d of each pair (n, 2, d), not squared, shape (n,)."""
        return np.sqrt(self._sqdists(pairs, (2,))[0])

    def pair_score(self, pairs: Any) -> np.ndarray:
        """−d² of each pair (n, 2, d), the larger the more similar, shape (n,)."""
        return -self._sqdists(pairs, (2,))[0]

    @available_if(_must_decide)
    def decision_function(self, tuples: Any) -> np.ndarray:
        """How much a tuple is as it should be: threshold − d² for pairs, d²(far pair) − d²(near pair) for others."""
        check_is_fitted(self, "metric_")
        near_sqdist, far = self._sqdists(tuples, (2, 3, 4))
        if far is not None:
            return far - near_sqdist
        if not hasattr(self, "threshold_"):
            owner = type(self).__name__
            raise AttributeError(f"{owner}: has no threshold for pairs; call calibrate_threshold or set_threshold.")
        return self.threshold_ - near_sqdist

    @available_if(_must_decide)
    def predict(self, tuples: Any) -> np.ndarray:
        """1 for pairs that are similar, and for triplets and quadruplets in the right order; −1 for others."""
        value = self.decision_function(tuples)
        right = value >= 0 if np.shape(tuples)[1] == 2 else value > 0
        return np.where(right, 1, -1)

    def score(self, X: Any, y: Any = None) -> float:
        """How well the metric tells near from far.

        For pairs (n, 2, d) with ±1 the area under the ROC curve of −d²; for points with labels the same, on pairs drawn
        with a fixed seed; for triplets and quadruplets, without y, the share in the right order. Points may also come
        with Pairs, Triplets or Quadruplets of their indices as y.
        """
        owner = type(self).__name__
        if not are_tuples(X):
            X = self._points(X)
            if isinstance(y, Comparisons):
                y.check(X, owner, fill=False)
                return float((self._apart(X, y.near_ends) < self._apart(X, y.far_ends)).mean())
            pairs = y if isinstance(y, Pairs) else Pairs.from_labels(_labels(y, X, owner), random_state=0)
            within(pairs, X, owner)
            near_sqdist = self._apart(X, (pairs.left, pairs.right))
            similar = pairs.similar
        else:
            near_sqdist, beyond = self._sqdists(X, (2, 3, 4))
            if beyond is not None:
                return float((near_sqdist < beyond).mean())
            similar = _similar(y, len(near_sqdist), owner)
        if similar.all() or not similar.any():
            remedy = "give points of two classes; sorted labels need shuffled folds, such as cv=StratifiedKFold()"
            raise ValueError(f"{owner}: score needs both similar and dissimilar pairs; {remedy}.")
        return float(roc_auc_score(similar, -near_sqdist))

    def calibrate_threshold(
        self, pairs: Any, y: Any, *, strategy: str = "accuracy", min_rate: float | None = None, beta: float = 1.0
    ) -> Any:
        """Set ``threshold_`` to the squared distance that is best for some pairs, better others than those of the fit.

        Parameters
        ----------
        pairs : array (n, 2, d)
        y : ±1 or bool, (n,)
        strategy : {"accuracy", "f_beta", "max_tpr", "max_tnr"}
            Largest accuracy; largest F-score with ``beta``; largest rate of similar pairs found while at least
            ``min_rate`` of the dissimilar ones are told apart; or the other way round.
        min_rate : float in [0, 1]
        beta : float
        """
        near_sqdist = self._sqdists(pairs, (2,))[0]
        similar = _similar(y, len(near_sqdist), type(self).__name__)
        self.threshold_ = -best_threshold(
            -near_sqdist, similar, strategy, min_rate=min_rate, beta=beta, owner=type(self).__name__
        )
        self.tuple_size_ = 2
        return self

    def set_threshold(self, threshold: float) -> Any:
        """Set ``threshold_``, a squared distance."""
        check_is_fitted(self, "metric_")
        self.threshold_ = _validate.number(threshold, type(self).__name__, "threshold")
        self.tuple_size_ = 2
        return self

    @property
    def classes_(self) -> np.ndarray:
        """What predictions may be."""
        if not _decides(self):
            raise AttributeError(f"{type(self).__name__}: classes_ exist for tuples only.")
        return np.array([-1, 1])

    def _between(self, X: Any, Y: Any) -> np.ndarray:
        return to_numpy(self.metric_.pair_sqdist_of(X, Y))

    def _apart(self, X: Any, ends: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """Squared distances of pairs of points, given by their indices, in blocks of pairs."""
        left, right = ends
        width = X.nnz / max(X.shape[0], 1) if sparse.issparse(X) else X.shape[1]  # numbers of a point
        D = np.empty(len(left))
        for rows in linalg.blocks(len(left), 40 * width, of=X):
            D[rows] = self._between(linalg.take(X, left[rows]), linalg.take(X, right[rows]))
        return D

    def _sqdists(self, tuples: Any, sizes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray | None]:
        """Squared distances of the near pairs, and of the far ones where there are any."""
        check_is_fitted(self, "metric_")
        owner = type(self).__name__
        points = tuples if hasattr(tuples, "shape") else _validate.plain(tuples, owner, "tuples")
        if points.ndim != 3 or points.shape[1] not in sizes:
            wanted = " or ".join(str(size) for size in sizes)
            raise ValueError(
                f"{type(self).__name__}: tuples must have shape (n, {wanted}, d), got shape {tuple(points.shape)}."
            )
        size = points.shape[1]
        X = self._points(namespace(points).reshape(points, (-1, points.shape[2])))
        near_sqdist = self._between(*(X[place::size, ...] for place in FIRST[size]))
        return near_sqdist, self._between(*(X[place::size, ...] for place in SECOND[size])) if size > 2 else None

    def _learn_to_decide(self, task: Task) -> None:
        """Remember what kind of tuples the fit saw; pairs also give a threshold, unless the learner found one."""
        X, y = task.rest.X, task.y
        if isinstance(y, Comparisons):
            self.tuple_size_ = 3 if isinstance(y, Triplets) else 4
        elif isinstance(y, Pairs):
            self.tuple_size_ = 2
            if not hasattr(self, "threshold_"):
                self.threshold_ = -best_threshold(-self._apart(X, (y.left, y.right)), y.similar)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]  # of the estimator that this is mixed into
        if _decides(self):  # so that scorers of classifiers take it
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags(multi_class=False)
        return tags


def _labels(y: Any, X: Any, owner: str) -> Labels:
    if isinstance(y, Constraints):
        raise ValueError(f"{owner}: score takes labels, Pairs, Triplets or Quadruplets, got {type(y).__name__}.")
    return Labels.from_array(y, owner, linalg.count(X))


def _similar(y: Any, n: int, owner: str) -> np.ndarray:
    """Signs of pairs as booleans."""
    if y is None:
        raise ValueError(f"{owner}: pairs (n, 2, d) need y with ±1 per pair, but y is None.")
    return Pairs(np.zeros(n, dtype=int), np.ones(n, dtype=int), y).similar
