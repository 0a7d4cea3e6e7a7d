"""Pairs, triplets and quadruplets as samples of scikit-learn: cross-validation over them, and points by index."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from gramian import _settings, _validate
from gramian.constraints import Constraints, Pairs, Quadruplets, Triplets
from gramian.learners.base import Learner
from gramian.learners.itml import ITML


class TupleClassifier(ClassifierMixin, BaseEstimator):
    """A learner whose samples are pairs, triplets or quadruplets, for the model selection of scikit-learn.

    Tuples are arrays (n, t, d) of points, or (n, t) of their indices or keys, t = 2, 3 or 4.

    A metric learner takes points *or* tuples and so is no classifier to scikit-learn before it is fitted; this one is
    one from the start, with classes ±1: folds over pairs are stratified, and every scorer of classifiers works.
    With ``points``, tuples are indices, no point is copied, and a fold of pairs is a fold of index rows.

    Parameters
    ----------
    learner : Learner, optional
        :class:`ITML` when None. Triplets and quadruplets need one that takes them.
    points : array (m, d), or callable, optional
        What the entries of 2-D tuples stand for: rows of an array, or ``points(keys) -> (k, d)``, called once with
        the distinct keys.
    strategy, min_rate, beta
        How the threshold on pairs is chosen on the training pairs, as in ``calibrate_threshold`` of every learner.

    Attributes
    ----------
    learner_ : Learner
        The fitted learner.
    classes_ : array, [−1, 1]
        What ``predict`` answers for pairs.

    See Also
    --------
    gramian.Pairs : Pairs of points by their index.
    gramian.ITML : A learner to put inside.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = gm.Pairs.from_labels(y, 200, random_state=0)
    >>> model = gm.TupleClassifier(gm.GMML(), points=X)
    >>> ij, signs = np.stack([pairs.left, pairs.right], axis=1), np.where(pairs.similar, 1, -1)
    >>> bool(cross_val_score(model, ij, signs, scoring="accuracy", cv=3).min() > 0.8)
    True
    """

    def __init__(
        self,
        learner: Any = None,
        points: Any = None,
        *,
        strategy: Any = "accuracy",
        min_rate: Any = None,
        beta: Any = 1.0,
    ) -> None:
        self.learner = learner
        self.points = points
        self.strategy = strategy
        self.min_rate = min_rate
        self.beta = beta

    def fit(self, X: Any, y: Any = None) -> "TupleClassifier":
        """Learn from tuples; y are ±1 for pairs, and nothing (or all 1) for triplets and quadruplets."""
        with _settings.intact(self):
            if not isinstance(self.learner, Learner | None):
                raise TypeError(f"TupleClassifier: learner must be a Learner, got {_validate.shown(self.learner)}.")
            learner = ITML() if self.learner is None else clone(self.learner)
            points, index = self._indexed(X)
            self.learner_ = learner.fit(points, _constraints(index, y))
            self.classes_ = np.array([-1, 1])
            self.n_features_in_ = np.shape(X)[1]
            if index.shape[1] == 2:
                options = {"strategy": self.strategy, "min_rate": self.min_rate, "beta": self.beta}
                learner.calibrate_threshold(points[index], y, **options)
        return self

    @property
    def metric_(self) -> Any:
        """The learned metric."""
        check_is_fitted(self, "learner_")
        return self.learner_.metric_

    def decision_function(self, X: Any) -> np.ndarray:
        """As that of the learner: positive for similar pairs, and for tuples in the right order."""
        check_is_fitted(self, "learner_")
        return self.learner_.decision_function(self._formed(X))

    def predict(self, X: Any) -> np.ndarray:
        """1 or −1 for each tuple."""
        check_is_fitted(self, "learner_")
        return self.learner_.predict(self._formed(X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Area under the ROC curve for pairs, share in the right order for others."""
        check_is_fitted(self, "learner_")
        if sample_weight is not None:
            raise ValueError("TupleClassifier: score must be without sample_weight, got one.")
        return self.learner_.score(self._formed(X), y)

    def _formed(self, X: Any) -> np.ndarray:
        """Tuples of points (n, t, d)."""
        if self.points is None:
            return _validate.plain(X, "TupleClassifier", "X")
        points, index = self._indexed(X)
        return points[index]

    def _indexed(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Points (m, d), and tuples (n, t) as indices into them."""
        tuples = _validate.plain(X, "TupleClassifier", "X")
        wanted = 3 if self.points is None else 2
        if tuples.ndim != wanted or not 2 <= tuples.shape[1] <= 4:
            shape = "(n, t, d)" if self.points is None else "(n, t)"
            hint = "; give points= for tuples of indices" if self.points is None and tuples.ndim == 2 else ""
            raise ValueError(
                f"TupleClassifier: X must have shape {shape} with t = 2, 3 or 4, got {tuples.shape}{hint}."
            )
        if self.points is None:
            count = tuples.shape[0] * tuples.shape[1]
            return tuples.reshape(count, -1), np.arange(count).reshape(tuples.shape[:2])
        if callable(self.points):
            keys, index = np.unique(tuples, return_inverse=True)
            return _validate.points(self.points(keys), "TupleClassifier", name="points"), index.reshape(tuples.shape)
        points = _validate.points(self.points, "TupleClassifier", name="points")
        index = _validate.indices(tuples.ravel(), "TupleClassifier", "X", points.shape[0])
        return points, index.reshape(tuples.shape)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.classifier_tags.multi_class = False
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags


def _constraints(index: np.ndarray, y: Any) -> Constraints:
    """Side information of index rows."""
    if index.shape[1] == 2:
        if y is None:
            raise ValueError("TupleClassifier: pairs need y with ±1 per pair, but y is None.")
        return Pairs(index[:, 0], index[:, 1], y)
    if index.shape[1] == 3:
        return Triplets(index[:, 0], index[:, 1], index[:, 2], margin=None)
    return Quadruplets(index[:, 0], index[:, 1], index[:, 2], index[:, 3], margin=None)
