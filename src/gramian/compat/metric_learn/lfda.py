"""LFDA."""

from typing import Any, get_args

from sklearn.base import TransformerMixin

import gramian as gm
from gramian.compat.metric_learn.base_metric import MahalanobisMixin
from gramian.compat.metric_learn.fitting import fit_with
from gramian.compat.metric_learn.matrices import check_n_components
from gramian.compat.metric_learn.parameters import store
from gramian.learners.lfda import Embedding

FAR = 30
"""Neighbors of a point whose distance is its scale, when no number is given."""


class LFDA(TransformerMixin, MahalanobisMixin):
    """Local Fisher discriminant analysis; see :class:`gramian.LFDA`.

    ``k`` is 30 when None, and not limited by the number of features: the scale that is called that of the 7th neighbor
    there is the distance to some other point of the class, which is farther.
    """

    def __init__(self, n_components=None, k=None, embedding_type="weighted", preprocessor=None):
        store(self, locals())

    def fit(self, X: Any, y: Any) -> "LFDA":
        """Learn from points with labels."""
        if self.embedding_type not in get_args(Embedding):
            raise ValueError(f"Invalid embedding_type: {self.embedding_type!r}")
        X, y = self._prepare_inputs(X, y, ensure_min_samples=2)
        r = check_n_components(X.shape[1], self.n_components)
        k = FAR if self.k is None else int(self.k)
        fit_with(self, gm.LFDA(r, k, embedding=self.embedding_type, anchor=0), X, y)
        return self
