"""The learner contract: a scikit-learn estimator whose one hook is ``_learn(X, side, rng) -> Solution``."""

import warnings
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_is_fitted

from gramian import _checks
from gramian.constraints import Constraints, Labels, Pairs, Triplets
from gramian.metrics import Mahalanobis
from gramian.solvers.base import Solution


class MetricLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """Base of all learners.

    ``fit(X, y)`` takes points (n, d) with labels or :class:`.Constraints`, pairs (n, 2, d) with ±1, or triplets
    (n, 3, d). It sets ``metric_``, ``n_iter_``, ``converged_``, ``objective_`` and ``solution_``.

    Subclasses give ``_learn(X, side, rng)``; ``side`` is what ``_from_labels`` makes of labels, or the constraints that
    were given, which must be of a type in ``_accepts``.
    """

    _accepts: tuple[type[Constraints], ...] = (Constraints,)
    _sparse = False
    _min_points = 2
    _remedy = "raise max_iter or tol"

    @abstractmethod
    def _learn(self, X: Any, side: Any, rng: np.random.RandomState) -> Solution: ...

    def _from_labels(self, X: Any, y: Any, rng: np.random.RandomState) -> Any:
        """Side information from labels; learners that use the labels themselves return :class:`Labels`."""
        return Pairs.from_labels(y, X=X, random_state=rng)

    def fit(self, X: Any, y: Any = None) -> "MetricLearner":
        """Learn the metric.

        Parameters
        ----------
        X : array (n, d), or pairs (n, 2, d), or triplets (n, 3, d)
        y : labels (n,), or a Constraints object, or ±1 for pairs; nothing for triplets
        """
        rng = _checks.random(getattr(self, "random_state", None), type(self).__name__)
        X, side = self._door(X, y, rng)
        self._store(X, self._learn(X, side, rng))
        return self

    def _door(self, X: Any, y: Any, rng: np.random.RandomState) -> tuple[Any, Any]:
        """Validate the input once and turn y into side information."""
        X, y = self._validated(X, y)
        return X, self._side(X, y, rng)

    def _validated(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Points as float64, and y as labels or constraints; tuples are taken apart."""
        owner = type(self).__name__
        if are_tuples(X):
            X, y = self._tuples(np.asarray(X), y)
        if y is None:
            raise ValueError(f"{owner}: requires y to be passed, but the target y is None; give labels or constraints.")
        labels = None if isinstance(y, Constraints) else y
        checked = _checks.estimator_points(
            self, X, labels, reset=True, allow_sparse=self._sparse, min_points=self._min_points
        )
        X, y = (checked, y) if labels is None else checked
        if labels is not None:
            _checks.labels(y, owner, X.shape[0])
        return X.astype(np.float64, copy=False), y

    def _side(self, X: Any, y: Any, rng: np.random.RandomState) -> Any:
        """Side information for the points X, checked."""
        owner = type(self).__name__
        side = y if isinstance(y, Constraints) else self._from_labels(X, y, rng)
        if isinstance(side, Labels):
            return side
        if not isinstance(side, self._accepts):
            wanted = " or ".join(t.__name__ for t in self._accepts)
            raise ValueError(f"{owner}: takes labels{' or ' if wanted else ''}{wanted}, got {type(side).__name__}.")
        return side.check(X, owner)

    def _check_limits(self) -> None:
        """``max_iter`` and ``tol`` of learners that go in steps."""
        _checks.number(self.max_iter, type(self).__name__, "max_iter", low=1, integer=True)
        _checks.number(self.tol, type(self).__name__, "tol", low=0)

    def _tuples(self, X: np.ndarray, y: Any) -> tuple[np.ndarray, Constraints]:
        if X.shape[1] == 2:
            if y is None:
                raise ValueError(f"{type(self).__name__}: pairs (n, 2, d) need y with ±1 per pair, but y is None.")
            return Pairs.from_tuples(X, y)
        if X.shape[1] == 3:
            return Triplets.from_tuples(X)
        raise ValueError(
            f"{type(self).__name__}: X must be (n, d), pairs (n, 2, d) or triplets (n, 3, d), got shape {X.shape}."
        )

    def _store(self, X: Any, solution: Solution) -> None:
        self.solution_ = solution
        self.metric_ = self._metric(solution)
        if not self.converged_:
            warnings.warn(
                f"{type(self).__name__}: stopped after {solution.n_iter} iterations with residual "
                f"{solution.residual:.3g} > tol {solution.tol:.3g}; {self._remedy}.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _metric(self, solution: Solution) -> Any:
        if solution.factor is not None:
            return Mahalanobis(solution.factor)
        return Mahalanobis.from_matrix(solution.M)

    @property
    def n_iter_(self) -> int:
        """Iterations taken."""
        return self.solution_.n_iter

    @property
    def converged_(self) -> bool:
        """Whether the residual fell to ``tol``."""
        return bool(self.solution_.converged)

    @property
    def objective_(self) -> float:
        """The objective at the metric."""
        return float(self.solution_.objective)

    @property
    def components_(self) -> np.ndarray:
        """The factor L (r, d) of the metric."""
        check_is_fitted(self, "metric_")
        return self.metric_.components

    @property
    def _n_features_out(self) -> int:
        return self.metric_.transform(np.zeros((1, self.n_features_in_))).shape[1]

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates in which the Euclidean distance is the learned one."""
        check_is_fitted(self, "metric_")
        X = _checks.estimator_points(self, X, reset=False, allow_sparse=self._sparse)
        return self.metric_.transform(X)

    def score(self, X: Any, y: Any) -> float:
        """Area under the ROC curve of −d² for telling similar pairs from dissimilar ones.

        Pairs (n, 2, d) with ±1; or points with labels, of which pairs are drawn with a fixed seed.
        """
        check_is_fitted(self, "metric_")
        owner = type(self).__name__
        X, pairs = self._tuples(np.asarray(X), y) if are_tuples(X) else (X, None)
        X = _checks.estimator_points(self, X, reset=False, allow_sparse=self._sparse)
        if pairs is None:
            _checks.labels(y, owner, X.shape[0])
            pairs = Pairs.from_labels(y, random_state=0)
        if not isinstance(pairs, Pairs):
            raise ValueError(f"{owner}: score needs pairs (n, 2, d) with ±1 or points with labels, got triplets.")
        if pairs.similar.all() or not pairs.similar.any():
            raise ValueError(f"{owner}: score needs both similar and dissimilar pairs.")
        return float(roc_auc_score(pairs.similar, -self.metric_.pair_sqdist(X[pairs.left], X[pairs.right])))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = self._sparse
        tags.input_tags.three_d_array = True
        return tags


def are_tuples(X: Any) -> bool:
    """Whether X are pairs (n, 2, d) or triplets (n, 3, d) in place of points (n, d)."""
    if isinstance(X, list):
        try:
            return np.ndim(X) == 3
        except ValueError:  # rows of different lengths are neither
            return False
    return getattr(X, "ndim", 2) == 3
