"""SDML and SDML_Supervised."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.exceptions import ConvergenceWarning

from gramian.compat.metric_learn.base_metric import MahalanobisMixin, _PairsClassifierMixin
from gramian.compat.metric_learn.constraints import drawn_pairs
from gramian.compat.metric_learn.exceptions import renamed
from gramian.compat.metric_learn.fitting import lines, square_root
from gramian.compat.metric_learn.matrices import metric_matrix
from gramian.learners.sdml import SparseInverse, sparse_inverse

FAILED = (
    "There was a problem in SDML when using scikit-learn's graphical lasso solver. skggm's graphical lasso can "
    "sometimes converge on non SPD cases where scikit-learn's graphical lasso fails to converge. Try to install skggm "
    "and rerun the algorithm (see the README.md for the right version of skggm)."
)


class _BaseSDML(MahalanobisMixin):
    _tuple_size = 2

    def __init__(
        self,
        balance_param=0.5,
        sparsity_param=0.01,
        prior="identity",
        verbose=False,
        preprocessor=None,
        random_state=None,
    ):
        self.balance_param = balance_param
        self.sparsity_param = sparsity_param
        self.prior = prior
        self.verbose = verbose
        self.random_state = random_state
        super().__init__(preprocessor)

    def _fit(self, pairs: Any, y: Any) -> "_BaseSDML":
        if self.verbose:
            print("SDML will use scikit-learn's graphical lasso solver.")
        pairs, y = self._prepare_inputs(pairs, y, type_of_inputs="tuples")
        if pairs.shape[2] < 2:
            raise ValueError(f"Cannot fit SDML with {pairs.shape[2]} feature(s)")
        prior = metric_matrix(pairs, self.prior, "prior", self.random_state, definite=True)
        V = pairs[:, 0] - pairs[:, 1]
        K = np.linalg.inv(prior) + self.balance_param * V.T @ (V * np.asarray(y, dtype=float)[:, None])
        K = (K + K.T) / 2
        _require_minimum(K, self.sparsity_param)
        solution = sparse_inverse(K, self.sparsity_param, max_iter=200, tol=1e-4, report=lines(self))
        self.n_iter_ = solution.n_iter
        self.components_ = square_root(solution.M)
        return self


def _require_minimum(K: np.ndarray, sparsity: float) -> None:
    """Warn as there where K is not definite, and fail where the penalty does not help either."""
    if np.linalg.eigvalsh(K)[0] > 0:
        return
    warnings.warn(
        "Warning, the input matrix of graphical lasso is not positive semi-definite (PSD). The algorithm may diverge, "
        "and lead to degenerate solutions. To prevent that, try to decrease the balance parameter `balance_param` "
        "and/or to set prior='identity'.",
        ConvergenceWarning,
        stacklevel=4,
    )
    problem = SparseInverse(K, sparsity)
    if np.isfinite(problem.value(problem.start())[0]):
        return
    diagonal = np.array_equal(K, np.diag(np.diag(K)))
    reason = "" if diagonal else " The following error message was thrown: the matrix is not positive definite."
    raise RuntimeError(FAILED + reason)


class SDML(_BaseSDML, _PairsClassifierMixin):
    """Sparse metrics from pairs; see :class:`gramian.SDML`, which keeps the balance where there is a minimum."""

    def fit(self, pairs: Any, y: Any, calibration_params: Any = None) -> "SDML":
        """Learn from pairs with ±1, and calibrate the threshold on them."""
        options = calibration_params or {}
        self._validate_calibration_params(**options)
        self._fit(pairs, y)
        return self.calibrate_threshold(pairs, y, **options)


class SDML_Supervised(TransformerMixin, _BaseSDML):
    """:class:`SDML` on pairs drawn from labels."""

    _tuple_size = None  # type: ignore[assignment]  # points, not tuples

    def __init__(
        self,
        balance_param=0.5,
        sparsity_param=0.01,
        prior="identity",
        n_constraints=None,
        verbose=False,
        preprocessor=None,
        random_state=None,
        num_constraints="deprecated",
    ):
        super().__init__(balance_param, sparsity_param, prior, verbose, preprocessor, random_state)
        self.n_constraints = renamed("num_constraints", "n_constraints", num_constraints, n_constraints)
        self.num_constraints = "deprecated"

    def fit(self, X: Any, y: Any) -> "SDML_Supervised":
        """Learn from points with labels."""
        X, y = self._prepare_inputs(X, y, ensure_min_samples=2)
        self._fit(*drawn_pairs(X, y, self.n_constraints, self.random_state))
        return self
