"""Learners of comparisons, and their forms that draw them from labels: SCML of triplets, LSML of quadruplets."""

from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_array

import gramian as gm
from gramian import _validate
from gramian.compat.metric_learn.base_metric import (
    MahalanobisMixin,
    _QuadrupletsClassifierMixin,
    _TripletsClassifierMixin,
)
from gramian.compat.metric_learn.constraints import Constraints, drawn_quadruplets
from gramian.compat.metric_learn.fitting import fit_with, lines, square_root
from gramian.compat.metric_learn.matrices import metric_matrix
from gramian.compat.metric_learn.pair_learners import FromLabels
from gramian.compat.metric_learn.settings import store
from gramian.learners.combinations import unit_cost
from gramian.metrics.named import leading_root

LEAST, GAP = 1e-2, 0.2
"""The least β, relative to the mean of d², and the relative gap of a solution.

There a smaller β makes no difference, since its descent ends long before; an exact solution would fit the noise.
"""


class _BaseSCML(MahalanobisMixin):
    """A linear program, solved to a gap: ``gamma`` and ``batch_size`` of a stochastic descent mean nothing here."""

    _tuple_size: int | None = 3
    _authorized_basis = ["triplet_diffs"]

    def _fit(self, X: Any, side: gm.Triplets, n_basis: int | None = None) -> None:
        for name in ("max_iter", "output_iter", "batch_size"):
            integer(self, name)
        if self.output_iter > self.max_iter:
            raise ValueError("The value of output_iter must be equal or smaller than max_iter.")
        bases = given_bases(self, X.shape[1])
        if isinstance(bases, str) and n_basis is None:
            n_basis = count_from_triplets(self, len(side), X.shape[1])
        beta = max(unit_cost(X, side, self.beta), LEAST)
        options = {"max_iter": self.max_iter, "callback": lines(self), "random_state": self.random_state}
        fit_with(self, gm.SCML(beta, bases, n_bases=n_basis, anchor=0, tol=GAP, **options), X, side)
        M = self.get_mahalanobis_matrix()
        self.components_ = leading_root(M)
        r, d = self.components_.shape
        if r == d:
            self.components_ = square_root(M)
            return
        _validate.warn(
            "The number of bases with nonzero weight is less than the number of features of the input, in consequence "
            f"the learned transformation reduces the dimension to {r}.",
        )


class SCML(_BaseSCML, _TripletsClassifierMixin):
    """Sparse compositional metrics from triplets; see :class:`gramian.SCML`."""

    def __init__(
        self,
        beta=1e-5,
        basis="triplet_diffs",
        n_basis=None,
        gamma=5e-3,
        max_iter=10000,
        output_iter=500,
        batch_size=10,
        verbose=False,
        preprocessor=None,
        random_state=None,
    ):
        store(self, locals())

    def fit(self, triplets: Any) -> "SCML":
        """Learn from triplets (anchor, near, far)."""
        triplets = self._prepare_inputs(triplets, type_of_inputs="tuples")
        self._fit(*gm.Triplets.from_tuples(triplets))
        return self


class SCML_Supervised(TransformerMixin, _BaseSCML):
    """:class:`SCML` on triplets of near neighbors."""

    _tuple_size = None  # points, not tuples
    _authorized_basis = ["triplet_diffs", "lda"]

    def __init__(
        self,
        k_genuine=3,
        k_impostor=10,
        beta=1e-5,
        basis="lda",
        n_basis=None,
        gamma=5e-3,
        max_iter=10000,
        output_iter=500,
        batch_size=10,
        verbose=False,
        preprocessor=None,
        random_state=None,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any) -> "SCML_Supervised":
        """Learn from points with labels."""
        X, y = self._prepare_inputs(X, y, ensure_min_samples=2)
        local = isinstance(self.basis, str) and self.basis == "lda"
        n_basis = count_from_labels(self, X, y) if local else None
        counts = integer(self, "k_genuine"), integer(self, "k_impostor")
        index = Constraints(y).generate_knntriplets(X, *counts)  # (m, 3)
        self._fit(X, gm.Triplets(*index.T), n_basis)
        return self


class _BaseLSML(MahalanobisMixin):
    _tuple_size: int | None = 4

    def _fit(self, quadruplets: Any, weights: Any = None) -> None:
        quadruplets = self._prepare_inputs(quadruplets, type_of_inputs="tuples")
        prior = metric_matrix(quadruplets, self.prior, "prior", self.random_state, definite=True)
        weights = np.ones(len(quadruplets)) if weights is None else _validate.array(weights, "LSML", "weights")
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


def integer(estimator: Any, name: str) -> int:
    """A parameter that must be an integer."""
    value = getattr(estimator, name)
    if not isinstance(value, int):
        raise ValueError(f"{name} should be an integer, instead it is of type {type(value)}")
    return _validate.number(int(value), type(estimator).__name__, name, low=1, high=2**31, integer=True)


def given_bases(estimator: Any, d: int) -> Any:
    """The bases that were given, or "local" for those of ours."""
    if isinstance(estimator.basis, np.ndarray):
        basis = check_array(estimator.basis, copy=True)
        if basis.shape[1] != d:
            raise ValueError(
                f"The dimensionality ({basis.shape[1]}) of the provided bases must match the dimensionality of the "
                f"data ({d})."
            )
        return basis
    if estimator.basis not in estimator._authorized_basis:
        names = "', '".join(estimator._authorized_basis)
        raise ValueError(f"`basis` must be one of the options '{names}' or an array of shape (n_basis, n_features).")
    return "local"


def count_from_triplets(estimator: Any, n: int, d: int) -> int:
    """The number of bases from n triplets, 80 d unless it is given."""
    count = _count(estimator, 80 * d)
    if d > n:
        raise ValueError(
            f"Number of features ({d}) is greater than the number of triplets({n}).\nConsider using dimensionality "
            "reduction or using another basis generation scheme."
        )
    return count


def count_from_labels(estimator: Any, X: np.ndarray, y: Any) -> int:
    """The number of bases from points with labels, 20 d unless it is given or there are few points."""
    n_classes = len(np.unique(y))
    most = 2 * X.shape[0] * min(n_classes - 1, X.shape[1])
    count = _count(estimator, min(20 * X.shape[1], most - 1))
    if count < n_classes:
        _validate.warn(
            "The number of basis is less than the number of classes, which may lead to poor discriminative "
            "performance.",
        )
    elif count >= most:
        raise ValueError(f"Not enough samples to generate {count} LDA bases, n_basisshould be smaller than {most}")
    return count


def _count(estimator: Any, default: int) -> int:
    """``n_basis``, or a default that is announced."""
    if estimator.n_basis is not None:
        return integer(estimator, "n_basis")
    _validate.warn(f"As no value for `n_basis` was selected, the number of basis will be set to n_basis= {default}")
    return default
