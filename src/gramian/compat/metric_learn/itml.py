"""ITML and ITML_Supervised."""

from typing import Any

import gramian as gm
from gramian.compat.metric_learn.base_metric import MahalanobisMixin
from gramian.compat.metric_learn.fitting import fit_with, lines
from gramian.compat.metric_learn.matrices import distance_bounds, metric_matrix
from gramian.compat.metric_learn.parameters import store
from gramian.compat.metric_learn.supervision import FromLabels, FromPairs

HARD = 1e8
"""γ that stands for infinity."""


class _BaseITML(MahalanobisMixin):
    _tuple_size: int | None = 2

    def _fit(self, pairs: Any, y: Any, bounds: Any = None) -> None:
        pairs, y = self._prepare_inputs(pairs, y, type_of_inputs="tuples")
        self.bounds_ = distance_bounds(pairs, bounds, "ITML")
        prior = metric_matrix(pairs, self.prior, "prior", self.random_state, definite=True)
        X, side = gm.Pairs.from_tuples(pairs, y, bounds=tuple(self.bounds_**2))
        gamma = min(float(self.gamma), HARD)
        learner = gm.ITML(gamma, prior=prior, anchor=0, max_iter=self.max_iter, tol=self.tol, callback=lines(self))
        fit_with(self, learner, X, side)


class ITML(_BaseITML, FromPairs):
    """Information-theoretic metric learning from pairs; see :class:`gramian.ITML`."""

    def __init__(
        self,
        gamma=1.0,
        max_iter=1000,
        tol=1e-3,
        prior="identity",
        verbose=False,
        preprocessor=None,
        random_state=None,
        convergence_threshold="deprecated",
    ):
        store(self, locals(), convergence_threshold="tol")

    def fit(  # type: ignore[override]  # bounds come before the options here
        self, pairs: Any, y: Any, bounds: Any = None, calibration_params: Any = None
    ) -> "ITML":
        """Learn from pairs with ±1, and calibrate the threshold on them."""
        return self._fit_and_calibrate(pairs, y, calibration_params, bounds=bounds)


class ITML_Supervised(FromLabels, _BaseITML):
    """:class:`ITML` on pairs drawn from labels."""

    def __init__(
        self,
        gamma=1.0,
        max_iter=1000,
        tol=1e-3,
        n_constraints=None,
        prior="identity",
        verbose=False,
        preprocessor=None,
        random_state=None,
        num_constraints="deprecated",
        convergence_threshold="deprecated",
    ):
        store(self, locals(), convergence_threshold="tol", num_constraints="n_constraints")

    def fit(self, X: Any, y: Any, bounds: Any = None) -> "ITML_Supervised":
        """Learn from points with labels."""
        return self._fit_drawn(X, y, bounds=bounds)
