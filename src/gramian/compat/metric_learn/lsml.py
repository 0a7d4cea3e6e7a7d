"""LSML and LSML_Supervised."""

from typing import Any

import numpy as np

import gramian as gm
from gramian import _checks
from gramian.compat.metric_learn.base_metric import MahalanobisMixin, _QuadrupletsClassifierMixin
from gramian.compat.metric_learn.constraints import drawn_quadruplets
from gramian.compat.metric_learn.fitting import fit_with, lines
from gramian.compat.metric_learn.matrices import metric_matrix
from gramian.compat.metric_learn.parameters import store
from gramian.compat.metric_learn.supervision import FromLabels


class _BaseLSML(MahalanobisMixin):
    _tuple_size: int | None = 4

    def _fit(self, quadruplets: Any, weights: Any = None) -> None:
        quadruplets = self._prepare_inputs(quadruplets, type_of_inputs="tuples")
        prior = metric_matrix(quadruplets, self.prior, "prior", self.random_state, definite=True)
        weights = np.ones(len(quadruplets)) if weights is None else _checks.array(weights, "LSML", "weights")
        self.w_ = weights / weights.sum()
        X, side = gm.Quadruplets.from_tuples(quadruplets, weight=weights)
        learner = gm.LSML(1.0, prior=prior, anchor=0, max_iter=self.max_iter, tol=self.tol, callback=lines(self))
        fit_with(self, learner, X, side)


class LSML(_BaseLSML, _QuadrupletsClassifierMixin):
    """Least squared residuals of comparisons; see :class:`gramian.LSML`."""

    def __init__(self, tol=1e-3, max_iter=1000, prior="identity", verbose=False, preprocessor=None, random_state=None):
        store(self, locals())

    def fit(self, quadruplets: Any, weights: Any = None) -> "LSML":
        """Learn from quadruplets, the first pair of which should be nearer than the second."""
        self._fit(quadruplets, weights=weights)
        return self


class LSML_Supervised(FromLabels, _BaseLSML):
    """:class:`LSML` on quadruplets drawn from labels."""

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
        store(self, locals(), num_constraints="n_constraints")

    def fit(self, X: Any, y: Any) -> "LSML_Supervised":
        """Learn from points with labels."""
        X, y = self._prepare_inputs(X, y, ensure_min_samples=2)
        self._fit(drawn_quadruplets(X, y, self.n_constraints, self.random_state), weights=self.weights)
        return self
