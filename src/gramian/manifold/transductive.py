"""What the estimators share that learn from a few labels among many points: the door, the choice, and votes.

Of very many points the geometry of a part is learned, along which the others are placed.
"""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian import _validate, linalg
from gramian._arrays import to_numpy
from gramian._settings import Count, Positive, require
from gramian.constraints import Constraints, Labels
from gramian.learners.subsample import some
from gramian.manifold.eigenmaps import GraphEmbedding
from gramian.manifold.voting import Choice, Embeddings, Evidence, Voters, choose

Several = Positive | Sequence[Positive]
"""A number, or several to choose from."""
MANY = 30_000
"""Points from which on a part of so many is used."""
DENSE = {"isomap": 3_000, "rbf": 3_000}
"""Points of a part where a matrix of all pairs is decomposed."""
OWN = ("classes_", "codes_", "n_features_in_")
"""What a model has from all of its points."""


def vote(voters: np.ndarray, codes: np.ndarray, queries: np.ndarray, k: int) -> np.ndarray:
    """Codes of ``queries`` by the vote of their k nearest ``voters``."""
    return Voters(codes, voters, None, 0.0, (1.0, 1.0)).winners(queries, None, k)


class Transductive(GraphEmbedding):
    """Base: labels, −1 where unknown, and ``predict`` by the nearest labeled points.

    Without labels, when constraints took their place, ``classes_`` and ``codes_`` are None.
    """

    classes_: Any
    codes_: Any
    part_: Any

    def _door(self, X: Any, y: Any) -> tuple[Any, Constraints | None]:
        """The points, checked, and the constraints where y is such; ``codes_`` are set from labels."""
        owner = type(self).__name__
        self.part_ = None
        if y is None:
            raise ValueError(f"{owner}: requires y to be passed, but the target y is None; use -1 where unknown.")
        if isinstance(y, Constraints):
            self.classes_ = self.codes_ = None
            return self._points(X, reset=True), y
        X, y = self._labeled(X, y)
        labels = Labels.from_array(y, owner, linalg.count(X), unknown=-1)
        self.classes_ = labels.classes
        self.codes_ = labels.codes
        return X, None

    def _labeled(self, X: Any, y: Any) -> tuple[Any, Any]:
        points, labels = _validate.estimator_points(self, X, to_numpy(y), reset=True, min_points=2)
        return points, labels

    def _grid(self, name: str) -> list[float]:
        """The positive numbers of a parameter that holds one or several, each once, in order."""
        value = getattr(self, name)
        values = [value] if isinstance(value, Real) else value
        if len(values) == 0:
            raise ValueError(f"{type(self).__name__}: {name} must be a number, or several to choose from, got none.")
        return sorted(set(map(float, values)))

    def _choose(self, name: str, grid: list[float], plain: Any, adjacency: Any, embeddings: Embeddings) -> Choice:
        """The value of a parameter, and the anchor, by the labels; one value without anchor needs no choice."""
        owner = type(self).__name__
        anchor = None if isinstance(self.anchor, str) else float(self.anchor)
        if len(grid) == 1:
            return Choice(grid[0], anchor or 0.0)
        if self.codes_ is None:
            raise ValueError(f"{owner}: {name} must be one number with constraints, got several; choose one.")
        evidence = Evidence(self.codes_, plain, adjacency, self._k_votes(), self.random_state)
        choice = choose(evidence, grid, anchor, embeddings)
        sentence = choice.sentence(owner)
        if sentence is not None and len(self.classes_) > 1:
            _validate.warn(sentence)
        return choice

    def _k_votes(self) -> int:
        require(Count, self.n_votes, type(self).__name__, "n_votes")  # it may have been set since the fit
        return int(self.n_votes)

    def _appoint(self, choice: Choice, plain: Any) -> None:
        """Store who votes, and the votes of the training points where their plain coordinates count."""
        self.anchor_ = choice.anchor
        self.evidence_ = {"learned": choice.learned, "plain": choice.plain, "spreading": choice.spreading}
        self.voters_ = None
        self.transduction_ = None
        if self.codes_ is not None and (self.codes_ >= 0).any():
            self.voters_ = Voters.among(self.codes_, self.embedding_, plain, choice.anchor)
            if choice.anchor > 0:
                unknown = np.flatnonzero(self.codes_ < 0)
                self.transduction_ = self.codes_.copy()
                if len(unknown):
                    rows = linalg.take(plain, unknown)
                    self.transduction_[unknown] = self.voters_.winners(self.embedding_[unknown], rows, self._k_votes())

    def predict(self, X: Any = None) -> np.ndarray:
        """Labels by the vote of the nearest labeled points, under the learned distance as far as it is anchored.

        Without X: of the training points, where a labeled point keeps its label.
        """
        check_is_fitted(self, "embedding_")
        if self.voters_ is None:
            raise ValueError(
                f"{type(self).__name__}: predict needs labels in fit, at least one labeled point, got none."
            )
        labels: np.ndarray = self.classes_[self._winners(X, self._k_votes())]
        return labels

    def _winners(self, X: Any, k: int) -> np.ndarray:
        """Codes of new points, or of the training points."""
        assert self.voters_ is not None
        if X is not None:
            X = self._points(X, reset=False)
            return self.voters_.winners(self.metric_.transform_of(X), self._plain(X), k)
        codes: np.ndarray | None = self.transduction_
        if codes is None:
            codes = np.where(self.codes_ >= 0, self.codes_, self.voters_.winners(self.embedding_, None, k))
        return codes

    def _plain(self, X: Any) -> Any:
        """Coordinates of checked points in which the plain distance is Euclidean."""
        return X

    def score(self, X: Any, y: Any) -> float:
        """Share of right predictions."""
        owner, predicted = type(self).__name__, self.predict(X)
        truth = _validate.plain(y, owner, "y")
        if truth.shape != predicted.shape:
            raise ValueError(f"{owner}: y must have one label per point ({len(predicted)}), got shape {truth.shape}.")
        return float(np.mean(predicted == truth))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def is_partial(model: Any, side: Any, choice: Any) -> bool:
    """Whether a fit is on a part: labels of many points, and a geometry that is named, not given."""
    return side is None and isinstance(choice, str) and len(model.codes_) > MANY


