"""Covariance."""

from typing import Any

from sklearn.base import TransformerMixin

import gramian as gm
from gramian.compat.metric_learn.base_metric import MahalanobisMixin
from gramian.compat.metric_learn.fitting import square_root


class Covariance(TransformerMixin, MahalanobisMixin):
    """M = C⁺; see :class:`gramian.Covariance`."""

    def __init__(self, preprocessor=None):
        super().__init__(preprocessor)

    def fit(self, X: Any, y: Any = None) -> "Covariance":
        """Learn from points; y is not looked at."""
        X = self._prepare_inputs(X, ensure_min_samples=2)
        self.components_ = square_root(gm.Covariance().fit(X).metric_.matrix)
        return self
