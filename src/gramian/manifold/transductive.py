"""What the estimators share that learn from a few labels among many points: the door, and votes."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from gramian.constraints import Labels
from gramian.manifold.eigenmaps import SpectralEmbedding
from gramian.manifold.vote import vote


class Transductive(SpectralEmbedding):
    """Base: labels, −1 where unknown, and ``predict`` by the nearest labeled points under the learned distance.

    A subclass sets ``classes_``, ``codes_`` and ``positions_``, the coordinates of the training points in which
    ``transform`` gives those of others.
    """

    def _door(self, X: Any, y: Any) -> tuple[Any, Labels]:
        """The points and their labels, checked."""
        owner = type(self).__name__
        if y is None:
            raise ValueError(f"{owner}: requires y to be passed, but the target y is None; use -1 where unknown.")
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2)
        labels = Labels.from_array(y, owner, X.shape[0], unknown=-1)
        self.classes_, self.codes_ = labels.classes, labels.codes
        return X, labels

    def predict(self, X: Any = None) -> np.ndarray:
        """Labels by the vote of the nearest labeled points under the learned distance.

        Without X: of the training points, where a labeled point keeps its label.
        """
        check_is_fitted(self, "positions_")
        if self.classes_ is None or not len(self.classes_):
            owner = type(self).__name__
            raise ValueError(f"{owner}: predict needs labels in fit, at least one labeled point, got none.")
        if X is not None:
            return self.classes_[self._vote(self.transform(X))]
        found = self._vote(self.positions_)
        return self.classes_[np.where(self.codes_ >= 0, self.codes_, found)]

    def _vote(self, queries: np.ndarray) -> np.ndarray:
        known = self.codes_ >= 0
        return vote(self.positions_[known], self.codes_[known], queries, self.n_votes)

    def score(self, X: Any, y: Any) -> float:
        """Share of right predictions."""
        return float(np.mean(self.predict(X) == np.asarray(y)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
