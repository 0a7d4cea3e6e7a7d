"""NCA."""

from typing import Any

import numpy as np
from sklearn.base import TransformerMixin

import gramian as gm
from gramian.compat.metric_learn.base_metric import MahalanobisMixin
from gramian.compat.metric_learn.fitting import fit_with, table, timed
from gramian.compat.metric_learn.matrices import check_n_components, start
from gramian.compat.metric_learn.parameters import store


class NCA(TransformerMixin, MahalanobisMixin):
    """Neighborhood components analysis; see :class:`gramian.NCA`."""

    def __init__(
        self,
        init="auto",
        n_components=None,
        max_iter=100,
        tol=None,
        verbose=False,
        preprocessor=None,
        random_state=None,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any) -> "NCA":
        """Learn from points with labels; labels that say nothing leave the start as it is."""
        X, y = self._prepare_inputs(X, y, ensure_min_samples=2)
        r = check_n_components(X.shape[1], self.n_components)
        init = start(X, y, self.init, r)
        sizes = np.unique(y, return_counts=True)[1]
        if len(sizes) < 2 or sizes.max() < 2:
            self.components_ = init if isinstance(init, np.ndarray) else np.eye(r, X.shape[1])
            self.n_iter_ = 0
            return self
        with timed(self):
            learner = gm.NCA(
                r,
                init=init,
                anchor=0,
                max_iter=self.max_iter,
                tol=1e-4 if self.tol is None else self.tol,
                callback=table(self, sign=-1.0),
                random_state=self.random_state,
            )
            fit_with(self, learner, X, y)
        return self
