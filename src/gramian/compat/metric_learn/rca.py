"""RCA and RCA_Supervised."""

from typing import Any

import numpy as np
from sklearn.base import TransformerMixin

import gramian as gm
from gramian import _checks
from gramian.compat.metric_learn.base_metric import MahalanobisMixin
from gramian.compat.metric_learn.constraints import Constraints
from gramian.compat.metric_learn.fitting import fit_with
from gramian.compat.metric_learn.matrices import check_n_components
from gramian.compat.metric_learn.parameters import store


class RCA(TransformerMixin, MahalanobisMixin):
    """Relevant component analysis from chunks; see :class:`gramian.RCA`."""

    def __init__(self, n_components=None, preprocessor=None):
        store(self, locals())

    def fit(self, X: Any, chunks: Any) -> "RCA":
        """Learn from points and the chunk of each, −1 for none."""
        X, chunks = self._prepare_inputs(X, chunks, ensure_min_samples=2)
        side = gm.Chunklets(np.asarray(chunks).astype(int))
        if np.linalg.matrix_rank(side.centered(X)) < X.shape[1]:
            _checks.warn(
                "The inner covariance matrix is not invertible, so the transformation matrix may contain Nan values. "
                "You should remove any linearly dependent features and/or reduce the dimensionality of your input, for "
                "instance using `sklearn.decomposition.PCA` as a preprocessing step.",
            )
        r = check_n_components(X.shape[1], self.n_components)
        fit_with(self, gm.RCA(r if r < X.shape[1] else None, anchor=0), X, side)
        return self


class RCA_Supervised(RCA):
    """:class:`RCA` on chunks drawn from labels."""

    def __init__(
        self,
        n_components=None,
        n_chunks=100,
        chunk_size=2,
        preprocessor=None,
        random_state=None,
        num_chunks="deprecated",
    ):
        store(self, locals(), num_chunks="n_chunks")

    def fit(self, X: Any, y: Any) -> "RCA_Supervised":
        """Learn from points with labels, negative ones unknown."""
        X, y = self._prepare_inputs(X, y, ensure_min_samples=2)
        chunks = Constraints(y).chunks(self.n_chunks, self.chunk_size, random_state=self.random_state)
        if self.n_chunks * (self.chunk_size - 1) < X.shape[1]:
            _checks.warn(
                "Due to the parameters of RCA_Supervised, the inner covariance matrix is not invertible, so the "
                "transformation matrix will contain Nan values. Increase the number or size of the chunks to correct "
                "this problem.",
            )
        super().fit(X, chunks)
        return self
