"""What the estimators share that learn from a few labels among many points: the door, and votes."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from gramian import _checks
from gramian.constraints import Labels
from gramian.manifold.eigenmaps import SpectralEmbedding
from gramian.manifold.vote import voted


class Transductive(SpectralEmbedding):
    """Base: labels, −1 where unknown, and ``predict`` by the nearest labeled points under the learned distance.

    A subclass sets ``classes_``, ``codes_`` and ``positions_``, the coordinates of the training points in which
    ``transform`` gives those of others. Without labels, when constraints took their place, the first two are None.
    """

    classes_: Any
    codes_: Any

    def _door(self, X: Any, y: Any) -> tuple[Any, Labels]:
        """The points and their labels, checked."""
        owner = type(self).__name__
        if y is None:
            raise ValueError(f"{owner}: requires y to be passed, but the target y is None; use -1 where unknown.")
        X, y = _checks.estimator_points(self, X, y, reset=True, min_points=2)
        labels = Labels.from_array(y, owner, X.shape[0], unknown=-1)
        self.classes_, self.codes_ = labels.classes, labels.codes
        return X, labels

    def _grid(self, name: str) -> list[float]:
        """The positive numbers of a parameter that holds one or several, in order."""
        value, owner = getattr(self, name), type(self).__name__
        values = [value] if np.ndim(value) == 0 else list(value)
        if not values:
            raise ValueError(f"{owner}: {name} must be a number, or several to choose from, got none.")
        return sorted(_checks.number(v, owner, name, low=0, open_low=True) for v in values)

    def _choose(self, grid: list[float], positions: Callable[[np.ndarray, list[float]], Iterable]) -> float:
        """The value of the grid with most right answers in up to five folds of the labels; ties go to the first.

        ``positions(codes, grid)`` yields coordinates of all points for each value, learned from codes, −1 where hidden.
        """
        known = np.flatnonzero(self.codes_ >= 0)
        folds = min(5, np.bincount(self.codes_[known]).max(initial=0))
        if len(grid) == 1 or folds < 2 or len(self.classes_) < 2:
            return grid[0]
        rng = _checks.random(self.random_state, type(self).__name__)
        split = StratifiedKFold(folds, shuffle=True, random_state=rng).split
        right = np.zeros(len(grid))
        for rest, hidden in split(known, self.codes_[known]):
            rest, hidden = known[rest], known[hidden]
            codes = self.codes_.copy()
            codes[hidden] = -1
            found = (voted(F[rest], codes[rest], F[hidden], self.n_votes) for F in positions(codes, grid))
            right += [np.sum(answer == self.codes_[hidden]) for answer in found]
        return grid[int(right.argmax())]

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
        return voted(self.positions_[known], self.codes_[known], queries, self.n_votes)

    def score(self, X: Any, y: Any) -> float:
        """Share of right predictions."""
        return float(np.mean(self.predict(X) == np.asarray(y)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
