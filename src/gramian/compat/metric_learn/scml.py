"""SCML and SCML_Supervised."""

from typing import Any

from sklearn.base import TransformerMixin

import gramian as gm
from gramian import _checks
from gramian.compat.metric_learn.base_metric import MahalanobisMixin, _TripletsClassifierMixin
from gramian.compat.metric_learn.bases import count_from_labels, count_from_triplets, given_bases, integer
from gramian.compat.metric_learn.constraints import Constraints
from gramian.compat.metric_learn.fitting import fit_with, lines, square_root
from gramian.compat.metric_learn.parameters import store
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
        _checks.warn(
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
        near, far = integer(self, "k_genuine"), integer(self, "k_impostor")
        index = Constraints(y).generate_knntriplets(X, near, far)
        self._fit(X, gm.Triplets(*index.T), n_basis)
        return self
