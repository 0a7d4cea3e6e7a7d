"""LSML and LSML_Supervised."""

from typing import Any

import numpy as np
from sklearn.base import TransformerMixin

import gramian as gm
from gramian.compat.metric_learn.base_metric import MahalanobisMixin, _QuadrupletsClassifierMixin
from gramian.compat.metric_learn.constraints import Constraints
from gramian.compat.metric_learn.exceptions import renamed
from gramian.compat.metric_learn.fitting import fit_with, lines
from gramian.compat.metric_learn.matrices import metric_matrix


class _BaseLSML(MahalanobisMixin):
    _tuple_size = 4

    def __init__(self, tol=1e-3, max_iter=1000, prior="identity", verbose=False, preprocessor=None, random_state=None):
        self.prior = prior
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.random_state = random_state
        super().__init__(preprocessor)

    def _fit(self, quadruplets: Any, weights: Any = None) -> "_BaseLSML":
        quadruplets = self._prepare_inputs(quadruplets, type_of_inputs="tuples")
        prior = metric_matrix(quadruplets, self.prior, "prior", self.random_state, definite=True)
        weights = np.ones(len(quadruplets)) if weights is None else np.asarray(weights, dtype=float)
        self.w_ = weights / weights.sum()
        X, side = gm.Quadruplets.from_tuples(quadruplets, weight=weights)
        learner = gm.LSML(1.0, prior, anchor=0, max_iter=self.max_iter, tol=self.tol, callback=lines(self))
        fit_with(self, learner, X, side)
        return self


class LSML(_BaseLSML, _QuadrupletsClassifierMixin):
    """Least squared residuals of comparisons; see :class:`gramian.LSML`."""

    def fit(self, quadruplets: Any, weights: Any = None) -> "LSML":
        """Learn from quadruplets, the first pair of which should be nearer than the second."""
        self._fit(quadruplets, weights=weights)
        return self


class LSML_Supervised(TransformerMixin, _BaseLSML):
    """:class:`LSML` on quadruplets drawn from labels."""

    _tuple_size = None  # type: ignore[assignment]  # points, not tuples

    def __init__(
        self,
        tol=1e-3,
        max_iter=1000,
        prior="identity",
        n_constraints=None,
        weights=None,
        verbose=False,
        preprocessor=None,
        random_state=None,
        num_constraints="deprecated",
    ):
        super().__init__(tol, max_iter, prior, verbose, preprocessor, random_state)
        self.n_constraints = renamed("num_constraints", "n_constraints", num_constraints, n_constraints)
        self.num_constraints = "deprecated"
        self.weights = weights

    def fit(self, X: Any, y: Any) -> "LSML_Supervised":
        """Learn from points with labels."""
        X, y = self._prepare_inputs(X, y, ensure_min_samples=2)
        count = 20 * len(np.unique(y)) ** 2 if self.n_constraints is None else self.n_constraints
        index = Constraints(y).positive_negative_pairs(count, same_length=True, random_state=self.random_state)
        self._fit(X[np.column_stack(index)], weights=self.weights)
        return self
