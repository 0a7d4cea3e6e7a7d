"""SDML and SDML_Supervised."""

from typing import Any

import numpy as np

from gramian.compat.metric_learn.base_metric import MahalanobisMixin
from gramian.compat.metric_learn.fitting import lines, require_minimum, square_root
from gramian.compat.metric_learn.matrices import metric_matrix
from gramian.compat.metric_learn.parameters import store
from gramian.compat.metric_learn.supervision import FromLabels, FromPairs
from gramian.learners.sdml import SparseInverse, signed_scatter, sparse_inverse


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
