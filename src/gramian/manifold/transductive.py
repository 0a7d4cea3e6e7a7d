"""What the estimators share that learn from a few labels among many points: the door, and votes."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from gramian import _checks, votes
from gramian.constraints import Constraints, Labels
from gramian.manifold.base import GraphEmbedding
from gramian.manifold.neighbors import neighbors


def vote(voters: np.ndarray, codes: np.ndarray, queries: np.ndarray, k: int) -> np.ndarray:
    """Codes of ``queries`` by the vote of their k nearest ``voters``."""
    return votes.winners(codes[neighbors(voters, k, queries)[0]], int(codes.max()) + 1)


class Transductive(GraphEmbedding):
    """Base: labels, −1 where unknown, and ``predict`` by the nearest labeled points in the embedding.

    Without labels, when constraints took their place, ``classes_`` and ``codes_`` are None.
    """

    classes_: Any
    codes_: Any

    def _door(self, X: Any, y: Any) -> tuple[Any, Constraints | None]:
        """The points, checked, and the constraints where y is such; ``codes_`` are set from labels."""
        owner = type(self).__name__
        if y is None:
            raise ValueError(f"{owner}: requires y to be passed, but the target y is None; use -1 where unknown.")
        if isinstance(y, Constraints):
            self.classes_ = self.codes_ = None
            return self._points(X, reset=True), y
        X, y = self._labeled(X, y)
        labels = Labels.from_array(y, owner, X.shape[0] if hasattr(X, "shape") else len(X), unknown=-1)
        self.classes_ = labels.classes
        self.codes_ = labels.codes
        return X, None

    def _labeled(self, X: Any, y: Any) -> tuple[Any, Any]:
        return _checks.estimator_points(self, X, y, reset=True, min_points=2)

    def _grid(self, name: str) -> list[float]:
        """The positive numbers of a parameter that holds one or several, in order."""
        value = getattr(self, name)
        owner = type(self).__name__
        values = [value] if np.ndim(value) == 0 else list(value)
        if not values:
            raise ValueError(f"{owner}: {name} must be a number, or several to choose from, got none.")
        return sorted(_checks.number(v, owner, name, low=0, open_low=True) for v in values)

    def _choose(self, grid: list[float], embeddings: Callable[[np.ndarray, list[float]], Iterable]) -> float:
        """The value of the grid with most right answers in up to five folds of the labels; ties go to the first.

        ``embeddings(codes, grid)`` yields coordinates of all points for each value, learned from codes, −1 if hidden.
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
            found = (vote(F[rest], codes[rest], F[hidden], self.n_votes) for F in embeddings(codes, grid))
            right += [np.sum(answer == self.codes_[hidden]) for answer in found]
        return grid[int(right.argmax())]

    def predict(self, X: Any = None) -> np.ndarray:
        """Labels by the vote of the nearest labeled points under the learned distance.

        Without X: of the training points, where a labeled point keeps its label.
        """
        check_is_fitted(self, "embedding_")
        owner = type(self).__name__
        if self.classes_ is None or not len(self.classes_):
            raise ValueError(f"{owner}: predict needs labels in fit, at least one labeled point, got none.")
        known = self.codes_ >= 0
        k = _checks.number(self.n_votes, owner, "n_votes", low=1, integer=True)
        queries = self.embedding_ if X is None else self.transform(X)
        found = vote(self.embedding_[known], self.codes_[known], queries, k)
        return self.classes_[found if X is not None else np.where(known, self.codes_, found)]

    def score(self, X: Any, y: Any) -> float:
        """Share of right predictions."""
        return float(np.mean(self.predict(X) == np.asarray(y)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
