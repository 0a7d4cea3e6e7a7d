"""ITML and ITML_Supervised."""

from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_array

import gramian as gm
from gramian.compat.metric_learn.base_metric import MahalanobisMixin, _PairsClassifierMixin
from gramian.compat.metric_learn.constraints import drawn_pairs
from gramian.compat.metric_learn.exceptions import note, renamed
from gramian.compat.metric_learn.fitting import fit_with, lines
from gramian.compat.metric_learn.matrices import metric_matrix

HARD = 1e8
"""γ that stands for infinity."""


class _BaseITML(MahalanobisMixin):
    _tuple_size = 2

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
        self.gamma = gamma
        self.max_iter = max_iter
        self.tol = renamed("convergence_threshold", "tol", convergence_threshold, tol)
        self.convergence_threshold = "deprecated"
        self.prior = prior
        self.verbose = verbose
        self.random_state = random_state
        super().__init__(preprocessor)

    def _fit(self, pairs: Any, y: Any, bounds: Any = None) -> "_BaseITML":
        pairs, y = self._prepare_inputs(pairs, y, type_of_inputs="tuples")
        self.bounds_ = _distance_bounds(pairs, bounds)
        prior = metric_matrix(pairs, self.prior, "prior", self.random_state, definite=True)
        X, side = gm.Pairs.from_tuples(pairs, y, bounds=tuple(self.bounds_**2))
        learner = gm.ITML(
            min(float(self.gamma), HARD),
            prior,
            anchor=0,
            max_iter=self.max_iter,
            tol=self.tol,
            callback=lines(self),
        )
        fit_with(self, learner, X, side)
        return self


def _distance_bounds(pairs: np.ndarray, bounds: Any) -> np.ndarray:
    """(u, l) as distances: given, or the 5th and 95th percentile of those among the points."""
    if bounds is None:
        u, l = gm.Pairs([0], [1], [True]).with_bounds(np.unique(np.concatenate(pairs), axis=0)).bounds
        return np.sqrt([u[0], l[0]])
    note("ITML: bounds are distances here and compared as such; metric-learn compares them with squared distances.")
    bounds = check_array(bounds, ensure_2d=False, ensure_min_samples=0, dtype=float).ravel()
    if bounds.size != 2:
        raise ValueError("`bounds` should be an array-like of two elements.")
    return np.where(bounds == 0, 1e-9, bounds)


class ITML(_BaseITML, _PairsClassifierMixin):
    """Information-theoretic metric learning from pairs; see :class:`gramian.ITML`."""

    def fit(self, pairs: Any, y: Any, bounds: Any = None, calibration_params: Any = None) -> "ITML":
        """Learn from pairs with ±1, and calibrate the threshold on them."""
        options = calibration_params or {}
        self._validate_calibration_params(**options)
        self._fit(pairs, y, bounds=bounds)
        return self.calibrate_threshold(pairs, y, **options)


class ITML_Supervised(TransformerMixin, _BaseITML):
    """:class:`ITML` on pairs drawn from labels."""

    _tuple_size = None  # type: ignore[assignment]  # points, not tuples

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
        super().__init__(gamma, max_iter, tol, prior, verbose, preprocessor, random_state, convergence_threshold)
        self.n_constraints = renamed("num_constraints", "n_constraints", num_constraints, n_constraints)
        self.num_constraints = "deprecated"

    def fit(self, X: Any, y: Any, bounds: Any = None) -> "ITML_Supervised":
        """Learn from points with labels."""
        X, y = self._prepare_inputs(X, y, ensure_min_samples=2)
        self._fit(*drawn_pairs(X, y, self.n_constraints, self.random_state), bounds=bounds)
        return self
