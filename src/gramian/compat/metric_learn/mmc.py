"""MMC and MMC_Supervised."""

from typing import Any

import numpy as np

import gramian as gm
from gramian.compat.metric_learn.base_metric import MahalanobisMixin
from gramian.compat.metric_learn.fitting import fit_with, lines
from gramian.compat.metric_learn.matrices import metric_matrix
from gramian.compat.metric_learn.parameters import store
from gramian.compat.metric_learn.supervision import FromLabels, FromPairs


class _BaseMMC(MahalanobisMixin):
    """The optimum does not depend on ``init``, which sets its scale: Σ_S d² is a hundredth of that under the start."""

    _tuple_size: int | None = 2

    def _fit(self, pairs: Any, y: Any) -> None:
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
