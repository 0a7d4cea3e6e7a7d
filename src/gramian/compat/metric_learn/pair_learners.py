"""Learners of pairs, and their forms that draw pairs from labels: ITML, MMC and SDML.

How they are told what is near: pairs with ±1 and a threshold, or labels that pairs are drawn from.
"""

from typing import Any

import numpy as np
from sklearn.base import TransformerMixin

import gramian as gm
from gramian import _validate
from gramian._settings import require
from gramian.compat.metric_learn.base_metric import MahalanobisMixin, _PairsClassifierMixin
from gramian.compat.metric_learn.constraints import drawn_pairs
from gramian.compat.metric_learn.fitting import fit_with, lines, require_minimum, square_root
from gramian.compat.metric_learn.matrices import distance_bounds, metric_matrix
from gramian.compat.metric_learn.settings import store
from gramian.learners.sdml import SparseInverse, signed_scatter, sparse_inverse

HARD = 1e8
"""γ that stands for infinity."""


class FromPairs(_PairsClassifierMixin):
    """Learners whose ``_fit`` takes pairs with ±1; their threshold is then calibrated on the same pairs."""

    def fit(self, pairs: Any, y: Any, calibration_params: Any = None) -> Any:
        """Learn from pairs with ±1, and calibrate the threshold on them."""
        return self._fit_and_calibrate(pairs, y, calibration_params)

    def _fit_and_calibrate(self, pairs: Any, y: Any, calibration_params: Any, **more: Any) -> Any:
        require(dict | None, calibration_params, type(self).__name__, "calibration_params")
        options = calibration_params or {}
        self._validate_calibration_params(**options)
        self._fit(pairs, y, **more)
        return self.calibrate_threshold(pairs, y, **options)


class FromLabels(TransformerMixin):
    """The supervised form of a learner, whose ``_fit`` takes tuples: points with labels, of which these are drawn."""

    _tuple_size: int | None = None  # points, not tuples

    def fit(self, X: Any, y: Any) -> Any:
        """Learn from points with labels."""
        return self._fit_drawn(X, y)

    def _fit_drawn(self, X: Any, y: Any, **more: Any) -> Any:
        X, y = self._prepare_inputs(X, y, ensure_min_samples=2)
        self._fit(*drawn_pairs(X, y, self.n_constraints, self.random_state), **more)
        return self


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


class _BaseMMC(MahalanobisMixin):
    """The optimum does not depend on ``init``, which sets its scale: Σ_S d² is a hundredth of that under the start."""

    _tuple_size: int | None = 2

    def _fit(self, pairs: Any, y: Any) -> None:
        pairs, y = self._prepare_inputs(pairs, y, type_of_inputs="tuples")
        start = metric_matrix(pairs, self.init, "init", self.random_state, definite=False)
        X, side = gm.Pairs.from_tuples(pairs, y)
        learner = gm.MMC(self.diagonal, anchor=0, max_iter=self.max_iter, tol=self.tol, callback=lines(self))
        self.converged_ = fit_with(self, learner, X, side).converged_
        V = (pairs[:, 0] - pairs[:, 1])[np.asarray(y) == 1]  # (similar pairs, d)
        # Σ_S d² is 1 with us; there c / 2 at the optimum of the diagonal form, and a hundredth of the start otherwise.
        size = self.diagonal_c / 2 if self.diagonal else np.einsum("ij,jk,ik->", V, start, V) / 100
        self.components_ = np.sqrt(size if size > 0 else 1.0) * self.components_
        self.A_ = self.get_mahalanobis_matrix()


class MMC(_BaseMMC, FromPairs):
    """Mahalanobis metric for clustering, from pairs; see :class:`gramian.MMC`."""

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
        store(self, locals(), convergence_threshold="tol")


class MMC_Supervised(FromLabels, _BaseMMC):
    """:class:`MMC` on pairs drawn from labels."""

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
        store(self, locals(), convergence_threshold="tol", num_constraints="n_constraints")


class _BaseSDML(MahalanobisMixin):
    _tuple_size: int | None = 2

    def _fit(self, pairs: Any, y: Any) -> None:
        if self.verbose:
            print("SDML will use scikit-learn's graphical lasso solver.")
        pairs, y = self._prepare_inputs(pairs, y, type_of_inputs="tuples")
        if pairs.shape[2] < 2:
            raise ValueError(f"Cannot fit SDML with {pairs.shape[2]} feature(s)")
        prior = metric_matrix(pairs, self.prior, "prior", self.random_state, definite=True)
        scatter = signed_scatter(pairs[:, 0] - pairs[:, 1], np.asarray(y, dtype=float))
        K = np.linalg.inv(prior) + self.balance_param * scatter
        _validate.number(self.sparsity_param, type(self).__name__, "sparsity_param", high=1e100)
        if not np.isfinite(K).all():
            raise ValueError(
                f"{type(self).__name__}: balance_param and X must give finite numbers, got infinity or NaN."
            )
        require_minimum(SparseInverse((K + K.T) / 2, self.sparsity_param))
        solution = sparse_inverse((K + K.T) / 2, self.sparsity_param, max_iter=200, tol=1e-4, report=lines(self))
        self.n_iter_ = solution.n_iter
        self.components_ = square_root(solution.M)


class SDML(_BaseSDML, FromPairs):
    """Sparse metrics from pairs; see :class:`gramian.SDML`, which keeps the balance where there is a minimum."""

    def __init__(
        self,
        balance_param=0.5,
        sparsity_param=0.01,
        prior="identity",
        verbose=False,
        preprocessor=None,
        random_state=None,
    ):
        store(self, locals())


class SDML_Supervised(FromLabels, _BaseSDML):
    """:class:`SDML` on pairs drawn from labels."""

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
        store(self, locals(), num_constraints="n_constraints")
