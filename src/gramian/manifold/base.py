"""What every embedding here shares: a fitted ``embedding_``, and the ``metric_`` that carries it to new points."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gramian import _checks
from gramian.metrics.base import answer


class GraphEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base: ``fit`` sets ``embedding_`` (n, k) and ``metric_``, whose coordinates of the training points these are."""

    _devices = True
    """Whether points may be on a device: the search for the graph runs there, everything else on the host."""

    def _points(self, X: Any, reset: bool) -> Any:
        return _checks.estimator_points(self, X, reset=reset, min_points=2 if reset else 1, devices=self._devices)

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of points (n, k), in which the Euclidean distance is the learned one.

        Training points have their row of ``embedding_``.
        """
        check_is_fitted(self, "metric_")
        return answer(self.metric_.transform_of(self._points(X, reset=False)), X)

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit and return ``embedding_``."""
        return self.fit(X, y).embedding_.copy()

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