def fit_part(model: Any, X: Any, choice: Any, remedy: str, **whole: Any) -> None:
    """Fit the model on a part of the points: it becomes what it would be with the settings ``whole`` on these alone.

    All points have coordinates and, where they are unknown, labels: those of the part as it found them, the others as
    new points have them. All labeled points vote.
    """
    n, owner = len(model.codes_), type(model).__name__
    rng = _validate.random(model.random_state, owner)
    rows = drawn(Labels(model.codes_, model.classes_), min(MANY, DENSE.get(choice, MANY)), rng)
    _validate.warn(
        f"{owner}: learns the geometry of {len(rows):,} of the {n:,} points, labeled ones first, since its work grows "
        f"with n²; give {remedy} to learn that of all of them."
    )
    inner = type(model)(**{**model.get_params(deep=False), **whole})
    inner.fit(linalg.take(X, rows), model.codes_[rows])
    vars(model).update({k: v for k, v in vars(inner).items() if k.endswith("_") and k not in OWN})
    model.part_ = rows
    model.embedding_ = model.metric_.transform_of(X)
    model._appoint(Choice(np.nan, inner.anchor_, **inner.evidence_), X)


def drawn(labels: Labels, most: int, rng: np.random.RandomState) -> np.ndarray:
    """Rows, ascending: the labeled points, by class where they are more than half, and others at random."""
    unlabeled = np.flatnonzero(labels.codes < 0)
    labeled = np.flatnonzero(labels.codes >= 0)
    room = max(most // 2, most - len(unlabeled))
    if len(labeled) > room:
        labeled = some(labels, room, rng)
    extra = rng.choice(unlabeled, min(most - len(labeled), len(unlabeled)), replace=False)
    return np.sort(np.concatenate([labeled, extra]))
