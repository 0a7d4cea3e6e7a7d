"""MLKR."""

from typing import Any

from sklearn.base import TransformerMixin

import gramian as gm
from gramian.compat.metric_learn.base_metric import MahalanobisMixin
from gramian.compat.metric_learn.fitting import fit_with, table, timed
from gramian.compat.metric_learn.matrices import check_n_components, start
from gramian.compat.metric_learn.parameters import store


class MLKR(TransformerMixin, MahalanobisMixin):
    """Metric learning for kernel regression; see :class:`gramian.MLKR`."""

    def __init__(
        self,
        n_components=None,
        init="auto",
        tol=None,
        max_iter=1000,
        verbose=False,
        preprocessor=None,
        random_state=None,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any) -> "MLKR":
        """Learn from points with real targets."""
        X, y = self._prepare_inputs(X, y, y_numeric=True, ensure_min_samples=2)
        r = check_n_components(X.shape[1], self.n_components)
        with timed(self):
            learner = gm.MLKR(
                r,
                anchor=0,
                init=start(X, y, self.init, r, has_classes=False),
                max_iter=self.max_iter,
                tol=1e-3 if self.tol is None else self.tol,
                callback=table(self),
                max_points=None,
                random_state=self.random_state,
            )
            fit_with(self, learner, X, y)
        return self
