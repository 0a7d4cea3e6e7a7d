"""MMC and MMC_Supervised."""

from typing import Any

import numpy as np
from sklearn.base import TransformerMixin

import gramian as gm
from gramian.compat.metric_learn.base_metric import MahalanobisMixin, _PairsClassifierMixin
from gramian.compat.metric_learn.constraints import drawn_pairs
from gramian.compat.metric_learn.exceptions import renamed
from gramian.compat.metric_learn.fitting import fit_with, lines
from gramian.compat.metric_learn.matrices import metric_matrix


class _BaseMMC(MahalanobisMixin):
    """The optimum does not depend on ``init``, which sets its scale: Σ_S d² is a hundredth of that under the start."""

    _tuple_size = 2

    def __init__(
        self,
        max_iter=100,
        max_proj=10000,
        tol=1e-3,
        init="identity",
        diagonal=False,
        diagonal_c=1.0,
        verbose=False,
        preprocessor=None,
        random_state=None,
        convergence_threshold="deprecated",
    ):
        self.max_iter = max_iter
        self.max_proj = max_proj
        self.tol = renamed("convergence_threshold", "tol", convergence_threshold, tol)
        self.convergence_threshold = "deprecated"
        self.init = init
        self.diagonal = diagonal
        self.diagonal_c = diagonal_c
        self.verbose = verbose
        self.random_state = random_state
        super().__init__(preprocessor)

    def _fit(self, pairs: Any, y: Any) -> "_BaseMMC":
        pairs, y = self._prepare_inputs(pairs, y, type_of_inputs="tuples")
        start = metric_matrix(pairs, self.init, "init", self.random_state, definite=False)
        X, side = gm.Pairs.from_tuples(pairs, y)
        learner = gm.MMC(self.diagonal, anchor=0, max_iter=self.max_iter, tol=self.tol, callback=lines(self))
        self.converged_ = fit_with(self, learner, X, side).converged_
        V = (pairs[:, 0] - pairs[:, 1])[np.asarray(y) == 1]
        # Σ_S d² is 1 with us; there c / 2 at the optimum of the diagonal form, and a hundredth of the start otherwise.
        size = self.diagonal_c / 2 if self.diagonal else np.einsum("ij,jk,ik->", V, start, V) / 100
        self.components_ = np.sqrt(size if size > 0 else 1.0) * self.components_
        self.A_ = self.get_mahalanobis_matrix()
        return self


class MMC(_BaseMMC, _PairsClassifierMixin):
    """Mahalanobis metric for clustering, from pairs; see :class:`gramian.MMC`."""

    def fit(self, pairs: Any, y: Any, calibration_params: Any = None) -> "MMC":
        """Learn from pairs with ±1, and calibrate the threshold on them."""
        options = calibration_params or {}
        self._validate_calibration_params(**options)
        self._fit(pairs, y)
        return self.calibrate_threshold(pairs, y, **options)


class MMC_Supervised(TransformerMixin, _BaseMMC):
    """:class:`MMC` on pairs drawn from labels."""

    _tuple_size = None  # type: ignore[assignment]  # points, not tuples

    def __init__(
        self,
        max_iter=100,
        max_proj=10000,
        tol=1e-6,
        n_constraints=None,
        init="identity",
        diagonal=False,
        diagonal_c=1.0,
        verbose=False,
        preprocessor=None,
        random_state=None,
        num_constraints="deprecated",
        convergence_threshold="deprecated",
    ):
        super().__init__(
            max_iter,
            max_proj,
            tol,
            init,
            diagonal,
            diagonal_c,
            verbose,
            preprocessor,
            random_state,
            convergence_threshold,
        )
        self.n_constraints = renamed("num_constraints", "n_constraints", num_constraints, n_constraints)
        self.num_constraints = "deprecated"

    def fit(self, X: Any, y: Any) -> "MMC_Supervised":
        """Learn from points with labels."""
        X, y = self._prepare_inputs(X, y, ensure_min_samples=2)
        self._fit(*drawn_pairs(X, y, self.n_constraints, self.random_state))
        return self
